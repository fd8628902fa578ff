package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

func showVerb() front.Verb {
	var asJSON bool
	return front.Verb{
		Name: "show", Args: "[flags] S", Short: "tell all of one session", Settings: asking(),
		Long: `Shows a session with its history and its reports. S is its id, a unique
beginning of it of at least 4 characters, or its unique title.`,
		Flags: func(fs *flag.FlagSet) { fs.BoolVar(&asJSON, "json", false, "JSON, also on a terminal") },
		Run: func(ctx context.Context, c *front.Call) error {
			hub, id, err := target(ctx, c)
			if err != nil {
				return err
			}
			s, err := hub.Session(ctx, id)
			if err != nil {
				return err
			}
			if asJSON || !c.Terminal() {
				return front.PrintJSON(c.Stdout, s)
			}
			printSession(c, s)
			return nil
		},
		Examples: []front.Example{{Line: "shctl show 0b5c", For: "by the beginning of its id"}},
		Exits:    hubExits(front.Exit{Code: front.ExitData, When: "S names no session, or more than one"}),
	}
}

// target finds the session that the one argument names.
func target(ctx context.Context, c *front.Call) (*hubclient.Client, string, error) {
	if len(c.Args) != 1 {
		return nil, "", front.Usage("one session is wanted: its id, the beginning of it, or its title")
	}
	hub, err := connect(c)
	if err != nil {
		return nil, "", err
	}
	list, err := hub.Sessions(ctx, hubclient.SessionFilter{Ended: true})
	if err != nil {
		return nil, "", err
	}
	s, err := find(list, c.Args[0])
	if err != nil {
		return nil, "", front.Fail(front.ExitData, err)
	}
	return hub, s.Session, nil
}

// minPrefix is how much of an id names a session.
const minPrefix = 4

// find is the session that an argument names: an id beats a title beats the
// beginning of an id.
func find(list []record.Session, arg string) (record.Session, error) {
	var byTitle, byPrefix []record.Session
	for _, s := range list {
		switch {
		case s.Session == arg:
			return s, nil
		case s.Title != "" && s.Title == arg:
			byTitle = append(byTitle, s)
		case len(arg) >= minPrefix && strings.HasPrefix(s.Session, arg):
			byPrefix = append(byPrefix, s)
		}
	}
	matches := byTitle
	if len(matches) == 0 {
		matches = byPrefix
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		if len(arg) < minPrefix {
			return record.Session{}, fmt.Errorf("%q names no session: shctl status --all lists them (the beginning of an id has at least %d characters)", text.Line(arg), minPrefix)
		}
		return record.Session{}, fmt.Errorf("%q names no session: shctl status --all lists them", text.Line(arg))
	}
	var names []string
	for _, s := range matches {
		names = append(names, fmt.Sprintf("%s (%s on %s)", s.Session, text.Line(s.Title), text.Line(s.Machine)))
	}
	return record.Session{}, errors.New("more than one session fits: " + strings.Join(names, ", "))
}

func printSession(c *front.Call, s record.Session) {
	w := c.Stdout
	row := func(name, value string) {
		if value = text.Line(value); value != "" {
			fmt.Fprintf(w, "%-13s %s\n", name, value)
		}
	}
	row("session", s.Session)
	row("title", s.Title)
	row("state", stateWord(s)+" since "+clock(s.Since))
	row("note", s.Note)
	row("ended", s.EndedReason)
	row("machine", s.Machine+", last seen "+clock(s.LastSeenAt))
	row("where", where(c, s))
	if s.Git != nil {
		row("git", strings.TrimSpace(s.Git.Branch+" "+short(s.Git.Head)+" "+s.Git.Remote))
	}
	row("model", s.Model)
	for i, l := range s.Links {
		age := "printed "
		if i > 0 {
			age = "older, printed "
		}
		row("remote", l.URL+"  ("+age+clock(l.At)+")")
	}
	row("first prompt", s.FirstPrompt)
	row("last prompt", s.LastPrompt)
	printAsks(w, s.Session, s.Asks)
	if len(s.Events) > 0 {
		fmt.Fprintln(w, "\nHISTORY")
		last := ""
		for _, e := range s.Events {
			if words := text.Line(eventWords(e)); words != last { // two may have told the same
				fmt.Fprintf(w, "  %s  %s\n", clock(e.At), words)
				last = words
			}
		}
	}
	printReports(w, s.Reports)
}

func eventWords(e record.Event) string {
	words := []string{string(e.Kind), string(e.AgentState), e.Reason, e.Note}
	if e.Late {
		words = append(words, "(late: changed nothing)")
	}
	return strings.Join(words, " ")
}

func printReports(w io.Writer, reports []record.SavedReport) {
	if len(reports) == 0 {
		return
	}
	fmt.Fprintln(w, "\nREPORTS")
	for _, r := range reports {
		fmt.Fprintf(w, "  %s\n", clock(r.At))
		for _, part := range [][2]string{{"done", r.Done}, {"in flight", r.InFlight}, {"waiting on", r.WaitingOn}} {
			if part[1] != "" {
				fmt.Fprintf(w, "    %-11s %s\n", part[0], text.Line(part[1]))
			}
		}
	}
}

// clock is a time as a person reads it: local, without the date today.
func clock(t record.Time) string {
	if t.IsZero() {
		return ""
	}
	l := t.Local()
	if time.Since(l) < 20*time.Hour {
		return l.Format("15:04:05")
	}
	return l.Format("2006-01-02 15:04")
}
