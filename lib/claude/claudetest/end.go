package claudetest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// End ends what the real Claude Code at bin left running in a test's own home:
// its background service, and the service's spare terminals.
func End(t testing.TB, bin, home string) {
	if home == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "daemon", "stop", "--any")
	cmd.Env = append(cmd.Environ(), "HOME="+home)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("stop Claude's service: %v\n%s", err, out)
	}
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || !slices.ContainsFunc(bytes.Split(b, []byte{0}), func(kv []byte) bool { return string(kv) == "HOME="+home }) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err == nil {
			t.Logf("still there: process %d: %v", pid, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
}
