package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/queue"
	"sessionhub/lib/record"
)

func TestWatcher(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	well := Known{checkServer: Fine, checkPlugin: Fine, checkAccess: Fine}
	with := func(b Beat) Watching {
		return Watching{Running: true, PID: 7, Version: "1.2.3", Since: now.Add(-time.Hour), Beats: map[string]Beat{"/s": b}}
	}
	blind := with(Beat{LastGood: now})
	blind.NoWatch = "too many open files"
	old := with(Beat{LastGood: now})
	old.Version = "1.2.2"
	late := with(Beat{LastGood: now.Add(-4 * time.Minute), Error: "refused\x1b[1m"})
	late.Hint = "put a token there"
	for name, c := range map[string]struct {
		w     Watching
		known Known
		state State
		why   string
		fix   string
	}{
		"well":                      {with(Beat{LastGood: now.Add(-time.Minute)}), well, Fine, "process 7 of version 1.2.3", ""},
		"none, and herdr runs":      {Watching{}, well, Broken, "no watcher runs", "any event of herdr starts one"},
		"none, and no herdr":        {Watching{}, Known{checkServer: Broken, checkPlugin: Fine}, Untested, "herdr-server is broken", ""},
		"none, and no plugin":       {Watching{}, Known{checkServer: Fine, checkPlugin: NotSetUp}, Untested, "plugin is not set up", ""},
		"A59: an older one":         {old, well, Broken, "is of version 1.2.2, and these tools of 1.2.3", "shinstall plugin"},
		"one without a label":       {Watching{Running: true}, well, Broken, "is of version unknown", "shinstall plugin"},
		"heartbeats have ended":     {late, well, Broken, "is 4m0s old: refused", "put a token there"},
		"and so has all else":       {late, Known{checkServer: Fine, checkPlugin: Fine, checkAccess: Broken}, Fine, "", ""},
		"no heartbeat ever":         {with(Beat{}), well, Broken, "reached the hub yet: it tells no reason", "watcher.log says why"},
		"it knows no such server":   {Watching{Running: true, PID: 7, Version: "1.2.3"}, well, Broken, "does not know herdr's server at /s", "shwatch stop"},
		"no file watch: later only": {blind, well, Fine, "it is told of no changes of files (too many open files), and looks every 2 s", "fs.inotify"},
	} {
		t.Run(name, func(t *testing.T) {
			looks := 0
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			d := &Doctor{Dir: "/state", Socket: "/s", Version: "1.2.3", Now: func() time.Time { return now },
				Watcher: func() (Watching, error) { return c.w, nil },
				Pause: func(context.Context, time.Duration) { // the seconds that a new one gets are over soon
					if looks++; looks > 3 {
						cancel()
					}
				}}
			f := d.watcher(ctx, c.known)
			if f.State != c.state || !strings.Contains(f.Why, c.why) || !strings.Contains(f.Fix, c.fix) {
				t.Errorf("%+v", f)
			}
		})
	}
	d := &Doctor{Watcher: func() (Watching, error) { return Watching{}, errors.New("no rights") }}
	if f := d.watcher(t.Context(), well); f.State != Broken || f.Why != "no rights" {
		t.Errorf("%+v", f)
	}
}

// One that has just started gets a moment for its first heartbeat.
func TestWatcherThatHasJustStarted(t *testing.T) {
	now := time.Now()
	n := 0
	d := &Doctor{Socket: "/s", Version: "1", Now: func() time.Time { return now }, Pause: func(context.Context, time.Duration) {}}
	d.Watcher = func() (Watching, error) {
		w := Watching{Running: true, Version: "1", Beats: map[string]Beat{}}
		if n++; n > 5 {
			w.Beats["/s"] = Beat{LastGood: now}
		}
		return w, nil
	}
	if f := d.watcher(t.Context(), Known{checkServer: Fine, checkPlugin: Fine, checkAccess: Fine}); f.State != Fine || n != 6 {
		t.Errorf("%+v after %d looks", f, n)
	}
}

// still is a queue from which nothing moves as it should.
type still struct {
	Queue
	place     queue.Place
	err       error
	appended  []record.Item
	withdrawn []string
	stat      queue.Stat
}

func (s *still) Append(_ queue.Durability, items ...record.Item) error {
	s.appended = append(s.appended, items...)
	return s.err
}
func (s *still) Where(string) (queue.Place, error) { return s.place, nil }
func (s *still) Withdraw(id string) (bool, error) {
	s.withdrawn = append(s.withdrawn, id)
	return true, nil
}
func (s *still) Stat() (queue.Stat, error)          { return s.stat, s.err }
func (s *still) probe(t *testing.T) (f Finding)     { return s.doctor(t).probe(t.Context(), nil) }
func (s *still) look(t *testing.T, k Known) Finding { return s.doctor(t).queue(t.Context(), k) }

func (s *still) doctor(t *testing.T) *Doctor {
	t.Helper()
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	return &Doctor{Dir: "/state", Queue: s, Now: func() time.Time { return now }, Pause: func(context.Context, time.Duration) {}}
}

// Whatever becomes of the probe, it is one, and it is taken back unless it is gone.
func TestProbe(t *testing.T) {
	for _, c := range []struct {
		place queue.Place
		state State
		why   string
	}{{queue.Gone, Fine, "a record reached the hub"}, {queue.Aside, Broken, "was set aside"}} {
		s := &still{place: c.place}
		f := s.probe(t)
		if f.State != c.state || !strings.Contains(f.Why, c.why) || len(s.withdrawn) != 0 {
			t.Errorf("%+v, %q", f, s.withdrawn)
		}
		if len(s.appended) != 1 || s.appended[0].Kind != record.KindProbe || s.appended[0].Validate() != nil {
			t.Errorf("%+v", s.appended)
		}
	}
	for place, why := range map[queue.Place]string{queue.Waiting: "the watcher did not take it", queue.Taken: "did not reach the hub"} {
		s := &still{place: place}
		ctx, cancel := context.WithCancel(t.Context())
		d := s.doctor(t)
		d.Pause = func(context.Context, time.Duration) { cancel() } // the ten seconds are over
		f := d.probe(ctx, nil)
		if f.State != Broken || !strings.Contains(f.Why, why) || len(s.withdrawn) != 1 || s.withdrawn[0] != s.appended[0].ID {
			t.Errorf("%+v, %q", f, s.withdrawn)
		}
	}
	s := &still{err: errors.New("no space left on device")}
	if f := s.probe(t); f.State != Broken || !strings.Contains(f.Why, "append to the queue: no space left on device") {
		t.Errorf("%+v", f)
	}
}

func TestQueue(t *testing.T) {
	well, cut := Known{checkAccess: Fine, checkWatcher: Fine}, Known{checkAccess: Fine, checkWatcher: Broken}
	at := func(d time.Duration) *record.Time {
		r := record.At(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC).Add(-d))
		return &r
	}
	for name, c := range map[string]struct {
		stat  queue.Stat
		known Known
		state State
		why   string
	}{
		"empty":                 {queue.Stat{}, well, Fine, "0 records wait"},
		"a moment":              {queue.Stat{Queued: 1, Oldest: at(10 * time.Minute)}, well, Fine, "1 record waits"},
		"long":                  {queue.Stat{Sending: 2, Oldest: at(12 * time.Minute)}, well, Broken, "2 records wait for up to 12m0s"},
		"long, and one knows":   {queue.Stat{Spilled: 2, Oldest: at(12 * time.Hour)}, cut, Untested, "as watcher is broken; nothing is lost"},
		"set aside":             {queue.Stat{SetAside: 3}, well, Broken, "3 lines were set aside"},
		"one set aside, and so": {queue.Stat{SetAside: 1, Queued: 5, Oldest: at(time.Hour)}, cut, Broken, "1 line was set aside"},
	} {
		if f := (&still{stat: c.stat}).look(t, c.known); f.State != c.state || !strings.Contains(f.Why, c.why) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if f := (&still{err: errors.New("no rights")}).look(t, well); f.State != Broken || f.Why != "no rights" {
		t.Errorf("%+v", f)
	}
}
