package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/bundle"
	"sessionhub/lib/move"
	"sessionhub/lib/record"
	"sessionhub/lib/seal"
)

// packWish are the flags of pack.
type packWish struct {
	session, to, out string
	dry              bool
}

func packVerb() front.Verb {
	var w packWish
	return front.Verb{
		Name: "pack", Args: "[flags] --session S --to M", Short: "pack a session that has ended into a bundle", Settings: moving(),
		Long: `Packs a session's work tree (changes, staged and not, and untracked files that Git
does not ignore), its transcript, subagents' transcripts and file history, and the
commits that origin lacks, into a signed bundle for one machine. Nothing is changed.
Secret-looking files, sockets, and untracked files over 10 MiB stay, and are named.

The session must have ended: what it does afterwards would be in no bundle. After
shmove apply on the other machine do not resume it here.`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&w.session, "session", "", "the session's `id`, or its beginning")
			fs.StringVar(&w.to, "to", "", "who it is for: an age `recipient`, or a machine whose key is pinned")
			fs.StringVar(&w.out, "o", "", "write to this `file`, in place of standard output")
			fs.BoolVar(&w.dry, "dry-run", false, "print the manifest: what would travel, and what would not and why")
		},
		Run: func(ctx context.Context, c *front.Call) error { return pack(ctx, c, w) },
		Examples: []front.Example{
			{Line: "shmove pack --session 0b5c --to laptop | shmove seal > b.age", For: "for a USB stick; there: shmove open b.age | shmove apply"},
			{Line: "shmove pack --session 0b5c --dry-run", For: "what would travel?"},
		},
		Files: append(keyFiles(), "keys.json   the pinned keys of other machines"),
		Exits: []front.Exit{
			{Code: front.ExitData, When: "the repository or the session is in a state that can't travel"},
			{Code: front.ExitBusy, When: "the session runs, or files changed while they were packed"},
		},
	}
}

func pack(ctx context.Context, c *front.Call, w packWish) error {
	if len(c.Args) > 0 {
		return front.Usage("no arguments are wanted, not %q", c.Args[0])
	}
	e, err := newEnd(c, func(move.Step) {})
	if err != nil {
		return err
	}
	if err := withKeys(c, e); err != nil {
		return err
	}
	id, err := wholeID(e, w.session)
	if err != nil {
		return err
	}
	where, err := e.Desk.Running(ctx, id)
	if err != nil {
		return front.Fail(front.ExitUnavailable, err)
	}
	if where != "" && !w.dry {
		return front.Fail(front.ExitBusy, fmt.Errorf("it runs %s: end it there first; --dry-run only looks", where))
	}
	dir, remove, err := scratch(e.Dir)
	if err != nil {
		return err
	}
	defer remove()
	patches, again := filepath.Join(dir, "patches"), filepath.Join(dir, "again")
	if err := errors.Join(os.Mkdir(patches, 0o700), os.Mkdir(again, 0o700)); err != nil {
		return err
	}
	l, err := plan(ctx, e, id, patches)
	if err != nil {
		return front.Fail(front.ExitData, err)
	}
	if w.dry {
		m, err := l.Describe()
		if err != nil {
			return err
		}
		return front.PrintJSON(c.Stdout, m)
	}
	recipient, err := recipientOf(e, w.to)
	if err != nil {
		return err
	}
	return packTo(ctx, c, e, l, recipient, again, w.out)
}

// plan finds what of a session would travel by hand.
func plan(ctx context.Context, e *move.End, id, patches string) (*move.Load, error) {
	cwd, err := e.LastDir(id)
	if err != nil {
		return nil, err
	}
	version, err := e.Claude(ctx)
	if err != nil {
		return nil, err
	}
	moveID, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	return e.Plan(ctx, move.Packing{Move: moveID.String(), Session: id, Cwd: cwd, Commits: true, Claude: version}, patches)
}

// recipientOf is the key to seal for.
func recipientOf(e *move.End, to string) (string, error) {
	switch {
	case to == "":
		return "", front.Usage("--to is missing: a pinned machine, or the recipient that shmove key prints there")
	case seal.CheckRecipient(to) == nil:
		return to, nil
	}
	pin, ok, err := e.Pins.Lookup(to)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", front.Fail(front.ExitNotAllowed, fmt.Errorf("%q is no recipient, and no machine of that name has a pinned key: shmove key there, shmove key trust here", to))
	}
	return pin.Recipient, nil
}

func packTo(ctx context.Context, c *front.Call, e *move.End, l *move.Load, recipient, again, out string) (err error) {
	w := c.Stdout
	if out != "" {
		f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		defer func() {
			if err = errors.Join(err, f.Close()); err != nil {
				os.Remove(out) // no half bundle
			}
		}()
		w = f
	} else if err := binary(c); err != nil {
		return err
	}
	m, err := e.Write(ctx, w, l, recipient, again)
	if err != nil {
		return front.Fail(front.ExitBusy, err)
	}
	for _, n := range m.NotCarried {
		fmt.Fprintf(c.Stderr, "shmove: not carried: %s: %s\n", n.Path, n.Why)
	}
	fmt.Fprintf(c.Stderr, "shmove: move %s: %d entries\n", m.Move, len(m.Entries))
	return nil
}

// arriveWish are the flags of check and apply.
type arriveWish struct {
	from  string
	where move.Where
}

func (w *arriveWish) flags(fs *flag.FlagSet) {
	fs.StringVar(&w.from, "from", "", "the `signer` of the bundle, as shmove key prints it there")
	fs.StringVar(&w.where.Clone, "clone", "", "the `folder` of the clone that it is to go to, in place of looking for it")
	fs.BoolVar(&w.where.Worktree, "worktree", false, "make a fresh work tree beside a clone that is in use, or has changes")
}

func arriveExits() []front.Exit {
	return []front.Exit{
		{Code: front.ExitFailed, When: "it can't go on here, or could not be brought in; nothing stays of it"},
		{Code: front.ExitData, When: "the bundle is unsound, cut, or not for this machine"},
		{Code: front.ExitNotAllowed, When: "its signer is not known here, is another one, or did not sign this"},
	}
}

func checkVerb() front.Verb {
	var w arriveWish
	return front.Verb{
		Name: "check", Args: "[flags] [BUNDLE]", Short: "could a bundle go on here?", Settings: moving(),
		Long: `Reads a bundle as shmove open gives it and checks all that apply needs: signer, Claude
Code's version, that the session is not here already, the clone. Nothing is changed.`,
		Flags: w.flags,
		Run:   func(ctx context.Context, c *front.Call) error { return arrive(ctx, c, w, nil) },
		Exits: arriveExits(),
	}
}

func applyVerb() front.Verb {
	var w arriveWish
	return front.Verb{
		Name: "apply", Args: "[flags] [BUNDLE]", Short: "bring a session in from a bundle", Settings: moving(),
		Long: `Reads a bundle as shmove open gives it and brings its session in: commits, branch,
changes and untracked files into the clone, the conversation into Claude Code's home.
What fails is taken back. The last line tells how to resume it; shmove undo takes all
of it back as long as nobody went on with it.`,
		Flags: w.flags,
		Run: func(ctx context.Context, c *front.Call) error {
			return arrive(ctx, c, w, func(ctx context.Context, e *move.End, a *move.Arrival) (string, error) {
				dir, err := e.ApplyByHand(ctx, a)
				if err != nil {
					return "", err
				}
				return fmt.Sprintf("claude --resume %s in %s goes on with it; shmove undo --move %s takes it back", a.Manifest.Session, dir, a.Manifest.Move), nil
			})
		},
		Examples: []front.Example{{Line: "shmove open session.age | shmove apply", For: "from a USB stick"}},
		Files:    journalFiles(), Exits: arriveExits(),
	}
}

// arrive unpacks and checks a bundle, and does with it what then says.
func arrive(ctx context.Context, c *front.Call, w arriveWish, then func(context.Context, *move.End, *move.Arrival) (string, error)) error {
	tell := func(s move.Step) { front.PrintJSON(c.Stdout, s) }
	e, err := newEnd(c, tell)
	if err != nil {
		return err
	}
	if err := withKeys(c, e); err != nil {
		return err
	}
	in, err := input(c)
	if err != nil {
		return err
	}
	defer in.Close()
	dir, remove, err := scratch(e.Dir)
	if err != nil {
		return err
	}
	defer remove()
	opt := bundle.Options{Verify: e.Pins.Verify, Recipient: e.Keys.Public.Recipient}
	if w.from != "" {
		opt.Verify = seal.By(w.from)
	}
	m, err := unpack(ctx, e, in, dir, opt)
	if err != nil {
		return coded(err)
	}
	tell(move.Step{Step: "open", OK: true, Detail: fmt.Sprintf("session %s of %s, %d entries", m.Session, m.From, len(m.Entries))})
	a, err := e.Arrive(ctx, m, dir, w.where)
	if err != nil {
		return err
	}
	tell(move.Step{Step: "check", OK: true, Detail: "it can go on in " + a.Place()})
	if then == nil {
		return nil
	}
	detail, err := then(ctx, e, a)
	if err != nil {
		return err
	}
	for _, n := range m.NotCarried {
		tell(move.Step{Step: "not carried", OK: true, Detail: n.Path + ": " + n.Why})
	}
	tell(move.Step{Step: "resume", OK: true, Detail: detail})
	return nil
}

func unpack(ctx context.Context, e *move.End, in io.Reader, dir string, opt bundle.Options) (m record.Manifest, err error) {
	err = untilInterrupted(ctx, func() error {
		m, err = e.Unpack(in, dir, opt)
		return err
	})
	return m, err
}

func undoVerb() front.Verb {
	var id string
	return front.Verb{
		Name: "undo", Args: "[flags] --move ID", Short: "take back what apply brought in", Settings: moving(),
		Long: `Takes back what shmove apply did, and only that: conversation, files, changes and
branch. What changed since stays, and is named. A session that was gone on with here
stays whole. Of a move of the hub that failed it takes back what could not be then.`,
		Flags: func(fs *flag.FlagSet) { fs.StringVar(&id, "move", "", "the move's `id`, as apply printed it") },
		Run: func(ctx context.Context, c *front.Call) error {
			if id == "" || len(c.Args) > 0 {
				return front.Usage("--move ID is wanted: shmove list tells it")
			}
			e, err := newEnd(c, func(s move.Step) { front.PrintJSON(c.Stdout, s) })
			if err != nil {
				return err
			}
			detail, err := e.UndoByHand(ctx, id)
			if errors.Is(err, move.ErrNotHere) {
				return front.Fail(front.ExitData, fmt.Errorf("%w: shmove list tells what was", err))
			}
			if err != nil {
				return busyOr(err)
			}
			return front.PrintJSON(c.Stdout, move.Step{Step: "undo", OK: true, Detail: detail})
		},
		Files: journalFiles(),
		Exits: []front.Exit{{Code: front.ExitFailed, When: "it was gone on with, or something could not be put back"}, {Code: front.ExitData, When: "no such move was applied here"}, {Code: front.ExitBusy, When: "another process is at it"}},
	}
}
