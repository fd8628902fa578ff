package move

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"sessionhub/lib/lock"
	"sessionhub/lib/record"
)

// Recovered is what became of a move that was found unfinished.
type Recovered struct {
	Move    string      `json:"move"`
	Session string      `json:"session"`
	Role    Role        `json:"role"`
	Was     Phase       `json:"was"`
	Busy    bool        `json:"busy,omitempty"` // somebody carries it out
	Waits   bool        `json:"waits,omitempty"`
	Result  *Step       `json:"result,omitempty"`
	At      record.Time `json:"at"`
}

// Recover goes on with the moves that a crash left in the middle, or of which
// the hub does not know the end yet. A move that somebody carries out is left
// to them; a source that only waits for the end of its move goes on waiting.
func (e *End) Recover(ctx context.Context, out *Out) ([]Recovered, error) {
	list, err := e.Journals()
	var done []Recovered
	for _, j := range list {
		r, ferr := e.recover(ctx, out, j)
		if ferr != nil {
			err = errors.Join(err, ferr)
		}
		done = append(done, r)
	}
	return done, err
}

func (e *End) recover(ctx context.Context, out *Out, j Journal) (Recovered, error) {
	r := Recovered{Move: j.ID, Session: j.Session, Role: j.Role, Was: j.Phase, At: j.At}
	h, _, err := e.open(j.ID, nil)
	switch {
	case errors.Is(err, lock.ErrBusy):
		r.Busy = true
		return r, nil
	case errors.Is(err, fs.ErrNotExist): // over meanwhile
		return r, nil
	}
	if err != nil {
		return r, err
	}
	defer h.release()
	if h.Claim == nil { // by hand: undo is a person's
		settled, err := h.settleApplied()
		r.Waits = !settled
		return r, err
	}
	if h.Phase == Over { // only notes are left, or what a person is to undo
		flushed := h.flushNotes(ctx)
		if r.Waits = !flushed || h.toTakeBack(); r.Waits {
			return r, h.save()
		}
		return r, h.close()
	}
	var res record.Result
	switch {
	case h.Phase == SourceWait || h.Phase == FinishArchive || h.Phase == FinishRestart:
		return h.waits(ctx, r)
	case h.Role == Source && (h.Phase == SourceCheck || h.Phase == SourceAsk):
		return r, h.close() // nothing was touched, and the hub offers it again
	case h.Role == Source:
		res, err = out.run(ctx, h, true)
	case h.Phase == TargetCheck:
		return r, h.close()
	default:
		res, err = (&In{e}).run(ctx, h, true)
	}
	if err != nil {
		return r, err
	}
	r.Result = &Step{Step: string(h.Phase), OK: res.State == record.RequestDone, Detail: res.Detail}
	return r, nil
}

// waits is a source's journal that waits for the hub to offer the finish. A hub
// that has lost the move never will: then the session is a person's again. It is
// not resumed here, as the target may have it.
func (h *held) waits(ctx context.Context, r Recovered) (Recovered, error) {
	m, err := h.end.state(ctx, h.ID)
	if err != nil || m.State != forgotten {
		r.Waits = true
		return r, nil
	}
	r.Result = &Step{Step: string(h.Phase), Detail: fmt.Sprintf("the hub has lost the move of session %s to %s; it stays ended here: "+
		"if it does not run there, shmove restore %[3]s puts its files back, and claude --resume %[1]s goes on with it", h.Session, clean(h.To), h.ID)}
	h.end.Tell(*r.Result)
	return r, h.close()
}
