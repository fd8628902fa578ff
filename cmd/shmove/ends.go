package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"syscall"
	"text/tabwriter"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/lock"
	"sessionhub/lib/move"
	"sessionhub/lib/record"
	"sessionhub/lib/session"
	"sessionhub/lib/text"
)

// journalFiles is told by the verbs that keep a journal.
func journalFiles() []string {
	return []string{
		"moves/ID.json   what this end of a move is at; moves/ID.d/ its private files, moves/ID.lock held while it is carried out",
		"moved/ID/       a session's files after it went to another machine, for 30 days",
	}
}

func endExits() []front.Exit {
	return []front.Exit{
		{Code: front.ExitData, When: "what was read is no claim"},
		{Code: front.ExitBusy, When: "another process carries the move out, or acts on the session; or the hub does not know its end yet"},
		{Code: front.ExitConfig, When: "a key file or the token is of no use"},
	}
}

func outVerb() front.Verb {
	return front.Verb{
		Name: "out", Args: "< claim.json", Short: "the source's end of a move", Settings: moving(),
		Long: `Carries out a claim move_out as shctl claim prints it: checks everything that can
fail while the session runs, pushes its branch, ends it, seals it for the target
and uploads it. Prints a Result; what it does is told on standard error. shctl poll
runs it.`,
		Run: func(ctx context.Context, c *front.Call) error {
			return carryOut(ctx, c, []record.Action{record.ActionMoveOut}, func(ctx context.Context, e *move.End, claim record.Claim) (record.Result, error) {
				return newOut(e).Run(ctx, claim)
			})
		},
		Files: append(keyFiles(), journalFiles()...), Exits: endExits(),
	}
}

func newOut(e *move.End) *move.Out {
	return &move.Out{End: e, Version: func(ctx context.Context, id string) (string, error) { return processVersion(ctx, e, id) }}
}

func inVerb() front.Verb {
	return front.Verb{
		Name: "in", Args: "< claim.json", Short: "the target's end of a move", Settings: moving(),
		Long: `Carries out a claim move_check (could this machine take the session? nothing is
changed) or move_in: downloads and checks the bundle, brings work tree and
conversation in, and starts Claude Code once the hub has given it the right to. What
fails is taken back. Prints a Result. shctl poll runs it.`,
		Run: func(ctx context.Context, c *front.Call) error {
			return carryOut(ctx, c, []record.Action{record.ActionMoveCheck, record.ActionMoveIn}, func(ctx context.Context, e *move.End, claim record.Claim) (record.Result, error) {
				if claim.Action == record.ActionMoveCheck {
					return (&move.In{End: e}).Check(ctx, claim), nil
				}
				return (&move.In{End: e}).Run(ctx, claim)
			})
		},
		Files: append(keyFiles(), journalFiles()...), Exits: endExits(),
	}
}

func finishVerb() front.Verb {
	return front.Verb{
		Name: "finish", Args: "< claim.json", Short: "what the source does once a move has ended", Settings: moving(),
		Long: `Carries out a claim move_finish: after done the session's files go into an archive,
so that it can't be resumed here as well; after a failure it is taken up again, if it
had been ended for the move and runs nowhere. Prints a Result. shctl poll runs it.`,
		Run: func(ctx context.Context, c *front.Call) error {
			return carryOut(ctx, c, []record.Action{record.ActionMoveFinish}, func(ctx context.Context, e *move.End, claim record.Claim) (record.Result, error) {
				return e.Finish(ctx, claim)
			})
		},
		Files: journalFiles(), Exits: endExits(),
	}
}

// carryOut reads one claim and prints its result. The move goes on when whoever
// started it is gone: what can't be printed is in the journal.
func carryOut(ctx context.Context, c *front.Call, actions []record.Action, f func(context.Context, *move.End, record.Claim) (record.Result, error)) error {
	if len(c.Args) > 0 {
		return front.Usage("a claim is read from standard input; no arguments are wanted, not %q", c.Args[0])
	}
	var claim record.Claim
	if err := json.NewDecoder(c.Input(ctx)).Decode(&claim); ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
		return front.Fail(front.ExitData, fmt.Errorf("claim: %w", record.Explain(err)))
	}
	if err := claim.Validate(); err != nil {
		return front.Fail(front.ExitData, fmt.Errorf("claim: %w", err))
	}
	if !slices.Contains(actions, claim.Action) {
		return front.Fail(front.ExitData, fmt.Errorf("claim: its action is %s, not %s", claim.Action, actions[len(actions)-1]))
	}
	signal.Ignore(syscall.SIGPIPE) // who started it may be gone, and it goes on
	e, err := newEnd(c, toLog(c))
	if err != nil {
		return err
	}
	err = withKeys(c, e)
	if err != nil && (claim.Action == record.ActionMoveCheck || claim.Action == record.ActionMoveOut) {
		return front.PrintJSON(c.Stdout, record.Result{V: record.Version, ID: claim.ID, State: record.RequestFailed, Detail: "this watcher has no move key: " + err.Error()})
	}
	if err != nil { // what has begun is brought to its end without
		fmt.Fprintf(c.Stderr, "move: keys: failed: %v\n", err)
	}
	if err := withHub(c, e); err != nil {
		return err
	}
	// A move is not cut by whoever stops: its journal is for kills alone.
	res, err := f(context.WithoutCancel(ctx), e, claim)
	if err != nil {
		return busyOr(err)
	}
	res.ID = claim.ID
	front.PrintJSON(c.Stdout, res) // nobody may be there to read it
	return nil
}

// busyOr gives what may be tried again its exit status.
func busyOr(err error) error {
	var held *session.HeldError
	if errors.Is(err, lock.ErrBusy) || errors.As(err, &held) || errors.Is(err, move.ErrUnsettled) {
		return front.Fail(front.ExitBusy, err)
	}
	return err
}

func recoverVerb() front.Verb {
	return front.Verb{
		Name: "recover", Short: "go on with the moves that a crash left in the middle", Settings: moving(),
		Long: `Goes through the journals: what was begun is completed or taken back, and what the
hub does not know yet is posted. A move that a process carries out is left to it.
shctl poll runs it at its start and every minute.`,
		Run: func(ctx context.Context, c *front.Call) error {
			e, err := newEnd(c, toLog(c))
			if err != nil {
				return err
			}
			if err := withKeys(c, e); err != nil { // what has begun is brought to its end without
				fmt.Fprintf(c.Stderr, "move: keys: failed: %v\n", err)
			}
			if err := withHub(c, e); err != nil {
				return err
			}
			list, err := e.Recover(ctx, newOut(e))
			for _, r := range list {
				if perr := front.PrintJSON(c.Stdout, r); perr != nil {
					return perr
				}
			}
			return busyOr(err)
		},
		Files: journalFiles(), Exits: endExits()[1:],
	}
}

func listVerb() front.Verb {
	var asJSON bool
	return front.Verb{
		Name: "list", Args: "[flags]", Short: "moves that are under way here, and sessions that went away",
		Settings: []string{"claude_home"},
		Flags:    func(fs *flag.FlagSet) { fs.BoolVar(&asJSON, "json", false, "JSON, also on a terminal") },
		Long: `Lists the journals of moves that are not over here, and the archives of sessions that
went to other machines within the last 30 days. The state is archived (it went there;
shmove restore brings its files back), applied (brought in by hand; shmove undo takes
it back), or what a move that is under way is at.`,
		Run:   func(_ context.Context, c *front.Call) error { return list(c, asJSON) },
		Files: journalFiles(),
	}
}

// listed is a line of list.
type listed struct {
	Move    string      `json:"move"`
	Session string      `json:"session"`
	State   string      `json:"state"` // under way: the phase; or archived
	From    string      `json:"from,omitempty"`
	To      string      `json:"to"`
	At      record.Time `json:"at"`
	Detail  string      `json:"detail,omitempty"`
}

func list(c *front.Call, asJSON bool) error {
	e, err := newEnd(c, toLog(c))
	if err != nil {
		return err
	}
	open, unread := e.Journals()
	var lines []listed
	for _, j := range open {
		lines = append(lines, listed{j.ID, j.Session, string(j.Phase), j.From, j.To, j.At, j.Detail})
	}
	gone, err := e.Archives()
	if err != nil {
		return err
	}
	for _, a := range gone {
		if slices.ContainsFunc(open, func(j move.Journal) bool { return j.ID == a.Move }) {
			continue // on its way
		}
		lines = append(lines, listed{Move: a.Move, Session: a.Session, State: "archived", To: a.To, At: a.At})
	}
	if asJSON || !c.Terminal() {
		for _, l := range lines {
			if err := front.PrintJSON(c.Stdout, l); err != nil {
				return err
			}
		}
		return unread
	}
	if err := printListed(c.Stdout, e.Machine, lines); err != nil {
		return err
	}
	return unread
}

// printListed is the list for people: where to or where from as machine sees it.
func printListed(w io.Writer, machine string, lines []listed) error {
	if len(lines) == 0 {
		_, err := fmt.Fprintln(w, "No moves.")
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "MOVE\tSESSION\tSTATE\tMACHINE\tSINCE\tDETAIL")
	for _, l := range lines {
		other := "→ " + text.Line(l.To)
		if l.To == machine && l.From != "" {
			other = "← " + text.Line(l.From)
		}
		fmt.Fprintf(tw, "%s\t%.8s\t%s\t%s\t%s\t%s\n", text.Line(l.Move), text.Line(l.Session), text.Line(l.State), other, l.At.Local().Format("Jan 2 15:04"), text.Line(l.Detail))
	}
	return tw.Flush()
}

func restoreVerb() front.Verb {
	var force bool
	return front.Verb{
		Name: "restore", Args: "[flags] MOVE", Short: "bring back the files of a session that went away", Settings: []string{"claude_home"},
		Flags: func(fs *flag.FlagSet) { fs.BoolVar(&force, "force", false, "also while the move is under way") },
		Long: `Puts the archived files of a session back, so that it can be resumed here, for when
the other machine is lost. Make sure that it runs nowhere else: two copies go two ways.
While its move is under way it may start there at any moment; only --force restores it
then, for when hub and target are gone for good.`,
		Run: func(_ context.Context, c *front.Call) error {
			if len(c.Args) != 1 {
				return front.Usage("the move's id is wanted: shmove list tells it")
			}
			e, err := newEnd(c, toLog(c))
			if err != nil {
				return err
			}
			a, err := e.Restore(c.Args[0], force)
			if errors.Is(err, move.ErrUnderWay) {
				err = fmt.Errorf("%w: shctl move --status MOVE tells; --force restores it all the same", err)
			}
			if err != nil {
				return front.Fail(front.ExitData, err)
			}
			return front.PrintJSON(c.Stdout, move.Step{Step: "restore", OK: true, Detail: "claude --resume " + a.Session + " resumes it"})
		},
		Files: journalFiles(),
		Exits: []front.Exit{{Code: front.ExitData, When: "there is no such archive, its session has files here again, or its move is under way"}},
	}
}
