package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sessionhub/lib/record"
)

// model drives a store with anything that machines may send, in any order, and
// checks after each step what the contract promises of it.
type model struct {
	*book
	rt      *rapid.T
	prefix  string // of this run's sessions
	skew    map[string]time.Duration
	waiting []waitingSnapshot // taken, and not yet delivered
	events  map[string]int    // events taken, by session
}

type waitingSnapshot struct {
	machine string
	snap    *record.Snapshot
}

func (m *model) machine() string {
	return m.prefix + rapid.SampledFrom([]string{"tower", "laptop"}).Draw(m.rt, "machine")
}
func (m *model) source() string {
	return rapid.SampledFrom([]string{"default", "work", ""}).Draw(m.rt, "source")
}
func (m *model) session() string {
	return m.prefix + rapid.SampledFrom([]string{"a", "b", "c"}).Draw(m.rt, "session")
}
func (m *model) agentState() string {
	return rapid.SampledFrom([]string{"working", "blocked", "idle", "done"}).Draw(m.rt, "state")
}

func (m *model) on(machine string) { m.book.skew = m.skew[machine] }

// see is a session as people see it, without its history and the times of
// signs of life; nil when it is not known.
func (m *model) see(id string) *record.Session {
	s, err := m.s.Session(context.Background(), id, m.now)
	if errors.Is(err, ErrUnknown) {
		return nil
	}
	if err != nil {
		m.rt.Fatal(err)
	}
	s.Events, s.Reports, s.LastSeenAt = nil, nil, record.Time{}
	return &s
}

func (m *model) draw(machine string) *record.Snapshot {
	m.on(machine)
	var specs []string
	for i, id := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.ID[string]).Draw(m.rt, "sessions") {
		specs = append(specs, fmt.Sprintf("%s%s@p%d:%s", m.prefix, id, i, m.agentState()))
	}
	if rapid.Bool().Draw(m.rt, "waits") {
		specs = append(specs, "?p1")
	}
	return m.snapshot(m.source(), specs...)
}

// beatNow sends a snapshot the moment it is taken.
func (m *model) beatNow(*rapid.T) {
	machine := m.machine()
	snap := m.draw(machine)
	before := m.all()
	m.send(machine, snap)
	for id, was := range before {
		is := m.see(id)
		i := slices.IndexFunc(snap.Sessions, func(e record.LiveSession) bool { return e.Session == id })
		switch {
		case is == nil:
			if i >= 0 {
				m.rt.Fatalf("%s is named and not known", id)
			}
		case i >= 0 && is.Machine == machine:
			if is.Status != record.StatusLive || is.AgentState != snap.Sessions[i].AgentState {
				m.rt.Fatalf("%s is named as %s, and is %s %s", id, snap.Sessions[i].AgentState, is.Status, is.AgentState)
			}
		case was != nil && was.Status != record.StatusEnded && is.Status == record.StatusEnded:
			if was.Machine != machine || is.EndedReason != ReasonVanished {
				m.rt.Fatalf("%s of %s was ended by %s: %s", id, was.Machine, machine, is.EndedReason)
			}
		}
		m.wantAllowed(id, was, is, machine)
	}
}

// wantAllowed checks what no snapshot may do.
func (m *model) wantAllowed(id string, was, is *record.Session, machine string) {
	if was == nil || is == nil {
		return
	}
	if was.Machine != is.Machine && (is.Machine != machine || was.Status == record.StatusLive) {
		m.rt.Fatalf("%s moved from %s, where it was %s, to %s by a snapshot of %s", id, was.Machine, was.Status, is.Machine, machine)
	}
	if was.Retired != is.Retired {
		m.rt.Fatalf("%s: a snapshot changed that it is archived", id)
	}
}

func (m *model) all() map[string]*record.Session {
	list := map[string]*record.Session{}
	for _, id := range []string{"a", "b", "c"} {
		list[m.prefix+id] = m.see(m.prefix + id)
	}
	return list
}

func (m *model) takeSnapshot(*rapid.T) {
	machine := m.machine()
	m.waiting = append(m.waiting, waitingSnapshot{machine, m.draw(machine)})
}

// deliver sends a snapshot that waited in the queue.
func (m *model) deliver(*rapid.T) {
	if len(m.waiting) == 0 {
		return
	}
	w := m.waiting[0]
	m.waiting = m.waiting[1:]
	before := m.all()
	m.queued(w.machine, w.snap)
	for id, was := range before {
		m.wantAllowed(id, was, m.see(id), w.machine)
	}
}

func (m *model) sendEvent(*rapid.T) {
	machine, id := m.machine(), m.session()
	m.on(machine)
	kind, body := record.KindState, any(record.State{AgentState: record.AgentState(m.agentState())})
	switch rapid.IntRange(0, 3).Draw(m.rt, "kind") {
	case 0:
		kind, body = record.KindClosed, record.Closed{Cause: record.CausePaneClosed}
	case 1:
		kind, body = record.KindEnded, record.Ended{Reason: "exit"}
	}
	place := &record.Place{HerdrSession: "default", PaneID: rapid.SampledFrom([]string{"p0", "p1"}).Draw(m.rt, "pane")}
	raw, err := json.Marshal(body)
	m.must(err)
	m.n++
	e := &record.EventPost{ID: fmt.Sprintf("%se%d", m.prefix, m.n), At: record.At(m.sent().Add(-time.Duration(rapid.IntRange(0, 100).Draw(m.rt, "age")) * time.Second)),
		Source: record.SourcePlugin, Kind: kind, Herdr: place, Body: raw}
	was := m.see(id)
	for range 2 { // the second is a repetition
		err := m.write(func(tx *Tx) error { return Event(tx, machine, id, e, m.now) })
		if was == nil && !errors.Is(err, ErrUnknown) || was != nil && err != nil && !errors.Is(err, ErrNotYours) {
			m.rt.Fatalf("event of %s: %v", id, err)
		}
		if err != nil {
			if is := m.see(id); !reflect.DeepEqual(was, is) {
				m.rt.Fatalf("a refused event changed %+v to %+v", was, is)
			}
			return
		}
	}
	m.events[id]++
	history := m.get(id).Events
	if len(history) != m.events[id] {
		m.rt.Fatalf("%s has %d events, %d were taken", id, len(history), m.events[id])
	}
	last, is := history[len(history)-1], m.see(id)
	if last.Late != (was.Machine != machine || was.Status == record.StatusEnded) && kind == record.KindState {
		m.rt.Fatalf("late %t: %s was %s on %s, the event is of %s", last.Late, id, was.Status, was.Machine, machine)
	}
	if last.Late && !reflect.DeepEqual(was, is) {
		m.rt.Fatalf("a late event changed %+v to %+v", was, is)
	}
}

func (m *model) sendUpsert(*rapid.T) {
	machine, id := m.machine(), m.session()
	m.on(machine)
	was := m.see(id)
	err := m.write(func(tx *Tx) error {
		return Upsert(tx, machine, id, record.UpsertPut{At: m.sent(), Upsert: record.Upsert{FirstPrompt: fmt.Sprint(m.n)}}, m.now)
	})
	is := m.see(id)
	switch {
	case errors.Is(err, ErrNotYours):
		if was.Status != record.StatusLive || was.Machine == machine || !reflect.DeepEqual(was, is) {
			m.rt.Fatalf("an upsert of %s was refused: %+v", machine, was)
		}
	case err != nil:
		m.rt.Fatal(err)
	case was != nil && was.Machine != machine:
		if !reflect.DeepEqual(was, is) {
			m.rt.Fatalf("an upsert of %s changed %+v to %+v", machine, was, is)
		}
	case was != nil && was.FirstPrompt != "" && was.FirstPrompt != is.FirstPrompt:
		m.rt.Fatal("the first prompt was recorded twice")
	}
}

func (m *model) retire(*rapid.T) {
	id, retired := m.session(), rapid.Bool().Draw(m.rt, "retired")
	was := m.see(id)
	if err := m.write(func(tx *Tx) error { return Retire(tx, id, retired) }); was == nil != errors.Is(err, ErrUnknown) {
		m.rt.Fatal(err)
	}
	if was != nil {
		was.Retired = retired
		if is := m.see(id); !reflect.DeepEqual(was, is) {
			m.rt.Fatalf("archiving changed more: %+v to %+v", was, is)
		}
	}
}

func (m *model) wait(*rapid.T) {
	m.pass(time.Duration(rapid.SampledFrom([]int{1, 30, 100, 200}).Draw(m.rt, "seconds")) * time.Second)
}

// step moves a machine's clock, by days. A step of less than the time that a
// snapshot may take is not told from a delay, and heals within that time.
func (m *model) step(*rapid.T) {
	m.skew[m.machine()] = time.Duration(rapid.IntRange(-3, 3).Draw(m.rt, "days")) * 24 * time.Hour
}

func TestTheRulesHoldInAnyOrder(t *testing.T) {
	b := newBook(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		m := &model{book: b, rt: rt, prefix: fmt.Sprintf("r%d", run), skew: map[string]time.Duration{}, events: map[string]int{}}
		rt.Repeat(map[string]func(*rapid.T){
			"beat": m.beatNow, "take": m.takeSnapshot, "deliver": m.deliver, "event": m.sendEvent,
			"upsert": m.sendUpsert, "retire": m.retire, "wait": m.wait, "step": m.step,
		})
	})
}
