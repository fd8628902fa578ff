package herdrtest

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/herdr"
)

func asUnreachable(err error, u **herdr.UnreachableError) bool { return errors.As(err, u) }

func TestFaults(t *testing.T) {
	s := Start(t) // unchecked: faults break the schema
	ctx := context.Background()
	_, err := s.Client().CreateWorkspace(ctx, herdr.NewWorkspace{Cwd: s.Home()})
	must(t, err)
	for name, c := range map[string]struct {
		fault Fault
		want  error
		cause herdr.Cause
	}{
		"hang":           {Fault{Kind: Hang}, herdr.ErrUnreachable, herdr.TimedOut},
		"close":          {Fault{Kind: CloseUnanswered}, herdr.ErrUnreachable, herdr.HungUp},
		"half a line":    {Fault{Kind: HalfLine}, herdr.ErrUnreachable, herdr.HungUp},
		"too late":       {Fault{Kind: Late, Delay: time.Minute}, herdr.ErrUnreachable, herdr.TimedOut},
		"late":           {Fault{Kind: Late, Delay: 30 * time.Millisecond}, nil, 0},
		"huge":           {Fault{Kind: Huge, Size: 32 << 20}, nil, 0},
		"too huge":       {Fault{Kind: Huge, Size: herdr.MaxAnswer + 1}, herdr.ErrBadAnswer, 0},
		"garbage":        {Fault{Kind: Garbage}, herdr.ErrBadAnswer, 0},
		"no id":          {Fault{Kind: EmptyID}, nil, 0},
		"unknown fields": {Fault{Kind: UnknownFields}, nil, 0},
		"unknown status": {Fault{Kind: UnknownStatus}, nil, 0},
		"reset":          {Fault{Kind: ResetAfterAnswer}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			client := s.Client()
			client.Timeout = time.Minute // a huge answer takes long under load
			if c.cause == herdr.TimedOut {
				client.Timeout = 100 * time.Millisecond
			}
			c.fault.Times, c.fault.Method = 1, "session.snapshot"
			s.Inject(c.fault)
			snap, err := client.Snapshot(ctx)
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			var u *herdr.UnreachableError
			if errors.As(err, &u) && u.Cause != c.cause {
				t.Errorf("cause %d, want %d", u.Cause, c.cause)
			}
			if err == nil && len(snap.Panes) != 1 {
				t.Errorf("snapshot %+v", snap)
			}
			if _, err := client.Snapshot(ctx); err != nil {
				t.Errorf("after the fault: %v", err)
			}
		})
	}
}

// The kernel really resets the connection after the answer (finding 1).
func TestResetAfterAnswerIsReal(t *testing.T) {
	s := Start(t)
	s.Inject(Fault{Kind: ResetAfterAnswer})
	conn, err := netDial(s.Socket())
	must(t, err)
	defer conn.Close()
	conn.Write([]byte("{\"id\":\"1\",\"method\":\"ping\",\"params\":{}}\n"))
	got, err := readAll(conn)
	if err == nil || !strings.Contains(err.Error(), "reset") || !strings.Contains(got, "pong") {
		t.Errorf("%q, %v, want an answer and a reset", got, err)
	}
}

func TestRefuse(t *testing.T) {
	s := Start(t)
	ctx := context.Background()
	s.Refuse()
	var u *herdr.UnreachableError
	if _, err := s.Client().Ping(ctx); !errors.As(err, &u) || u.Cause != herdr.Refused {
		t.Errorf("error %v, want refused", err)
	}
	must(t, s.Listen())
	if _, err := s.Client().Ping(ctx); err != nil {
		t.Error(err)
	}
}

func TestUnknownEventName(t *testing.T) {
	s := Start(t)
	ctx := context.Background()
	sub, err := s.Client().Subscribe(ctx, []herdr.Subscription{{Type: "pane.closed"}})
	must(t, err)
	defer sub.Close()
	s.EmitRaw(`{"event":"pane_levitated","data":{"pane_id":"w1:p1","height":3}}`)
	if e, err := sub.Next(ctx); err != nil || e.Name != "pane_levitated" || e.PaneID != "w1:p1" {
		t.Errorf("%+v, %v", e, err)
	}
}

// All five outcomes of notification.show.
func TestNotifications(t *testing.T) {
	s, c := start(t)
	show := func() string {
		t.Helper()
		got, err := c.ShowNotification(context.Background(), herdr.Notification{Title: "Build done", Body: "api", Sound: "done"})
		must(t, err)
		if got.Shown != (got.Reason == herdr.NotificationShown) {
			t.Errorf("%+v", got)
		}
		return got.Reason
	}
	if got := show(); got != herdr.NotificationDisabled {
		t.Errorf("off: %s", got)
	}
	s.SetToasts("terminal", false)
	if got := show(); got != herdr.NotificationNoClient {
		t.Errorf("terminal, nobody there: %s", got)
	}
	s.SetToasts("terminal", true)
	if got := show() + " " + show(); got != "shown rate_limited" {
		t.Errorf("terminal: %s", got)
	}
	s.SetToasts("herdr", false)
	eventually(t, "shown by herdr", func() bool { return show() == herdr.NotificationShown })
	if got := show(); got != herdr.NotificationBusy {
		t.Errorf("herdr: %s", got)
	}
}

// A killed server leaves its socket file, and state as it was last saved.
func TestKilledServer(t *testing.T) {
	s, c := start(t, func(c *Config) { c.Timings = ShortTimings(); c.Timings.Save = time.Hour })
	ctx := context.Background()
	_, err := c.CreateWorkspace(ctx, herdr.NewWorkspace{Cwd: s.Home()})
	must(t, err)
	must(t, s.Restart(Stopped)) // saves
	w, err := c.CreateWorkspace(ctx, herdr.NewWorkspace{Cwd: s.Home()})
	must(t, err)
	s.Down(Killed)
	if _, err := os.Stat(s.Socket()); err != nil {
		t.Errorf("socket file after SIGKILL: %v", err)
	}
	var u *herdr.UnreachableError
	if _, err := c.Ping(ctx); !errors.As(err, &u) || u.Cause != herdr.Refused {
		t.Errorf("error %v, want refused", err)
	}
	must(t, s.Up())
	list, err := c.Workspaces(ctx)
	must(t, err)
	if len(list) != 1 || list[0].WorkspaceID != "w1" {
		t.Errorf("workspaces %+v: unsaved ones came back", list)
	}
	again, err := c.CreateWorkspace(ctx, herdr.NewWorkspace{Cwd: s.Home()})
	must(t, err)
	if again.RootPane.PaneID != w.RootPane.PaneID {
		t.Errorf("pane id %s, want %s handed out a second time", again.RootPane.PaneID, w.RootPane.PaneID)
	}
}
