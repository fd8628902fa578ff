package move

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"sessionhub/lib/bundle"
	"sessionhub/lib/claude/transcript"
	"sessionhub/lib/move/conversation"
	"sessionhub/lib/record"
)

// TargetApplied is the phase of a bundle that was applied by hand: nobody but a
// person ends it.
const TargetApplied Phase = "applied"

// ErrNotHere says that there is nothing of a move to take back.
var ErrNotHere = errors.New("no such move was applied here, or it was taken back")

// LastDir is the directory that a session's transcript names last.
func (e *End) LastDir(id string) (string, error) {
	f, err := conversation.Find(e.Home, id, "")
	if err != nil {
		return "", err
	}
	dir, err := transcript.LastDir(f.Transcript)
	if err != nil {
		return "", fmt.Errorf("transcript: %w", err)
	}
	if dir == "" {
		return "", errors.New("its transcript names no directory")
	}
	return dir, nil
}

// Describe is the manifest with its entries, as a bundle would have it.
func (l *Load) Describe() (record.Manifest, error) {
	m := l.Manifest
	var err error
	m.Entries, err = bundle.Describe(l.content(), 0)
	return m, err
}

// Place is where a session would go on.
func (a *Arrival) Place() string {
	if a.Target.Worktree != "" {
		return a.Target.Worktree
	}
	return a.Target.Clone
}

// ApplyByHand brings a session in without a hub. Its journal stays, so that it
// can be taken back. It returns the session's directory.
func (e *End) ApplyByHand(ctx context.Context, a *Arrival) (string, error) {
	m := a.Manifest
	j := &Journal{Role: Target, From: m.From, NotCarried: m.NotCarried}
	j.ID, j.Session, j.To = m.Move, m.Session, e.Machine
	h, old, err := e.open(m.Move, j)
	if err != nil {
		return "", err
	}
	defer h.release()
	if old {
		return "", fmt.Errorf("this bundle was applied here before: shmove undo --move %s takes it back", m.Move)
	}
	release, err := e.Desk.LeaseMoving(h.Session, "shmove apply, move "+h.ID)
	if err != nil {
		return "", err
	}
	defer release()
	if err := h.enter(TargetApply); err != nil {
		return "", err
	}
	if err := e.Apply(ctx, a, h); err != nil {
		back, uerr := e.undo(context.WithoutCancel(ctx), h)
		if uerr != nil {
			return "", errors.Join(err, uerr)
		}
		if h.toTakeBack() {
			return "", fmt.Errorf("%w%s; shmove undo --move %s tries again", err, back, h.ID)
		}
		if cerr := h.close(); cerr != nil {
			back += "; " + cerr.Error()
		}
		return "", fmt.Errorf("%w%s", err, back)
	}
	return h.Cwd, h.enter(TargetApplied)
}

// UndoByHand takes back what ApplyByHand did, also one that a crash cut short,
// and what a move of the hub could not take back when it failed.
func (e *End) UndoByHand(ctx context.Context, id string) (string, error) {
	h, _, err := e.open(id, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: %w", id, ErrNotHere)
	}
	if err != nil {
		return "", err
	}
	defer h.release()
	if h.Role != Target || h.Claim != nil && h.Phase != Over {
		return "", fmt.Errorf("move %s is the hub's: shctl cancel takes it back as long as that can be", id)
	}
	release, err := e.Desk.LeaseMoving(h.Session, "shmove undo, move "+h.ID)
	if err != nil {
		return "", err
	}
	defer release()
	if _, err := e.running(ctx, h.Session); err != nil {
		return "", err
	}
	back, err := e.undo(ctx, h)
	if err != nil {
		return "", err
	}
	if h.toTakeBack() {
		return "", fmt.Errorf("not all is taken back%s", back)
	}
	return "taken back" + back, h.close()
}

// settleApplied ends a move by hand once somebody went on with the session: then
// nothing is to be taken back any more.
func (h *held) settleApplied() (bool, error) {
	if h.Phase != TargetApplied || h.Wrote == nil {
		return false, nil
	}
	same, err := h.Wrote.Untouched()
	if err != nil || same {
		return false, err
	}
	if err := h.settle(); err != nil {
		return false, err
	}
	return true, h.close()
}
