package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"sessionhub/lib/record"
)

// writes are all ways in which a machine writes of a session.
func writes(b *book, machine, id string) map[string]error {
	now := b.now
	return map[string]error{
		"upsert": b.write(func(tx *Tx) error {
			return Upsert(tx, machine, id, record.UpsertPut{At: b.sent(), Upsert: record.Upsert{Cwd: "/forged"}, Herdr: pane("p9")}, now)
		}),
		"event": b.event(machine, id, record.KindState, record.State{AgentState: record.Blocked}, pane("p9")),
		"ended": b.event(machine, id, record.KindEnded, record.Ended{Reason: "forged"}, nil),
		"report": b.write(func(tx *Tx) error {
			return Report(tx, machine, id, record.SavedReport{ID: "r-" + machine, Report: record.Report{WaitingOn: "x"}}, now)
		}),
		"title":  b.write(func(tx *Tx) error { return Title(tx, machine, id, record.Title{Title: "forged"}, now) }),
		"digest": b.write(func(tx *Tx) error { return Digest(tx, machine, id, record.Digest{Title: "forged"}, now) }),
	}
}

func (b *book) wantUntouched(id, machine string) {
	b.t.Helper()
	s := b.get(id)
	if s.Machine != machine || s.Cwd == "/forged" || s.Title == "forged" || s.Digest != nil || s.AgentState == record.Blocked ||
		s.EndedReason == "forged" || s.Herdr != nil && s.Herdr.PaneID == "p9" {
		b.t.Errorf("it was changed: %+v", s)
	}
	if in, err := b.s.Inbox(context.Background(), b.now); err != nil || len(in) != 0 {
		b.t.Errorf("the inbox shows %+v, %v", in, err)
	}
}

func TestAnotherMachinesSessionIsNotYours(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1:working")
	for name, err := range writes(b, "laptop", "a") {
		if !errors.Is(err, ErrNotYours) {
			t.Errorf("%s: %v, want ErrNotYours", name, err)
		}
	}
	b.wantUntouched("a", "tower")
	if s := b.get("a"); len(s.Events)+len(s.Reports) != 0 {
		t.Errorf("something was kept: %+v", s)
	}
}

func TestWhatTheOldMachineStillSendsIsLate(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1:working")
	b.pass(4 * time.Minute)
	b.beat("laptop", "default", "a@p2:working")
	for name, err := range writes(b, "tower", "a") {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.wantUntouched("a", "laptop")
	s := b.get("a")
	if len(s.Events) != 2 || !s.Events[0].Late || !s.Events[1].Late || s.Events[0].Machine != "tower" || len(s.Reports) != 1 {
		t.Errorf("history: %+v %+v", s.Events, s.Reports)
	}
}

// A session that nobody holds waits for the snapshot of the machine that
// resumed it; what that machine's hooks say first must not block its queue.
func TestAnEndedSessionWaitsForASnapshot(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1")
	b.pass(time.Second)
	b.beat("tower", "default")
	b.pass(time.Second)
	for name, err := range writes(b, "laptop", "a") {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.wantUntouched("a", "tower")
	b.want("a", "ended vanished")
	b.beat("laptop", "default", "a@p7:idle")
	b.want("a", "live idle")
	if m := b.get("a").Machine; m != "laptop" {
		t.Errorf("it is on %s", m)
	}
}

func TestAnOldQueuedSnapshotTakesNoSession(t *testing.T) {
	b := newBook(t)
	b.beat("laptop", "default", "a@p1")
	old := b.snapshot("default", "a@p1")
	b.pass(time.Hour)
	b.beat("tower", "default", "a@p2")
	b.pass(time.Second)
	b.beat("tower", "default")
	b.queued("laptop", old)
	if s := b.get("a"); s.Machine != "tower" || s.Status != record.StatusEnded {
		t.Errorf("an hour-old snapshot took it: %+v", s)
	}
}

func TestASessionMayMoveBack(t *testing.T) {
	b := newBook(t)
	for _, machine := range []string{"tower", "laptop", "tower"} {
		b.beat(machine, "default", "a@p1:idle")
		b.want("a", "live idle")
		if m := b.get("a").Machine; m != machine {
			t.Errorf("it is on %s, want %s", m, machine)
		}
		b.state(machine, "a", record.Working)
		b.want("a", "live working")
		b.pass(4 * time.Minute)
	}
}
