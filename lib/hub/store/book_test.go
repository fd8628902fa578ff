package store

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/record"
)

// book is a store with a clock that the test owns. The machine's clock is the
// hub's unless skewed.
type book struct {
	t    *testing.T
	s    *Store
	path string
	now  time.Time
	skew time.Duration
	n    int
}

func newBook(t *testing.T) *book {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hub.db")
	s, err := Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	b := &book{t: t, s: s, path: path, now: time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)}
	t.Cleanup(func() { // whatever a test did, the database is sound
		if wrong, err := b.s.Check(context.Background()); err != nil || len(wrong) > 0 {
			t.Errorf("check: %q, %v", wrong, err)
		}
		if err := b.s.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *book) pass(d time.Duration) { b.now = b.now.Add(d) }

func (b *book) sent() record.Time { return record.At(b.now.Add(b.skew)) }

func (b *book) write(f func(tx *Tx) error) error { return b.s.Write(context.Background(), f) }

func (b *book) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// live parses "session@pane:state"; "?pane" is an unidentified one.
func (b *book) snapshot(herdr string, specs ...string) *record.Snapshot {
	s := &record.Snapshot{V: 1, At: b.sent(), HerdrSession: herdr}
	for _, spec := range specs {
		if pane, ok := strings.CutPrefix(spec, "?"); ok {
			s.UnidentifiedPanes = append(s.UnidentifiedPanes, record.UnidentifiedPane{PaneID: pane, AgentState: record.Idle})
			continue
		}
		id, rest, _ := strings.Cut(spec, "@")
		pane, state, _ := strings.Cut(rest, ":")
		if state == "" {
			state = "idle"
		}
		s.Sessions = append(s.Sessions, record.LiveSession{Session: id, Agent: "claude", PaneID: pane, AgentState: record.AgentState(state)})
	}
	return s
}

func (b *book) beat(machine, herdr string, specs ...string) {
	b.t.Helper()
	b.send(machine, b.snapshot(herdr, specs...))
}

func (b *book) send(machine string, s *record.Snapshot) {
	b.t.Helper()
	b.must(b.write(func(tx *Tx) error { return Heartbeat(tx, machine, s, b.now) }))
}

// queued sends a snapshot that came through the queue.
func (b *book) queued(machine string, s *record.Snapshot) {
	b.t.Helper()
	b.must(b.write(func(tx *Tx) error { return TakeSnapshot(tx, machine, s, Queued, b.now) }))
}

func (b *book) upsert(machine, id string, u record.UpsertPut) {
	b.t.Helper()
	u.At = b.sent()
	b.must(b.write(func(tx *Tx) error { return Upsert(tx, machine, id, u, b.now) }))
}

func (b *book) event(machine, id string, kind record.Kind, body any, place *record.Place) error {
	b.t.Helper()
	raw, err := json.Marshal(body)
	b.must(err)
	b.n++
	e := &record.EventPost{ID: fmt.Sprintf("e%d", b.n), At: b.sent(), Source: record.SourcePlugin, Kind: kind, Herdr: place, Body: raw}
	return b.write(func(tx *Tx) error { return Event(tx, machine, id, e, b.now) })
}

func (b *book) state(machine, id string, st record.AgentState) {
	b.t.Helper()
	b.must(b.event(machine, id, record.KindState, record.State{AgentState: st}, nil))
}

func (b *book) get(id string) record.Session {
	b.t.Helper()
	s, err := b.s.Session(context.Background(), id, b.now)
	b.must(err)
	return s
}

// want checks "status state", or "ended reason".
func (b *book) want(id, want string) {
	b.t.Helper()
	s := b.get(id)
	got := s.Status + " " + string(s.AgentState)
	if s.Status == record.StatusEnded {
		got = s.Status + " " + s.EndedReason
	}
	if got != want {
		b.t.Errorf("%s is %q, want %q", id, got, want)
	}
}

func pane(id string) *record.Place { return &record.Place{HerdrSession: "default", PaneID: id} }
