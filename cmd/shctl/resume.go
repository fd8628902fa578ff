package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

func resumeVerb() front.Verb {
	var w wish
	var pick, plain bool
	return front.Verb{
		Name: "resume", Args: "[flags] [--pick | S]", Short: "resume a session that is over, where it ran", Settings: asking(),
		Long: `Asks the machine of a session to resume it in a new herdr workspace, with Remote
Control on. One that still runs there is refused: nothing makes a second copy.
--pick lists the sessions that are over and lets you choose: type to narrow the
list, Enter takes the first, a number another one.`,
		Flags: func(fs *flag.FlagSet) {
			w.flags(fs)
			fs.BoolVar(&pick, "pick", false, "choose from a list")
			fs.BoolVar(&plain, "plain", false, "with --pick: print the list and ask for a number, without drawing")
		},
		Run: func(ctx context.Context, c *front.Call) error {
			p := record.ControlPost{Action: record.ActionResume}
			if !pick {
				return onSession(ctx, c, w, p)
			}
			if len(c.Args) > 0 {
				return front.Usage("--pick or a session, not both")
			}
			a, err := newAsker(c, w)
			if err != nil {
				return err
			}
			s, err := pickSession(ctx, a, plain)
			if err != nil {
				return err
			}
			if !a.w.wait.On {
				a.w.wait.On = true // who picked sees what becomes of it
			}
			err = a.control(ctx, s, p)
			linger(ctx, c, err)
			return err
		},
		Examples: []front.Example{{Line: "shctl resume --pick", For: "what the plugin's action resume opens"}},
		Exits:    askExits(),
	}
}

// linger keeps the outcome on the screen until a key is pressed: the picker's
// pane closes with it.
func linger(ctx context.Context, c *front.Call, err error) {
	tty, ok := c.Stdin.(*os.File)
	if !ok || !c.Interactive() || !c.Terminal() || ctx.Err() != nil {
		return
	}
	if err != nil {
		fmt.Fprintln(c.Stderr, err)
	}
	fmt.Fprint(c.Stderr, "press a key ")
	restore, cerr := front.Cbreak(tty)
	if cerr != nil {
		return
	}
	defer restore()
	select {
	case <-readKeys(tty):
	case <-ctx.Done():
	}
}

// pickLimit bounds the list to choose from: the latest.
const pickLimit = 500

// pickSession lets a person choose one of the sessions that are over.
func pickSession(ctx context.Context, a *asker, plain bool) (record.Session, error) {
	list, err := a.hub.Sessions(ctx, hubclient.SessionFilter{Ended: true})
	if err != nil {
		return record.Session{}, err
	}
	var over []record.Session
	for _, s := range list {
		if s.Status != record.StatusLive && !s.Retired && len(over) < pickLimit {
			over = append(over, s)
		}
	}
	if len(over) == 0 {
		return record.Session{}, front.Fail(front.ExitData, errors.New("no session is over: there is nothing to resume"))
	}
	p := &picker{title: "Resume which session?", rows: make([]string, len(over))}
	for i, s := range over {
		p.rows[i] = fmt.Sprintf("%s  %s  %s  %s", text.Line(cmpTitle(s)), text.Line(s.Machine), where(a.c, s), age(s.Since))
	}
	n, err := p.choose(ctx, a.c, plain)
	if err != nil {
		return record.Session{}, err
	}
	return over[n], nil
}

func cmpTitle(s record.Session) string {
	if s.Title != "" {
		return s.Title
	}
	return short(s.Session)
}
