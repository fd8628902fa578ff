package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"sessionhub/lib/record"
)

// ask queues a step of a move for one of its machines. The step's own deadline
// is the move's; only the last step expires by itself.
func (m *move) ask(tx *Tx, action record.Action, machine string, now time.Time) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	expires := m.deadline
	if action == record.ActionMoveFinish {
		expires = now.Add(finishLife).UnixMilli()
	}
	return tx.exec("INSERT INTO requests (id, machine, session, action, body, state, created_at, expires_at, move) VALUES (?,?,?,?,'{}',?,?,?,?)",
		id.String(), machine, m.session, string(action), string(record.RequestQueued), now.UnixMilli(), expires, m.id)
}

// claimMove is what a machine is told of the move whose step it takes, and
// begins that step.
func claimMove(tx *Tx, r *request, now time.Time) (*record.ClaimMove, error) {
	m, err := findMove(tx, r.move)
	if err != nil {
		return nil, err
	}
	before := m
	switch {
	case r.action == record.ActionMoveCheck && m.state == record.MoveRequested:
		m.enter(record.MoveChecking, now)
	case r.action == record.ActionMoveIn && m.state == record.MoveUploaded:
		m.enter(record.MoveUnpacking, now)
	case r.action == record.ActionMoveOut && m.outAt == 0:
		m.outAt = now.UnixMilli()
	}
	if m != before {
		if err := m.save(tx); err != nil {
			return nil, err
		}
	}
	if m.deadline > 0 && r.action != record.ActionMoveFinish {
		r.expires = m.deadline
	}
	c := &record.ClaimMove{
		ID: m.id, Session: m.session, From: m.source, To: m.target, State: m.state, Detail: m.detail, Worktree: m.worktree,
		StopBackground: m.stopBackground, Bundle: m.bundle(), Cwd: m.cwd, TargetClaude: m.claude,
	}
	if m.git != "" {
		if err := json.Unmarshal([]byte(m.git), &c.Git); err != nil {
			return nil, fmt.Errorf("move: %w", err)
		}
	}
	if c.Keys.From, err = moveKey(tx, m.source); err == nil {
		c.Keys.To, err = moveKey(tx, m.target)
	}
	return c, err
}

// finishStep takes a machine's result of a step.
func finishStep(tx *Tx, r *request, res record.Result, now time.Time) error {
	m, err := currentMove(tx, r.move, now)
	if err != nil {
		return err
	}
	if r, _, err = again(tx, r); err != nil {
		return err
	}
	if r.ended > 0 { // by the move itself, or by this result before
		if r.state == res.State {
			return nil
		}
		return m.conflict("the step has ended: the move is %s", m.state)
	}
	ok := res.State == record.RequestDone
	if !ok {
		res.State = record.RequestFailed
	}
	switch r.action {
	case record.ActionMoveCheck:
		if !ok {
			return m.end(tx, record.MoveFailed, res.Detail, now)
		}
		m.claude = clean(res.Claude, maxText)
		m.enter(record.MovePacking, now)
		if err := m.ask(tx, record.ActionMoveOut, m.source, now); err != nil {
			return fmt.Errorf("move: %w", err)
		}
	case record.ActionMoveOut: // while packing: an upload ends this step
		if ok {
			res.Detail = m.source + " says that it is done, and sent no bundle"
		}
		return m.end(tx, record.MoveFailed, res.Detail, now)
	case record.ActionMoveIn:
		return m.byTarget(tx, record.MoveResult{State: record.MoveState(res.State), Detail: res.Detail}, now)
	case record.ActionMoveFinish:
		if !ok { // the session runs nowhere, or lies about: its owner should know
			m.read = false
		}
		if err := m.note(res.Detail); err != nil {
			return err
		}
	}
	if err := end(tx, r, res, now); err != nil {
		return err
	}
	return m.save(tx)
}

// again reads a request anew: the move may have ended it.
func again(tx *Tx, r *request) (*request, bool, error) {
	fresh, ok, err := getRequest(tx, r.id)
	return &fresh, ok, err
}

// TakeMoveResult takes how one end of a move got on. From unpacking to starting
// is a compare-and-swap: who is late learns how the move stands (MoveConflict).
// The same result again changes nothing; after the end there are only notes.
// ErrUnknown for a machine that is neither end.
func TakeMoveResult(tx *Tx, machine string, res record.MoveResult, now time.Time) (record.Move, error) {
	m, err := currentMove(tx, res.ID, now)
	if err != nil {
		return record.Move{}, err
	}
	if machine != m.source && machine != m.target {
		return record.Move{}, ErrUnknown
	}
	raw, err := json.Marshal(res)
	if err != nil {
		return record.Move{}, fmt.Errorf("move: %w", err)
	}
	said := machine + "\n" + string(raw)
	if said == m.result {
		return m.record(), nil
	}
	switch {
	case res.State == "" || m.state.Ended() && res.State == m.state:
		err = m.afterwards(tx, res)
	case m.state.Ended():
		err = m.conflict("the move is over: it is %s", m.state)
	case res.Expect != "" && res.Expect != m.state:
		err = m.conflict("the move is %s, not %s", m.state, res.Expect)
	default:
		m.result = said
		if err = m.note(res.Notes...); err != nil {
			break
		}
		if machine == m.target {
			err = m.byTarget(tx, res, now)
		} else {
			err = m.bySource(tx, res, now)
		}
	}
	return m.record(), err
}

// afterwards takes what is said without changing the state.
func (m *move) afterwards(tx *Tx, res record.MoveResult) error {
	words := res.Notes
	if res.State != "" {
		words = append([]string{res.Detail}, words...)
	}
	before := m.notes
	if err := m.note(words...); err != nil || m.notes == before {
		return err
	}
	return m.save(tx)
}

// noteMove notes on a move that its last step came to nothing.
func noteMove(tx *Tx, id, words string) error {
	if id == "" {
		return nil
	}
	m, err := findMove(tx, id)
	if err != nil {
		return err
	}
	m.read = false
	if err := m.note(m.source + ": " + words); err != nil {
		return err
	}
	return m.save(tx)
}

func (m *move) byTarget(tx *Tx, res record.MoveResult, now time.Time) error {
	switch {
	case res.State == record.MoveStarting && m.state == record.MoveStarting: // an answer was lost
		return m.save(tx)
	case res.State == record.MoveStarting && m.state == record.MoveUnpacking:
		m.enter(record.MoveStarting, now)
		return m.save(tx)
	case res.State == record.MoveDone && m.state == record.MoveStarting,
		res.State == record.MoveFailed && (m.state == record.MoveStarting || m.state == record.MoveUnpacking):
		return m.end(tx, res.State, res.Detail, now)
	}
	return m.conflict("the move is %s: it can't become %s by its target", m.state, res.State)
}

func (m *move) bySource(tx *Tx, res record.MoveResult, now time.Time) error {
	if res.State == record.MoveFailed && m.state == record.MovePacking {
		return m.end(tx, record.MoveFailed, res.Detail, now)
	}
	return m.conflict("the move is %s: it can't become %s by its source", m.state, res.State)
}

// end ends a move and its steps. A source that has begun learns how it ended by
// one last step.
func (m *move) end(tx *Tx, state record.MoveState, detail string, now time.Time) error {
	m.state, m.detail, m.deadline, m.ended = state, clean(detail, maxText), 0, now.UnixMilli()
	open, err := all(tx, scanRequest, "SELECT "+requestColumns+" FROM requests WHERE move = ? AND ended_at = 0", m.id)
	if err != nil {
		return fmt.Errorf("move: %w", err)
	}
	outcome := record.Result{State: record.RequestFailed, Detail: m.detail}
	switch state {
	case record.MoveDone:
		outcome.State = record.RequestDone
	case record.MoveCancelled:
		outcome = record.Result{State: record.RequestExpired, Detail: takenBack}
	}
	for i := range open {
		if err := end(tx, &open[i], outcome, now); err != nil {
			return err
		}
	}
	if m.outAt > 0 {
		if err := m.ask(tx, record.ActionMoveFinish, m.source, now); err != nil {
			return fmt.Errorf("move: %w", err)
		}
	}
	if state == record.MoveDone {
		if err := m.handOver(tx, now); err != nil {
			return fmt.Errorf("move: %w", err)
		}
	}
	return m.save(tx)
}

func (m *move) timeOut(tx *Tx, now time.Time) error {
	return m.end(tx, record.MoveFailed, "timed out while "+string(m.state), now)
}

// handOver makes the session the target's. Messages that wait for it go along.
func (m *move) handOver(tx *Tx, now time.Time) error {
	s, known, err := getSession(tx, m.session)
	switch {
	case err != nil:
		return err
	case !known: // forgotten meanwhile
		s = newSession(m.session, m.target, now.UnixMilli())
	case s.machine == m.target: // a snapshot told it before
		return nil
	default:
		if err := s.relocate(tx, m.target, now.UnixMilli()); err != nil {
			return err
		}
		s.namedBy.Valid, s.namedBy.String, s.namedAt = false, "", 0
		s.herdrSession, s.paneID, s.workspaceID, s.otherPanes, s.transcript = "", "", "", "", ""
		s.setState(record.Unknown, false, "", now.UnixMilli())
	}
	s.lastSeen, s.touchedAt = now.UnixMilli(), now.UnixMilli()
	if err := s.save(tx); err != nil {
		return err
	}
	return tx.exec("UPDATE requests SET machine = ? WHERE ended_at = 0 AND machine = ? AND session = ? AND move = '' AND action = ? AND state = ?",
		m.target, m.source, m.session, string(record.ActionMessage), string(record.RequestQueued))
}

// CancelMove takes a move back while the hub has no bundle of it. One that was
// taken back already stays so.
func CancelMove(tx *Tx, id string, now time.Time) (record.Move, error) {
	m, err := currentMove(tx, id, now)
	if err != nil {
		return record.Move{}, err
	}
	switch m.state {
	case record.MoveCancelled:
		return m.record(), nil
	case record.MoveRequested, record.MoveChecking, record.MovePacking:
		err = m.end(tx, record.MoveCancelled, takenBack, now)
		return m.record(), err
	}
	return m.record(), m.conflict("the move is %s: it can be taken back until its bundle is uploaded", m.state)
}

// MovesOverdue reports, without writing, whether a move's step takes too long.
func (s *Store) MovesOverdue(ctx context.Context, now time.Time) (bool, error) {
	_, due, err := one(s.reader(ctx), scanInt, "SELECT 1 FROM moves WHERE ended_at = 0 AND deadline > 0 AND deadline <= ? LIMIT 1", now.UnixMilli())
	if err != nil {
		err = fmt.Errorf("moves: %w", err)
	}
	return due, err
}

// EndOverdueMoves fails the moves whose step takes too long.
func EndOverdueMoves(tx *Tx, now time.Time) error {
	list, err := all(tx, scanMove, "SELECT "+moveColumns+" FROM moves WHERE ended_at = 0 AND deadline > 0 AND deadline <= ?", now.UnixMilli())
	if err != nil {
		return fmt.Errorf("moves: %w", err)
	}
	for i := range list {
		if err := list[i].timeOut(tx, now); err != nil {
			return err
		}
	}
	return nil
}
