package move

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/git"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
	"sessionhub/lib/seal"
	"sessionhub/lib/session"
	"sessionhub/lib/state"
	"sessionhub/lib/text"
)

// Hub is what an end needs of the hub.
type Hub interface {
	GetMove(ctx context.Context, id string, while record.MoveState, wait time.Duration) (record.Move, error)
	PostMoveResult(ctx context.Context, r record.MoveResult) (record.Move, error)
	UploadBundle(ctx context.Context, move string, b record.Bundle, r io.Reader) (record.Move, error)
	DownloadBundle(ctx context.Context, move string, b record.Bundle, w io.Writer) error
}

// Desk is what an end does with sessions in panes.
type Desk interface {
	LeaseMoving(session, who string) (release func(), err error)
	Running(ctx context.Context, session string) (where string, err error)
	MayRun(ctx context.Context, session string) bool
	Endable(ctx context.Context, session string, stopBackground bool) session.Gate
	End(ctx context.Context, session string, stopBackground bool, before func() error) (session.Ending, error)
	Launch(ctx context.Context, l session.Launch, before func() error) (session.Launched, error)
	Relaunch(ctx context.Context, socket, paneID string, l session.Launch, before func() error) (session.Launched, error)
	AwaitPrompt(ctx context.Context, at session.Launched) session.Prompt
	WhyEnded(ctx context.Context, at session.Launched) error
	Discard(ctx context.Context, at session.Launched, session string) bool
	NoteResumed(session string) error
	JustResumed(session string) bool
	Servers(ctx context.Context) error
	InUse(ctx context.Context, dir string) (paneID string, err error)
}

// End is one end of moves: what this machine has for them. It is safe for use
// by several goroutines.
type End struct {
	Machine string
	Dir     state.Dir
	Home    claude.Home
	Desk    Desk
	Hub     Hub        // nil: by hand
	Keys    *seal.Keys // nil: they are of no use now, and only what needs none can be done
	Pins    *seal.Pins
	Roots   []string                                  // clones are looked for below
	Claude  func(ctx context.Context) (string, error) // which version would be started here

	Limit        int64 // of a bundle's content, in bytes
	MaxUntracked int64 // of an untracked file

	Now      func() time.Time
	Pause    func(ctx context.Context, d time.Duration)
	LockWait time.Duration
	// Tell is told of each step as it is done, for who watches.
	Tell func(Step)

	at func(p Phase, done bool) // tests look, and crash, before and after each phase
}

// errNoKeys is the error of what needs this machine's keys.
var errNoKeys = errors.New("this machine's keys for moves are of no use: shmove key says why")

func (e *End) keys() error {
	if e.Keys == nil {
		return errNoKeys
	}
	return nil
}

func (e *End) reach(p Phase, done bool) {
	if e.at != nil {
		e.at(p, done)
	}
}

// Step is a line of what shmove prints: one thing that was done, or not.
type Step struct {
	Step   string `json:"step"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

// LockWait is how long a move's lock is waited for: its holder may be in the
// middle of a step, which is then over soon, or in one that takes minutes.
const LockWait = 2 * time.Second

const (
	// postWait is the first pause after a result that did not get through; it
	// doubles up to maxPostWait.
	postWait    = time.Second
	maxPostWait = 30 * time.Second
)

func (e *End) tell(step, format string, args ...any) {
	e.Tell(Step{Step: step, OK: true, Detail: clean(fmt.Sprintf(format, args...))})
}

func (e *End) tellFailed(step string, err error) {
	e.Tell(Step{Step: step, Detail: clean(err.Error())})
}

// outcome keeps a failure for the post.
func (e *End) outcome(h *held, err error) Seen {
	if err == nil {
		return Seen{}
	}
	h.Detail = clean(err.Error())
	e.tellFailed(string(h.Phase), err)
	return Seen{Outcome: Failed}
}

// stepError is a failure with the name of its step, which begins the detail.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

func in(step string, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), step+": ") {
		return err
	}
	return &stepError{step, err}
}

func inf(step, format string, args ...any) error {
	return &stepError{step, fmt.Errorf(format, args...)}
}

// maxDetail bounds a detail in characters: it is shown in one line.
const maxDetail = 600

// clean makes a text from outside safe: no escapes, no credentials of remotes.
func clean(s string) string { return text.Cut(text.Line(git.WithoutUsers(s)), maxDetail) }

// forgotten is the state of a move that the hub knows nothing of (any more): its
// database is another. Nobody is given the right to start by it.
const forgotten record.MoveState = "forgotten"

// state asks the hub how a move stands; "" when that can't be told now.
func (e *End) state(ctx context.Context, id string) (record.Move, error) {
	m, err := e.Hub.GetMove(ctx, id, "", 0)
	var said *hubclient.Error
	if errors.As(err, &said) && said.Status == http.StatusNotFound && !said.NotHub {
		return record.Move{State: forgotten}, nil
	}
	return m, err
}

// post tells the hub how this end got on. OK: it is recorded. Failed: the move
// has ended otherwise, or is not where this end took it to be. Lost: nobody
// knows.
func (e *End) post(ctx context.Context, r record.MoveResult) (Outcome, error) {
	r.V = record.Version
	_, err := e.Hub.PostMoveResult(ctx, r)
	var said *hubclient.Error
	switch {
	case err == nil:
		return OK, nil
	case errors.As(err, &said) && !said.NotHub && (said.Status == http.StatusConflict || said.Status == http.StatusNotFound):
		return Failed, err
	}
	return Lost, err
}

// postTries is how often a result is posted before it counts as lost (the
// seed's 5).
const postTries = 5

// postSeveral posts until the hub answers, a few times.
func (e *End) postSeveral(ctx context.Context, r record.MoveResult) (Outcome, error) {
	pause := postWait
	for try := 1; ; try++ {
		o, err := e.post(ctx, r)
		if o != Lost || try == postTries || ctx.Err() != nil {
			return o, err
		}
		e.Pause(ctx, pause)
		pause = min(2*pause, maxPostWait)
	}
}

// note gives the hub what people should know of a move that has ended. What it
// does not get stays in the journal, which recover posts.
func (h *held) note(format string, args ...any) {
	h.Notes = append(h.Notes, clean(fmt.Sprintf(format, args...)))
}

// flushNotes posts the notes, and reports whether none is left.
func (h *held) flushNotes(ctx context.Context) bool {
	if len(h.Notes) == 0 || h.end.Hub == nil {
		return true
	}
	o, err := h.end.postSeveral(ctx, record.MoveResult{ID: h.ID, Notes: h.Notes})
	if o == Lost {
		h.end.tellFailed("note", err)
		return false
	}
	h.Notes = nil
	return true
}
