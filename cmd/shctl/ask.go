package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// pollFor is how long one look at a request waits for its end.
const pollFor = 20 * time.Second

func (a *asker) await(ctx context.Context, r record.Request, limit time.Duration) (record.Request, error) {
	end := time.Now().Add(limit)
	shown := ""
	for {
		if word := string(r.State) + " " + text.Line(r.Detail); word != shown && !r.Ended() {
			fmt.Fprintf(a.c.Stderr, "%s: %s\n", text.Line(r.Machine), strings.TrimSpace(word))
			shown = word
		}
		left := time.Until(end)
		if r.Ended() || left <= 0 {
			return r, nil
		}
		next, err := a.hub.Request(ctx, r.ID, min(left, pollFor))
		if ctx.Err() != nil {
			fmt.Fprintf(a.c.Stderr, "the request goes on; shctl request %s tells how it stands, shctl cancel takes it back\n", r.ID)
			return r, ctx.Err()
		}
		var e *hubclient.Error
		switch {
		case err == nil:
			r = next
		case errors.As(err, &e) && e.Retryable():
			pause(ctx, time.Second)
		default:
			return r, err
		}
	}
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

func remoteVerb() front.Verb {
	var w wish
	return front.Verb{
		Name: "remote", Args: "[flags] S", Short: "get a Remote Control link for a session", Settings: asking(),
		Long: `Turns Remote Control on in a session and gives its link, with which it can be
used in the Claude app or a browser. A session that has it on is not touched;
one that is over is resumed. The link was printed, which does not prove that it
opens.`,
		Flags: w.flags,
		Run: func(ctx context.Context, c *front.Call) error {
			return onSession(ctx, c, w, record.ControlPost{Action: record.ActionRemoteControl})
		},
		Examples: []front.Example{{Line: "shctl remote 0b5c --wait", For: "wait for the link"}},
		Exits:    askExits(),
	}
}

// onSession asks something of the session that the one argument names.
func onSession(ctx context.Context, c *front.Call, w wish, p record.ControlPost) error {
	if len(c.Args) != 1 {
		return front.Usage("one session is wanted: its id, the beginning of it, or its title")
	}
	a, err := newAsker(c, w)
	if err != nil {
		return err
	}
	s, err := a.session(ctx, c.Args[0])
	if err != nil {
		return err
	}
	return a.control(ctx, s, p)
}

func sendVerb() front.Verb {
	var w wish
	var command bool
	return front.Verb{
		Name: "send", Args: "[flags] S [TEXT|-]", Short: "send a message to a session", Settings: asking(),
		Long: `Sends a message that is typed into the session's pane as a prompt, as soon as
the session is at its prompt and nothing stands in its input line: it waits for
a day. TEXT is an argument, or "-" for standard input; without it your editor
opens. What Claude Code would take for a command is refused; --as-command sends
a slash command on purpose.`,
		Flags: func(fs *flag.FlagSet) {
			w.flags(fs)
			fs.BoolVar(&command, "as-command", false, "it is a slash command")
		},
		Run: func(ctx context.Context, c *front.Call) error { return send(ctx, c, w, command) },
		Examples: []front.Example{
			{Line: "shctl send 0b5c 'go on' --wait", For: "and wait until it has arrived"},
			{Line: "git diff | shctl send 0b5c -", For: "several lines"},
		},
		Exits: askExits(),
	}
}

func send(ctx context.Context, c *front.Call, w wish, command bool) error {
	if len(c.Args) < 1 || len(c.Args) > 2 {
		return front.Usage("a session and at most one text are wanted: quote the text")
	}
	a, err := newAsker(c, w)
	if err != nil {
		return err
	}
	s, err := a.session(ctx, c.Args[0])
	if err != nil {
		return err
	}
	if err := a.reachable(ctx, s.Machine); err != nil { // before anybody writes a long text
		return err
	}
	words := "-"
	if len(c.Args) == 2 {
		words = c.Args[1]
	} else if c.Interactive() {
		if words, err = compose(ctx, c); err != nil {
			return err
		}
	}
	if words == "-" {
		b, err := io.ReadAll(io.LimitReader(c.Stdin, record.MaxMessage+1))
		if err != nil {
			return err
		}
		words = string(b)
	}
	return a.control(ctx, s, record.ControlPost{Action: record.ActionMessage, Text: words, AsCommand: command})
}

// compose lets a person write a message in the editor. What was written stays
// in its file when it can't be sent.
func compose(ctx context.Context, c *front.Call) (string, error) {
	dir, err := os.MkdirTemp("", "sessionhub-message-") // 0700
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir) // it holds a private text
	path := filepath.Join(dir, "message.md")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return "", err
	}
	if err := runEditor(ctx, c, path); err != nil {
		return "", err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if text.Line(string(b)) == "" {
		return "", front.Fail(front.ExitData, errors.New("nothing was written, and nothing sent"))
	}
	return string(b), nil
}

func startVerb() front.Verb {
	var w wish
	var p record.StartPost
	var machine string
	return front.Verb{
		Name: "start", Args: "[flags] --machine M DIR", Short: "start a session on a machine", Settings: asking(),
		Long: `Starts Claude Code in a directory of a machine, in a new herdr workspace, with
Remote Control on. DIR is below the home there; ~ is the home. The machine
must allow it (remote_start), and a folder that is not trusted yet is asked for
at its screen: nothing answers that from afar.`,
		Flags: func(fs *flag.FlagSet) {
			w.flags(fs)
			fs.StringVar(&machine, "machine", "", "the machine's `name`")
			fs.StringVar(&p.Prompt, "prompt", "", "the first `prompt`, or - for standard input")
			fs.StringVar(&p.Herdr, "herdr", "", "which herdr `session` there (default: the one used last)")
		},
		Run: func(ctx context.Context, c *front.Call) error {
			if len(c.Args) != 1 || machine == "" {
				return front.Usage("--machine and one directory are wanted")
			}
			a, err := newAsker(c, w)
			if err != nil {
				return err
			}
			if err := a.reachable(ctx, machine); err != nil {
				return err
			}
			if p.Prompt == "-" {
				b, err := io.ReadAll(io.LimitReader(c.Stdin, record.MaxMessage+1))
				if err != nil {
					return err
				}
				p.Prompt = string(b)
			}
			p.Dir, p.Online = c.Args[0], w.asOnline()
			r, err := a.hub.Start(ctx, uuid.NewString(), machine, p)
			if err != nil {
				return err
			}
			return a.outcome(ctx, r)
		},
		Examples: []front.Example{{Line: "shctl start --machine tower '~/Code/app' --prompt 'run the tests' --wait", For: "and wait for its link"}},
		Exits:    askExits(),
	}
}

func requestVerb() front.Verb {
	var w wish
	return front.Verb{
		Name: "request", Args: "[flags] ID", Short: "tell how a request stands", Settings: asking(),
		Long: `Tells how a request stands that send, answer, remote, start or resume left. ID is
its whole id, as they printed it.`,
		Flags: func(fs *flag.FlagSet) {
			fs.Var(&w.wait, "wait", "wait for its end, or for at most `TIME` [$SESSIONHUB_WAIT]")
			fs.BoolVar(&w.json, "json", false, "JSON, also on a terminal")
		},
		Run: func(ctx context.Context, c *front.Call) error {
			a, r, err := ofRequest(ctx, c, w)
			if err != nil {
				return err
			}
			if limit := a.w.wait.Limit(usualWait); limit > 0 {
				return a.outcome(ctx, r)
			}
			if a.w.json || !c.Terminal() {
				return front.PrintJSON(c.Stdout, r)
			}
			fmt.Fprintf(c.Stdout, "%s for %s on %s, asked %s: %s %s %s\n", r.Action, cmp.Or(short(r.Session), "a new session"), text.Line(r.Machine), clock(r.CreatedAt), r.State, text.Line(r.Detail), text.Line(r.URL))
			return nil
		},
		Exits: hubExits(
			front.Exit{Code: front.ExitFailed, When: "with --wait: it failed, was refused or expired"},
			front.Exit{Code: front.ExitData, When: "the hub knows no such request"},
			front.Exit{Code: front.ExitBusy, When: "with --wait: it had not ended in time"},
			front.Exit{Code: front.ExitInterrupted, When: "interrupted; the request goes on"},
		),
	}
}

func ofRequest(ctx context.Context, c *front.Call, w wish) (*asker, record.Request, error) {
	if len(c.Args) != 1 {
		return nil, record.Request{}, front.Usage("one request's id is wanted")
	}
	a, err := newAsker(c, w)
	if err != nil {
		return nil, record.Request{}, err
	}
	r, err := a.hub.Request(ctx, c.Args[0], 0)
	return a, r, err
}

func cancelVerb() front.Verb {
	return front.Verb{
		Name: "cancel", Args: "ID", Short: "take a request or a move back", Settings: asking(),
		Long: `Takes a request back that no machine carries out yet, or a move whose bundle is
not uploaded yet; a session that was ended for it is restarted where it was.`,
		Run: func(ctx context.Context, c *front.Call) error {
			a, r, err := ofRequest(ctx, c, wish{})
			if unknown(err) {
				return a.cancelMove(ctx, c.Args[0])
			}
			if err != nil {
				return err
			}
			if r, err = a.hub.Cancel(ctx, r.ID); err != nil {
				return err
			}
			return front.PrintJSON(c.Stdout, r)
		},
		Exits: hubExits(front.Exit{Code: front.ExitData, When: "it has ended, is being carried out, is uploaded, or is not known"}),
	}
}
