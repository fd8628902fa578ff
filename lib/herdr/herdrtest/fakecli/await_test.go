package fakecli_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// await runs a command again and again until its output has a text:
// await TEXT COMMAND ARGS…
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: await TEXT COMMAND ARGS...")
	}
	var env []string
	for _, name := range []string{"PATH", "HOME", "SHELL", "GORACE", "FAKEHERDR_TIMINGS"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		cmd := exec.Command(program(ts, args[1]), args[2:]...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), args[0]) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("never %q in the output of %v: %s (%v)", args[0], args[1:], out, err)
		}
	}
}

// program finds a program in the script's PATH, not in that of the test.
func program(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	ts.Fatalf("%s: not in PATH", name)
	return ""
}
