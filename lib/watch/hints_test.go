package watch

import (
	"testing"
	"time"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
)

// hook queues what a hook of Claude Code says.
func (s *stage) hook(kind record.Kind, session string, body any) {
	s.t.Helper()
	s.now = s.now.Add(time.Millisecond)
	stamp := queue.NewStamp(s.now)
	it, err := record.NewItem(stamp.ID, stamp.At, record.SourceHook, kind, body)
	if err != nil {
		s.t.Fatal(err)
	}
	it.Session = session
	if err := s.w.Queue.Append(queue.Fast, it); err != nil {
		s.t.Fatal(err)
	}
}

// A hook says why a session waits; the inventories that follow say the same
// state, and don't take the reason away. It ends with the state.
func TestANoteLivesAsLongAsItsState(t *testing.T) {
	s := newStage(t)
	s.w.Sockets = []string{"/a"}
	s.sees("/a", "A@p1:blocked")
	s.beat()
	s.hook(record.KindState, "A", record.State{AgentState: record.Blocked, Note: "may it?"})
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	s.now = s.now.Add(time.Minute)
	s.beat()
	s.w.Compare(t.Context())
	if a := s.session("A"); a.Note != "may it?" || a.AgentState != record.Blocked {
		t.Errorf("after heartbeats: %+v", a)
	}
	s.sees("/a", "A@p1:working")
	s.w.Compare(t.Context())
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	s.sees("/a", "A@p1:blocked")
	s.w.Compare(t.Context())
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	if a := s.session("A"); a.Note != "" || a.AgentState != record.Blocked {
		t.Errorf("the next prompt has another reason: %+v", a)
	}
}

// A failed turn ends idle; that herdr says done a moment later keeps why.
func TestTheNoteOfAFailedTurnOutlivesDone(t *testing.T) {
	s := newStage(t)
	s.w.Sockets = []string{"/a"}
	s.sees("/a", "A@p1:working")
	s.beat()
	s.hook(record.KindState, "A", record.State{AgentState: record.Idle, Note: "rate_limit"})
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	s.sees("/a", "A@p1:done")
	s.w.Compare(t.Context())
	s.now = s.now.Add(time.Second)
	s.w.Compare(t.Context())
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	if a := s.session("A"); a.AgentState != record.Done || a.Note != "rate_limit" {
		t.Errorf("%+v", a)
	}
}

// A hook can't tell idle from done in a pane: what the inventory said stands.
func TestAHookDoesNotUndoDone(t *testing.T) {
	s := newStage(t)
	s.w.Sockets = []string{"/a"}
	s.sees("/a", "A@p1:done")
	s.beat()
	s.hook(record.KindState, "A", record.State{AgentState: record.Idle})
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	if a := s.session("A"); a.AgentState != record.Done {
		t.Errorf("%+v", a)
	}
}

// Outside herdr nothing shows whether somebody looked: done, which Claude Code
// says after a minute without a person, stands until the next turn.
func TestDoneOutsideHerdr(t *testing.T) {
	s := newStage(t)
	s.look.outside = []record.LiveSession{{Session: "A", Agent: "claude", AgentState: record.Idle}}
	s.beat()
	s.hook(record.KindState, "A", record.State{AgentState: record.Done})
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	s.w.Compare(t.Context())
	s.now = s.now.Add(time.Minute)
	s.beat()
	s.pass("sent 0 kept 0 dropped 0 aside 0")
	if a := s.session("A"); a.AgentState != record.Done {
		t.Errorf("%+v", a)
	}
	s.look.outside[0].AgentState = record.Working
	s.w.Compare(t.Context())
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	s.look.outside[0].AgentState = record.Idle
	s.w.Compare(t.Context())
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	if a := s.session("A"); a.AgentState != record.Idle {
		t.Errorf("after the next turn: %+v", a)
	}
}

// Field report A53: one idle child gave 47 identical notices. However often a
// hook says the same, it is one entry of the inbox, and once read it is read.
func TestA53TheSameNoticeIsOneEntry(t *testing.T) {
	s := newStage(t)
	s.look.outside = []record.LiveSession{{Session: "A", Agent: "claude", AgentState: record.Idle}}
	s.beat()
	const notices = 47
	for range notices {
		s.hook(record.KindState, "A", record.State{AgentState: record.Done})
		s.now = s.now.Add(time.Second)
		s.pass("sent 1 kept 0 dropped 0 aside 0")
	}
	list, err := s.hub.Store().Inbox(t.Context(), s.now)
	if err != nil || len(list) != 1 {
		t.Fatalf("inbox %+v, %v", list, err)
	}
	if err := s.hub.Store().Write(t.Context(), func(tx *store.Tx) error { return store.MarkRead(tx, list[0].ID, s.now) }); err != nil {
		t.Fatal(err)
	}
	s.hook(record.KindState, "A", record.State{AgentState: record.Done})
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	if list, err = s.hub.Store().Inbox(t.Context(), s.now); err != nil || len(list) != 0 {
		t.Errorf("after it was read: %+v, %v", list, err)
	}
}

// Claude Code says that it ends before its process is gone. A heartbeat in
// between does not bring the session back.
func TestASessionThatEndsIsNotNamedAgain(t *testing.T) {
	s := newStage(t)
	s.w.Sockets = []string{"/a"}
	s.sees("/a", "A@p1:idle#7")
	s.beat()
	s.hook(record.KindEnded, "A", record.Ended{Reason: "prompt_input_exit"})
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	s.now = s.now.Add(300 * time.Millisecond)
	s.beat() // its process is still there
	s.sees("/a", "@p1:")
	s.now = s.now.Add(time.Second)
	s.beat()
	if a := s.session("A"); a.Status != record.StatusEnded || a.EndedReason != "prompt_input_exit" {
		t.Errorf("%+v", a)
	}
}

// A session's word that it ends is a hint: one that stays is named again.
func TestASessionThatOnlySaysThatItEnds(t *testing.T) {
	s := newStage(t)
	s.w.Sockets = []string{"/a"}
	s.sees("/a", "A@p1:idle#7")
	s.beat()
	s.hook(record.KindEnded, "A", record.Ended{Reason: "other"})
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	if due := s.w.plan.compare; due.Sub(s.now) > 15*time.Second || due.Before(s.now) {
		t.Errorf("it is not looked for again soon: %s", due.Sub(s.now))
	}
	s.now = s.now.Add(leaveTime + time.Second)
	s.w.Compare(t.Context())
	if s.w.plan.beat.After(s.now) || s.w.plan.beat.IsZero() {
		t.Error("no heartbeat is planned")
	}
	s.beat()
	if a := s.session("A"); a.Status != record.StatusLive {
		t.Errorf("%+v", a)
	}
}

// A session that was ended and resumed at once is named at once.
func TestASessionThatIsResumedAtOnce(t *testing.T) {
	s := newStage(t)
	s.w.Sockets = []string{"/a"}
	s.sees("/a", "A@p1:idle#7")
	s.beat()
	s.hook(record.KindEnded, "A", record.Ended{Reason: "other"})
	s.now = s.now.Add(time.Second)
	s.hook(record.KindUpsert, "A", record.Upsert{StartSource: "resume"})
	s.pass("sent 2 kept 0 dropped 0 aside 0")
	s.now = s.now.Add(time.Second)
	s.beat()
	if a := s.session("A"); a.Status != record.StatusLive || a.Herdr == nil || a.Herdr.PaneID != "p1" {
		t.Errorf("%+v", a)
	}
}

// Without hooks nobody tells of a resume: another process that runs the session
// is named at once, and its coming is noticed.
func TestAResumeThatNoHookTells(t *testing.T) {
	s := newStage(t)
	s.w.Sockets = []string{"/a"}
	s.sees("/a", "A@p1:idle#7")
	s.beat()
	s.hook(record.KindEnded, "A", record.Ended{Reason: "other"})
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	s.now = s.now.Add(time.Second)
	s.sees("/a", "A@p2:idle#8")
	s.w.Compare(t.Context())
	if s.w.plan.beat.IsZero() || s.w.plan.beat.After(s.now) {
		t.Error("no heartbeat is planned")
	}
	s.beat()
	if a := s.session("A"); a.Status != record.StatusLive || a.Herdr == nil || a.Herdr.PaneID != "p2" {
		t.Errorf("%+v", a)
	}
}

// Field report A17: herdr kept the first id of a pane after /clear. The hooks
// of both ids, the registry and herdr are heard together.
func TestA17ClearIsFollowed(t *testing.T) {
	s := newStage(t)
	s.w.Sockets = []string{"/a"}
	s.sees("/a", "OLD@p1:idle")
	s.beat()
	s.hook(record.KindEnded, "OLD", record.Ended{Reason: "clear"})
	s.hook(record.KindUpsert, "NEW", record.Upsert{Agent: "claude", StartSource: "clear", TitleHint: "the title is carried"})
	s.pass("sent 2 kept 0 dropped 0 aside 0")
	s.sees("/a", "NEW@p1:idle")
	s.now = s.now.Add(time.Second)
	s.beat()
	s.pass("sent 1 kept 0 dropped 0 aside 0") // replaced
	old, now := s.session("OLD"), s.session("NEW")
	if old.Status != record.StatusEnded || old.EndedReason != "clear" || now.Status != record.StatusLive || now.Title != "the title is carried" || now.Herdr.PaneID != "p1" {
		t.Errorf("old %+v\nnew %+v", old, now)
	}
}
