package session

import (
	"context"
	"slices"
	"strings"

	"sessionhub/lib/record"
)

// remoteCommand turns Remote Control on; when it is on already it opens a
// dialog (field report A25).
const remoteCommand = "/remote-control"

// Remote is what became of the wish for a Remote Control link.
type Remote struct {
	URL   string
	Gate  Gate // when nothing was typed
	Typed bool
}

// RemoteControl gives a session's Remote Control link. One that is on already
// is answered without typing anything. Otherwise it types the command, through
// the gate, and waits for a link that was not there before: in the registry,
// in the transcript, whole on the screen, or in the dialog, which it closes
// again unless Claude works, as Esc would interrupt it.
func (d *Desk) RemoteControl(ctx context.Context, session string, before func() error) (Remote, error) {
	w := d.find(ctx, session)
	if len(w.in) > 0 {
		if url := bridged(w.in[0].found.Bridge); url != "" {
			return Remote{URL: url}, nil
		}
	}
	g := d.Gate(ctx, session)
	if g.Answer != Open {
		return Remote{Gate: g}, nil
	}
	old := shownLinks(d.screen(ctx, g.place.herdr, g.PaneID), "")
	written := d.written(g.place)
	s, err := d.give(ctx, g, remoteCommand, before)
	if err != nil || !s.Typed {
		return Remote{Gate: s.Gate}, err
	}
	r := Remote{Typed: true}
	d.until(ctx, d.Timing.Link, func(ctx context.Context) bool {
		r.URL = d.newLink(ctx, g.place, old, written)
		return r.URL != ""
	})
	return r, nil
}

// newLink looks for a link that was not there before.
func (d *Desk) newLink(ctx context.Context, p place, old []string, written string) string {
	screen := d.screen(ctx, p.herdr, p.found.PaneID)
	if strings.Contains(screen, dialogText) {
		url := first(shownLinks(screen, dialogText), nil)
		if url == "" {
			url = d.link(ctx, p, "")
		}
		d.closeDialog(ctx, p)
		return url
	}
	if url := d.link(ctx, p, written); url != "" {
		return url
	}
	return first(shownLinks(screen, banner), old)
}

// first is the first link that is none of the old ones.
func first(links, old []string) string {
	for _, l := range links {
		if !slices.Contains(old, l) {
			return l
		}
	}
	return ""
}

// closeDialog presses Esc, which only closes the dialog, unless the session
// works.
func (d *Desk) closeDialog(ctx context.Context, p place) {
	w := d.find(ctx, p.found.Session)
	if len(w.in) == 1 && w.in[0].found.AgentState != record.Working {
		// When it fails the dialog stays, which its person sees.
		_ = p.herdr.SendKeys(ctx, p.found.PaneID, "esc")
	}
}

// AwaitLink waits for the link of a Claude Code that was started with Remote
// Control on; "" when none comes in time. The session is found by its pane.
func (d *Desk) AwaitLink(ctx context.Context, at Launched) (url string) {
	d.until(ctx, d.Timing.Link, func(ctx context.Context) bool {
		if s, ok := d.SessionIn(ctx, at); ok {
			if url = bridged(s.Bridge); url == "" {
				url = d.written(place{socket: at.Socket, herdr: at.herdr, found: s})
			}
		}
		if url == "" {
			url = first(shownLinks(d.screen(ctx, at.herdr, at.PaneID), banner), nil)
		}
		return url != ""
	})
	return url
}
