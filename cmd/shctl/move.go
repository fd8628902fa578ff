package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// moveWait is how long --wait waits: longer than a large bundle takes on a slow
// line, though each step may take 10 minutes.
const moveWait = 30 * time.Minute

type moveOptions struct {
	wish
	status string
	post   record.MovePost
}

func moveVerb() front.Verb {
	var o moveOptions
	return front.Verb{
		Name: "move", Args: "[flags] S --to M", Short: "move a session to another machine", Settings: asking(),
		Long: `Moves a session, with its uncommitted and untracked files, into the clone of its
repository on another machine, and resumes it there. The target is asked first
whether it could take it; only then is the session ended where it runs. When
something goes wrong it is restarted there. Each step has 10 minutes.

--status tells how a move stands, and with --wait how it ends; shctl cancel takes
one back until its bundle is uploaded.`,
		Flags: func(fs *flag.FlagSet) {
			fs.Var(&o.wait, "wait", "wait for the outcome, or for at most `TIME` of it [$SESSIONHUB_WAIT]")
			fs.BoolVar(&o.json, "json", false, "JSON, also on a terminal")
			fs.StringVar(&o.post.To, "to", "", "the `machine` to move it to")
			fs.BoolVar(&o.post.Worktree, "worktree", false, "make a work tree of its own there where the clone is in use, and on another branch")
			fs.BoolVar(&o.post.StopBackground, "stop-background", false, "end the session's background work instead of waiting for it")
			fs.StringVar(&o.status, "status", "", "tell how the move with this `ID` stands")
		},
		Run: func(ctx context.Context, c *front.Call) error { return runMove(ctx, c, o) },
		Examples: []front.Example{
			{Line: "shctl move 0b5c --to laptop --wait", For: "and watch it go"},
			{Line: "shctl move --status 01976f3e-7c1a-7c11-9d2e-0d9d0a6a1b11", For: "how one stands"},
		},
		Exits: hubExits(
			front.Exit{Code: front.ExitFailed, When: "with --wait: it failed, or was cancelled"},
			front.Exit{Code: front.ExitData, When: "S names no session, or more than one; it can't be moved there; or the hub knows no such move"},
			front.Exit{Code: front.ExitBusy, When: "with --wait: it had not ended in time"},
			front.Exit{Code: front.ExitInterrupted, When: "interrupted; the move goes on"},
		),
	}
}

func runMove(ctx context.Context, c *front.Call, o moveOptions) error {
	asks := o.post != record.MovePost{} || len(c.Args) > 0
	switch {
	case o.status != "" && asks:
		return front.Usage("--status ID stands alone")
	case o.status == "" && (len(c.Args) != 1 || o.post.To == ""):
		return front.Usage("one session and --to MACHINE are wanted, or --status ID")
	}
	a, err := newAsker(c, o.wish)
	if err != nil {
		return err
	}
	if o.status != "" {
		m, err := a.hub.GetMove(ctx, o.status, "", 0)
		if err != nil {
			return err
		}
		return a.moveOutcome(ctx, m, a.printMove)
	}
	s, err := a.session(ctx, c.Args[0])
	if err != nil {
		return err
	}
	m, err := a.hub.Move(ctx, uuid.NewString(), s.Session, o.post)
	if err != nil {
		return err
	}
	return a.moveOutcome(ctx, m, func(m record.Move) error {
		fmt.Fprintf(a.c.Stderr, "asked %s; shctl move --status %s tells how it stands\n", text.Line(m.To), m.ID)
		return a.printMove(m)
	})
}

// moveOutcome says with now how a move stands, or with --wait how it ended.
func (a *asker) moveOutcome(ctx context.Context, m record.Move, now func(record.Move) error) error {
	limit := a.w.wait.Limit(moveWait)
	if limit == 0 {
		return now(m)
	}
	last, err := a.awaitMove(ctx, m, limit)
	if err != nil {
		return err
	}
	if err := a.printMove(last); err != nil {
		return err
	}
	switch last.State {
	case record.MoveDone:
		return nil
	case record.MoveFailed, record.MoveCancelled:
		a.markSeen(ctx, last.ID)
		return front.Fail(front.ExitFailed, fmt.Errorf("%s: %s", last.State, cmp.Or(text.Line(last.Detail), "no reason was given")))
	}
	return front.Fail(front.ExitBusy, fmt.Errorf("%s; it goes on: shctl move --status %s tells how it stands", stepWords(last), last.ID))
}

// awaitMove follows a move, and tells each of its steps.
func (a *asker) awaitMove(ctx context.Context, m record.Move, limit time.Duration) (record.Move, error) {
	return followed[record.Move]{
		words: stepWords,
		ended: func(m record.Move) bool { return m.State.Ended() },
		next: func(ctx context.Context, m record.Move, wait time.Duration) (record.Move, error) {
			if m.State == record.MovePacking || m.State == record.MoveUnpacking {
				wait = min(wait, transferLook)
			}
			return a.hub.GetMove(ctx, m.ID, m.State, max(wait, time.Second))
		},
		left: fmt.Sprintf("the move goes on; shctl move --status %s tells how it stands, shctl cancel takes it back", m.ID),
	}.follow(ctx, a.c.Stderr, m, limit)
}

// transferLook is how often is looked how far a bundle is.
const transferLook = 2 * time.Second

// stepWords says in a line what is being done. How far a bundle is changes it
// with each tenth only: it is printed anew then.
func stepWords(m record.Move) string {
	from, to := text.Line(m.From), text.Line(m.To)
	size := ""
	if m.Bundle != nil {
		size = ", " + byteCount(m.Bundle.Size)
	}
	if t := m.Transfer; t != nil && t.Size > 0 {
		way := map[record.MoveState]string{record.MovePacking: from + " sends it", record.MoveUnpacking: to + " fetches it"}[m.State]
		if way != "" {
			return fmt.Sprintf("%s: %s, %d %% of %s", m.State, way, min(t.Done*10/t.Size, 10)*10, byteCount(t.Size))
		}
	}
	words := map[record.MoveState]string{
		record.MoveRequested: "waits for " + to,
		record.MoveChecking:  to + " looks whether it can take it",
		record.MovePacking:   from + " packs it up",
		record.MoveUploaded:  "waits for " + to + size,
		record.MoveUnpacking: to + " unpacks it" + size,
		record.MoveStarting:  onSince(m.Detail),
	}[m.State]
	return string(m.State) + ": " + words
}

// onSince is the hub's "on MACHINE since TIME" with the time as people here read
// it; a detail of another form stays as it is.
func onSince(detail string) string {
	if on, at, ok := strings.Cut(detail, " since "); ok {
		if t, err := time.Parse(time.RFC3339, at); err == nil {
			return text.Line(on) + " since " + clock(record.At(t))
		}
	}
	return text.Line(detail)
}

// byteCount is a size for people.
func byteCount(n int64) string {
	const kib, mib = 1 << 10, 1 << 20
	switch {
	case n >= mib:
		return fmt.Sprintf("%.1f MiB", float64(n)/mib)
	case n >= kib:
		return fmt.Sprintf("%.1f KiB", float64(n)/kib)
	}
	return fmt.Sprintf("%d bytes", n)
}

func (a *asker) printMove(m record.Move) error {
	if a.w.json || !a.c.Terminal() {
		return front.PrintJSON(a.c.Stdout, m)
	}
	words := stepWords(m)
	if m.State.Ended() {
		words = string(m.State) + " " + text.Line(m.Detail)
	}
	fmt.Fprintf(a.c.Stdout, "%s from %s to %s, asked %s: %s\n", short(m.Session), text.Line(m.From), text.Line(m.To), clock(m.CreatedAt), words)
	for _, n := range m.Notes {
		fmt.Fprintln(a.c.Stdout, "  "+text.Line(n))
	}
	return nil
}

// unknown reports whether the hub does not know what was asked for.
func unknown(err error) bool {
	var e *hubclient.Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound && !e.NotHub
}

func (a *asker) cancelMove(ctx context.Context, id string) error {
	m, err := a.hub.CancelMove(ctx, id)
	if unknown(err) {
		return front.Fail(front.ExitData, errors.New("the hub knows no request and no move with that id"))
	}
	if err != nil {
		return err
	}
	return front.PrintJSON(a.c.Stdout, m)
}
