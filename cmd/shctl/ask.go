package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// wish is how a person wants a request to be treated.
type wish struct {
	wait   front.Wait
	online bool
	json   bool
}

func (w *wish) flags(fs *flag.FlagSet) {
	fs.Var(&w.wait, "wait", "wait for the outcome, or for at most `TIME` of it [$SESSIONHUB_WAIT]")
	fs.BoolVar(&w.online, "when-online", false, "keep the request until its machine is back")
	fs.BoolVar(&w.json, "json", false, "JSON, also on a terminal")
}

// usualWait is how long --wait waits: longer than any deed takes.
const usualWait = 3 * time.Minute

// fill takes the wait from the environment when no flag gave one.
func (w *wish) fill(c *front.Call) error {
	if s := c.Getenv("SESSIONHUB_WAIT"); s != "" && !w.wait.On {
		if err := w.wait.Set(s); err != nil {
			return front.Usage("SESSIONHUB_WAIT: %w", err)
		}
	}
	return nil
}

func (w *wish) asOnline() record.Online {
	if w.online {
		return record.AskWhenOnline
	}
	return record.AskSoon
}

func askExits(more ...front.Exit) []front.Exit {
	return hubExits(append([]front.Exit{
		{Code: front.ExitFailed, When: "with --wait: it failed, was refused or expired"},
		{Code: front.ExitData, When: "S names no session, or more than one; or the request makes no sense"},
		{Code: front.ExitBusy, When: "with --wait: it had not ended in time"},
		{Code: front.ExitInterrupted, When: "interrupted; the request goes on"},
	}, more...)...)
}

// asker sends requests of one command.
type asker struct {
	c   *front.Call
	hub *hubclient.Client
	w   wish
}

func newAsker(c *front.Call, w wish) (*asker, error) {
	if err := w.fill(c); err != nil {
		return nil, err
	}
	hub, err := connect(c)
	if err != nil {
		return nil, err
	}
	return &asker{c: c, hub: hub, w: w}, nil
}

// session is the session that an argument names.
func (a *asker) session(ctx context.Context, arg string) (record.Session, error) {
	list, err := a.hub.Sessions(ctx, hubclient.SessionFilter{Ended: true})
	if err != nil {
		return record.Session{}, err
	}
	s, err := find(list, arg)
	if err != nil {
		return s, front.Fail(front.ExitData, err)
	}
	return s, nil
}

// reachable says at once when a machine is silent, so that nobody waits in
// vain.
func (a *asker) reachable(ctx context.Context, machine string) error {
	if a.w.online {
		return nil
	}
	list, err := a.hub.Machines(ctx)
	if err != nil {
		return err
	}
	var known []string
	for _, m := range list {
		known = append(known, text.Line(m.Machine))
		if m.Machine != machine {
			continue
		}
		if m.Stale {
			return front.Fail(front.ExitUnavailable, fmt.Errorf("%s silent since %s; --when-online keeps the request until it is back", text.Line(machine), clock(m.LastSeenAt)))
		}
		return nil
	}
	return front.Fail(front.ExitData, fmt.Errorf("the hub knows no machine %q, but: %s", text.Line(machine), cmp.Or(strings.Join(known, ", "), "none yet")))
}

// control asks the machine of a session to do something.
func (a *asker) control(ctx context.Context, s record.Session, p record.ControlPost) error {
	if err := a.reachable(ctx, s.Machine); err != nil {
		return err
	}
	p.Online = a.w.asOnline()
	r, err := a.hub.Control(ctx, uuid.NewString(), s.Session, p)
	if err != nil {
		return err
	}
	return a.outcome(ctx, r)
}

// outcome prints how a request stands, and with --wait how it ended.
func (a *asker) outcome(ctx context.Context, r record.Request) error {
	limit := a.w.wait.Limit(usualWait)
	if limit == 0 {
		if err := a.print(r); err != nil {
			return err
		}
		fmt.Fprintf(a.c.Stderr, "asked %s; shctl request %s tells how it stands\n", text.Line(r.Machine), r.ID)
		return nil
	}
	last, err := a.await(ctx, r, limit)
	if err != nil {
		return err
	}
	if !last.Ended() {
		if err := a.print(last); err != nil {
			return err
		}
		return front.Fail(front.ExitBusy, fmt.Errorf("%s, %s; it goes on: shctl request %s tells how it stands", last.State, cmp.Or(text.Line(last.Detail), "not ended yet"), r.ID))
	}
	return a.ended(ctx, last)
}

func (a *asker) await(ctx context.Context, r record.Request, limit time.Duration) (record.Request, error) {
	return followed[record.Request]{
		words: func(r record.Request) string {
			return text.Line(r.Machine) + ": " + strings.TrimSpace(string(r.State)+" "+text.Line(r.Detail))
		},
		ended: record.Request.Ended,
		next: func(ctx context.Context, r record.Request, wait time.Duration) (record.Request, error) {
			return a.hub.Request(ctx, r.ID, wait)
		},
		left: fmt.Sprintf("the request goes on; shctl request %s tells how it stands, shctl cancel takes it back", r.ID),
	}.follow(ctx, a.c.Stderr, r, limit)
}

// ended prints an outcome, and takes it off the inbox: it was seen.
func (a *asker) ended(ctx context.Context, r record.Request) error {
	if err := a.print(r); err != nil {
		return err
	}
	if r.State == record.RequestDone || r.State == record.RequestDelivered {
		return nil
	}
	a.markSeen(ctx, r.ID)
	return front.Fail(front.ExitFailed, fmt.Errorf("%s: %s", r.State, cmp.Or(text.Line(r.Detail), "no reason was given")))
}

// markSeen takes a failed request or move off the inbox.
func (a *asker) markSeen(ctx context.Context, id string) {
	list, err := a.hub.Inbox(ctx)
	if err != nil {
		return // it stays in the inbox
	}
	for _, e := range list {
		if e.Kind == record.InboxFailed && idOf(e) == id {
			_ = a.hub.Read(ctx, e.ID) // it stays in the inbox otherwise
		}
	}
}

// idOf is the request or move of an inbox entry about one.
func idOf(e record.InboxEntry) string {
	kind := len(record.InboxFailed) + 1
	if len(e.ID) < kind+uuidLength {
		return ""
	}
	return e.ID[kind : kind+uuidLength]
}

const uuidLength = 36

func (a *asker) print(r record.Request) error {
	if a.w.json || !a.c.Terminal() {
		return front.PrintJSON(a.c.Stdout, r)
	}
	if r.URL != "" {
		fmt.Fprintln(a.c.Stdout, text.Line(r.URL))
	} else if r.Ended() {
		fmt.Fprintln(a.c.Stdout, r.State, text.Line(r.Detail))
	}
	return nil
}
