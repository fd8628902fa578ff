package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/herdr"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
	"sessionhub/lib/text"
	"sessionhub/lib/watch"
)

// inboxPane is the inbox as a pane that stays open.
type inboxPane struct {
	ctx  context.Context
	c    *front.Call
	hub  *hubclient.Client
	json bool
	keys bool // are taken, so they are told

	list  []record.InboxEntry
	asked []record.Session // what they ask
	at    string           // the id of the chosen entry
	said  string           // what became of the last key
}

func watchInbox(ctx context.Context, c *front.Call, hub *hubclient.Client, asJSON bool) error {
	p := &inboxPane{ctx: ctx, c: c, hub: hub, json: asJSON}
	l := &live{c: c, hub: hub, fetch: p.fetch, press: p.press}
	if tty, ok := c.Stdin.(*os.File); ok && c.Interactive() && c.Terminal() && !asJSON {
		restore, err := front.Cbreak(tty)
		if err == nil { // without single keys it is a list all the same
			defer restore()
			l.keys, p.keys = readKeys(tty), true
		}
	}
	return l.redraw(ctx)
}

// fetch reads the inbox: what blocks first, the newest of each kind first. The
// choice stays on its entry while that is there.
func (p *inboxPane) fetch() (func() error, error) {
	list, err := p.hub.Inbox(p.ctx)
	if err != nil {
		return nil, err
	}
	if p.asked, err = askedIn(p.ctx, p.hub, list); err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b record.InboxEntry) int {
		return cmp.Or(-compareBool(a.Kind == record.InboxBlocked, b.Kind == record.InboxBlocked), b.Since.Compare(a.Since.Time))
	})
	p.list = list
	return p.draw, nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func (p *inboxPane) chosen() int {
	return max(slices.IndexFunc(p.list, func(e record.InboxEntry) bool { return e.ID == p.at }), 0)
}

func (p *inboxPane) draw() error {
	if p.json || !p.c.Terminal() || len(p.list) == 0 {
		if err := drawInbox(p.c, p.list, p.asked, p.json); err != nil || !p.keys {
			return err
		}
		_, err := fmt.Fprintln(p.c.Stdout, "\nq ends")
		return err
	}
	t := inboxTable()
	for i, e := range p.list {
		mark := " "
		if i == p.chosen() {
			mark = "❯"
		}
		t.add(colourOfEntry(e), append([]string{mark}, inboxCells(e)...)...)
	}
	t.print(p.c)
	fmt.Fprintln(p.c.Stdout)
	for _, s := range p.asked { // of the chosen one alone: the pane may be small
		if s.Session == p.list[p.chosen()].Session {
			for _, a := range s.Asks {
				printAsk(p.c.Stdout, s.Session, a)
			}
		}
	}
	if p.said != "" {
		fmt.Fprintln(p.c.Stdout, text.Line(p.said))
	} else if p.keys {
		fmt.Fprintln(p.c.Stdout, "↑ ↓ · Enter goes there · r marks as read · q ends")
	}
	return nil
}

// press takes a key.
func (p *inboxPane) press(key string) (end bool) {
	i := p.chosen()
	p.said = ""
	switch key {
	case "q", "esc", "ctrl+d":
		return true
	case "up", "k":
		i--
	case "down", "j":
		i++
	}
	if i = min(max(i, 0), len(p.list)-1); i < 0 {
		return false
	}
	e := p.list[i]
	p.at = e.ID
	switch key {
	case "enter":
		p.said = "gone there"
		if err := p.focus(e); err != nil {
			p.said = err.Error()
		}
	case "r":
		if err := p.hub.Read(p.ctx, e.ID); err != nil {
			p.said = err.Error()
		}
	}
	return false
}

// focus goes to the pane of an entry's session.
func (p *inboxPane) focus(e record.InboxEntry) error {
	if e.Machine != p.c.Config.Machine {
		return fmt.Errorf("it is on %s, and this is %s; shctl remote %s gives a link", e.Machine, p.c.Config.Machine, short(e.Session))
	}
	s, err := p.hub.Session(p.ctx, e.Session)
	if err != nil {
		return err
	}
	if s.Herdr == nil {
		return fmt.Errorf("it runs in no pane of herdr")
	}
	dir, err := state.Default(p.c.Getenv)
	if err != nil {
		return err
	}
	for _, socket := range watch.KnownSockets(dir, p.c.Getenv, append([]string{p.c.Getenv("HERDR_SOCKET_PATH")}, p.c.Config.HerdrSockets...)) {
		if herdr.SessionName(socket, p.c.Getenv) == s.Herdr.HerdrSession {
			_, err := (&herdr.Client{Socket: socket}).FocusPane(p.ctx, s.Herdr.PaneID)
			return err
		}
	}
	return fmt.Errorf("no herdr server %s is known on this machine", s.Herdr.HerdrSession)
}
