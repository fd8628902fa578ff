package watch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sessionhub/lib/record"
)

// One record that can't be sent, whatever is wrong with it, does not hold up
// the others.
func TestARecordThatCannotBeEncodedIsSetAside(t *testing.T) {
	s := newStage(t)
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	line := `{"v":1,"id":"01976f3e-0001","at":"2026-11-30T20:00:00.123Z","source":"cli","kind":"ended","session":"A","body":{"reason":"x","a":` + deep + `}}` + "\n"
	if err := s.w.Dir.Ensure(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.w.Dir.Queue(), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	s.add(record.KindReport, nil, "A", record.Report{Done: "x"})
	s.pass("sent 1 kept 0 dropped 0 aside 1")
}

// When bad lines can't be set aside they stay, and the good ones are settled.
func TestBadLinesThatCannotBeSetAsideHoldUpNobody(t *testing.T) {
	s := newStage(t)
	if err := s.w.Dir.Ensure(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.w.Dir.Queue(), []byte("foreign\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.w.Dir.Bad(), 0o700); err != nil {
		t.Fatal(err)
	}
	s.add(record.KindReport, nil, "A", record.Report{Done: "x"})
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	s.pass("sent 0 kept 0 dropped 0 aside 0")
	if err := os.Remove(s.w.Dir.Bad()); err != nil {
		t.Fatal(err)
	}
	s.pass("sent 0 kept 0 dropped 0 aside 1")
}

func TestASegmentThatCannotBeReadHoldsUpNobody(t *testing.T) {
	s := newStage(t)
	dir, err := s.w.Dir.Sub("queue.sending")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/proc/self/mem", filepath.Join(dir, "00.jsonl")); err != nil { // unreadable for everybody
		t.Fatal(err)
	}
	s.add(record.KindReport, nil, "A", record.Report{Done: "x"})
	s.pass("sent 1 kept 0 dropped 0 aside 0")
}

// A report of the watcher's that is broken does not hide how it is.
func TestAReportOfBrokenFiles(t *testing.T) {
	dir := newDir(t)
	for _, path := range []string{dir.WatcherStatus(), dir.Counters()} {
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir.Bad(), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := ReadReport(dir)
	if err != nil || len(r.Hints) != 2 || r.Queue.SetAside != 1 {
		t.Errorf("report %+v, %v", r, err)
	}
}

// A watcher whose state directory was replaced ends.
func TestRunEndsWhenItsDirectoryIsReplaced(t *testing.T) {
	s := newStage(t)
	s.w.Timing.Tick, s.w.Timing.Heartbeat = 1, 1e12
	s.w.Owns = func() bool { return false }
	if err := s.w.Run(t.Context()); err != nil {
		t.Error(err)
	}
}
