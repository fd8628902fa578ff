package watch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sessionhub/lib/herdr"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
)

// ErrandHub is what the errands need of the hub.
type ErrandHub interface {
	Rules
	InboxCounts(ctx context.Context) (record.InboxCounts, error)
	PutDigest(ctx context.Context, key, session string, d record.Digest) error
}

// Digests reads transcripts.
type Digests interface {
	// Round digests some of the sessions whose transcript has changed, and gives
	// each to put. The errors name their session.
	Round(ctx context.Context, sessions []record.LiveSession, put func(ctx context.Context, d record.Digest) error) []error
}

// seen is what the errands know of a herdr server.
type seen struct {
	socket     string
	identity   herdr.Identity
	workspaces []string
}

// good are the servers that answered when they were last asked.
func (w *Watcher) good() []*server {
	var list []*server
	for _, s := range w.servers {
		if s.good && s.goneAt.IsZero() {
			list = append(list, s)
		}
	}
	return list
}

// afterHeartbeat asks for all errands at the servers whose heartbeat the hub
// took. Outside of Run there is nobody to do them.
func (w *Watcher) afterHeartbeat(hub Hub, told []*server) {
	w.ask(round{hub: hub, sessions: w.readable()}, told)
}

// afterStates asks for what people see of a change of state: the inbox count,
// and what sessions that came to rest said last.
func (w *Watcher) afterStates(hub Hub, rested []record.LiveSession) {
	w.ask(round{hub: hub, sessions: rested, brief: true}, w.good())
}

func (w *Watcher) ask(r round, servers []*server) {
	if w.errands == nil || r.hub == nil {
		return
	}
	for _, s := range servers {
		r.servers = append(r.servers, seen{socket: s.socket, identity: s.identity, workspaces: s.look.Workspaces})
	}
	w.errands.ask(r)
}

// readable are the sessions whose transcripts may have changed: those that
// live, and those of panes that closed lately, for their last turn.
func (w *Watcher) readable() []record.LiveSession {
	var list []record.LiveSession
	known := make(map[string]bool)
	add := func(l record.LiveSession) {
		if !known[l.Session] {
			known[l.Session] = true
			list = append(list, l)
		}
	}
	for _, s := range w.servers {
		for _, l := range s.look.Live {
			add(l)
		}
	}
	for _, l := range w.outsideLive {
		add(l)
	}
	for _, p := range w.memory.panes {
		add(record.LiveSession{Session: p.Session})
	}
	return list
}

// round is one round of errands. They follow a heartbeat that the hub
// accepted, beside the watcher, so that they never delay the next.
type round struct {
	hub      ErrandHub
	servers  []seen
	sessions []record.LiveSession // whose transcripts are read
	brief    bool                 // without the standing rules
}

// Errands are what the watcher does for people after a heartbeat: it renews the
// standing rules, shows the inbox in the sidebar, and digests transcripts.
type Errands struct {
	w       *Watcher
	sidebar sidebar
	next    chan round // at most one waits; a newer one replaces it
	done    sync.WaitGroup
	cancel  context.CancelFunc
}

// errandWait bounds one call of an errand.
const errandWait = 10 * time.Second

// startErrands starts the goroutine of the errands; stop ends it.
func (w *Watcher) startErrands(ctx context.Context) *Errands {
	ctx, cancel := context.WithCancel(ctx)
	e := &Errands{w: w, next: make(chan round, 1), cancel: cancel}
	e.sidebar.connect = func(socket string) Sidebar { return &herdr.Client{Socket: socket} }
	e.done.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case r := <-e.next:
				e.run(ctx, r)
			}
		}
	})
	return e
}

func (e *Errands) stop() {
	e.cancel()
	e.done.Wait()
}

// ask asks for a round. It takes over what one that waits asks for.
func (e *Errands) ask(r round) {
	select {
	case old := <-e.next:
		r.brief = r.brief && old.brief
		for _, l := range old.sessions {
			if !slices.ContainsFunc(r.sessions, func(n record.LiveSession) bool { return n.Session == l.Session }) {
				r.sessions = append(r.sessions, l)
			}
		}
	default:
	}
	e.next <- r // only the watcher's goroutine asks, so there is room
}

func (e *Errands) run(ctx context.Context, r round) {
	e.showInbox(ctx, r)
	if !r.brief {
		e.renewRules(ctx, r)
	}
	e.digest(ctx, r)
}

func (e *Errands) failed(ctx context.Context, format string, err error) {
	if ctx.Err() == nil {
		e.w.Log.Failure(format, err)
	}
}

// renewRules keeps the old copy when the hub can't be asked. A hub without
// rules yet is no failure.
func (e *Errands) renewRules(ctx context.Context, r round) {
	rctx, cancel := context.WithTimeout(ctx, errandWait)
	defer cancel()
	if _, _, err := RefreshRules(rctx, r.hub, e.w.Dir); err != nil {
		e.failed(ctx, "rules: refresh failed: %v", err)
	}
}

// digest tells the hub what transcripts say in short. What fails is tried again
// after the next heartbeat.
func (e *Errands) digest(ctx context.Context, r round) {
	if e.w.Digests == nil || len(r.sessions) == 0 {
		return
	}
	errs := e.w.Digests.Round(ctx, r.sessions, func(ctx context.Context, d record.Digest) error {
		ctx, cancel := context.WithTimeout(ctx, errandWait)
		defer cancel()
		err := r.hub.PutDigest(ctx, noKey, d.Session, d)
		if c := hubclient.Classify(err); c == hubclient.Missing || c == hubclient.Refused {
			return nil // the hub does not know it, or it is another machine's: nothing to try again
		}
		return err
	})
	for _, err := range errs {
		e.failed(ctx, "%v", err)
	}
}

// showInbox keeps the last count in the sidebar when the hub can't be asked.
func (e *Errands) showInbox(ctx context.Context, r round) {
	if len(r.servers) == 0 {
		return
	}
	ictx, cancel := context.WithTimeout(ctx, errandWait)
	defer cancel()
	n, err := r.hub.InboxCounts(ictx)
	if err != nil {
		e.failed(ctx, "inbox: %v", err)
		return
	}
	for _, s := range r.servers {
		if err := e.sidebar.show(ictx, s, inboxText(n)); err != nil && !errors.Is(err, herdr.ErrUnreachable) {
			e.failed(ctx, "%v", err)
		}
	}
}

var _ ErrandHub = (*hubclient.Client)(nil)
