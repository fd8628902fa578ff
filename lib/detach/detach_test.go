package detach

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Finding 29 of the protocol captures: a child that keeps its parent's stdout
// or stderr counts as the hook still running.
func TestStartKeepsNothingOfTheParent(t *testing.T) {
	dir := t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = w
	pid, err := Start(Command{
		Program: "/bin/sh",
		Args:    []string{"-c", `echo said >&2; ps -o sid= -p $$ > sid; mv sid done; exec sleep 30`},
		Env:     os.Environ(), Dir: dir, Log: filepath.Join(dir, "log"),
	})
	os.Stdout = stdout
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	w.Close()
	if _, err := io.ReadAll(r); err != nil { // ends only when no heir holds it
		t.Fatal(err)
	}
	await(t, filepath.Join(dir, "done"))
	if sid, _ := os.ReadFile(filepath.Join(dir, "done")); strings.TrimSpace(string(sid)) != strconv.Itoa(pid) {
		t.Errorf("session id %q, want %d", sid, pid)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "log")); string(b) != "said\n" {
		t.Errorf("log %q", b)
	}
}

func TestStartSaysWhatIsMissing(t *testing.T) {
	_, err := Start(Command{Program: "/nonexistent/tool", Log: filepath.Join(t.TempDir(), "log")})
	if err == nil || !strings.Contains(err.Error(), "/nonexistent/tool") {
		t.Errorf("got %v", err)
	}
}

func await(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatalf("%s did not appear", path)
}
