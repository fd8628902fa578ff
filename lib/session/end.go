package session

import (
	"context"
	"fmt"
	"strings"

	"sessionhub/lib/claude"
	"sessionhub/lib/herdr"
)

// Ending is what became of an attempt to end a session.
type Ending struct {
	Gate  Gate   // why nothing was typed, when nothing was
	Typed bool   // /exit was given to herdr
	Gone  bool   // the process is gone
	Why   string // it is not gone: what its pane shows
}

const exitCommand = "/exit"

// Endable is the gate for ending a session, without doing it: it must be at an
// empty prompt, as typed text would become part of a prompt, and nothing may
// run in the background, as /exit would then ask a person (finding 38), unless
// they said that it may end. Its process must be known: herdr forgets a session
// while its process still writes (findings 37 and 40).
func (d *Desk) Endable(ctx context.Context, session string, stopBackground bool) Gate {
	g := d.Gate(ctx, session)
	switch {
	case g.Answer != Open:
		return g
	case g.place.found.Background && !stopBackground:
		return busy(Working, "background work runs in it, which would end: let it end, or say --stop-background")
	case g.place.found.PID <= 0:
		return refuse(Unsure, "its process is not known, so nobody could tell that it ended: Claude Code keeps no registry here")
	}
	return g
}

// End ends a session by /exit, through the gate, and waits until its process is
// gone: up to Timing.Exit. A dialog that comes up is left alone, but for the one
// that says which background work would end, where that was allowed. before is
// called once, right before the command is given to herdr.
func (d *Desk) End(ctx context.Context, session string, stopBackground bool, before func() error) (Ending, error) {
	g := d.Endable(ctx, session, stopBackground)
	if g.Answer != Open {
		return Ending{Gate: g}, nil
	}
	t, err := claude.NewTable()
	if err != nil {
		return Ending{}, err
	}
	was, ok := t.Find(g.place.found.PID)
	if !ok {
		return Ending{Gate: busy(Unsure, "its process %d is gone already", g.place.found.PID)}, nil
	}
	// From here on the outcome must be known, whoever stops us.
	wctx := context.WithoutCancel(ctx)
	said, err := d.give(wctx, g, exitCommand, before)
	if err != nil || !said.Typed {
		return Ending{Gate: said.Gate}, err
	}
	e := Ending{Gate: g, Typed: true}
	confirmed := false
	e.Gone = d.until(wctx, d.Timing.Exit, func(ctx context.Context) bool {
		if over(was) {
			return true
		}
		if stopBackground && !confirmed && d.asksToStop(ctx, g.place) {
			confirmed = g.place.herdr.SendKeys(ctx, g.PaneID, "Enter") == nil
		}
		return false
	})
	if !e.Gone {
		e.Why = fmt.Sprintf("its process %d lives on; pane %s shows: %s", was.PID, g.PaneID, lastWords(d.screen(wctx, g.place.herdr, g.PaneID)))
	}
	return e, nil
}

// over reports whether a process is gone: its number is free, or another's.
func over(was claude.OSProcess) bool {
	t, err := claude.NewTable()
	if err != nil {
		return false
	}
	now, ok := t.Find(was.PID)
	return !ok || now.Zombie || now.Start != was.Start
}

// asksToStop reports whether a pane shows the dialog of /exit that lists the
// background work which would end, with that choice marked. The other choice
// would leave a second running copy (finding 38).
func (d *Desk) asksToStop(ctx context.Context, p place) bool {
	screen := d.screen(ctx, p.herdr, p.found.PaneID)
	return strings.Contains(screen, "Background work is running") && strings.Contains(screen, "The following will stop when you exit:") &&
		strings.Contains(screen, promptSign+" 1. Exit and stop tasks")
}

// Relaunch starts Claude Code in a pane that sits at a shell, such as the one
// that it ran in before; where it can't, in a new workspace.
func (d *Desk) Relaunch(ctx context.Context, socket, paneID string, l Launch, before func() error) (Launched, error) {
	if paneID == "" || !d.atShell(ctx, socket, paneID) {
		return d.Launch(ctx, l, before)
	}
	client := d.Client(socket)
	if err := before(); err != nil {
		return Launched{}, err
	}
	at := Launched{Socket: socket, PaneID: paneID, herdr: client}
	if err := d.startAgent(ctx, client, herdr.Start{Name: l.Name, Kind: "claude", PaneID: paneID, Args: l.Args, TimeoutMS: startLimit}); err != nil {
		return at, err
	}
	return d.detect(ctx, at)
}

// atShell reports whether a pane's shell is in front, and nothing else.
func (d *Desk) atShell(ctx context.Context, socket, paneID string) bool {
	ctx, cancel := context.WithTimeout(ctx, d.Timing.Look)
	defer cancel()
	client := d.Client(socket)
	p, err := client.Pane(ctx, paneID)
	if err != nil || p.PaneID != paneID || p.Agent != "" {
		return false
	}
	info, err := client.ProcessInfo(ctx, paneID)
	return err == nil && info.ShellPID > 0 && info.ForegroundProcessGroupID == info.ShellPID
}

// Discard closes what a launch made, and reports whether nothing of it runs any
// more: neither the pane nor, up to Timing.Dead later, a process with the
// session (finding 40: Claude lives on for a second after its pane).
func (d *Desk) Discard(ctx context.Context, at Launched, session string) bool {
	if at.WorkspaceID == "" {
		return false // a pane that was there before is not ours to close
	}
	client := d.Client(at.Socket)
	if err := client.CloseWorkspace(ctx, at.WorkspaceID); err != nil && !herdr.IsCode(err, herdr.CodeWorkspaceNotFound) {
		return false
	}
	return d.until(ctx, d.Timing.Dead, func(ctx context.Context) bool {
		_, err := client.Pane(ctx, at.PaneID)
		if !herdr.IsCode(err, herdr.CodePaneNotFound) {
			return false
		}
		where, err := d.Running(ctx, session)
		return err == nil && where == ""
	})
}
