package hub

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// tendEvery is how often the hub looks for moves whose step takes too long
// while nobody asks for one.
const tendEvery = 5 * time.Second

// Prepare makes bundles and moves agree. Call it before the hub serves.
func (h *Hub) Prepare(ctx context.Context) error { return h.store.CleanBundles(ctx, h.now()) }

// Tend ends moves whose step takes too long, at once and every few seconds,
// until the context ends.
func (h *Hub) Tend(ctx context.Context, failed func(error)) {
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	for {
		if err := h.endOverdueMoves(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// endOverdueMoves is cheap when there are none. Who asks for a move, or for
// what a machine is to do, sees no step that is overdue.
func (h *Hub) endOverdueMoves(ctx context.Context) error {
	due, err := h.store.MovesOverdue(ctx, h.now())
	if err != nil || !due {
		return err
	}
	return h.store.Write(ctx, func(tx *store.Tx) error { return store.EndOverdueMoves(tx, h.now()) })
}

// moved wakes those who wait: both machines may have something to do.
func (h *Hub) moved(moves []record.Move) {
	for _, m := range moves {
		h.polls.ring(m.From, m.To)
		h.moves.ring(m.ID)
	}
}

// putMoveKey registers a machine's keys.
func (h *Hub) putMoveKey(_ http.ResponseWriter, r *request) (any, error) {
	var k record.MoveKey
	if err := r.decode(&k); err != nil {
		return nil, err
	}
	if err := k.Validate(); err != nil {
		return nil, unprocessable(err.Error())
	}
	return h.write(r, "", func(tx *store.Tx) error { return store.SetMoveKey(tx, r.token.Name, k, h.now()) })
}

func unprocessable(detail string) error {
	return &Error{record.Problem{Status: http.StatusUnprocessableEntity, Detail: detail}}
}

// postMove begins a move. The same idempotency key again gives the same move.
func (h *Hub) postMove(_ http.ResponseWriter, r *request) (any, error) {
	var p record.MovePost
	if err := r.decode(&p); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, bad(err.Error())
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	o := store.MoveOrder{ID: id.String(), Session: r.PathValue("id"), MovePost: p}
	if key := r.Header.Get(keyHeader); key != "" {
		if err := record.CheckName(keyHeader, key); err != nil {
			return nil, bad(err.Error())
		}
		sum := sha256.Sum256(append([]byte(r.URL.Path+"\n"), r.body...))
		o.Origin, o.Hash = r.token.Owner()+"\n"+key, sum[:]
	}
	return h.changeMove(r, func(tx *store.Tx) (record.Move, error) { return store.AddMove(tx, o, h.now()) })
}

// changeMove answers with how a move stands after a change.
func (h *Hub) changeMove(r *request, f func(tx *store.Tx) (record.Move, error)) (any, error) {
	if err := h.endOverdueMoves(r.Context()); err != nil {
		return nil, err
	}
	var m record.Move
	err := h.store.Write(r.Context(), func(tx *store.Tx) (err error) {
		m, err = f(tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// postMoveCancel takes a move back.
func (h *Hub) postMoveCancel(_ http.ResponseWriter, r *request) (any, error) {
	m, err := h.changeMove(r, func(tx *store.Tx) (record.Move, error) { return store.CancelMove(tx, r.PathValue("id"), h.now()) })
	return m, noMove(err)
}

// postMoveResult takes how one end of a move got on.
func (h *Hub) postMoveResult(_ http.ResponseWriter, r *request) (any, error) {
	var res record.MoveResult
	if err := r.decode(&res); err != nil {
		return nil, err
	}
	if res.ID == "" {
		res.ID = r.PathValue("id")
	}
	if err := res.Validate(); err != nil {
		return nil, bad(err.Error())
	}
	if res.ID != r.PathValue("id") {
		return nil, bad(`"id" is not the move of the path`)
	}
	res.Detail = text.Line(res.Detail)
	m, err := h.changeMove(r, func(tx *store.Tx) (record.Move, error) { return store.TakeMoveResult(tx, r.token.Name, res, h.now()) })
	return m, noMove(err)
}

// getMove tells how a move stands. With wait it waits until the move has left
// the state that "while" names, or has ended.
func (h *Hub) getMove(_ http.ResponseWriter, r *request) (any, error) {
	wait, err := waitOf(r)
	if err != nil {
		return nil, err
	}
	id, while := r.PathValue("id"), record.MoveState(r.URL.Query().Get("while"))
	return h.await(r, h.moves, id, wait, func() (any, bool, time.Time, error) {
		m, err := h.moveFor(r, id)
		var deadline time.Time
		if m.StepDeadline != nil {
			deadline = m.StepDeadline.Time
		}
		return m, m.State.Ended() || while != "" && m.State != while, deadline, err
	})
}

// moveFor is a move as its two machines may see it, and users who may read.
func (h *Hub) moveFor(r *request, id string) (record.Move, error) {
	if err := h.endOverdueMoves(r.Context()); err != nil {
		return record.Move{}, err
	}
	m, err := h.store.Move(r.Context(), id)
	if err == nil && r.token.Kind == store.KindMachine && r.token.Name != m.From && r.token.Name != m.To {
		err = store.ErrUnknown
	}
	m.Transfer = h.transfers.of(id)
	return m, noMove(err)
}

// noMove says what is not known.
func noMove(err error) error {
	if errors.Is(err, store.ErrUnknown) {
		return notFound("the hub knows no such move")
	}
	return err
}
