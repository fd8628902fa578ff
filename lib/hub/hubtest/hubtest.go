// Package hubtest runs the real hub for tests of others: in the process, on
// SQLite in a temporary folder, at an address that a restart keeps, with
// faults to inject in front of it.
package hubtest

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"sessionhub/lib/hub"
	"sessionhub/lib/hub/store"
)

// Fault is what goes wrong with requests.
type Fault int

const (
	// None: all is well.
	None Fault = iota
	// Unavailable: every request is answered 503.
	Unavailable
	// Broken: every request is answered 500.
	Broken
	// Hang: requests are not answered until the fault changes.
	Hang
	// DropAnswer: requests are carried out, and the connection is cut before
	// the answer.
	DropAnswer
	// Unauthorized: every request is answered 401.
	Unauthorized
	// NoRoute: every request is answered 404 by a proxy that knows no hub now.
	NoRoute
)

// Hub is a running hub.
type Hub struct {
	Path         string // of the database
	URL          string
	MachineToken string // of the machine "tower"
	UserToken    string

	t     testing.TB
	addr  string
	now   func() time.Time
	store *store.Store
	srv   *http.Server

	handlers sync.RWMutex // held for reading by requests under way

	mu      sync.Mutex
	fault   Fault
	release chan struct{}
	served  int
	hub     *hub.Hub
}

// Hub is the hub itself, as it runs since the last Up.
func (h *Hub) Hub() *hub.Hub { return h.hub }

// Start starts a hub, and ends it with the test.
func Start(t testing.TB) *Hub { return StartAt(t, time.Now) }

// StartAt is Start with a clock.
func StartAt(t testing.TB, now func() time.Time) *Hub {
	t.Helper()
	h := &Hub{t: t, Path: filepath.Join(t.TempDir(), "hub.db"), addr: "127.0.0.1:0", now: now, release: make(chan struct{})}
	h.Up()
	t.Cleanup(h.Down)
	h.MachineToken = h.AddToken(store.Token{Kind: store.KindMachine, Name: "tower"})
	h.UserToken = h.AddToken(store.Token{Kind: store.KindUser, Name: "owner", Scopes: []string{"read", "ask"}})
	return h
}

// AddToken makes a token and returns its secret.
func (h *Hub) AddToken(tok store.Token) string {
	h.t.Helper()
	secret, err := h.store.AddToken(context.Background(), tok, h.now())
	if err != nil {
		h.t.Fatal(err)
	}
	return secret
}

// Up starts the hub, or starts it again at the same address.
func (h *Hub) Up() {
	h.t.Helper()
	var err error
	if h.store, err = store.Open(context.Background(), h.Path); err != nil {
		h.t.Fatal(err)
	}
	l, err := net.Listen("tcp", h.addr)
	if err != nil {
		h.t.Fatal(err)
	}
	if h.URL == "" { // others read it while the hub goes down and up
		h.addr = l.Addr().String()
		h.URL = "http://" + h.addr
	}
	served := hub.New(h.store, h.now)
	h.hub = served
	if err := served.Prepare(context.Background()); err != nil {
		h.t.Fatal(err)
	}
	h.srv = &http.Server{Handler: h.faulty(served)}
	h.srv.RegisterOnShutdown(served.CloseStreams)
	go h.srv.Serve(l) // ends with Down
}

// Down ends the hub at once, as a crash does. It is safe to call twice.
func (h *Hub) Down() {
	if h.srv == nil {
		return
	}
	h.SetFault(None)
	h.srv.Close()
	h.handlers.Lock() // closing the server does not wait for them
	defer h.handlers.Unlock()
	if err := h.store.Close(); err != nil {
		h.t.Error(err)
	}
	h.srv = nil
}

// Restart is Down and Up.
func (h *Hub) Restart() {
	h.t.Helper()
	h.Down()
	h.Up()
}

// Served is how many requests were answered without a fault.
func (h *Hub) Served() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.served
}

// Store is the hub's store, to look into.
func (h *Hub) Store() *store.Store { return h.store }

// SetFault makes requests go wrong from now on, and lets go of those that
// hang.
func (h *Hub) SetFault(f Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fault = f
	close(h.release)
	h.release = make(chan struct{})
}

func (h *Hub) faulty(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.handlers.RLock()
		defer h.handlers.RUnlock()
		h.mu.Lock()
		fault, release := h.fault, h.release
		h.mu.Unlock()
		switch fault {
		case Unavailable:
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case Broken:
			w.WriteHeader(http.StatusInternalServerError)
			return
		case Unauthorized:
			w.WriteHeader(http.StatusUnauthorized)
			return
		case NoRoute:
			http.Error(w, "404 page not found", http.StatusNotFound)
			return
		case Hang:
			select {
			case <-release:
			case <-r.Context().Done():
			}
			panic(http.ErrAbortHandler)
		case DropAnswer:
			next.ServeHTTP(discard{http.Header{}}, r)
			panic(http.ErrAbortHandler)
		}
		h.mu.Lock()
		h.served++
		h.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

// discard is a client that never hears.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// Books is what the hub recorded. It may be asked while the hub is down.
func (h *Hub) Books() store.Books {
	h.t.Helper()
	s := h.store
	if h.srv == nil {
		var err error
		if s, err = store.Open(context.Background(), h.Path); err != nil {
			h.t.Fatal(err)
		}
		defer s.Close()
	}
	b, err := s.Books(context.Background())
	if err != nil {
		h.t.Fatal(err)
	}
	return b
}

// EventIDs are the ids of all recorded events, in the order of their arrival.
func (h *Hub) EventIDs() []string { return h.Books().Events }

// Counts tells how often each of the ids is recorded, as event, report or
// idempotency key: an event has its id as key, too, and counts once.
func (h *Hub) Counts(ids []string) map[string]int {
	h.t.Helper()
	b := h.Books()
	items, keys := map[string]int{}, map[string]int{}
	for _, id := range append(b.Events, b.Reports...) {
		items[id]++
	}
	for _, key := range b.Keys {
		keys[key]++
	}
	counts := make(map[string]int, len(ids))
	for _, id := range ids {
		counts[id] = max(items[id], keys[id])
	}
	return counts
}
