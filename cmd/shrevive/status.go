package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/revive"
	"sessionhub/lib/state"
)

func statusVerb() front.Verb {
	w := &wish{prompt: defaultPrompt}
	return front.Verb{
		Name: "status", Args: "[flags]", Short: "tell which session waits for which reset", Settings: []string{"claude_home"},
		Long: `Prints the background sessions that are stopped, what each waits for or why it is
left alone, how many were resumed in the last 24 hours, whether an outage is known,
and texts that were not understood. It changes nothing.`,
		Flags: w.flags, Env: environment(),
		Run:   func(ctx context.Context, c *front.Call) error { return showStatus(ctx, c, w) },
		Exits: []front.Exit{{Code: front.ExitUnavailable, When: "there is no Claude Code"}},
	}
}

func showStatus(ctx context.Context, c *front.Call, w *wish) error {
	if len(c.Args) > 0 {
		return front.Usage("no arguments are wanted, not %q", c.Args[0])
	}
	if err := w.check(); err != nil {
		return err
	}
	r, err := reviver(c, w)
	if err != nil {
		return err
	}
	rep, l, err := r.Look(ctx)
	if errors.Is(err, revive.ErrNoClaude) {
		return front.Fail(front.ExitUnavailable, err)
	}
	if err != nil {
		return err
	}
	s := revive.Status{Sessions: []revive.Decision{}, Resumed: len(l.Resumes), MaxPerDay: w.limits.MaxPerDay, Outage: l.Outage, Drift: rep.Drift}
	for _, d := range rep.Decisions {
		if d.Stopped() {
			s.Sessions = append(s.Sessions, d)
		}
	}
	if n := len(l.Resumes); n > 0 {
		s.LastResume = &l.Resumes[n-1]
	}
	if w.json {
		return front.PrintJSON(c.Stdout, s)
	}
	printStatus(c.Stdout, s)
	return nil
}

func forgetVerb() front.Verb {
	return front.Verb{
		Name: "forget", Args: "[S]", Short: "drop the history of a session, or of all",
		Long: `Drops what shrevive remembers of a session, by its id or a prefix of at least four
characters, so that it may be resumed again. Without one the whole history is
dropped, with the count of the last 24 hours and a known outage.`,
		Run: forget, Files: []string{"revive.json   the history"},
		Exits: []front.Exit{{Code: front.ExitData, When: "no session, or several, begin so"}, {Code: front.ExitBusy, When: "a pass is under way"}},
	}
}

func forget(_ context.Context, c *front.Call) error {
	dir, err := state.Default(c.Getenv)
	if err != nil {
		return front.Fail(front.ExitConfig, err)
	}
	session := ""
	switch len(c.Args) {
	case 0:
	case 1:
		if session, err = known(dir, c.Args[0]); err != nil {
			return err
		}
	default:
		return front.Usage("one session at a time")
	}
	n, err := revive.Forget(dir, session, state.LockWait)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "forgot %d\n", n)
	return nil
}

// minPrefix is how much of an id names a session.
const minPrefix = 4

func known(dir state.Dir, s string) (string, error) {
	l, err := revive.ReadLedger(dir)
	if err != nil {
		return "", err
	}
	list := l.Known(s)
	switch {
	case len(list) == 1 && (len(s) >= minPrefix || list[0] == s):
		return list[0], nil
	case len(list) > 1:
		return "", front.Fail(front.ExitData, fmt.Errorf("several sessions begin with %q: %s", s, strings.Join(list, ", ")))
	}
	return "", front.Fail(front.ExitData, fmt.Errorf("there is no history of a session %q", s))
}
