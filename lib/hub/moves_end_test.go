package hub_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/record"
)

// Each step has ten minutes. A source that has begun learns that it came to
// nothing; one that has not is left alone.
func TestStepsTimeOut(t *testing.T) {
	for _, c := range []struct {
		state  record.MoveState
		begun  bool
		detail string
	}{
		{record.MoveRequested, false, "timed out while requested"},
		{record.MoveChecking, false, "timed out while checking"},
		{record.MovePacking, true, "timed out while packing"},
		{record.MoveUploaded, true, "timed out while uploaded"},
		{record.MoveUnpacking, true, "timed out while unpacking"},
	} {
		t.Run(string(c.state), func(t *testing.T) {
			d := newMovers(t)
			id := d.upTo(c.state)
			d.clock.turn(10*time.Minute - time.Second)
			d.is(id, c.state, "")
			d.clock.turn(time.Second)
			d.is(id, record.MoveFailed, c.detail)
			d.nothing(d.laptop)
			if !c.begun {
				d.nothing(d.tower)
			} else {
				d.take(d.tower, record.ActionMoveFinish, record.MoveFailed)
			}
			list, err := d.owner.Inbox(t.Context())
			d.must(err)
			if len(list) != 1 || list[0].Kind != record.InboxFailed || list[0].Session != "A" || list[0].Text != c.detail {
				t.Fatalf("inbox %+v", list)
			}
			d.must(d.owner.Read(t.Context(), list[0].ID))
			if list, err := d.owner.Inbox(t.Context()); err != nil || len(list) != 0 {
				t.Errorf("inbox after it was read: %+v, %v", list, err)
			}
			if s, err := d.owner.Session(t.Context(), "A"); err != nil || s.Machine != "tower" {
				t.Errorf("session %+v, %v", s, err)
			}
		})
	}
}

// A packing source that never took its step is not asked to finish.
func TestASourceThatHasNotBegunHasNothingToFinish(t *testing.T) {
	for name, end := range map[string]func(d *movers, id string) record.MoveState{
		"timed out": func(d *movers, _ string) record.MoveState { d.clock.turn(10 * time.Minute); return record.MoveFailed },
		"cancelled": func(d *movers, id string) record.MoveState {
			d.must(second(d.owner.CancelMove(d.t.Context(), id)))
			return record.MoveCancelled
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newMovers(t)
			id := d.move("A").ID
			d.finish(d.laptop, d.take(d.laptop, record.ActionMoveCheck, record.MoveChecking).ID, record.RequestDone, "")
			d.is(id, record.MovePacking, "")
			d.is(id, end(d, id), "")
			d.nothing(d.tower)
		})
	}
}

// From starting on only the target ends a move, however long it takes, and
// whatever the source or a person says.
func TestStartingHasNoDeadline(t *testing.T) {
	d := newMovers(t)
	id := d.upTo(record.MoveStarting)
	d.clock.turn(100 * 24 * time.Hour)
	d.hub.Restart()
	d.is(id, record.MoveStarting, "on laptop since")
	d.conflict(d.says(d.tower, id, record.MoveFailed, "mine"), record.MoveStarting)
	d.conflict(second(d.owner.CancelMove(t.Context(), id)), record.MoveStarting)
	d.nothing(d.tower)
	in := d.take(d.laptop, record.ActionMoveIn, record.MoveStarting) // its lease has lapsed
	if in.Attempt != 2 {
		t.Errorf("claim %+v", in)
	}
	d.must(d.says(d.laptop, id, record.MoveDone, ""))
	d.is(id, record.MoveDone, "")
}

// Two processes of the target race: the hub lets the move start once, and a
// late one learns how it stands.
func TestStartingIsACompareAndSwap(t *testing.T) {
	d := newMovers(t)
	id := d.upTo(record.MoveUploaded)
	d.conflict(d.says(d.laptop, id, record.MoveStarting, ""), record.MoveUploaded)
	d.take(d.laptop, record.ActionMoveIn, record.MoveUnpacking)
	d.conflict(d.says(d.laptop, id, record.MoveDone, "without having asked"), record.MoveUnpacking)
	d.clock.turn(10 * time.Minute)
	d.conflict(d.says(d.laptop, id, record.MoveStarting, ""), record.MoveFailed)
	d.is(id, record.MoveFailed, "timed out while unpacking")

	again := newMovers(t)
	id = again.upTo(record.MoveUnpacking)
	r := record.MoveResult{V: 1, ID: id, State: record.MoveStarting, Expect: record.MoveUnpacking}
	for range 2 { // the answer to the first was lost
		m, err := again.laptop.PostMoveResult(t.Context(), r)
		if err != nil || m.State != record.MoveStarting {
			t.Errorf("%+v, %v", m, err)
		}
	}
	r.State = record.MoveFailed // it takes it to be unpacking still
	again.conflict(second(again.laptop.PostMoveResult(t.Context(), r)), record.MoveStarting)
}

func TestResultsAfterTheEnd(t *testing.T) {
	d := newMovers(t)
	id := d.upTo(record.MoveStarting)
	for range 2 {
		d.must(d.says(d.laptop, id, record.MoveDone, "in w3", "not carried: .env"))
	}
	d.conflict(d.says(d.laptop, id, record.MoveFailed, "after all"), record.MoveDone)
	d.conflict(d.says(d.laptop, id, record.MoveStarting, ""), record.MoveDone)
	d.conflict(d.says(d.tower, id, record.MoveFailed, ""), record.MoveDone)
	for range 2 { // notes of both sides; one that was said is not said again
		d.must(d.says(d.tower, id, "", "", "archive failed: \x1b[31mdisk full"))
		d.must(d.says(d.laptop, id, "", "", "the old branch is kept"))
	}
	m := d.is(id, record.MoveDone, "in w3")
	if got := strings.Join(m.Notes, "|"); got != "not carried: .env|archive failed: disk full|the old branch is kept" {
		t.Errorf("notes %q", got)
	}
	if fin := d.claims(d.tower); len(fin) != 1 {
		t.Errorf("finishes %+v", fin)
	}
}

// What fails on one side ends the move with that reason, and the source
// restarts the session if it had begun.
func TestEitherEndFailsIt(t *testing.T) {
	for name, c := range map[string]struct {
		at     record.MoveState
		begun  bool
		detail string
		fail   func(d *movers, id string)
	}{
		"the check": {record.MoveChecking, false, "no clone here", func(d *movers, id string) {
			d.finish(d.laptop, d.open(id)[0].ID, record.RequestFailed, "no clone here")
		}},
		"the source": {record.MovePacking, true, "push: refused", func(d *movers, id string) {
			d.must(d.says(d.tower, id, record.MoveFailed, "push: refused"))
		}},
		"the source's step": {record.MovePacking, true, "can't move sessions", func(d *movers, id string) {
			d.finish(d.tower, d.open(id)[0].ID, record.RequestFailed, "this machine's tools can't move sessions")
		}},
		"a source without a bundle": {record.MovePacking, true, "sent no bundle", func(d *movers, id string) {
			d.finish(d.tower, d.open(id)[0].ID, record.RequestDone, "")
		}},
		"the target": {record.MoveUnpacking, true, "apply: conflict", func(d *movers, id string) {
			d.must(d.says(d.laptop, id, record.MoveFailed, "apply: conflict"))
		}},
		"the target's step": {record.MoveUnpacking, true, "apply: conflict", func(d *movers, id string) {
			d.finish(d.laptop, d.open(id)[0].ID, record.RequestFailed, "apply: conflict")
		}},
		"the start": {record.MoveStarting, true, "start: no pane", func(d *movers, id string) {
			d.must(d.says(d.laptop, id, record.MoveFailed, "start: no pane"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newMovers(t)
			id := d.upTo(c.at)
			c.fail(d, id)
			d.is(id, record.MoveFailed, c.detail)
			d.nothing(d.laptop)
			if !c.begun {
				d.nothing(d.tower)
				return
			}
			d.finish(d.tower, d.take(d.tower, record.ActionMoveFinish, record.MoveFailed).ID, record.RequestDone, "restarted in w1:p9")
			d.nothing(d.tower)
			d.move("A") // it may be tried again
		})
	}
}

func TestCancelAMove(t *testing.T) {
	for _, c := range []struct {
		at    record.MoveState
		begun bool
	}{{record.MoveRequested, false}, {record.MoveChecking, false}, {record.MovePacking, true}} {
		t.Run(string(c.at), func(t *testing.T) {
			d := newMovers(t)
			id := d.upTo(c.at)
			open := d.open(id)
			for range 2 {
				if m, err := d.owner.CancelMove(t.Context(), id); err != nil || m.State != record.MoveCancelled {
					t.Fatalf("%+v, %v", m, err)
				}
			}
			if c.at == record.MovePacking {
				d.conflict(d.upload(id, content), record.MoveCancelled)
				if err := d.tower.Renew(t.Context(), open[0].ID); status(err) != http.StatusConflict {
					t.Errorf("the source may go on: %v", err)
				}
				d.take(d.tower, record.ActionMoveFinish, record.MoveCancelled)
			} else if c.at == record.MoveChecking {
				d.conflict(d.result(d.laptop, open[0].ID, record.RequestDone, ""), record.MoveCancelled)
			}
			d.is(id, record.MoveCancelled, "taken back")
			if list, err := d.owner.Inbox(t.Context()); err != nil || len(list) != 0 {
				t.Errorf("inbox %+v, %v", list, err)
			}
		})
	}
	d := newMovers(t)
	id := d.upTo(record.MoveUploaded)
	d.conflict(second(d.owner.CancelMove(t.Context(), id)), record.MoveUploaded)
}

// A source that is away finds its last step when it comes back, within a month.
func TestTheFinishWaitsForTheSource(t *testing.T) {
	d := newMovers(t)
	id := d.upTo(record.MoveUnpacking)
	d.must(d.says(d.laptop, id, record.MoveFailed, "no"))
	d.clock.turn(29 * 24 * time.Hour)
	d.hub.Restart()
	fin := d.take(d.tower, record.ActionMoveFinish, record.MoveFailed)
	d.finish(d.tower, fin.ID, record.RequestFailed, "restart failed: no herdr runs")
	if m := d.is(id, record.MoveFailed, "no"); len(m.Notes) != 1 || m.Notes[0] != "restart failed: no herdr runs" {
		t.Errorf("notes %q", m.Notes)
	}

	d = newMovers(t)
	id = d.upTo(record.MoveStarting)
	d.must(d.says(d.laptop, id, record.MoveDone, ""))
	d.clock.turn(30*24*time.Hour + time.Second)
	d.nothing(d.tower)
	if m := d.is(id, record.MoveDone, ""); len(m.Notes) != 1 || m.Notes[0] != "tower: the machine did not take it in time" {
		t.Errorf("notes %q", m.Notes)
	}
	if list, err := d.owner.Inbox(t.Context()); err != nil || len(list) != 1 || !strings.Contains(list[0].Text, "did not take it in time") {
		t.Errorf("inbox %+v, %v", list, err)
	}
}

// A lapsed lease is offered again, with the next attempt; a renewed one is not.
func TestMoveStepsAreLeased(t *testing.T) {
	d := newMovers(t)
	id := d.upTo(record.MovePacking)
	step := d.open(id)[0].ID
	d.clock.turn(20 * time.Second)
	d.must(d.tower.Renew(t.Context(), step))
	d.clock.turn(20 * time.Second)
	d.nothing(d.tower)
	d.clock.turn(11 * time.Second)
	if c := d.take(d.tower, record.ActionMoveOut, record.MovePacking); c.Attempt != 2 || c.ID != step {
		t.Errorf("claim %+v", c)
	}
}

// While a session moves nothing else is asked of it; messages that waited go
// along with it.
func TestNothingElseWhileItMoves(t *testing.T) {
	d := newMovers(t)
	me := d.answerer("me")
	d.tell(d.tower, "A", record.KindAsk, bashAsk("k1", "ls"))
	before := d.say("A", "sent before")
	id := d.move("A").ID
	for _, p := range []record.ControlPost{{Action: record.ActionMessage, Text: "x"}, {Action: record.ActionResume}, {Action: record.ActionRemoteControl}} {
		_, err := d.owner.Control(t.Context(), "", "A", p)
		d.conflict(err, record.MoveRequested)
	}
	d.conflict(second(me.Answer(t.Context(), "", "A", "k1", allow)), record.MoveRequested)
	if a := d.asks("A"); len(a) != 1 || a[0].State != record.AskOpen || a[0].Answer != nil {
		t.Errorf("asks %+v", a)
	}
	d.say("B", "to another")
	if got := d.claims(d.tower); texts(got) != "B:to another" {
		t.Errorf("offered meanwhile: %s", texts(got))
	}
	if s, err := d.owner.Session(t.Context(), "A"); err != nil || s.Move == nil || s.Move.ID != id {
		t.Errorf("session %+v, %v", s, err)
	}
	d.finish(d.laptop, d.take(d.laptop, record.ActionMoveCheck, record.MoveChecking).ID, record.RequestDone, "")
	d.take(d.tower, record.ActionMoveOut, record.MovePacking)
	d.must(d.upload(id, content))
	d.take(d.laptop, record.ActionMoveIn, record.MoveUnpacking)
	d.must(d.says(d.laptop, id, record.MoveStarting, ""))
	d.nothing(d.laptop)
	d.must(d.says(d.laptop, id, record.MoveDone, ""))
	if got := d.claims(d.laptop); texts(got) != "A:sent before" || got[0].ID != before.ID {
		t.Errorf("on the target: %s", texts(got))
	}
	d.take(d.tower, record.ActionMoveFinish, record.MoveDone)
}

// After a move that failed, what waits for the session comes after its restart.
func TestMessagesWaitForTheRestart(t *testing.T) {
	d := newMovers(t)
	id := d.upTo(record.MovePacking)
	d.must(d.says(d.tower, id, record.MoveFailed, "no"))
	d.say("A", "go on")
	fin := d.take(d.tower, record.ActionMoveFinish, record.MoveFailed)
	d.finish(d.tower, fin.ID, record.RequestDone, "")
	if got := d.claims(d.tower); texts(got) != "A:go on" {
		t.Errorf("then: %s", texts(got))
	}
}

// A target whose heartbeat shows the session before its done arrives has it
// already.
func TestASnapshotOfTheTargetMayBeFirst(t *testing.T) {
	d := newMovers(t)
	id := d.upTo(record.MoveStarting)
	d.live(d.tower, "tower", "B") // A has ended there
	d.live(d.laptop, "laptop", "L", "A")
	d.must(d.says(d.laptop, id, record.MoveDone, ""))
	s, err := d.owner.Session(t.Context(), "A")
	if err != nil || s.Machine != "laptop" || s.Status != record.StatusLive || s.Herdr == nil || s.Herdr.PaneID != "w1:p2" {
		t.Errorf("session %+v, %v", s, err)
	}
}

func TestAWaitForAMove(t *testing.T) {
	d := newMovers(t)
	id := d.upTo(record.MoveChecking)
	type answer struct {
		m   record.Move
		err error
	}
	got := make(chan answer, 1)
	go func() {
		m, err := d.owner.GetMove(context.Background(), id, record.MoveChecking, 30*time.Second)
		got <- answer{m, err}
	}()
	d.finish(d.laptop, d.open(id)[0].ID, record.RequestDone, "")
	if a := <-got; a.err != nil || a.m.State != record.MovePacking {
		t.Errorf("%+v, %v", a.m, a.err)
	}
	if m, err := d.owner.GetMove(t.Context(), id, record.MoveChecking, 30*time.Second); err != nil || m.State != record.MovePacking {
		t.Errorf("a state that it has left: %+v, %v", m, err)
	}
}

// The hub ends what is overdue also when nobody asks for it.
func TestTend(t *testing.T) {
	d := newMovers(t)
	id := d.upTo(record.MoveUnpacking)
	d.clock.turn(11 * time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { d.hub.Hub().Tend(ctx, func(err error) { t.Error(err) }); close(done) }()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if m, err := d.hub.Store().Move(t.Context(), id); err != nil || time.Now().After(end) {
			t.Fatalf("%+v, %v", m, err)
		} else if m.State == record.MoveFailed {
			break
		}
	}
	cancel()
	<-done
}
