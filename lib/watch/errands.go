package watch

import (
	"context"
	"errors"
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
}

// seen is what the errands know of a herdr server.
type seen struct {
	socket     string
	identity   herdr.Identity
	workspaces []string
}

// errandKind is what a round of errands is for.
type errandKind int

const (
	everything errandKind = iota
	inboxOnly
)

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

// askErrands asks for a round of errands at the servers. Outside of Run there
// is nobody to do it.
func (w *Watcher) askErrands(hub Hub, servers []*server, kind errandKind) {
	if w.errands == nil || hub == nil {
		return
	}
	r := round{hub: hub, brief: kind == inboxOnly}
	for _, s := range servers {
		r.servers = append(r.servers, seen{socket: s.socket, identity: s.identity, workspaces: s.look.Workspaces})
	}
	w.errands.ask(r)
}

// round is one round of errands. They follow a heartbeat that the hub
// accepted, beside the watcher, so that they never delay the next.
type round struct {
	hub     ErrandHub
	servers []seen
	brief   bool // the inbox alone
}

// Errands are what the watcher does for people after a heartbeat: it renews the
// standing rules and shows the inbox in the sidebar.
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

// ask asks for a round. One that waits is replaced, unless it asks for more.
func (e *Errands) ask(r round) {
	select {
	case old := <-e.next:
		r.brief = r.brief && old.brief
	default:
	}
	e.next <- r // only the watcher's goroutine asks, so there is room
}

func (e *Errands) run(ctx context.Context, r round) {
	e.showInbox(ctx, r)
	if r.brief {
		return
	}
	e.renewRules(ctx, r)
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
