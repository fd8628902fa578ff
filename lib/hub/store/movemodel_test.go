package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sessionhub/lib/record"
)

// moveModel drives moves of a few sessions between three machines with whatever
// machines and people may do, in any order, with the hub restarted in between,
// and holds each against a small model of what may follow what.
type moveModel struct {
	*book
	rt     *rapid.T
	prefix string
	moves  []*modelMove
	claims map[string][]record.Claim // of moves, by machine; also those that lapsed
	n      int
}

// modelMove is what the model knows of a move.
type modelMove struct {
	id, session, from, to string
	state                 record.MoveState
	begun                 bool // the source has move_out
	deadline              time.Time
	finished              int // how often move_finish was queued
}

func (m *moveModel) pick(what string, of ...string) string {
	return rapid.SampledFrom(of).Draw(m.rt, what)
}
func (m *moveModel) machine() string { return m.pick("machine", "tower", "laptop", "desk") }

func (m *moveModel) openOf(session string) *modelMove {
	for _, v := range m.moves {
		if v.session == session && !v.state.Ended() {
			return v
		}
	}
	return nil
}

// any draws one of the moves; nil without one.
func (m *moveModel) any() *modelMove {
	if len(m.moves) == 0 {
		return nil
	}
	return m.moves[rapid.IntRange(0, len(m.moves)-1).Draw(m.rt, "move")]
}

func (v *modelMove) enter(s record.MoveState, now time.Time) {
	v.state, v.deadline = s, now.Add(moveStep)
	if s == record.MoveStarting {
		v.deadline = time.Time{}
	}
}

func (v *modelMove) end(s record.MoveState) {
	v.state, v.deadline = s, time.Time{}
	if v.begun {
		v.finished++
	}
}

// lapse fails what is overdue.
func (m *moveModel) lapse() {
	for _, v := range m.moves {
		if !v.state.Ended() && !v.deadline.IsZero() && !m.now.Before(v.deadline) {
			v.end(record.MoveFailed)
		}
	}
}

func (m *moveModel) ask(*rapid.T) {
	session, to := m.prefix+m.pick("session", "a", "b"), m.machine()
	s := m.get(session)
	m.n++
	o := MoveOrder{ID: fmt.Sprintf("%sm%d", m.prefix, m.n), Session: session, MovePost: record.MovePost{To: to}}
	err := m.write(func(tx *Tx) error { _, err := AddMove(tx, o, m.now); return err })
	m.lapse()
	may := s.Machine != to && s.Status == record.StatusLive && m.openOf(session) == nil
	if may != (err == nil) {
		m.rt.Fatalf("move of %s (%s on %s) to %s: %v", session, s.Status, s.Machine, to, err)
	}
	if err == nil {
		v := &modelMove{id: o.ID, session: session, from: s.Machine, to: to}
		v.enter(record.MoveRequested, m.now)
		m.moves = append(m.moves, v)
	}
}

func (m *moveModel) take(*rapid.T) { m.takeAll(m.machine()) }

// takeAll lets a machine take all that it is offered.
func (m *moveModel) takeAll(machine string) {
	for {
		var c record.Claim
		var ok bool
		m.must(m.write(func(tx *Tx) (err error) { c, ok, _, err = Claim(tx, machine, m.now); return err }))
		m.lapse()
		if !ok {
			return
		}
		if c.Move == nil {
			continue // left by other tests of this store
		}
		v := m.byID(c.Move.ID)
		if v == nil {
			continue // of an earlier run
		}
		switch {
		case c.Action == record.ActionMoveCheck && v.state == record.MoveRequested:
			v.enter(record.MoveChecking, m.now)
		case c.Action == record.ActionMoveIn && v.state == record.MoveUploaded:
			v.enter(record.MoveUnpacking, m.now)
		case c.Action == record.ActionMoveOut:
			v.begun = true
		}
		m.wantClaim(machine, v, &c)
		m.claims[machine] = append(m.claims[machine], c)
	}
}

// wantClaim checks that a step is offered to the right machine, at its time.
func (m *moveModel) wantClaim(machine string, v *modelMove, c *record.Claim) {
	who, states := v.to, []record.MoveState{}
	switch c.Action {
	case record.ActionMoveCheck:
		states = []record.MoveState{record.MoveChecking}
	case record.ActionMoveOut:
		who, states = v.from, []record.MoveState{record.MovePacking}
	case record.ActionMoveIn:
		states = []record.MoveState{record.MoveUnpacking, record.MoveStarting}
	case record.ActionMoveFinish:
		who, states = v.from, []record.MoveState{record.MoveDone, record.MoveFailed, record.MoveCancelled}
	}
	if machine != who || c.Move.State != v.state || !slices.Contains(states, v.state) {
		m.rt.Fatalf("%s was offered %s of a move from %s to %s that is %s (%s)", machine, c.Action, v.from, v.to, v.state, c.Move.State)
	}
	if c.Action == record.ActionMoveFinish && !v.begun {
		m.rt.Fatalf("%s is to finish what it never began", machine)
	}
}

func (m *moveModel) byID(id string) *modelMove {
	for _, v := range m.moves {
		if v.id == id {
			return v
		}
	}
	return nil
}

// report lets a machine say what became of one of its claims, also of one that
// is long over.
func (m *moveModel) report(*rapid.T) {
	machine := m.machine()
	list := m.claims[machine]
	if len(list) == 0 {
		return
	}
	c := list[rapid.IntRange(0, len(list)-1).Draw(m.rt, "claim")]
	m.result(machine, c, record.RequestState(m.pick("result", "done", "failed", "busy")))
}

func (m *moveModel) result(machine string, c record.Claim, state record.RequestState) {
	err := m.write(func(tx *Tx) error {
		return FinishClaim(tx, machine, record.Result{V: 1, ID: c.ID, State: state}, m.now)
	})
	m.lapse()
	v := m.byID(c.Move.ID)
	if err != nil || state == record.ResultBusy {
		return // the state is compared below: nothing may have changed
	}
	ok := state == record.RequestDone
	switch {
	case c.Action == record.ActionMoveCheck && v.state == record.MoveChecking && ok:
		v.enter(record.MovePacking, m.now)
	case c.Action == record.ActionMoveCheck && v.state == record.MoveChecking,
		c.Action == record.ActionMoveOut && v.state == record.MovePacking,
		c.Action == record.ActionMoveIn && v.state == record.MoveUnpacking && !ok,
		c.Action == record.ActionMoveIn && v.state == record.MoveStarting && !ok:
		v.end(record.MoveFailed)
	case c.Action == record.ActionMoveIn && v.state == record.MoveStarting:
		v.end(record.MoveDone)
	}
}

func (m *moveModel) say(*rapid.T) {
	v, machine := m.any(), m.machine()
	if v == nil {
		return
	}
	r := record.MoveResult{V: 1, ID: v.id, State: record.MoveState(m.pick("state", "starting", "done", "failed"))}
	if rapid.Bool().Draw(m.rt, "expects") {
		r.Expect = record.MoveUnpacking
	}
	m.tell(v, machine, r)
}

func (m *moveModel) tell(v *modelMove, machine string, r record.MoveResult) {
	state := r.State
	err := m.write(func(tx *Tx) error { _, err := TakeMoveResult(tx, machine, r, m.now); return err })
	m.lapse()
	if err != nil {
		var c *MoveConflict
		if machine != v.from && machine != v.to != errors.Is(err, ErrUnknown) || !errors.Is(err, ErrUnknown) && (!errors.As(err, &c) || c.Move.State != v.state) {
			m.rt.Fatalf("%s says that a move from %s to %s that is %s is %s: %v", machine, v.from, v.to, v.state, state, err)
		}
		return
	}
	switch {
	case machine == v.to && state == record.MoveStarting && v.state == record.MoveUnpacking:
		v.enter(state, m.now)
	case machine == v.to && state == record.MoveDone && v.state == record.MoveStarting,
		machine == v.to && state == record.MoveFailed && (v.state == record.MoveStarting || v.state == record.MoveUnpacking),
		machine == v.from && state == record.MoveFailed && v.state == record.MovePacking:
		v.end(state)
	case v.state != state:
		m.rt.Fatalf("%s made a move from %s to %s that is %s %s", machine, v.from, v.to, v.state, state)
	}
}

func (m *moveModel) upload(*rapid.T) {
	v, machine := m.any(), m.machine()
	if v == nil {
		return
	}
	m.put(v, machine, m.pick("content", "one", "two"))
}

func (m *moveModel) put(v *modelMove, machine, content string) {
	p, err := m.s.NewPart(v.id)
	m.must(err)
	defer p.Drop()
	if _, err := p.Write([]byte(content)); err != nil {
		m.rt.Fatal(err)
	}
	_, err = p.Keep(context.Background(), machine, v.id, func() time.Time { return m.now })
	m.lapse()
	switch {
	case err != nil && machine == v.from && v.state == record.MovePacking:
		m.rt.Fatal(err)
	case err == nil && machine != v.from:
		m.rt.Fatalf("%s uploaded a bundle of %s", machine, v.from)
	case err == nil && v.state == record.MovePacking:
		v.begun = true
		v.enter(record.MoveUploaded, m.now)
	}
}

// proceed does the next right thing of an open move, so that moves get far.
func (m *moveModel) proceed(*rapid.T) {
	v := m.any()
	if v == nil {
		return
	}
	switch v.state {
	case record.MoveRequested, record.MoveUploaded:
		m.takeAll(v.to)
	case record.MoveChecking:
		for _, c := range m.claims[v.to] {
			if c.Move.ID == v.id && c.Action == record.ActionMoveCheck {
				m.result(v.to, c, record.RequestDone)
				return
			}
		}
	case record.MovePacking:
		m.takeAll(v.from)
		m.put(v, v.from, "one")
	case record.MoveUnpacking:
		m.tell(v, v.to, record.MoveResult{V: 1, ID: v.id, State: record.MoveStarting})
	case record.MoveStarting:
		m.tell(v, v.to, record.MoveResult{V: 1, ID: v.id, State: record.MoveDone})
	}
}

func (m *moveModel) cancel(*rapid.T) {
	v := m.any()
	if v == nil {
		return
	}
	err := m.write(func(tx *Tx) error { _, err := CancelMove(tx, v.id, m.now); return err })
	m.lapse()
	switch v.state {
	case record.MoveRequested, record.MoveChecking, record.MovePacking:
		m.must(err)
		v.end(record.MoveCancelled)
	case record.MoveCancelled:
		m.must(err)
	default:
		if err == nil {
			m.rt.Fatalf("a move that is %s was cancelled", v.state)
		}
	}
}

func (m *moveModel) wait(*rapid.T) {
	m.pass(time.Duration(rapid.SampledFrom([]int{1, 31, 200, 599}).Draw(m.rt, "seconds")) * time.Second)
	named := map[string][]string{"tower": nil, "laptop": nil, "desk": nil} // nobody is silent
	for i, id := range []string{"a", "b"} {
		on := m.get(m.prefix + id).Machine
		named[on] = append(named[on], fmt.Sprintf("%s%s@p%d", m.prefix, id, i))
	}
	for machine, sessions := range named {
		m.beat(machine, m.prefix, sessions...)
	}
}

// restart opens the store anew, as a hub does that was killed.
func (m *moveModel) restart(*rapid.T) {
	if rapid.IntRange(0, 9).Draw(m.rt, "restart") > 0 { // it takes longer than all else
		return
	}
	m.must(m.s.Close())
	s, err := Open(context.Background(), m.path)
	m.must(err)
	m.s = s
	m.must(s.CleanBundles(context.Background(), m.now))
	m.lapse()
	if wrong, err := s.Check(context.Background()); err != nil || len(wrong) > 0 {
		m.rt.Fatalf("check: %q, %v", wrong, err)
	}
}

// check holds the store against the model.
func (m *moveModel) check(*rapid.T) {
	if rapid.Bool().Draw(m.rt, "sweep") {
		m.must(m.write(func(tx *Tx) error { return EndOverdueMoves(tx, m.now) }))
		m.lapse()
	}
	finishes, err := all(m.s.reader(context.Background()), func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
		"SELECT move FROM requests WHERE action = 'move_finish'")
	m.must(err)
	finished := map[string]int{}
	for _, id := range finishes {
		finished[id]++
	}
	open := map[string]int{}
	for _, v := range m.moves {
		is, err := m.s.Move(context.Background(), v.id)
		m.must(err)
		if is.StepDeadline != nil && !m.now.Before(is.StepDeadline.Time) {
			if v.state != record.MoveFailed && m.now.Before(v.deadline) {
				m.rt.Fatalf("move %s is overdue, and should be %s", v.id, v.state)
			}
			continue // whoever changes something next finds it failed
		}
		if is.State != v.state {
			m.rt.Fatalf("move %s is %s, and should be %s", v.id, is.State, v.state)
		}
		if !is.State.Ended() {
			open[v.session]++
		}
		_, err = os.Stat(m.s.bundlePath(v.id))
		if has := slices.Contains([]record.MoveState{record.MoveUploaded, record.MoveUnpacking, record.MoveStarting}, is.State); has != (err == nil) {
			m.rt.Fatalf("move %s is %s; its file: %v", v.id, is.State, err)
		}
		if n := finished[v.id]; n != v.finished {
			m.rt.Fatalf("move %s has %d finishes, want %d", v.id, n, v.finished)
		}
	}
	for session, n := range open {
		if n > 1 {
			m.rt.Fatalf("%s has %d open moves", session, n)
		}
	}
}

func TestMovesInAnyOrder(t *testing.T) {
	b := newBook(t)
	for _, machine := range []string{"tower", "laptop", "desk"} {
		b.beat(machine, "default")
		b.must(b.write(func(tx *Tx) error {
			return SetMoveKey(tx, machine, record.MoveKey{Recipient: machine, Fingerprint: machine}, b.now)
		}))
	}
	run, reached := 0, map[record.MoveState]int{}
	rapid.Check(t, func(rt *rapid.T) {
		run++
		m := &moveModel{book: b, rt: rt, prefix: fmt.Sprintf("mr%d", run), claims: map[string][]record.Claim{}}
		m.beat("tower", m.prefix, m.prefix+"a@p0", m.prefix+"b@p1")
		rt.Repeat(map[string]func(*rapid.T){
			"": m.check, "ask": m.ask, "take": m.take, "report": m.report, "say": m.say, "upload": m.upload,
			"cancel": m.cancel, "wait": m.wait, "restart": m.restart, "proceed": m.proceed, "proceed again": m.proceed, "and again": m.proceed,
		})
		for _, v := range m.moves {
			reached[v.state]++
		}
	})
	for _, s := range []record.MoveState{record.MoveDone, record.MoveFailed, record.MoveCancelled, record.MoveStarting} {
		if reached[s] == 0 {
			t.Errorf("no move was %s at the end of a run: %v", s, reached)
		}
	}
}
