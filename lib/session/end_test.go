package session

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/herdr"
)

func (r *room) end(session string, stopBackground bool) Ending {
	r.t.Helper()
	e, err := r.desk.End(r.t.Context(), session, stopBackground, noted)
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

// Gone means that the process is gone (findings 36 and 37); then the session
// can be taken up again in its old pane, which sits at a shell.
func TestEndAndTakeUpAgain(t *testing.T) {
	r := newRoom(t)
	id := r.claude()
	if s := r.say(id, "remember this"); !s.Seen {
		t.Fatalf("%+v", s)
	}
	r.untilGate(id, Open, NoReason)
	if e := r.end(id, false); !e.Typed || !e.Gone {
		t.Fatalf("%+v", e)
	}
	if where, err := r.desk.Running(t.Context(), id); where != "" || err != nil {
		t.Errorf("it runs %s, %v", where, err)
	}
	r.until("the shell is in front", func() bool { return r.desk.atShell(t.Context(), r.s.Client().Socket, r.pane) })
	at, err := r.desk.Relaunch(t.Context(), r.s.Client().Socket, r.pane, Launch{Dir: r.s.Home(), Name: "again", Args: []string{"--resume", id}}, noted)
	if err != nil || at.PaneID != r.pane {
		t.Fatalf("%+v %v", at, err)
	}
	r.untilGate(id, Open, NoReason)
	// A pane in which something runs is left alone: a new workspace it is.
	other, err := r.desk.Relaunch(t.Context(), r.s.Client().Socket, r.pane, Launch{Dir: r.s.Home(), Name: "other"}, noted)
	if err != nil || other.PaneID == r.pane {
		t.Fatalf("%+v %v", other, err)
	}
	s, ok := r.desk.SessionIn(t.Context(), other)
	r.until("the other one is known", func() bool { s, ok = r.desk.SessionIn(t.Context(), other); return ok })
	if !r.desk.Discard(t.Context(), other, s.Session) {
		t.Error("the other one was not ended")
	}
	if _, err := r.s.Client().Pane(t.Context(), other.PaneID); !herdr.IsCode(err, herdr.CodePaneNotFound) {
		t.Errorf("its pane: %v", err)
	}
	if r.desk.Discard(t.Context(), at, id) {
		t.Error("a pane that was there before was closed")
	}
}

// Finding 38: /exit does not end what has a draft, a dialog, or background work.
// Whatever it is, it stays as it was.
func TestEndRefuses(t *testing.T) {
	r := newRoom(t)
	id := r.claude()
	for _, c := range []struct {
		what, enter, leave string
		line               bool
		reason             Reason
	}{
		{what: "a draft", enter: "half a sentence", leave: "ctrl+u", reason: Draft},
		{what: "a dialog", enter: "/status", line: true, leave: "esc", reason: Dialog},
		{what: "work", enter: "work 10m", line: true, leave: "esc", reason: Working},
	} {
		if c.line {
			r.enters(c.enter)
		} else {
			r.types(c.enter)
		}
		r.untilGate(id, Busy, c.reason)
		if e := r.end(id, true); e.Typed || e.Gate.Reason != c.reason {
			t.Errorf("%s: %+v", c.what, e)
		}
		r.types("", c.leave)
		r.untilGate(id, Open, NoReason)
	}
	boom := errors.New("the journal can't be written")
	if _, err := r.desk.End(t.Context(), id, false, func() error { return boom }); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	r.untilGate(id, Open, NoReason)
}

func (r *room) background(id string) {
	r.t.Helper()
	r.enters("bg 10m")
	r.until("it is idle with background work", func() bool {
		s, ok := r.desk.SessionIn(r.t.Context(), Launched{PaneID: r.pane, herdr: r.desk.Client(r.s.Client().Socket)})
		return ok && s.Background
	})
	r.untilGate(id, Open, NoReason)
}

func TestEndWithBackgroundWork(t *testing.T) {
	r := newRoom(t)
	id := r.claude()
	r.background(id)
	if e := r.end(id, false); e.Typed || !strings.Contains(e.Gate.Why, "background work runs in it") {
		t.Fatalf("%+v", e)
	}
	// A person allowed it: the dialog is answered, once it is seen to be that one.
	if e := r.end(id, true); !e.Typed || !e.Gone {
		t.Fatalf("%+v", e)
	}
	if where, err := r.desk.Running(t.Context(), id); where != "" || err != nil {
		t.Errorf("a copy runs %s, %v", where, err)
	}
}

// Not gone in time: nothing else happens, and the session stays. The limit also
// holds for who is told to stop meanwhile: the outcome is known.
func TestEndThatDoesNotEnd(t *testing.T) {
	r := newRoom(t)
	r.desk.Timing.Exit = 300 * time.Millisecond
	id := r.claude()
	ctx, cancel := context.WithCancel(t.Context())
	// The work begins after the gate's last look, so the dialog comes up.
	e, err := r.desk.End(ctx, id, false, func() error {
		r.background(id)
		cancel()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if e.Gone || !strings.Contains(e.Why, "lives on") {
		t.Errorf("%+v", e)
	}
	r.types("", "esc")
	r.untilGate(id, Open, NoReason)
}
