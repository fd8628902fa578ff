package store

import (
	"testing"
	"time"

	"sessionhub/lib/record"
)

// The queue was held up by a hub that was down: an end is told after a
// heartbeat has seen the session alive long after it.
func TestAnEndThatTheSessionSurvivedIsLate(t *testing.T) {
	for _, c := range []struct {
		name  string
		after time.Duration // from the end to the snapshot that names it
		want  string
	}{
		{"its process took a moment to go", 9 * time.Second, "ended prompt_input_exit"},
		{"it was resumed since", 11 * time.Second, "live working"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBook(t)
			b.beat("tower", "default", "a@p1")
			ended := b.sent()
			b.pass(c.after)
			b.beat("tower", "default", "a@p1:working")
			b.pass(time.Second)
			e := &record.EventPost{ID: "e", At: ended, Kind: record.KindEnded, Body: []byte(`{"reason":"prompt_input_exit"}`)}
			b.must(b.write(func(tx *Tx) error { return Event(tx, "tower", "a", e, b.now) }))
			b.want("a", c.want)
			if ev := b.get("a").Events; len(ev) != 1 || ev[0].Late != (c.want == "live working") {
				t.Errorf("events %+v", ev)
			}
		})
	}
}

func TestAStateTellsThePlaceAndALateOneDoesNot(t *testing.T) {
	b := newBook(t)
	b.upsert("tower", "a", record.UpsertPut{})
	b.must(b.event("tower", "a", record.KindState, record.State{AgentState: record.Idle}, pane("p1")))
	if p := b.get("a").Herdr; p == nil || p.PaneID != "p1" {
		t.Fatalf("place %+v", p)
	}
	before := b.sent()
	b.pass(time.Second)
	b.beat("tower", "default", "a@p2")
	old := &record.EventPost{ID: "old", At: before, Kind: record.KindState, Herdr: pane("p1"), Body: []byte(`{"agent_state":"working"}`)}
	b.must(b.write(func(tx *Tx) error { return Event(tx, "tower", "a", old, b.now) }))
	b.must(b.write(func(tx *Tx) error {
		return Upsert(tx, "tower", "a", record.UpsertPut{At: before, Herdr: pane("p1")}, b.now)
	}))
	if p := b.get("a").Herdr; p.PaneID != "p2" {
		t.Errorf("what was said before the snapshot moved it back to %s", p.PaneID)
	}
	b.want("a", "live working") // states count in the order of arrival
	b.must(b.event("tower", "a", record.KindEnded, record.Ended{Reason: "x"}, nil))
	b.pass(time.Second)
	b.must(b.event("tower", "a", record.KindState, record.State{AgentState: record.Idle}, pane("p3")))
	if s := b.get("a"); s.Status != record.StatusEnded || s.Herdr.PaneID != "p2" {
		t.Errorf("a late state changed it: %+v", s)
	}
}

func TestAnOvertakenSnapshotChangesNothing(t *testing.T) {
	b := newBook(t)
	old := b.snapshot("default", "a@p1:idle", "gone@p3")
	b.pass(time.Hour) // it waited in the queue while the hub was down
	b.beat("tower", "work", "a@p9:working")
	b.beat("tower", "default", "b@p2")
	b.pass(time.Second)
	b.queued("tower", old)
	b.want("a", "live working")
	b.want("b", "live idle")
	if p := b.get("a").Herdr; p.HerdrSession != "work" || p.PaneID != "p9" {
		t.Errorf("place %+v", p)
	}
	b.pass(time.Minute)
	b.beat("tower", "default", "b@p2")
	b.want("a", "live working") // "work" named it last
	b.want("gone", "ended vanished")
	if m, err := b.s.Machines(t.Context(), b.now); err != nil || m[0].SkewMS != 0 {
		t.Errorf("what waited in the queue told a skew: %+v, %v", m, err)
	}
}

// A clock that was set back by hours: the next heartbeat counts at once.
func TestA54AClockSetBackDelaysNoState(t *testing.T) {
	b := newBook(t)
	b.skew = 5 * time.Hour
	b.beat("tower", "default", "a@p1:idle", "b@p2")
	b.pass(time.Second)
	b.must(b.event("tower", "b", record.KindEnded, record.Ended{Reason: "x"}, nil))
	b.skew = 0
	b.pass(time.Minute)
	b.beat("tower", "default", "a@p1:working", "b@p3")
	b.want("a", "live working")
	b.want("b", "live idle")
}

// A record with an absurd time must not make its session immortal.
func TestA54AnAbsurdTimeKeepsNobodyAlive(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1")
	future := record.At(b.now.AddDate(100, 0, 0))
	b.must(b.write(func(tx *Tx) error { return Upsert(tx, "tower", "a", record.UpsertPut{At: future}, b.now) }))
	b.pass(time.Second)
	b.beat("tower", "default")
	b.want("a", "ended vanished")
	b.pass(time.Second)
	b.beat("tower", "default", "a@p1:working")
	b.want("a", "live working")
}

// An upsert without a time was made now: by the machine's clock.
func TestAnUpsertWithoutATimeIsOfNow(t *testing.T) {
	b := newBook(t)
	b.skew = -time.Hour
	b.beat("tower", "default", "a@p1")
	b.pass(time.Second)
	b.must(b.write(func(tx *Tx) error { return Upsert(tx, "tower", "b", record.UpsertPut{Herdr: pane("p2")}, b.now) }))
	b.pass(time.Minute)
	b.beat("tower", "default", "a@p1")
	b.want("b", "ended vanished")
}

func TestAHookOnlySessionGoesStaleWithItsOwnSource(t *testing.T) {
	b := newBook(t)
	b.upsert("tower", "a", record.UpsertPut{})
	b.pass(2 * time.Minute)
	b.beat("tower", "default")
	b.want("a", "live unknown")
	b.pass(2 * time.Minute)
	b.beat("tower", "default") // tells nothing of what runs outside herdr
	b.want("a", "stale unknown")
	b.state("tower", "a", record.Working)
	b.want("a", "live working")
}

func TestARevivedSessionsStateIsNotKnown(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1:done")
	b.pass(time.Second)
	b.must(b.event("tower", "a", record.KindClosed, record.Closed{Cause: record.CausePaneExited}, pane("p1")))
	b.want("a", "ended pane_exited")
	b.pass(time.Second)
	b.upsert("tower", "a", record.UpsertPut{Herdr: pane("p2")})
	b.want("a", "live unknown")
	b.beat("tower", "default", "a@p2:working")
	b.want("a", "live working")
}

func TestAnOlderUpsertRevivesNobody(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1")
	before := b.sent()
	b.pass(time.Second)
	b.must(b.event("tower", "a", record.KindEnded, record.Ended{Reason: "x"}, nil))
	b.must(b.write(func(tx *Tx) error { return Upsert(tx, "tower", "a", record.UpsertPut{At: before}, b.now) }))
	b.want("a", "ended x")
}
