package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/record"
)

// book is a store with a clock that the test owns. The machine's clock is the
// hub's unless skewed.
type book struct {
	t    *testing.T
	s    *Store
	now  time.Time
	skew time.Duration
	n    int
}

func newBook(t *testing.T) *book {
	t.Helper()
	s, err := Open(context.Background(), filepath.Join(t.TempDir(), "hub.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &book{t: t, s: s, now: time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)}
}

func (b *book) pass(d time.Duration) { b.now = b.now.Add(d) }

func (b *book) sent() record.Time { return record.At(b.now.Add(b.skew)) }

func (b *book) write(f func(tx *Tx) error) error { return b.s.Write(context.Background(), f) }

func (b *book) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// live parses "session@pane:state"; "?pane" is an unidentified one.
func (b *book) snapshot(herdr string, specs ...string) *record.Snapshot {
	s := &record.Snapshot{V: 1, At: b.sent(), HerdrSession: herdr}
	for _, spec := range specs {
		if pane, ok := strings.CutPrefix(spec, "?"); ok {
			s.UnidentifiedPanes = append(s.UnidentifiedPanes, record.UnidentifiedPane{PaneID: pane, AgentState: record.Idle})
			continue
		}
		id, rest, _ := strings.Cut(spec, "@")
		pane, state, _ := strings.Cut(rest, ":")
		if state == "" {
			state = "idle"
		}
		s.Sessions = append(s.Sessions, record.LiveSession{Session: id, Agent: "claude", PaneID: pane, AgentState: record.AgentState(state)})
	}
	return s
}

func (b *book) beat(machine, herdr string, specs ...string) {
	b.t.Helper()
	b.send(machine, b.snapshot(herdr, specs...))
}

func (b *book) send(machine string, s *record.Snapshot) {
	b.t.Helper()
	b.must(b.write(func(tx *Tx) error { return Heartbeat(tx, machine, s, b.now) }))
}

func (b *book) upsert(machine, id string, u record.UpsertPut) {
	b.t.Helper()
	u.At = b.sent()
	b.must(b.write(func(tx *Tx) error { return Upsert(tx, machine, id, u, b.now) }))
}

func (b *book) event(machine, id string, kind record.Kind, body any, place *record.Place) error {
	b.t.Helper()
	raw, err := json.Marshal(body)
	b.must(err)
	b.n++
	e := &record.EventPost{ID: fmt.Sprintf("e%d", b.n), At: b.sent(), Source: record.SourcePlugin, Kind: kind, Herdr: place, Body: raw}
	return b.write(func(tx *Tx) error { return Event(tx, machine, id, e, b.now) })
}

func (b *book) state(machine, id string, st record.AgentState) {
	b.t.Helper()
	b.must(b.event(machine, id, record.KindState, record.State{AgentState: st}, nil))
}

func (b *book) get(id string) record.Session {
	b.t.Helper()
	s, err := b.s.Session(context.Background(), id, b.now)
	b.must(err)
	return s
}

// want checks "status state", or "ended reason".
func (b *book) want(id, want string) {
	b.t.Helper()
	s := b.get(id)
	got := s.Status + " " + string(s.AgentState)
	if s.Status == record.StatusEnded {
		got = s.Status + " " + s.EndedReason
	}
	if got != want {
		b.t.Errorf("%s is %q, want %q", id, got, want)
	}
}

func pane(id string) *record.Place { return &record.Place{HerdrSession: "default", PaneID: id} }

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
		"report": b.write(func(tx *Tx) error { return Report(tx, "x", record.SavedReport{ID: "r"}, b.now) }),
		"title":  b.write(func(tx *Tx) error { return Title(tx, "x", record.Title{Title: "t"}) }),
		"retire": b.write(func(tx *Tx) error { return Retire(tx, "x", true) }),
	} {
		if !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v, want ErrUnknown", name, err)
		}
	}
}

func TestInboxFollowsItsCauses(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1:blocked", "b@p2:done", "c@p3")
	b.must(b.write(func(tx *Tx) error {
		return Report(tx, "c", record.SavedReport{ID: "r1", Report: record.Report{WaitingOn: "review"}}, b.now)
	}))
	kinds := func() string {
		list, err := b.s.Inbox(context.Background(), b.now)
		b.must(err)
		var k []string
		for _, e := range list {
			k = append(k, e.Kind+":"+e.Session)
		}
		return strings.Join(k, " ")
	}
	if got := kinds(); got != "blocked:a done:b waiting:c" {
		t.Errorf("inbox %q", got)
	}
	list, _ := b.s.Inbox(context.Background(), b.now)
	b.must(b.write(func(tx *Tx) error { return MarkRead(tx, list[1].ID, b.now) }))
	b.pass(time.Second)
	b.state("tower", "a", record.Working)
	b.must(b.write(func(tx *Tx) error {
		return Report(tx, "c", record.SavedReport{ID: "r2", Report: record.Report{Done: "all"}}, b.now)
	}))
	if got := kinds(); got != "" {
		t.Errorf("inbox %q, want nothing", got)
	}
	b.pass(time.Second)
	b.state("tower", "b", record.Working)
	b.pass(time.Second)
	b.state("tower", "b", record.Done)
	if got := kinds(); got != "done:b" {
		t.Errorf("a new cause: inbox %q", got)
	}
}

func TestPruneKeepsTheIDs(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1", "b@p2")
	e := &record.EventPost{ID: "old", At: b.sent(), Kind: record.KindEnded, Body: json.RawMessage(`{"reason":"x"}`)}
	b.must(b.write(func(tx *Tx) error { return Event(tx, "tower", "a", e, b.now) }))
	b.pass(100 * 24 * time.Hour)
	n, err := b.s.Prune(context.Background(), b.now.Add(-90*24*time.Hour), b.now)
	if err != nil || n != 1 {
		t.Fatalf("pruned %d, %v", n, err)
	}
	if _, err := b.s.Session(context.Background(), "a", b.now); !errors.Is(err, ErrUnknown) {
		t.Errorf("a is still there: %v", err)
	}
	b.get("b")
	b.must(b.write(func(tx *Tx) error { return Event(tx, "tower", "b", e, b.now) }))
	if s := b.get("b"); len(s.Events) != 0 || s.Status == record.StatusEnded {
		t.Errorf("a pruned id was recorded again: %+v", s)
	}
}
