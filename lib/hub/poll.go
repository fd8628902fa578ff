package hub

import (
	"net/http"
	"strconv"
	"time"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
)

// maxWait bounds a long poll. Clients ask for 30 s; proxies cut at a minute.
const maxWait = 55 * time.Second

// waitOf reads the wait of a long poll in seconds; none is 0.
func waitOf(r *request) (time.Duration, error) {
	s := r.URL.Query().Get("wait")
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, bad(`"wait" is no number of seconds`)
	}
	return min(time.Duration(n)*time.Second, maxWait), nil
}

// getControl gives a machine its next request, waiting for one. It is cheap to
// wait: the database is asked when the bell rings, or when something is due.
func (h *Hub) getControl(w http.ResponseWriter, r *request) (any, error) {
	wait, err := waitOf(r)
	if err != nil {
		return nil, err
	}
	name := r.token.Name
	ear := h.polls.join(name)
	defer h.polls.leave(name, ear)
	end := time.NewTimer(wait)
	defer end.Stop()
	for {
		c, next, err := h.claim(r, name)
		if err != nil {
			return nil, err
		}
		if c != nil {
			return c, nil
		}
		due, stop := h.dueAt(next)
		select {
		case <-ear:
		case <-due:
		case <-end.C:
			w.WriteHeader(http.StatusNoContent)
			stop()
			return nil, nil
		case <-h.polls.closed:
			w.WriteHeader(http.StatusNoContent)
			stop()
			return nil, nil
		case <-r.Context().Done():
			stop()
			return nil, nil
		}
		stop()
	}
}

// dueAt is a channel that has a value at a time by the hub's clock; none for
// the zero time.
func (h *Hub) dueAt(t time.Time) (c <-chan time.Time, stop func()) {
	if t.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(max(t.Sub(h.now()), time.Millisecond))
	return timer.C, func() { timer.Stop() }
}

// claim takes the machine's next request, if there is one. The token is looked
// at again: it may have been revoked while its machine waited.
func (h *Hub) claim(r *request, name string) (*record.Claim, time.Time, error) {
	if err := h.endOverdueMoves(r.Context()); err != nil {
		return nil, time.Time{}, err
	}
	ready, next, err := h.store.NextClaim(r.Context(), name, h.now())
	if err != nil || !ready {
		return nil, next, err
	}
	if _, err := h.store.FindToken(r.Context(), r.secret); err != nil {
		return nil, next, &Error{record.Problem{Status: http.StatusUnauthorized, Detail: "the token was revoked"}}
	}
	var c record.Claim
	var ok bool
	var ended []string
	err = h.store.Write(r.Context(), func(tx *store.Tx) (err error) {
		c, ok, ended, err = store.Claim(tx, name, h.now())
		return err
	})
	if err != nil {
		return nil, next, err
	}
	h.requests.ring(ended...)
	if !ok {
		return nil, h.now().Add(time.Millisecond), nil // what was due was ended: look again
	}
	return &c, next, nil
}

func (h *Hub) postRenew(_ http.ResponseWriter, r *request) (any, error) {
	err := h.store.Write(r.Context(), func(tx *store.Tx) error { return store.RenewClaim(tx, r.token.Name, r.PathValue("id"), h.now()) })
	return struct{}{}, noRequest(err)
}

func (h *Hub) postResult(_ http.ResponseWriter, r *request) (any, error) {
	var res record.Result
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
		return nil, bad(`"id" is not the request of the path`)
	}
	err := h.store.Write(r.Context(), func(tx *store.Tx) error { return store.FinishClaim(tx, r.token.Name, res, h.now()) })
	if err != nil {
		return nil, noRequest(err)
	}
	h.requests.ring(res.ID)
	h.polls.ring(r.token.Name) // the next of its session, or its own next time
	return struct{}{}, nil
}
