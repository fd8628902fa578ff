package watch

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/record"
)

func (s *stage) beat() {
	s.t.Helper()
	if err := s.w.start(); err != nil {
		s.t.Fatal(err)
	}
	s.w.Beat(s.t.Context())
}

func TestHeartbeatsOfSeveralServers(t *testing.T) {
	s := newStage(t)
	s.w.Sockets = []string{"/a", "/b"}
	s.sees("/a", "A@p1:idle")
	s.sees("/b", "B@p1:working")
	s.beat()
	delete(s.look.looks, "/b") // that server is gone; the other goes on
	s.sees("/a", "A@p1:blocked")
	s.now = s.now.Add(time.Minute)
	s.beat()
	if a, b := s.session("A"), s.session("B"); a.AgentState != record.Blocked || b.Status != record.StatusLive {
		t.Errorf("A %+v\nB %+v", a, b)
	}
	if r := s.w.status.Servers["/a"]; r.LastGood == nil || r.Sessions != 1 || r.HerdrSession != "a" {
		t.Errorf("status %+v", r)
	}
	s.now = s.now.Add(3 * time.Minute)
	s.beat()
	if b := s.session("B"); b.Status != record.StatusEnded {
		t.Errorf("its sessions are over when the server is gone for long: %+v", b)
	}
}

// A server that is gone ends no session whose process lives on: a socket file
// can be deleted under a living server.
func TestAServerThatIsGoneEndsNoLivingProcess(t *testing.T) {
	s := newStage(t)
	s.w.Sockets = []string{"/a"}
	s.sees("/a", "A@p1:idle")
	s.beat()
	delete(s.look.looks, "/a")
	s.look.outside = []record.LiveSession{{Session: "A", Agent: "claude", AgentState: record.Working}}
	for range 4 {
		s.now = s.now.Add(time.Minute)
		s.beat()
	}
	if a := s.session("A"); a.Status != record.StatusLive || a.AgentState != record.Working {
		t.Errorf("A %+v", a)
	}
}

// Field report A16: one inventory without a session is no proof.
func TestA16AVanishedSessionIsLookedForTwice(t *testing.T) {
	s := newStage(t)
	s.w.Sockets = []string{"/a"}
	s.sees("/a", "A@p1:idle")
	s.beat()
	asked := s.look.asked
	s.sees("/a", "@p1:")
	s.now = s.now.Add(time.Minute)
	s.beat()
	if got := s.look.asked - asked; got != 2 {
		t.Errorf("%d inventories, want 2", got)
	}
	if a := s.session("A"); a.Status != record.StatusEnded {
		t.Errorf("A %+v", a)
	}
	s.look.errs["/a"] = errors.New("stalled")
	s.sees("/b")
	s.beat()
	if !strings.Contains(s.log.String(), "stalled") {
		t.Errorf("log: %s", s.log.String())
	}
}

// A herdr that hangs beside a session outside herdr loses none of its own: by
// the time that the hub would take them for gone, their processes speak for
// them.
func TestAHangingHerdrLosesNoSession(t *testing.T) {
	s := newStage(t)
	s.w.Sockets = []string{"/a"}
	s.sees("/a", "A@p1:idle")
	s.look.outside = []record.LiveSession{{Session: "A", Agent: "claude", AgentState: record.Idle}, {Session: "T", Agent: "claude", AgentState: record.Idle}}
	s.beat()
	s.look.errs["/a"] = errors.New("no answer")
	for range 6 {
		s.now = s.now.Add(time.Minute)
		s.beat()
		if a, x := s.session("A"), s.session("T"); a.Status != record.StatusLive || x.Status != record.StatusLive {
			t.Fatalf("A %+v\nT %+v", a, x)
		}
	}
}

func TestAFailedHeartbeatIsLoggedNotQueued(t *testing.T) {
	s := newStage(t)
	s.w.Sockets = []string{"/a"}
	s.sees("/a", "A@p1:idle")
	s.hub.SetFault(hubtest.Unavailable)
	s.beat()
	s.now = s.now.Add(time.Minute)
	s.beat()
	if n := strings.Count(s.log.String(), "heartbeat"); n != 1 {
		t.Errorf("an identical failure was said %d times:\n%s", n, s.log.String())
	}
	if e := s.w.status.LastError; e == nil || e.Hint == "" {
		t.Errorf("status %+v", e)
	}
	if q, err := s.w.Queue.Stat(); err != nil || q.Queued != 0 {
		t.Errorf("queue %+v, %v", q, err)
	}
}

func TestCompareTellsWhatNoRecordTold(t *testing.T) {
	s := newStage(t)
	s.w.Sockets = []string{"/a"}
	s.sees("/a", "A@p1:working")
	s.beat()
	s.sees("/a", "A@p1:idle")
	s.w.Compare(t.Context())
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	s.w.Compare(t.Context())
	s.pass("sent 0 kept 0 dropped 0 aside 0")
	a := s.session("A")
	if a.AgentState != record.Idle || len(a.Events) != 1 || a.Events[0].Source != record.SourceWatch {
		t.Errorf("A %+v", a)
	}
}

func TestOutsideHerdrIsToldAndEnded(t *testing.T) {
	s := newStage(t)
	s.look.outside = []record.LiveSession{{Session: "T", Agent: "claude", AgentState: record.Idle}}
	s.beat()
	if x := s.session("T"); x.Status != record.StatusLive || x.Herdr != nil {
		t.Errorf("T %+v", x)
	}
	s.look.outside = nil
	s.now = s.now.Add(time.Minute)
	s.beat()
	if x := s.session("T"); x.Status != record.StatusEnded {
		t.Errorf("T %+v", x)
	}
}

// After a sleep, or a jump of the clock, one heartbeat follows at once.
func TestAClockJumpBringsOneHeartbeat(t *testing.T) {
	for _, c := range []struct {
		name       string
		mono, wall time.Duration
		now        bool
	}{
		{"time passes", 10 * time.Second, 10 * time.Second, false},
		{"the clock is slewed", 10 * time.Second, 11 * time.Second, false},
		{"a night's sleep", 10 * time.Second, 8 * time.Hour, true},
		{"set back", 10 * time.Second, -time.Hour, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			s.w.plan.beat = s.now.Add(time.Minute)
			s.w.clockMoved(c.mono, c.wall)
			if got := s.w.plan.beat.Equal(s.now); got != c.now {
				t.Errorf("heartbeat now: %v, want %v", got, c.now)
			}
		})
	}
}
