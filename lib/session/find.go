package session

import (
	"context"
	"errors"
	"fmt"

	"sessionhub/lib/claude"
	"sessionhub/lib/herdr"
	"sessionhub/lib/presence"
)

// place is where a session runs.
type place struct {
	socket string
	herdr  Herdr
	found  presence.Session
}

// whereabouts is what the inventories of all servers say of one session.
type whereabouts struct {
	in      []place // the panes that run it
	outside *presence.Session
	maybe   string // a pane that may run it: it can't be named yet
	failed  error  // a server that did not answer: its panes are not known
}

// find looks for a session in every herdr server and outside of them. An
// inventory that fails proves nothing (field report A16).
func (d *Desk) find(ctx context.Context, session string) whereabouts {
	var w whereabouts
	for _, socket := range d.Sockets() {
		client := d.Client(socket)
		lctx, cancel := context.WithTimeout(ctx, d.Timing.Look)
		v, _, err := presence.Look(lctx, client, d.Home)
		cancel()
		if gone(err) {
			continue // no server, no panes
		}
		if err != nil {
			w.failed = err
			continue
		}
		for _, s := range v.Sessions {
			if s.Session == session {
				w.in = append(w.in, place{socket: socket, herdr: client, found: s})
			}
		}
		for _, u := range v.Unidentified {
			w.maybe = u.PaneID
		}
	}
	if len(w.in) == 0 {
		w.outside = d.outside(session)
	}
	return w
}

// outside is a session by Claude's registry alone.
func (d *Desk) outside(session string) *presence.Session {
	list, err := presence.Outside(d.Home)
	if err != nil { // without a registry nothing is known outside of herdr
		return nil
	}
	for i := range list {
		if list[i].Session == session {
			return &list[i]
		}
	}
	return nil
}

// gone reports whether nobody listens at a herdr socket.
func gone(err error) bool {
	var un *herdr.UnreachableError
	return errors.As(err, &un) && un.Gone()
}

// Running says where a session runs on this machine, "" when it does not. It
// is what guards a resume against a second copy (field reports A10 to A13).
func (d *Desk) Running(ctx context.Context, session string) (where string, err error) {
	w := d.find(ctx, session)
	switch {
	case len(w.in) > 0:
		return fmt.Sprintf("in pane %s of %s", w.in[0].found.PaneID, w.in[0].socket), nil
	case w.outside != nil && w.outside.PID > 0:
		return fmt.Sprintf("outside herdr, in process %d", w.outside.PID), nil
	case w.failed != nil:
		return "", fmt.Errorf("whether it runs is not known: %w", w.failed)
	}
	return "", nil
}

// MayRun reports whether a session runs on this machine, or could as far as
// anybody can tell: a server does not answer, or runs a Claude that can't be named.
func (d *Desk) MayRun(ctx context.Context, session string) bool {
	w := d.find(ctx, session)
	return len(w.in) > 0 || w.outside != nil || w.maybe != "" || w.failed != nil
}

// bridged is the link of a session whose Remote Control is on, as the registry
// tells; "" otherwise.
func bridged(bridge string) string {
	id, ok := claude.BridgeID(bridge)
	if !ok {
		return ""
	}
	return linkPrefix + id
}

// AwaitSession waits until it is known which session a launched Claude Code
// runs, up to Timing.Ready: its registry tells that some moments after herdr
// saw it.
func (d *Desk) AwaitSession(ctx context.Context, at Launched) (s presence.Session, ok bool) {
	d.until(ctx, d.Timing.Ready, func(ctx context.Context) bool {
		s, ok = d.SessionIn(ctx, at)
		return ok
	})
	return s, ok
}

// SessionIn is the session that a launched Claude Code runs; ok is false while
// it is not known.
func (d *Desk) SessionIn(ctx context.Context, at Launched) (s presence.Session, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, d.Timing.Look)
	defer cancel()
	v, _, err := presence.Look(ctx, at.herdr, d.Home)
	if err != nil {
		return s, false
	}
	for _, s := range v.Sessions {
		if s.PaneID == at.PaneID {
			return s, true
		}
	}
	return s, false
}
