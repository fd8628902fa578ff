package hubclient

import (
	"context"
	"errors"
	"net/http"

	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// errNotModified is how do tells a 304.
var errNotModified = errors.New("not modified")

// errNoContent is how do tells a 204, which only a long poll gets: to all
// others it is no receipt.
var errNoContent = errors.New("an answer without content, which is none of a hub's")

// Error is an answer of the hub that is no success, or none at all (Status 0).
type Error struct {
	Op     string
	Status int
	Type   string // of the problem document
	Detail string
	Err    error
	NotHub bool         // what answered is something else
	Move   *record.Move // how a move stands that this did not fit
}

// Error is one line.
func (e *Error) Error() string { return e.Op + ": " + text.Line(e.Detail) }

// Unwrap gives the cause of a request that was not answered.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed later: there was no
// answer, or the hub says that it is not the request's fault.
func (e *Error) Retryable() bool {
	switch e.Status {
	case 0, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	case http.StatusUnauthorized, http.StatusForbidden:
		return false
	}
	return e.Status >= 500 || e.NotHub
}

// ExitCode is the exit status that a command ends with: 69 out of reach, 77
// not allowed, 65 refused.
func (e *Error) ExitCode() int {
	switch {
	case e.Retryable():
		return 69
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return 77
	}
	return 65
}

// Class says what a failed delivery means for the queue.
type Class int

// The classes of a delivery.
const (
	Delivered Class = iota
	Retry           // stop the pass, keep this record and all later ones
	Denied          // the token is wrong: stop the pass, keep everything
	Missing         // the hub does not know the session
	Refused         // the hub will never take it
)

// Classify sorts the outcome of a delivery.
func Classify(err error) Class {
	var e *Error
	switch {
	case err == nil:
		return Delivered
	case !errors.As(err, &e), errors.Is(err, context.Canceled):
		return Retry
	case e.Retryable():
		return Retry
	case e.Type == record.ProblemKeyReused:
		// An answer was lost, and what is known of the session has changed
		// since: the record itself is at the hub.
		return Delivered
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return Denied
	case e.Status == http.StatusNotFound:
		return Missing
	}
	return Refused
}
