package hub

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
)

// request is a request whose caller is known and allowed.
type request struct {
	*http.Request
	token  store.Token // zero for routes that anybody may call
	secret string      // of the token
	body   []byte
}

// keyHeader is the header of idempotency keys.
const keyHeader = "Idempotency-Key"

// uploadRoute is the one route whose body is too large to be read at once.
const uploadRoute = "PUT /v1/moves/{id}/bundle"

// bodyWait bounds the arrival of a body: a megabyte over a slow line.
const bodyWait = 30 * time.Second

// handler answers a request with a value for the body, or an error.
type handler func(w http.ResponseWriter, r *request) (any, error)

// handle registers a route. pattern is "METHOD /path".
func (h *Hub) handle(pattern string, w who, f handler) {
	method, path, _ := strings.Cut(pattern, " ")
	path = strings.TrimSuffix(path, "{$}") // that it is the whole path
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
	if err := checkPath(r); err != nil {
		return nil, err
	}
	if (r.Method == http.MethodPut || r.Method == http.MethodPost) && r.Pattern != uploadRoute {
		if err := r.readBody(w); err != nil {
			return nil, err
		}
	}
	return f(w, r)
}

// checkPath refuses ids that are none. An inbox entry's id holds a session's.
func checkPath(r *request) error {
	id := r.PathValue("id")
	if id == "" {
		return nil
	}
	check := record.CheckID
	if strings.HasPrefix(r.Pattern, "POST /v1/inbox/") {
		check = store.CheckEntry
	}
	if err := check("id", id); err != nil {
		return bad(err.Error())
	}
	if ask := r.PathValue("ask"); ask != "" {
		if err := record.CheckID("ask", ask); err != nil {
			return bad(err.Error())
		}
	}
	return nil
}

func (r *request) readBody(w http.ResponseWriter) error {
	c := http.NewResponseController(w)
	c.SetReadDeadline(time.Now().Add(bodyWait)) // not of recorders in tests
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return &Error{record.Problem{Status: http.StatusRequestEntityTooLarge, Detail: "the body is too large", Limit: MaxBody}}
	}
	if err != nil {
		return bad("the body did not arrive whole")
	}
	c.SetReadDeadline(time.Time{})
	r.body = b
	return nil
}

func (h *Hub) authorize(r *request, allowed who) error {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if scheme == "" {
		var err error
		if secret, err = cookieSecret(r); err != nil {
			return err
		}
	} else if !strings.EqualFold(scheme, "Bearer") {
		secret = ""
	}
	if secret == "" {
		return &Error{record.Problem{Status: http.StatusUnauthorized, Detail: "a token is wanted: Authorization: Bearer …"}}
	}
	t, err := h.store.FindToken(r.Context(), secret)
	if errors.Is(err, store.ErrUnknown) {
		return &Error{record.Problem{Status: http.StatusUnauthorized, Detail: "the token is not valid: it is unknown or was revoked; shhub token add makes a new one"}}
	}
	if err != nil {
		return err
	}
	r.token, r.secret = t, secret
	if name := r.Header.Get(record.MachineHeader); t.Kind == store.KindMachine && name != "" && name != t.Name {
		return &Error{record.Problem{Status: http.StatusForbidden,
			Detail: "the token is of the machine " + t.Name + ", and this is " + name + ": set machine in config.toml, or use its own token"}}
	}
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
	case read, ask, answers:
		if isMachine {
			return forbid("this is for users; the token is a machine's")
		}
	}
	scope := "read"
	switch allowed {
	case ask:
		scope = "ask"
	case answers:
		scope = "answer"
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
	if b := bytes.TrimLeft(r.body, " \t\r\n"); bytes.HasPrefix(b, []byte("null")) {
		return bad("a JSON object is wanted, not null")
	}
	if err := record.Decode(r.body, v); err != nil {
		return bad(err.Error())
	}
	return nil
}

// write carries f out in a transaction, once for the request's idempotency key
// (by default the id of the record, if it has one), and counts what came from a
// machine's queue, which is what has a key.
func (h *Hub) write(r *request, id string, f func(tx *store.Tx) error) (any, error) {
	key := r.Header.Get(keyHeader)
	if key == "" {
		key = id
	}
	if key != "" {
		if err := record.CheckName(keyHeader, key); err != nil {
			return nil, bad(err.Error())
		}
	}
	err := h.store.Write(r.Context(), func(tx *store.Tx) error {
		if key == "" {
			return f(tx)
		}
		return h.once(tx, r, key, f)
	})
	if err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

func (h *Hub) once(tx *store.Tx, r *request, key string, f func(tx *store.Tx) error) error {
	now := h.now()
	sum := sha256.Sum256(append([]byte(r.Method+" "+r.URL.Path+"\n"), r.body...))
	_, err := store.Once(tx, r.token.Owner(), key, sum[:], now, func() error {
		if err := f(tx); err != nil || tx.Known() || r.token.Kind != store.KindMachine {
			return err
		}
		return store.Recorded(tx, r.token.Name, now)
	})
	return err
}
