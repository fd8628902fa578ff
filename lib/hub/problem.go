package hub

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"strings"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// ProblemOtherMachine is the type of the problem that answers a machine that
// writes of a session which runs on another machine. The token is good: only
// this record is refused, so it is a 409: a 403 would keep everything queued.
const ProblemOtherMachine = "urn:sessionhub:problem:other-machine"

// Error is an error with the problem document that it is answered with
// (RFC 9457).
type Error struct{ Problem record.Problem }

// Error is the detail.
func (e *Error) Error() string { return e.Problem.Detail }

func bad(detail string) error {
	return &Error{record.Problem{Status: http.StatusBadRequest, Detail: detail}}
}

func notFound(detail string) error {
	return &Error{record.Problem{Status: http.StatusNotFound, Detail: detail}}
}

// problem finds the document for an error. What is nobody's fault but the
// hub's is a 500 without details.
func problem(err error) record.Problem {
	var e *Error
	var body *store.BadBody
	var misfit *store.BadAnswer
	var standing *store.MoveConflict
	var never *store.BadMove
	var notNow *store.NotNow
	switch {
	case errors.As(err, &e):
		return e.Problem
	case errors.As(err, &body):
		return record.Problem{Status: http.StatusBadRequest, Detail: body.Error()}
	case errors.Is(err, record.ErrOtherInput), errors.Is(err, store.ErrAnswered):
		return record.Problem{Status: http.StatusConflict, Detail: err.Error()}
	case errors.As(err, &misfit):
		return record.Problem{Status: http.StatusBadRequest, Detail: misfit.Error()}
	case errors.As(err, &standing):
		return record.Problem{Type: record.ProblemMove, Status: http.StatusConflict, Detail: standing.Why, Move: &standing.Move}
	case errors.As(err, &never):
		return record.Problem{Status: http.StatusUnprocessableEntity, Detail: never.Why}
	case errors.As(err, &notNow):
		return record.Problem{Status: http.StatusConflict, Detail: notNow.Why}
	case errors.Is(err, store.ErrUnknown):
		return record.Problem{Status: http.StatusNotFound, Detail: "the hub does not know that session"}
	case errors.Is(err, store.ErrKeyReused):
		return record.Problem{Type: record.ProblemKeyReused, Status: http.StatusUnprocessableEntity, Detail: err.Error()}
	case errors.Is(err, store.ErrIDTaken):
		return record.Problem{Status: http.StatusConflict, Detail: err.Error()}
	case errors.Is(err, store.ErrNotYours):
		return record.Problem{Type: ProblemOtherMachine, Status: http.StatusConflict, Detail: err.Error()}
	case errors.Is(err, store.ErrEnded):
		return record.Problem{Type: record.ProblemEnded, Status: http.StatusConflict, Detail: err.Error()}
	case errors.Is(err, store.ErrClosed):
		return record.Problem{Status: http.StatusServiceUnavailable, Detail: "the hub is shutting down"}
	case errors.Is(err, store.ErrBusy):
		return record.Problem{Status: http.StatusServiceUnavailable, Detail: store.ErrBusy.Error()}
	case errors.Is(err, store.ErrFull):
		return record.Problem{Status: http.StatusInsufficientStorage, Detail: store.ErrFull.Error()}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return record.Problem{Status: http.StatusServiceUnavailable, Detail: "the request was given up"}
	}
	return record.Problem{Status: http.StatusInternalServerError, Detail: "the hub failed; its log says why"}
}

func fail(w http.ResponseWriter, err error) {
	p := problem(err)
	if rec, ok := w.(*recorder); ok && p.Status >= http.StatusInternalServerError {
		rec.err = err
	}
	p.Title, p.Detail = http.StatusText(p.Status), text.Line(p.Detail)
	if p.Type == "" {
		p.Type = "about:blank"
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", record.ProblemType)
	w.WriteHeader(p.Status)
	json.NewEncoder(w).Encode(p) // a client that left is no error of ours
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

// noRoute answers a request that no route takes: 405 when the path has others.
func (h *Hub) noRoute(w http.ResponseWriter, r *http.Request) {
	for pattern, methods := range h.allow {
		if matches(pattern, r.URL.Path) {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			fail(w, &Error{record.Problem{Status: http.StatusMethodNotAllowed, Detail: "this route takes " + strings.Join(methods, ", ")}})
			return
		}
	}
	fail(w, notFound("no such route"))
}

func matches(pattern, p string) bool {
	a, b := strings.Split(pattern, "/"), strings.Split(p, "/")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && (!strings.HasPrefix(a[i], "{") || b[i] == "") {
			return false
		}
	}
	return true
}

// odd reports paths that the router would redirect: a hub's clients never
// write them.
func odd(p string) bool { return p == "" || path.Clean(p) != p }

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
	err    error
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
