package move

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"sessionhub/lib/move/conversation"
	"sessionhub/lib/record"
)

// Finish carries out a claim move_finish: the move has ended, and its source
// archives the session, or takes it up again if it had been ended for the move.
func (e *End) Finish(ctx context.Context, c record.Claim) (record.Result, error) {
	m := c.Move
	res := record.Result{V: record.Version, ID: c.ID, State: record.RequestDone}
	j := &Journal{Role: Source, From: m.From, Claim: m, Cwd: m.Cwd}
	j.ID, j.Session, j.To = m.ID, m.Session, m.To
	h, old, err := e.open(m.ID, j)
	if err != nil {
		return record.Result{}, err
	}
	defer h.release()
	release, err := e.Desk.LeaseMoving(h.Session, "shmove finish, move "+h.ID)
	if err != nil {
		return record.Result{}, err
	}
	defer release()
	p := Finish(m.State)
	if err := h.enter(p); err != nil {
		return record.Result{}, err
	}
	e.reach(p, false)
	var failed string
	switch p {
	case FinishArchive:
		err, failed = e.archive(ctx, h), "archive on "+e.Machine+" failed: %v; remove the transcript there by hand"
	case FinishRestart:
		if old && h.Leaving || e.isAway(h) { // else it was not ended for the move
			err, failed = e.restart(ctx, h), "restart failed: %v"
		}
	default:
		return record.Result{}, fmt.Errorf("the move has not ended: it is %s", m.State)
	}
	if errors.Is(err, errNotKnown) {
		return record.Result{}, err // the hub offers the finish again
	}
	if err == nil && p == FinishArchive && e.archivedMore(h) {
		failed = "%v"
		err = fmt.Errorf("the session was gone on with on %s after it was packed: what was said there since is in %s alone, for 30 days",
			e.Machine, filepath.Join(e.archives(), h.ID, conversation.TranscriptName))
	}
	if err != nil { // its owner is told: it can be resumed twice, or runs nowhere
		h.note(failed, err)
		res.State = record.RequestFailed
	}
	e.reach(p, true)
	h.Leaving = false
	if len(h.Notes) > 0 {
		res.Detail = h.Notes[len(h.Notes)-1]
	}
	if !h.flushNotes(ctx) {
		return res, h.enter(Over)
	}
	return res, h.close()
}

// errNotKnown says that nobody can tell now whether the session runs here.
var errNotKnown = errors.New("whether the session runs here can't be told now")

func (e *End) running(ctx context.Context, id string) (where string, err error) {
	if where, err = e.Desk.Running(ctx, id); err != nil {
		err = fmt.Errorf("%w: %w", errNotKnown, err)
	}
	return where, err
}
