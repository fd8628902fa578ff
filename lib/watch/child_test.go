package watch

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/runlog"
)

// child is a shell script that a test keeps running.
func child(t *testing.T, script string) (*Child, string, func()) {
	t.Helper()
	dir := t.TempDir()
	c := &Child{Program: "/bin/sh", Args: []string{"-c", script, "sh", dir}, Env: os.Environ(), Log: &runlog.Log{W: t.Output()}, RetryMin: 5 * time.Millisecond, RetryMax: 10 * time.Millisecond}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { c.Run(ctx); close(done) }()
	end := func() { cancel(); <-done }
	t.Cleanup(end)
	return c, dir, end
}

func linesIn(path string) int {
	b, _ := os.ReadFile(path)
	return bytes.Count(b, []byte("\n"))
}

// A child that crashes is started again, and does not take the watcher down.
func TestAChildThatCrashesIsStartedAgain(t *testing.T) {
	_, dir, _ := child(t, `echo started >> "$1/log"; kill -9 $$`)
	waitFor(t, 20*time.Second, "it was started three times", func() bool { return linesIn(filepath.Join(dir, "log")) >= 3 })
}

// It ends with SIGTERM.
func TestAChildEndsWithTheWatcher(t *testing.T) {
	_, dir, end := child(t, `trap 'echo ended >> "$1/end"; exit 0' TERM; echo $$ >> "$1/log"; while :; do sleep 0.05; done`)
	waitFor(t, 20*time.Second, "it runs", func() bool { return linesIn(filepath.Join(dir, "log")) == 1 })
	end()
	if linesIn(filepath.Join(dir, "end")) != 1 || linesIn(filepath.Join(dir, "log")) != 1 {
		t.Error("it did not end by SIGTERM, once")
	}
}

// Its standard input closes when the watcher dies, whatever kills it.
func TestAChildHearsOfTheWatchersDeath(t *testing.T) {
	_, dir, _ := child(t, `echo $$ >> "$1/log"; cat > /dev/null; echo closed >> "$1/log"`)
	waitFor(t, 20*time.Second, "it runs", func() bool { return linesIn(filepath.Join(dir, "log")) >= 1 })
	b, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil || strings.Contains(string(b), "closed") {
		t.Errorf("its input was closed at once: %q, %v", b, err)
	}
}
