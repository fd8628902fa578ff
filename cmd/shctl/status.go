package main

import (
	"cmp"
	"context"
	"flag"
	"io"
	"slices"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
)

func statusVerb() front.Verb {
	var o statusOptions
	return front.Verb{
		Name: "status", Args: "[flags]", Short: "list the sessions, those that need you first", Settings: asking(),
		Long: `Lists the sessions of all machines: what waits for you first, then what is done
and not looked at, what works, what is idle. A stale session is one whose
machine has been silent for 3 minutes.`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&o.machine, "machine", "", "only this `machine`'s sessions")
			fs.BoolVar(&o.all, "all", false, "ended and archived sessions, too")
			fs.BoolVar(&o.json, "json", false, "JSON lines, also on a terminal")
			fs.BoolVar(&o.watch, "watch", false, "redraw when something changes")
		},
		Run: func(ctx context.Context, c *front.Call) error { return status(ctx, c, o) },
		Examples: []front.Example{
			{Line: "shctl status", For: "what is going on"},
			{Line: `shctl status --json | jq -r 'select(.agent_state=="blocked").title'`, For: "titles of those that wait"},
		},
		Exits: hubExits(),
	}
}

type statusOptions struct {
	machine          string
	all, json, watch bool
}

func status(ctx context.Context, c *front.Call, o statusOptions) error {
	if len(c.Args) > 0 {
		return front.Usage("no arguments are wanted; shctl show tells of one session")
	}
	hub, err := connect(c)
	if err != nil {
		return err
	}
	fetch := func() (show func() error, err error) {
		list, err := hub.Sessions(ctx, hubclient.SessionFilter{Machine: o.machine, Ended: o.all})
		order(list)
		return func() error {
			if o.json || !c.Terminal() {
				return printSessions(c.Stdout, list)
			}
			printTable(c, list)
			return nil
		}, err
	}
	if o.watch {
		return (&live{c: c, hub: hub, fetch: fetch}).redraw(ctx)
	}
	show, err := fetch()
	if err != nil {
		return err
	}
	return show()
}

// order sorts by who needs a person first, then by what changed last.
func order(list []record.Session) {
	slices.SortStableFunc(list, func(a, b record.Session) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), b.Since.Compare(a.Since.Time), cmp.Compare(a.Session, b.Session))
	})
}

func rank(s record.Session) int {
	switch {
	case s.Status == record.StatusEnded:
		return 9
	case s.Retired:
		return 8
	case s.Status == record.StatusStale:
		return 7
	}
	switch s.AgentState {
	case record.Blocked:
		return 0
	case record.Done:
		return 1
	case record.Working:
		return 2
	case record.Idle:
		return 3
	}
	return 4
}

func printSessions(w io.Writer, list []record.Session) error {
	for _, s := range list {
		if err := front.PrintJSON(w, s); err != nil {
			return err
		}
	}
	return nil
}
