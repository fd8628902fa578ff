package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"sessionhub/lib/record"
)

func TestHeartbeatEndsWhatItLacks(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1:working", "b@p2")
	b.want("a", "live working")
	b.pass(time.Minute)
	b.beat("tower", "default", "b@p2")
	b.want("a", "ended vanished")
	b.want("b", "live idle")
}

func TestHeartbeatEndsWhatOnlyRecordsPlacedThere(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1")
	b.pass(time.Second)
	b.upsert("tower", "b", record.UpsertPut{Herdr: pane("p2")})
	b.state("tower", "b", record.Idle)
	b.pass(time.Second)
	b.beat("tower", "default", "a@p1")
	b.want("b", "ended vanished")
}

func TestHeartbeatEndsOnlyItsOwn(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1")
	b.beat("tower", "work", "b@p1")
	b.beat("laptop", "default", "c@p1")
	b.pass(time.Minute)
	b.beat("tower", "default")
	b.want("a", "ended vanished")
	b.want("b", "live idle")
	b.want("c", "live idle")
}

func TestUnidentifiedPaneKeepsItsSession(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1")
	b.pass(time.Minute)
	b.beat("tower", "default", "?p1")
	b.want("a", "live idle")
	b.pass(time.Minute)
	b.beat("tower", "default")
	b.want("a", "ended vanished")
}

// A pane that waits to be identified is accounted for, however long it takes:
// the snapshot of what runs outside herdr does not end its session either.
func TestAWaitingPaneIsAccountedFor(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1")
	for range 5 {
		b.pass(time.Minute)
		b.beat("tower", "default", "?p1")
		b.beat("tower", "", "x@")
	}
	b.want("a", "live idle")
	b.beat("tower", "work", "?p1") // another server's pane of that name
	b.beat("tower", "default")
	b.want("a", "ended vanished")
}

// Field report A16: a stall of the multiplexer marked live sessions dead. A
// machine that says nothing ends nothing, and nor does one that knows of
// another server only.
func TestA16SilenceEndsNothing(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1:working")
	for range 10 {
		b.pass(time.Hour)
		b.beat("tower", "work", "b@p1")
		b.beat("laptop", "default", "c@p1")
	}
	b.want("a", "stale working")
	b.beat("tower", "default", "a@p1:working")
	b.want("a", "live working")
}

func TestASnapshotEndsNothingThatStartedAfterIt(t *testing.T) {
	b := newBook(t)
	b.skew = -time.Hour // what counts is the machine's own clock
	old := b.snapshot("default")
	b.pass(time.Second)
	b.upsert("tower", "a", record.UpsertPut{Herdr: pane("p1")})
	b.send("tower", old)
	b.want("a", "live unknown")
	b.pass(time.Minute)
	b.beat("tower", "default")
	b.want("a", "ended vanished")
}

// A clock that was set back must not keep a session alive for ever.
func TestAClockSetBackKeepsNobodyAlive(t *testing.T) {
	b := newBook(t)
	b.skew = 5 * time.Hour
	b.beat("tower", "default", "a@p1")
	b.skew = 0
	b.pass(11 * time.Minute)
	b.beat("tower", "default")
	b.want("a", "ended vanished")
}

func TestAnOldSnapshotRevivesNobody(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1")
	old := b.snapshot("default", "a@p1")
	b.pass(time.Second)
	b.must(b.event("tower", "a", record.KindClosed, record.Closed{Cause: record.CausePaneClosed}, pane("p1")))
	b.want("a", "ended pane_closed")
	b.send("tower", old)
	b.want("a", "ended pane_closed")
	b.pass(time.Second)
	b.beat("tower", "default", "a@p1") // resumed
	b.want("a", "live idle")
}

func TestOutsideHerdr(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "", "a@")
	b.beat("tower", "default", "b@p1")
	b.pass(time.Minute)
	b.beat("tower", "")
	b.want("a", "ended vanished")
	b.want("b", "live idle")
	b.upsert("tower", "c", record.UpsertPut{}) // hooks alone know it
	b.pass(119 * time.Second)
	b.beat("tower", "default", "b@p1")
	b.beat("tower", "")
	b.want("c", "live unknown")
	b.pass(2 * time.Second)
	b.beat("tower", "")
	b.want("c", "ended vanished")
	b.want("b", "live idle")
}

func TestTheSnapshotThatNamedItLastOwnsIt(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1")
	b.pass(time.Second)
	b.beat("tower", "work", "a@p9")
	b.pass(time.Second)
	b.beat("tower", "default")
	b.want("a", "live idle")
	if p := b.get("a").Herdr; p == nil || p.HerdrSession != "work" || p.PaneID != "p9" {
		t.Errorf("place %+v", p)
	}
}

func TestOnlySilenceOrAnEndMovesASession(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1")
	b.pass(time.Minute)
	b.beat("laptop", "default", "a@p5:working")
	if s := b.get("a"); s.Machine != "tower" || s.AgentState != record.Idle {
		t.Errorf("a live session moved: %+v", s)
	}
	b.pass(4 * time.Minute) // tower is silent
	b.beat("laptop", "default", "a@p5:working")
	if s := b.get("a"); s.Machine != "laptop" || s.AgentState != record.Working {
		t.Errorf("it did not move from a silent machine: %+v", s)
	}
	b.state("tower", "a", record.Blocked)
	b.want("a", "live working")
	events := b.get("a").Events
	if len(events) != 1 || !events[0].Late {
		t.Errorf("the old machine's event: %+v", events)
	}
}

func TestLateEventsAreKeptAndChangeNothing(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1")
	b.pass(time.Second)
	b.must(b.event("tower", "a", record.KindEnded, record.Ended{Reason: "prompt_input_exit"}, nil))
	b.pass(time.Second)
	b.state("tower", "a", record.Working)
	b.must(b.event("tower", "a", record.KindClosed, record.Closed{Cause: record.CausePaneExited}, pane("p1")))
	b.want("a", "ended prompt_input_exit")
	if e := b.get("a").Events; len(e) != 3 || e[0].Late || !e[1].Late || !e[2].Late {
		t.Errorf("events %+v", e)
	}
}

func TestAPaneThatTheSessionLeftEndsNothing(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p2")
	b.must(b.event("tower", "a", record.KindClosed, record.Closed{Cause: record.CausePaneClosed}, pane("p1")))
	b.want("a", "live idle")
	if e := b.get("a").Events; len(e) != 1 || !e[0].Late {
		t.Errorf("events %+v", e)
	}
}

// Field report A14: a terminal was killed and its session stayed online.
// Field report A54: a machine's clock is wrong, and it was shown stale although
// it reported. What counts is the hub's own clock.
func TestA14A54StaleByTheHubsClock(t *testing.T) {
	b := newBook(t)
	b.skew = -48 * time.Hour
	b.beat("tower", "default", "a@p1")
	b.pass(2 * time.Minute)
	b.want("a", "live idle")
	b.pass(61 * time.Second)
	b.want("a", "stale idle")
	b.beat("tower", "work") // another source of the machine is no sign of life
	b.want("a", "stale idle")
	b.beat("tower", "default", "a@p1")
	b.want("a", "live idle")
	m, err := b.s.Machines(context.Background(), b.now)
	if err != nil || len(m) != 1 || m[0].SkewMS != -48*time.Hour.Milliseconds() || m[0].Stale {
		t.Errorf("machines %+v, %v", m, err)
	}
	b.must(b.write(func(tx *Tx) error { return Retire(tx, "a", true) })) // works without the process
	if list, _ := b.s.Sessions(context.Background(), Filter{}, b.now); len(list) != 0 {
		t.Errorf("an archived session is listed: %+v", list)
	}
}

// Field report A15: a heartbeat brought an archived session back.
func TestA15HeartbeatsDoNotUnretire(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1")
	b.must(b.write(func(tx *Tx) error { return Retire(tx, "a", true) }))
	b.pass(time.Minute)
	b.beat("tower", "default", "a@p1:working")
	b.state("tower", "a", record.Blocked)
	if s := b.get("a"); !s.Retired || s.Status != record.StatusLive || s.AgentState != record.Blocked {
		t.Errorf("%+v", s)
	}
	if in, _ := b.s.Inbox(context.Background(), b.now); len(in) != 0 {
		t.Errorf("the inbox shows it: %+v", in)
	}
}

func TestFirstPromptIsRecordedOnce(t *testing.T) {
	b := newBook(t)
	b.upsert("tower", "a", record.UpsertPut{Upsert: record.Upsert{FirstPrompt: "one\x1b[31m", TitleHint: "x"}})
	b.upsert("tower", "a", record.UpsertPut{Upsert: record.Upsert{FirstPrompt: "two", Cwd: "/src"}})
	if s := b.get("a"); s.FirstPrompt != "one" || s.Cwd != "/src" || s.Title != "x" {
		t.Errorf("%+v", s)
	}
}

func TestSinceIsWhenTheStateBegan(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1:working")
	began := b.now
	b.pass(time.Minute)
	b.beat("tower", "default", "a@p1:working")
	b.state("tower", "a", record.Working)
	if s := b.get("a"); !s.Since.Equal(began) {
		t.Errorf("since %s, want %s", s.Since, began)
	}
	b.pass(time.Second)
	b.state("tower", "a", record.Done)
	if s := b.get("a"); !s.Since.Equal(b.now) {
		t.Errorf("since %s, want %s", s.Since, b.now)
	}
}

func TestUnknownSession(t *testing.T) {
	b := newBook(t)
	for name, err := range map[string]error{
		"event":  b.event("tower", "x", record.KindState, record.State{AgentState: record.Idle}, nil),
		"report": b.write(func(tx *Tx) error { return Report(tx, "tower", "x", record.SavedReport{ID: "r"}, b.now) }),
		"title":  b.write(func(tx *Tx) error { return Title(tx, "tower", "x", record.Title{Title: "t"}, b.now) }),
		"retire": b.write(func(tx *Tx) error { return Retire(tx, "x", true) }),
	} {
		if !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v, want ErrUnknown", name, err)
		}
	}
}
