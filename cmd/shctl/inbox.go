package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

func inboxVerb() front.Verb {
	var asJSON, watch bool
	return front.Verb{
		Name: "inbox", Args: "[flags]", Short: "list what you should look at", Settings: append(asking(), "machine", "herdr_sockets"),
		Long: `Lists sessions that wait on a prompt (blocked), that finished and were not
looked at (done), that said they wait for something (waiting), and requests that
failed (failed). An entry leaves by itself when its cause does. Below stands what
the sessions ask, in full. With --watch in a terminal, up and down choose an
entry, Enter goes to its pane in herdr if it is on this machine, r marks it as
read, q ends.`,
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&asJSON, "json", false, "JSON lines, also on a terminal")
			fs.BoolVar(&watch, "watch", false, "redraw when something changes")
		},
		Run: func(ctx context.Context, c *front.Call) error {
			if len(c.Args) > 0 {
				return front.Usage("no arguments are wanted, not %q", c.Args[0])
			}
			hub, err := connect(c)
			if err != nil {
				return err
			}
			if watch {
				return watchInbox(ctx, c, hub, asJSON)
			}
			list, err := hub.Inbox(ctx)
			if err != nil {
				return err
			}
			asked, err := askedIn(ctx, hub, list)
			if err != nil {
				return err
			}
			return drawInbox(c, list, asked, asJSON)
		},
		Examples: []front.Example{{Line: "shctl inbox --watch", For: "keep it open in a pane"}},
		Exits:    hubExits(),
	}
}

func drawInbox(c *front.Call, list []record.InboxEntry, asked []record.Session, asJSON bool) error {
	if asJSON || !c.Terminal() {
		for _, e := range list {
			if err := front.PrintJSON(c.Stdout, e); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		fmt.Fprintln(c.Stdout, "Nothing waits for you.")
		return nil
	}
	t := inboxTable()
	for _, e := range list {
		t.add(colourOfEntry(e), append([]string{""}, inboxCells(e)...)...)
	}
	t.print(c)
	for _, s := range asked {
		fmt.Fprintf(c.Stdout, "\n%s asks:\n", text.Line(cmp.Or(s.Title, s.Session)))
		for _, a := range s.Asks {
			printAsk(c.Stdout, s.Session, a)
		}
	}
	return nil
}

// inboxTable is the inbox as people see it. Its first column marks what is
// chosen.
func inboxTable() table {
	return table{head: []string{"", "WHY", "TITLE", "MACHINE", "TEXT", "SINCE", "ID"}, shrink: []int{4, 2}, drop: []int{3, 5}}
}

func inboxCells(e record.InboxEntry) []string {
	return []string{e.Kind, text.Line(e.Title), text.Line(e.Machine), text.Line(e.Text), age(e.Since), short(e.Session)}
}

func colourOfEntry(e record.InboxEntry) string {
	if e.Kind == record.InboxBlocked {
		return colourBlocked
	}
	return ""
}

func readVerb() front.Verb {
	var all bool
	return front.Verb{
		Name: "read", Args: "[flags] [S]", Short: "mark inbox entries as read", Settings: asking(),
		Long: `Takes entries off the inbox until their cause comes anew. S is a session, by its
id, the beginning of it or its title, or an entry's own id; --all takes all.`,
		Flags: func(fs *flag.FlagSet) { fs.BoolVar(&all, "all", false, "all entries") },
		Run: func(ctx context.Context, c *front.Call) error {
			if all == (len(c.Args) == 1) || len(c.Args) > 1 {
				return front.Usage("a session or an entry's id is wanted, or --all")
			}
			hub, err := connect(c)
			if err != nil {
				return err
			}
			return markRead(ctx, c, hub, all)
		},
		Examples: []front.Example{{Line: "shctl read --all", For: "empty the inbox"}},
		Exits:    hubExits(front.Exit{Code: front.ExitData, When: "nothing of that name is in the inbox"}),
	}
}

func markRead(ctx context.Context, c *front.Call, hub *hubclient.Client, all bool) error {
	list, err := hub.Inbox(ctx)
	if err != nil {
		return err
	}
	found := false
	for _, e := range list {
		if !all && e.ID != c.Args[0] && e.Session != c.Args[0] && e.Title != c.Args[0] &&
			(len(c.Args[0]) < minPrefix || short(e.Session) != short(c.Args[0])) {
			continue
		}
		found = true
		if err := hub.Read(ctx, e.ID); err != nil {
			return err
		}
		if err := front.PrintJSON(c.Stdout, struct {
			ID   string `json:"id"`
			Read bool   `json:"read"`
		}{e.ID, true}); err != nil {
			return err
		}
	}
	if !found && !all {
		return front.Fail(front.ExitData, errors.New("nothing of that name is in the inbox"))
	}
	return nil
}

func archiveVerb() front.Verb {
	var undo bool
	return front.Verb{
		Name: "archive", Args: "[flags] S", Short: "take a session off the lists", Settings: asking(),
		Long: `Archives a session: it leaves the lists and the inbox, whether it runs or not,
and stays away until it is taken back. It does not end the session.`,
		Flags: func(fs *flag.FlagSet) { fs.BoolVar(&undo, "undo", false, "take it back") },
		Run: func(ctx context.Context, c *front.Call) error {
			hub, id, err := target(ctx, c)
			if err != nil {
				return err
			}
			body := hubclient.Retired{Retired: !undo}
			if err := hub.Retire(ctx, id, body); err != nil {
				return err
			}
			return front.PrintJSON(c.Stdout, struct {
				Session string `json:"session"`
				hubclient.Retired
			}{id, body})
		},
		Examples: []front.Example{{Line: "shctl archive 0b5c", For: "by the beginning of its id"}},
		Exits:    hubExits(front.Exit{Code: front.ExitData, When: "S names no session, or more than one"}),
	}
}
