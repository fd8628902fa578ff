package hub

import (
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"strings"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
)

// request is a request whose caller is known and allowed.
type request struct {
	*http.Request
	token store.Token // zero for routes that anybody may call
	body  []byte
}

// handler answers a request with a value for the body, or an error.
type handler func(w http.ResponseWriter, r *request) (any, error)

// handle registers a route. pattern is "METHOD /path".
func (h *Hub) handle(pattern string, w who, f handler) {
	method, path, _ := strings.Cut(pattern, " ")
	h.allow[path] = append(h.allow[path], method)
	h.mux.HandleFunc(pattern, func(rw http.ResponseWriter, hr *http.Request) {
		r := &request{Request: hr}
		v, err := h.serve(rw, r, w, f)
		if err != nil {
			fail(rw, err)
			return
		}
		if v != nil {
			answer(rw, http.StatusOK, v)
		}
	})
}

func (h *Hub) serve(w http.ResponseWriter, r *request, allowed who, f handler) (any, error) {
	if allowed != anybody {
		if err := h.authorize(r, allowed); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"id"} {
		if v := r.PathValue(name); v != "" {
			if err := record.CheckName(name, v); err != nil {
				return nil, bad(err.Error())
			}
		}
	}
	if r.Method == http.MethodPut || r.Method == http.MethodPost {
		b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return nil, &Error{record.Problem{Status: http.StatusRequestEntityTooLarge, Detail: "the body is too large", Limit: MaxBody}}
		}
		if err != nil {
			return nil, bad("the body did not arrive whole")
		}
		r.body = b
	}
	return f(w, r)
}

func (h *Hub) authorize(r *request, allowed who) error {
	secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || secret == "" {
		return &Error{record.Problem{Status: http.StatusUnauthorized, Detail: "a token is wanted: Authorization: Bearer …"}}
	}
	t, err := h.store.FindToken(r.Context(), secret)
	if errors.Is(err, store.ErrUnknown) {
		return &Error{record.Problem{Status: http.StatusUnauthorized, Detail: "the token is not valid: it is unknown or was revoked"}}
	}
	if err != nil {
		return err
	}
	r.token = t
	return permit(t, allowed)
}

func permit(t store.Token, allowed who) error {
	forbid := func(detail string) error { return &Error{record.Problem{Status: http.StatusForbidden, Detail: detail}} }
	isMachine := t.Kind == store.KindMachine
	switch allowed {
	case machine:
		if !isMachine {
			return forbid("this is for machines; the token is a user's")
		}
	case read, ask:
		if isMachine {
			return forbid("this is for users; the token is a machine's")
		}
	}
	scope := "read"
	if allowed == ask {
		scope = "ask"
	}
	if !isMachine && !t.Has(scope) {
		return forbid("the token lacks the scope " + scope)
	}
	return nil
}

// decode reads the body as JSON.
func (r *request) decode(v any) error {
	if len(r.body) == 0 {
		return bad("a JSON body is wanted")
	}
	if err := record.Decode(r.body, v); err != nil {
		return bad(err.Error())
	}
	return nil
}

// write carries f out in a transaction, once for the request's idempotency
// key, counts a record of the queue (a request with a key), and tells those
// who watch.
func (h *Hub) write(r *request, f func(tx *store.Tx) error) (any, error) {
	key := r.Header.Get("Idempotency-Key")
	if key != "" {
		if err := record.CheckName("Idempotency-Key", key); err != nil {
			return nil, bad(err.Error())
		}
	}
	now := h.now()
	err := h.store.Write(r.Context(), func(tx *store.Tx) error {
		if key == "" {
			return f(tx)
		}
		sum := sha256.Sum256(append([]byte(r.Method+" "+r.URL.Path+"\n"), r.body...))
		_, err := store.Once(tx, r.token.Owner(), key, sum[:], now, func() error {
			if err := f(tx); err != nil || r.token.Kind != store.KindMachine {
				return err
			}
			return store.Recorded(tx, r.token.Name, now)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	h.changes.notify()
	return struct{}{}, nil
}
