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
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

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
		Long: `Sends a message. It is typed into the session's pane as a prompt when the
session is at its prompt and nothing stands in its input line. Else a hook of
the session gives it, when its turn has ended, without touching the pane; that
reaches sessions outside herdr, too (shinstall hooks). Without such a hook it
waits, for a day. The outcome says which way it went. TEXT is an argument, or
"-" for standard input; without it your editor opens. What can't be typed, as
Claude Code would take it for a command, goes by the hook, or is refused;
--as-command types a slash command on purpose.`,
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
		b, err := io.ReadAll(io.LimitReader(c.Input(ctx), record.MaxMessage+1))
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
				b, err := io.ReadAll(io.LimitReader(c.Input(ctx), record.MaxMessage+1))
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
			fmt.Fprintf(c.Stdout, "%s for %s on %s, asked %s: %s\n", r.Action, cmp.Or(short(r.Session), "a new session"), text.Line(r.Machine), clock(r.CreatedAt),
				strings.Join(strings.Fields(string(r.State)+" "+text.Line(r.Detail)+" "+text.Line(r.URL)), " "))
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
		return nil, record.Request{}, front.Usage("one id is wanted, as it was printed when it was asked for")
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
not uploaded yet; a session that was ended for it is restarted where it was. A
message that lies in the mailbox of a session that works is let go within 12
seconds: it waits for that.`,
		Run: func(ctx context.Context, c *front.Call) error {
			a, r, err := ofRequest(ctx, c, wish{})
			if unknown(err) {
				return a.cancelMove(ctx, c.Args[0])
			}
			if err != nil {
				return err
			}
			if r, err = a.takeBack(ctx, r); err != nil {
				return err
			}
			return front.PrintJSON(c.Stdout, r)
		},
		Exits: hubExits(front.Exit{Code: front.ExitData, When: "it has ended, is being carried out, is uploaded, or is not known"}),
	}
}

const (
	// letGo is how long a machine may hold on to a message that lies in a mailbox:
	// 12 s, and what it takes to look at the pane.
	letGo = 25 * time.Second
	// letGoEvery is how often that is asked for.
	letGoEvery = time.Second
)

// takeBack cancels a request, and waits for the machine to let go of a message.
func (a *asker) takeBack(ctx context.Context, r record.Request) (record.Request, error) {
	for end := time.Now().Add(letGo); ; {
		out, err := a.hub.Cancel(ctx, r.ID)
		if err == nil || r.Action != record.ActionMessage || time.Now().After(end) {
			return out, err
		}
		if now, nerr := a.hub.Request(ctx, r.ID, letGoEvery); nerr != nil || now.State != record.RequestOffered {
			if nerr == nil && now.State == record.RequestQueued {
				continue
			}
			return out, err
		}
	}
}
