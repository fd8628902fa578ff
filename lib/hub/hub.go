// Package hub is the server that knows all sessions of all machines: an HTTP
// API (docs/openapi.yaml) over a store.
package hub

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/hub/web"
)

const (
	// MaxBody bounds a request's body in bytes (contract §6).
	MaxBody = 1 << 20
	// MaxInstructions bounds the standing rules, which go into every prompt.
	MaxInstructions = 64 << 10
)

// Hub answers the API's requests. Make it with New.
type Hub struct {
	store     *store.Store
	now       func() time.Time
	mux       *http.ServeMux
	allow     map[string][]string // methods by path pattern
	changes   *changes
	polls     *bell // by machine: there may be something to do
	requests  *bell // by request: it may have ended
	moves     *bell // by move: it may have gone on
	transfers transfers
	metrics   *metrics

	// Failed is told of every error that was answered with a 5xx, if it is set.
	Failed func(error)
	// MaxBundle bounds a bundle in bytes; 0 is MaxBundle.
	MaxBundle int64
	// Version is the version that the hub says it has.
	Version string
}

// New makes a hub over an open store. now is the hub's clock.
func New(s *store.Store, now func() time.Time) *Hub {
	h := &Hub{store: s, now: now, mux: http.NewServeMux(), allow: make(map[string][]string), changes: newChanges(), polls: newBell(), requests: newBell(), moves: newBell()}
	h.metrics = newMetrics(s, now)
	s.OnChange(h.changes.tell)
	s.OnMove(h.moved)
	h.routes()
	return h
}

// Registry holds the hub's metrics.
func (h *Hub) Registry() *prometheus.Registry { return h.metrics.registry }

// CloseStreams ends the streams of changes and the long polls, so that a
// shutdown does not wait for those who wait.
func (h *Hub) CloseStreams() {
	h.changes.close()
	h.polls.close()
	h.requests.close()
	h.moves.close()
}

// Who may call a route.
type who int

const (
	anybody who = iota
	machine
	read    // a user, to read
	ask     // a user, to change
	answers // a user, to answer what sessions ask
	either  // a machine or a user who may read
)

func (h *Hub) routes() {
	h.handle("GET /{$}", anybody, h.getPage)
	for _, name := range web.Names() {
		h.handle("GET /"+name, anybody, h.getPage)
	}
	h.handle("POST /login", anybody, h.postLogin)
	h.handle("POST /logout", anybody, h.postLogout)
	h.handle("GET /healthz", anybody, h.healthz)
	h.handle("GET /metrics", anybody, h.metrics.serve)
	h.handle("POST /v1/pair", anybody, h.postPair)
	h.handle("POST /v1/probe", machine, h.postProbe)
	h.handle("PUT /v1/machines/self/herdr-sessions", machine, h.putSnapshot)
	h.handle("PUT /v1/sessions/{id}", machine, h.putSession)
	h.handle("POST /v1/sessions/{id}/events", machine, h.postEvent)
	h.handle("POST /v1/sessions/{id}/reports", machine, h.postReport)
	h.handle("PUT /v1/sessions/{id}/title", machine, h.putTitle)
	h.handle("PUT /v1/sessions/{id}/digest", machine, h.putDigest)
	h.handle("GET /v1/instructions", either, h.getInstructions)
	h.handle("GET /v1/inbox", either, h.getInbox)
	h.handle("GET /v1/sessions", either, h.getSessions)
	h.handle("GET /v1/sessions/{id}", either, h.getSession)
	h.handle("GET /v1/self", read, h.getSelf)
	h.handle("GET /v1/machines", read, h.getMachines)
	h.handle("GET /v1/events", read, h.getEvents)
	h.handle("GET /v1/machines/self/control", machine, h.getControl)
	h.handle("POST /v1/control/{id}/result", machine, h.postResult)
	h.handle("POST /v1/control/{id}/renew", machine, h.postRenew)
	h.handle("GET /v1/control/{id}", read, h.getRequest)
	h.handle("POST /v1/control/{id}/cancel", ask, h.postCancel)
	h.handle("POST /v1/sessions/{id}/control", ask, h.postControl)
	h.handle("POST /v1/sessions/{id}/asks/{ask}/answer", answers, h.postAnswer)
	h.handle("POST /v1/machines/{name}/start", ask, h.postStart)
	h.handle("PUT /v1/machines/self/move-key", machine, h.putMoveKey)
	h.handle("POST /v1/sessions/{id}/moves", ask, h.postMove)
	h.handle("GET /v1/moves/{id}", either, h.getMove)
	h.handle("POST /v1/moves/{id}/cancel", ask, h.postMoveCancel)
	h.handle("POST /v1/moves/{id}/result", machine, h.postMoveResult)
	h.handle(uploadRoute, machine, h.putBundle)
	h.handle("GET /v1/moves/{id}/bundle", machine, h.getBundle)
	h.handle("PUT /v1/sessions/{id}/retired", ask, h.putRetired)
	h.handle("PUT /v1/instructions", ask, h.putInstructions)
	h.handle("POST /v1/inbox/{id}/read", ask, h.postRead)
}

// ServeHTTP answers a request.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", h.now().UTC().Format(http.TimeFormat)) // the clock that its times are of
	rec := &recorder{ResponseWriter: w}
	_, pattern := h.mux.Handler(r)
	defer func() {
		h.metrics.count(r.Method, pattern, rec.status)
		if rec.err != nil && h.Failed != nil && r.Context().Err() == nil { // who left is no fault
			h.Failed(fmt.Errorf("%s: %w", pattern, rec.err))
		}
	}()
	if odd(r.URL.Path) {
		fail(rec, notFound("no such route"))
		return
	}
	if pattern == "" {
		h.noRoute(rec, r)
		return
	}
	h.mux.ServeHTTP(rec, r)
}

// Retain forgets what is older than keep, once a night, until the context
// ends. Zero keeps everything but idempotency keys.
func (h *Hub) Retain(ctx context.Context, keep time.Duration, failed func(error)) {
	tick := time.NewTicker(24 * time.Hour)
	defer tick.Stop()
	for {
		now := h.now()
		var err error
		if keep > 0 {
			_, err = h.store.Prune(ctx, now.Add(-keep), now)
		} else {
			err = h.store.PruneKeys(ctx, now)
		}
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
