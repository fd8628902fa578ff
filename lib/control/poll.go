package control

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"sessionhub/lib/config"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
	"sessionhub/lib/runlog"
)

// Hub is what the loop needs of the hub, with this machine's token.
type Hub interface {
	NextClaim(ctx context.Context, wait time.Duration) (record.Claim, bool, error)
	PostResult(ctx context.Context, r record.Result) error
	Renew(ctx context.Context, id string) error
}

// Timing is how long the loop waits for what.
type Timing struct {
	Wait     time.Duration // of one long poll
	RetryMin time.Duration // after a network error, doubling
	RetryMax time.Duration
	Refused  time.Duration // after 401, 403 or a configuration that is none
	Fast     time.Duration // a poll that ends sooner without a claim is too fast
	FastWait time.Duration // then the next one waits
	Renew    time.Duration // between renewals of a claim's lease of 30 s
	Post     time.Duration // for posting a result
	Grace    time.Duration // for deeds under way when the loop is to end
}

// DefaultTiming is the timing of real use. Together Grace and Post keep the end
// of a watcher within 5 s.
func DefaultTiming() Timing {
	return Timing{
		Wait: 30 * time.Second, RetryMin: 5 * time.Second, RetryMax: time.Minute, Refused: 5 * time.Minute,
		Fast: time.Second, FastWait: time.Second, Renew: 10 * time.Second, Post: 2 * time.Second, Grace: 2500 * time.Millisecond,
	}
}

const (
	// atOnce bounds the deeds under way: a person's few, not a flood. A message to
	// each of their sessions that work is one, for most of the time.
	atOnce = 64
	// cutShort is how often in a row a long poll must be cut before its time
	// until that is told: a proxy does it every time (field report A55).
	cutShort = 3
	// sweepEvery is how often is looked for what killed processes left.
	sweepEvery = time.Minute
)

// Poll is the loop that takes claims from the hub and carries them out, side by
// side. Fill the fields, then call Run once.
type Poll struct {
	Connect func() (Hub, error) // asked anew after a failure: the config may change
	Doer    *Doer
	Log     *runlog.Log
	Timing  Timing
	Pause   func(ctx context.Context, d time.Duration)

	deeds sync.WaitGroup
	slots chan struct{}
	cuts  int
	swept time.Time
}

// Run polls until the context ends; deeds under way get Timing.Grace to end by
// themselves, and their results are posted all the same.
func (p *Poll) Run(ctx context.Context) {
	p.slots = make(chan struct{}, atOnce)
	work, stop := graceful(ctx, p.Timing.Grace)
	defer stop()
	backoff := time.Duration(0)
	said := false
	for ctx.Err() == nil {
		hub, err := p.Connect()
		if err == nil {
			if !said {
				p.Log.Printf("control: waiting for requests")
				said = true
			}
			err = p.once(ctx, work, hub)
		}
		if err == nil {
			backoff = 0
			continue
		}
		if ctx.Err() != nil {
			break
		}
		p.Log.Failure("control: %v", err)
		if refused(err) {
			p.Pause(ctx, jitter(p.Timing.Refused))
			continue
		}
		backoff = min(max(2*backoff, p.Timing.RetryMin), p.Timing.RetryMax)
		p.Pause(ctx, jitter(backoff))
	}
	p.deeds.Wait()
}

// once makes one long poll and begins what it gives.
func (p *Poll) once(ctx, work context.Context, hub Hub) error {
	p.postLeft(ctx, hub)
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	began := time.Now()
	claim, ok, err := hub.NextClaim(ctx, p.Timing.Wait)
	if err != nil || !ok {
		<-p.slots
		p.pace(ctx, time.Since(began), err)
		return err
	}
	p.cuts = 0
	p.deeds.Go(func() {
		defer func() { <-p.slots }()
		p.carryOut(work, hub, claim)
	})
	return nil
}

// pace waits after a poll that ended too soon without a claim, so that a hub
// that shuts down, or a proxy, can't make the loop spin; and tells of a proxy
// that cuts long polls.
func (p *Poll) pace(ctx context.Context, took time.Duration, err error) {
	if ctx.Err() != nil {
		return
	}
	if took < p.Timing.Wait/2 && (err == nil || took > p.Timing.Fast) {
		if p.cuts++; p.cuts == cutShort {
			p.Log.Failure("control: long polls of %s are cut after %s: a proxy in between? requests may reach this machine late", p.Timing.Wait, took.Round(time.Second))
		}
	} else {
		p.cuts = 0
	}
	if err == nil && took < p.Timing.Fast {
		p.Pause(ctx, p.Timing.FastWait)
	}
}

// postLeft posts results that an earlier process could not.
func (p *Poll) postLeft(ctx context.Context, hub Hub) {
	list, err := p.Doer.Unposted()
	if err != nil {
		p.Log.Failure("control: %v", err)
	}
	for _, r := range list {
		p.post(ctx, hub, r)
	}
	if time.Since(p.swept) < sweepEvery {
		return
	}
	p.swept = time.Now()
	if err := p.Doer.Sweep(); err != nil {
		p.Log.Failure("control: %v", err)
	}
}

// carryOut does one claim, renews its lease meanwhile, and posts the result.
func (p *Poll) carryOut(work context.Context, hub Hub, c record.Claim) {
	ctx, cancel := context.WithCancel(work)
	var renewing sync.WaitGroup
	renewing.Go(func() { p.renew(ctx, hub, c.ID) })
	r := p.Doer.Do(ctx, c)
	cancel()
	renewing.Wait()
	about := "a new session"
	if c.Session != nil {
		about = "session " + c.Session.Session
	}
	p.Log.Printf("control: request %s, %s for %s: %s %s", c.ID, c.Action, about, r.State, r.Detail)
	p.post(context.WithoutCancel(work), hub, r)
}

func (p *Poll) renew(ctx context.Context, hub Hub, id string) {
	t := time.NewTicker(p.Timing.Renew)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if err := hub.Renew(ctx, id); err != nil && ctx.Err() == nil {
				p.Log.Failure("control: renew: %v", err)
			}
		}
	}
}

// post tells the hub a result. One that it refuses is logged and forgotten: the
// request has ended. One that does not reach it is kept, if its claim was begun,
// and posted when the hub answers again; else the claim is offered again.
func (p *Poll) post(ctx context.Context, hub Hub, r record.Result) {
	ctx, cancel := context.WithTimeout(ctx, p.Timing.Post)
	defer cancel()
	err := hub.PostResult(ctx, r)
	var e *hubclient.Error
	if err != nil {
		p.Log.Failure("control: result of %s: %v", r.ID, err)
		if !errors.As(err, &e) || e.Retryable() || refused(err) {
			return
		}
	}
	if err := p.Doer.Settled(r.ID); err != nil {
		p.Log.Failure("control: %v", err)
	}
}

// refused reports whether trying again soon is of no use: the token or the
// configuration is wrong. Authentication is not tried again in a loop (field
// report A47).
func refused(err error) bool {
	var e *hubclient.Error
	if errors.As(err, &e) {
		return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
	}
	return errors.Is(err, config.ErrInvalid) || errors.Is(err, config.ErrNoToken)
}

// jitter spreads a wait over its second half, so that many machines don't come
// back to a hub at once (field report A55).
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// graceful is a context that ends a while after another does.
func graceful(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(grace, cancel)
	})
	return work, func() { stop(); cancel() }
}

var _ Hub = (*hubclient.Client)(nil)
