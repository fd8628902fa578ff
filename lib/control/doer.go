// Package control carries out what people ask this machine to do through the
// hub: type a message, answer what a session asks, give a Remote Control link,
// start and resume sessions.
package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sessionhub/lib/config"
	"sessionhub/lib/record"
	"sessionhub/lib/session"
	"sessionhub/lib/state"
)

// Doer carries out claims. It is safe for use by several goroutines.
type Doer struct {
	Desk   *session.Desk
	Dir    state.Dir
	Config func() (config.Config, error) // read anew for each request
	Home   string                        // of the person: nothing starts outside
	Who    string                        // for leases: which program acts
	Now    func() time.Time
	// Move carries out a step of a move, in its own time: it keeps a journal and
	// leases of its own. Nil: this machine's tools can't.
	Move func(ctx context.Context, c record.Claim) record.Result
}

// Do carries out a claim and says what became of it. It types nothing twice: a
// claim that was begun before, by a process that died, ends as unknown.
func (d *Doer) Do(ctx context.Context, c record.Claim) record.Result {
	res := d.do(ctx, c)
	res.V, res.ID = record.Version, c.ID
	keep := func() error { return d.keepResult(c.ID, res) }
	if res.State == record.ResultBusy { // nothing was given, and the claim comes again
		keep = func() error { return d.forget(c.ID) }
	}
	if err := keep(); err != nil && res.Detail == "" {
		res.Detail = err.Error()
	}
	return res
}

func (d *Doer) do(ctx context.Context, c record.Claim) record.Result {
	if err := c.Validate(); err != nil {
		return failed("the request makes no sense: %v", err)
	}
	if c.Action.OfMove() {
		return d.move(ctx, c)
	}
	begun, err := d.begun(c.ID)
	switch {
	case err != nil:
		return failed("%v", err)
	case begun != nil && begun.Result != nil:
		return *begun.Result // its answer was lost
	case begun != nil && begun.Step != mailed:
		return failed("unknown, %s maybe: whoever carried it out was ended in the middle", begun.Step)
	case !c.ExpiresAt.IsZero() && d.Now().After(c.ExpiresAt.Time):
		return failed("it came too late")
	}
	if c.Action == record.ActionStart {
		return d.start(ctx, c)
	}
	if c.Action == record.ActionAnswer {
		return d.answer(ctx, c)
	}
	release, err := d.Desk.Lease(c.Session.Session, d.Who)
	var held *session.HeldError
	switch {
	case errors.As(err, &held) && c.Action == record.ActionMessage:
		return record.Result{State: record.ResultBusy, Detail: held.Error()}
	case err != nil:
		return failed("%v", err)
	}
	defer release()
	switch c.Action {
	case record.ActionMessage:
		return d.message(ctx, c)
	case record.ActionRemoteControl:
		return d.remoteControl(ctx, c)
	case record.ActionResume:
		return d.resume(ctx, c)
	}
	return failed("this version of sessionhub can't %s: update it there", c.Action)
}

// move hands a step of a move to who can carry it out.
func (d *Doer) move(ctx context.Context, c record.Claim) record.Result {
	if d.Move == nil {
		return failed("this machine's tools can't move sessions")
	}
	return d.Move(ctx, c)
}

func failed(format string, args ...any) record.Result {
	return record.Result{State: record.RequestFailed, Detail: fmt.Sprintf(format, args...)}
}

func done(url, format string, args ...any) record.Result {
	return record.Result{State: record.RequestDone, Detail: fmt.Sprintf(format, args...), URL: url}
}
