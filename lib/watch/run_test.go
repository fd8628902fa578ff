package watch

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/runlog"
	"sessionhub/lib/state"
)

// running starts a watcher and returns how to end it: end waits and reports how
// long that took.
func running(t *testing.T, hub *hubtest.Hub, dir state.Dir, set func(*Watcher)) (end func() time.Duration) {
	t.Helper()
	w := testWatcher(dir, hub.URL, hub.MachineToken)
	w.Log = &runlog.Log{W: t.Output()}
	if set != nil {
		set(w)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	ended := false
	end = func() time.Duration {
		if ended {
			return 0
		}
		ended = true
		began := time.Now()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		return time.Since(began)
	}
	t.Cleanup(func() { end() })
	return end
}

func newDir(t *testing.T) state.Dir {
	t.Helper()
	dir := state.Dir(filepath.Join(t.TempDir(), "state"))
	if err := dir.Ensure(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func appendReport(t *testing.T, dir state.Dir) string {
	t.Helper()
	it := reportItem("A", "x")
	if err := (&queue.Queue{Dir: dir}).Append(queue.Fast, it); err != nil {
		t.Fatal(err)
	}
	return it.ID
}

func untilRecorded(t *testing.T, hub *hubtest.Hub, id string) {
	t.Helper()
	waitFor(t, 20*time.Second, id+" is recorded", func() bool {
		for _, r := range hub.Books().Reports {
			if r == id {
				return true
			}
		}
		return false
	})
}

func TestRunWakesOnAnAppend(t *testing.T) {
	hub, dir := hubtest.Start(t), newDir(t)
	// Without the file watch nothing would happen within the test.
	running(t, hub, dir, func(w *Watcher) { w.Timing.Tick, w.Timing.Heartbeat = time.Hour, time.Hour })
	for range 3 {
		untilRecorded(t, hub, appendReport(t, dir))
	}
	spill(&queue.Queue{Dir: dir}, func() {}) // and a spilled record wakes, too
	q := &queue.Queue{Dir: dir}
	it := reportItem("A", "spilled")
	spill(q, func() {
		if err := q.Append(queue.Fast, it); err != nil {
			t.Error(err)
		}
	})
	untilRecorded(t, hub, it.ID)
}

// SIGTERM ends a watcher within 5 s, also while its hub hangs, and nothing is
// lost.
func TestRunEndsSoonWhileTheHubHangs(t *testing.T) {
	hub, dir := hubtest.Start(t), newDir(t)
	end := running(t, hub, dir, nil)
	untilRecorded(t, hub, appendReport(t, dir))
	hub.SetFault(hubtest.Hang)
	id := appendReport(t, dir)
	q := &queue.Queue{Dir: dir}
	waitFor(t, 20*time.Second, "the record is being sent", func() bool {
		s, err := q.Stat()
		return err == nil && s.Sending == 1
	})
	if took := end(); took > 5*time.Second {
		t.Errorf("it took %s to end", took)
	}
	hub.SetFault(hubtest.None)
	running(t, hub, dir, nil)
	untilRecorded(t, hub, id)
}

func TestRunGoesOnWhenTheHubIsBack(t *testing.T) {
	hub, dir := hubtest.Start(t), newDir(t)
	running(t, hub, dir, func(w *Watcher) { w.Timing.RetryMin, w.Timing.RetryMax = 10*time.Millisecond, 50*time.Millisecond })
	hub.Down()
	id := appendReport(t, dir)
	hub.Up()
	untilRecorded(t, hub, id)
}

// A watcher that never had a server runs on; one that lost its last ends when
// nothing is left to do.
func TestRunEndsWhenItIsAlone(t *testing.T) {
	hub, dir := hubtest.Start(t), newDir(t)
	look := &scripted{looks: map[string]Look{"/a": {HerdrSession: "default", Version: "0.8.2", Panes: map[string]bool{}}}}
	w := testWatcher(dir, hub.URL, hub.MachineToken)
	w.Looker, w.Sockets = look, []string{"/a"}
	w.Log = &runlog.Log{W: t.Output()}
	w.Timing.Alone, w.Timing.Tick, w.Timing.Heartbeat = 50*time.Millisecond, 20*time.Millisecond, 20*time.Millisecond
	if err := w.start(); err != nil {
		t.Fatal(err)
	}
	if w.idle() {
		t.Error("it ends before it began")
	}
	w.Beat(t.Context())
	delete(look.looks, "/a")
	done := make(chan error, 1)
	go func() { done <- w.Run(t.Context()) }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it does not end")
	}
}

// Appending waits for nobody: neither the hub nor the drain holds the lock.
func TestAppendsDoNotWaitForAHungHub(t *testing.T) {
	hub, dir := hubtest.Start(t), newDir(t)
	running(t, hub, dir, nil)
	untilRecorded(t, hub, appendReport(t, dir))
	q := &queue.Queue{Dir: dir, LockWait: time.Nanosecond} // a held lock would spill
	waitFor(t, 20*time.Second, "the pass is over", func() bool {
		s, err := q.Stat()
		return err == nil && s.Queued+s.Sending == 0
	})
	hub.SetFault(hubtest.Hang)
	for range 200 {
		if err := q.Append(queue.Fast, reportItem("A", "x")); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := q.Stat(); err != nil || s.Queued+s.Sending+s.Spilled != 200 {
		t.Errorf("stat %+v, %v", s, err)
	}
}

func TestLabelAndReport(t *testing.T) {
	dir := newDir(t)
	r, err := ReadReport(dir)
	if err != nil || r.Running || r.PID != 0 {
		t.Errorf("nothing runs: %+v, %v", r, err)
	}
	if got := Label(7, time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC), "0.1.0"); got != "7\n2026-11-30T20:00:00.000Z\n0.1.0\n" {
		t.Errorf("label %q", got)
	}
	for content, want := range map[string]int{"12\nx\ny\n": 12, "0\n": 0, "-1\n": 0, "": 0, "x": 0} {
		if err := os.WriteFile(dir.WatcherLock(), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if pid, _ := label(dir); pid != want {
			t.Errorf("%q names %d, want %d", content, pid, want)
		}
	}
}

func TestHints(t *testing.T) {
	s := newStage(t)
	s.hub.SetFault(hubtest.Unauthorized)
	s.add(record.KindReport, nil, "A", record.Report{Done: "x"})
	s.pass("sent 0 kept 1 dropped 0 aside 0")
	if e := s.w.status.LastError; e == nil || e.Hint == "" || e.Text == "" {
		t.Errorf("last error %+v", e)
	}
}
