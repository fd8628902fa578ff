package runlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFailureRepeatsRarely(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var out strings.Builder
	l := &Log{W: &out, Now: func() time.Time { return now }}
	say := func() { l.Failure("hub: %s", "connection refused") }
	say()
	say()
	now = now.Add(RepeatAfter - time.Second)
	say()
	l.Failure("another line")
	now = now.Add(2 * time.Second)
	say()
	now = now.Add(-time.Hour) // a clock that jumped back must not silence it
	say()
	if n := strings.Count(out.String(), "refused"); n != 3 {
		t.Errorf("the failure was said %d times, want 3:\n%s", n, out.String())
	}
}

func TestLinesCannotBeForged(t *testing.T) {
	var out strings.Builder
	(&Log{W: &out}).Printf("title %s", "a\n2026 all is well\x1b[2J")
	if strings.Count(out.String(), "\n") != 1 || strings.Contains(out.String(), "\x1b") {
		t.Errorf("got %q", out.String())
	}
}

func TestTruncateOnlyAboveTheLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "watcher.log")
	if err := Truncate(path); err != nil {
		t.Errorf("a missing log: %v", err)
	}
	for size, want := range map[int]int64{MaxSize: MaxSize, MaxSize + 1: 0} {
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Truncate(path); err != nil {
			t.Fatal(err)
		}
		if st, _ := os.Stat(path); st.Size() != want {
			t.Errorf("%d bytes became %d, want %d", size, st.Size(), want)
		}
	}
}
