package hub

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
)

// postControl asks the machine of a session to do something.
func (h *Hub) postControl(_ http.ResponseWriter, r *request) (any, error) {
	var p record.ControlPost
	if err := r.decode(&p); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, bad(err.Error())
	}
	s, err := h.store.Session(r.Context(), r.PathValue("id"), h.now())
	if err != nil {
		return nil, err
	}
	if p.Action == record.ActionMessage && s.Status == record.StatusEnded {
		return nil, conflict("the session has ended: resume it first")
	}
	return h.order(r, store.Order{
		Machine: s.Machine, Session: s.Session, Action: p.Action, Online: p.Online, Text: p.Text, AsCommand: p.AsCommand,
	})
}

// postStart asks a machine to start a session.
func (h *Hub) postStart(_ http.ResponseWriter, r *request) (any, error) {
	var p record.StartPost
	if err := r.decode(&p); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, bad(err.Error())
	}
	name := r.PathValue("name")
	known, err := h.store.MachineKnown(r.Context(), name)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, notFound("the hub knows no machine of that name")
	}
	return h.order(r, store.Order{Machine: name, Action: record.ActionStart, Online: p.Online, Start: &p.Start})
}

// postAnswer answers what a session asks: a request that its machine carries out
// once.
func (h *Hub) postAnswer(_ http.ResponseWriter, r *request) (any, error) {
	var p record.AnswerPost
	if err := r.decode(&p); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, bad(err.Error())
	}
	id, err := requestID(r)
	if err != nil {
		return nil, err
	}
	o := store.Order{ID: id, Session: r.PathValue("id"), Action: record.ActionAnswer, Answer: &record.Answer{Ask: r.PathValue("ask"), AnswerPost: p}}
	var req record.Request
	err = h.store.Write(r.Context(), func(tx *store.Tx) (err error) {
		req, err = store.AnswerAsk(tx, o, r.token.Name, h.now())
		return err
	})
	if errors.Is(err, store.ErrUnknown) {
		return nil, notFound("the hub knows no such ask of that session")
	}
	if err != nil {
		return nil, err
	}
	h.polls.ring(req.Machine)
	return req, nil
}

// order queues a request. Its id follows from the idempotency key, so that one
// that is sent again is the same request.
func (h *Hub) order(r *request, o store.Order) (any, error) {
	id, err := requestID(r)
	if err != nil {
		return nil, err
	}
	o.ID = id
	var req record.Request
	err = h.store.Write(r.Context(), func(tx *store.Tx) (err error) {
		req, err = store.AddRequest(tx, o, h.now())
		return err
	})
	if err != nil {
		return nil, err
	}
	h.polls.ring(o.Machine)
	return req, nil
}

// requestID is a new id, or the one of the request's idempotency key and body.
func requestID(r *request) (string, error) {
	key := r.Header.Get(keyHeader)
	if key == "" {
		id, err := uuid.NewV7()
		return id.String(), err
	}
	if err := record.CheckName(keyHeader, key); err != nil {
		return "", bad(err.Error())
	}
	sum := sha256.Sum256([]byte(r.token.Owner() + "\n" + r.Method + " " + r.URL.Path + "\n" + key + "\n" + string(r.body)))
	id, err := uuid.FromBytes(sum[:16])
	return id.String(), err
}

func conflict(detail string) error {
	return &Error{record.Problem{Status: http.StatusConflict, Detail: detail}}
}

// getRequest tells how a request stands; with wait it waits for its end.
func (h *Hub) getRequest(_ http.ResponseWriter, r *request) (any, error) {
	wait, err := waitOf(r)
	if err != nil {
		return nil, err
	}
	id := r.PathValue("id")
	return h.await(r, h.requests, id, wait, func() (any, bool, time.Time, error) {
		req, err := h.current(r, id)
		return req, req.Ended(), req.ExpiresAt.Time, err
	})
}

// await looks until it is over, or the wait is: each time that the bell is rung
// for a name, and when what was seen is due to change by itself (never at zero).
func (h *Hub) await(r *request, b *bell, name string, wait time.Duration, look func() (seen any, over bool, due time.Time, err error)) (any, error) {
	ear := b.join(name)
	defer b.leave(name, ear)
	end := time.NewTimer(wait)
	defer end.Stop()
	for {
		seen, over, at, err := look()
		if err != nil || over || wait == 0 {
			return seen, err
		}
		due, stop := h.dueAt(at)
		select {
		case <-ear:
		case <-due:
		case <-end.C:
			wait = 0
		case <-b.closed:
			wait = 0
		case <-r.Context().Done():
			stop()
			return nil, nil
		}
		stop()
	}
}

// current reads a request, and ends it when its time is over: nobody else may
// look at it for long.
func (h *Hub) current(r *request, id string) (record.Request, error) {
	req, overdue, err := h.store.Request(r.Context(), id, h.now())
	if err != nil || !overdue {
		return req, noRequest(err)
	}
	err = h.store.Write(r.Context(), func(tx *store.Tx) error {
		_, err := store.EndOverdue(tx, req.Machine, h.now())
		return err
	})
	if err != nil {
		return req, err
	}
	req, _, err = h.store.Request(r.Context(), id, h.now())
	return req, err
}

func (h *Hub) postCancel(_ http.ResponseWriter, r *request) (any, error) {
	var req record.Request
	err := h.store.Write(r.Context(), func(tx *store.Tx) (err error) {
		req, err = store.CancelRequest(tx, r.PathValue("id"), h.now())
		return err
	})
	if err != nil {
		return nil, noRequest(err)
	}
	h.requests.ring(req.ID)
	h.polls.ring(req.Machine)
	return req, nil
}

// noRequest says what is not known.
func noRequest(err error) error {
	if errors.Is(err, store.ErrUnknown) {
		return notFound("the hub knows no such request")
	}
	return err
}
