package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sessionhub/lib/record"
)

const (
	// moveStep is how long each step of a move may take (contract §6).
	moveStep = 10 * time.Minute
	// finishLife is how long the last step waits for the source to come back: as
	// long as it would keep the archive.
	finishLife = 30 * 24 * time.Hour
	// maxNotes bounds the notes of a move, so that a machine gone wild fills
	// nothing.
	maxNotes = 50
)

// MoveConflict is the error of what does not fit how a move stands.
type MoveConflict struct {
	Move record.Move
	Why  string
}

func (e *MoveConflict) Error() string { return e.Why }

// BadMove is the error of a move that can't be, whatever its machines do.
type BadMove struct{ Why string }

func (e *BadMove) Error() string { return e.Why }

// NotNow is the error of a move that can't be as things are.
type NotNow struct{ Why string }

func (e *NotNow) Error() string { return e.Why }

// move is a row of the moves table.
type move struct {
	seq                             int64
	id, session, source, target     string
	worktree, stopBackground        bool
	cwd, git                        string
	state                           record.MoveState
	detail, notes, result           string
	created, deadline, ended, outAt int64 // deadline 0: none; outAt: the source has move_out since
	size                            int64
	sha                             string
	read                            bool
	claude                          string // the target's version, as move_check found it
}

const moveColumns = "seq, id, session, source, target, worktree, stop_background, cwd, git, state, detail, notes, result, " +
	"created_at, deadline, ended_at, out_at, bundle_size, bundle_sha256, read, target_claude"

func scanMove(rows *sql.Rows) (m move, err error) {
	return m, rows.Scan(&m.seq, &m.id, &m.session, &m.source, &m.target, &m.worktree, &m.stopBackground, &m.cwd, &m.git, &m.state, &m.detail,
		&m.notes, &m.result, &m.created, &m.deadline, &m.ended, &m.outAt, &m.size, &m.sha, &m.read, &m.claude)
}

func (m *move) record() record.Move {
	out := record.Move{
		ID: m.id, Session: m.session, From: m.source, To: m.target, State: m.state, Detail: m.detail, Notes: m.noteList(),
		CreatedAt: at(m.created), Bundle: m.bundle(),
	}
	if m.deadline > 0 {
		t := at(m.deadline)
		out.StepDeadline = &t
	}
	if m.ended > 0 {
		t := at(m.ended)
		out.EndedAt = &t
	}
	return out
}

func (m *move) bundle() *record.Bundle {
	if m.sha == "" {
		return nil
	}
	return &record.Bundle{Size: m.size, SHA256: m.sha}
}

func (m *move) noteList() []string {
	list := []string{}
	if json.Unmarshal([]byte(m.notes), &list) != nil || list == nil {
		return []string{}
	}
	return list
}

// note adds what was not said yet.
func (m *move) note(words ...string) error {
	list := m.noteList()
	for _, w := range words {
		if w = clean(w, maxText); w != "" && w != m.detail && !slices.Contains(list, w) && len(list) < maxNotes {
			list = append(list, w)
		}
	}
	raw, err := json.Marshal(list)
	m.notes = string(raw)
	return err
}

// overdue reports whether the step's time is over.
func (m *move) overdue(now time.Time) bool { return m.deadline > 0 && m.deadline <= now.UnixMilli() }

// enter begins a step. That of starting has no deadline: from then on only the
// target ends the move, so that the session never runs on both machines.
func (m *move) enter(state record.MoveState, now time.Time) {
	m.state, m.detail, m.deadline = state, "", now.Add(moveStep).UnixMilli()
	if state == record.MoveStarting {
		m.detail, m.deadline = "on "+m.target+" since "+record.At(now).String(), 0
	}
}

// save writes what of a move changes, and tells those who watch.
func (m *move) save(tx *Tx) error {
	err := tx.exec(`UPDATE moves SET state = ?, detail = ?, notes = ?, result = ?, deadline = ?, ended_at = ?, out_at = ?, bundle_size = ?,
		bundle_sha256 = ?, read = ?, target_claude = ? WHERE id = ?`,
		string(m.state), m.detail, m.notes, m.result, m.deadline, m.ended, m.outAt, m.size, m.sha, m.read, m.claude, m.id)
	if err != nil {
		return fmt.Errorf("move %s: %w", m.id, err)
	}
	tx.tell(m.session)
	tx.moved = append(tx.moved, m.record())
	return nil
}

func findMove(r rower, id string) (move, error) {
	m, ok, err := one(r, scanMove, "SELECT "+moveColumns+" FROM moves WHERE id = ?", id)
	if err == nil && !ok {
		err = ErrUnknown
	}
	if err != nil && !errors.Is(err, ErrUnknown) {
		err = fmt.Errorf("move: %w", err)
	}
	return m, err
}

// currentMove reads a move that is about to change; one whose time is over has
// failed.
func currentMove(tx *Tx, id string, now time.Time) (move, error) {
	m, err := findMove(tx, id)
	if err == nil && m.overdue(now) {
		err = m.timeOut(tx, now)
	}
	return m, err
}

func (m *move) conflict(format string, args ...any) error {
	return &MoveConflict{Move: m.record(), Why: fmt.Sprintf(format, args...)}
}

// Move is one move, or ErrUnknown.
func (s *Store) Move(ctx context.Context, id string) (record.Move, error) {
	m, err := findMove(s.reader(ctx), id)
	return m.record(), err
}

// openMoves are the moves that have not ended, by session.
func openMoves(r rower) (map[string]*move, error) {
	list, err := all(r, scanMove, "SELECT "+moveColumns+" FROM moves WHERE ended_at = 0")
	if err != nil {
		return nil, fmt.Errorf("moves: %w", err)
	}
	open := make(map[string]*move, len(list))
	for i := range list {
		open[list[i].session] = &list[i]
	}
	return open, nil
}

// withMoves adds to sessions the moves that are under way.
func (s *Store) withMoves(ctx context.Context, list []record.Session) error {
	open, err := openMoves(s.reader(ctx))
	if err != nil {
		return err
	}
	for i := range list {
		if m := open[list[i].Session]; m != nil {
			r := m.record()
			list[i].Move = &r
		}
	}
	return nil
}

// checkNotMoving refuses what else is asked of a session while it moves.
func checkNotMoving(tx *Tx, session string, now time.Time) error {
	m, ok, err := one(tx, scanMove, "SELECT "+moveColumns+" FROM moves WHERE ended_at = 0 AND session = ?", session)
	if err != nil {
		return fmt.Errorf("move: %w", err)
	}
	if !ok || m.overdue(now) {
		return nil
	}
	return m.conflict("the session moves to %s (move %s, %s): nothing else is asked of it meanwhile", m.target, m.id, m.state)
}

// MoveOrder is a new move. Origin, if it is set, names the request: the same one
// again gives the same move, and with another Hash it is ErrKeyReused.
type MoveOrder struct {
	ID, Session string
	record.MovePost
	Origin string
	Hash   []byte
}

// AddMove begins a move: it asks the target whether it could take the session.
func AddMove(tx *Tx, o MoveOrder, now time.Time) (record.Move, error) {
	if o.Origin != "" {
		if m, known, err := sameMove(tx, o); err != nil || known {
			return m.record(), err
		}
	}
	s, err := movable(tx, o, now)
	if err != nil {
		return record.Move{}, err
	}
	m := move{id: o.ID, session: o.Session, source: s.Machine, target: o.To, worktree: o.Worktree, stopBackground: o.StopBackground,
		cwd: s.Cwd, notes: "[]", created: now.UnixMilli()}
	if s.Git != nil {
		raw, err := json.Marshal(s.Git)
		if err != nil {
			return record.Move{}, fmt.Errorf("move: %w", err)
		}
		m.git = string(raw)
	}
	m.enter(record.MoveRequested, now)
	err = tx.exec(`INSERT INTO moves (id, session, source, target, worktree, stop_background, cwd, git, state, created_at, deadline, origin, hash)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,nullif(?,''),?)`,
		m.id, m.session, m.source, m.target, m.worktree, m.stopBackground, m.cwd, m.git, string(m.state), m.created, m.deadline, o.Origin, o.Hash)
	if err == nil {
		err = m.ask(tx, record.ActionMoveCheck, m.target, now)
	}
	if err != nil {
		return record.Move{}, fmt.Errorf("move: %w", err)
	}
	tx.tell(m.session)
	tx.moved = append(tx.moved, m.record())
	return m.record(), nil
}

func sameMove(tx *Tx, o MoveOrder) (m move, known bool, err error) {
	var hash []byte
	hash, known, err = one(tx, func(rows *sql.Rows) (b []byte, err error) { return b, rows.Scan(&b) }, "SELECT hash FROM moves WHERE origin = ?", o.Origin)
	switch {
	case err != nil:
		return m, false, fmt.Errorf("move: %w", err)
	case known && string(hash) != string(o.Hash):
		return m, false, ErrKeyReused
	case known:
		m, _, err = one(tx, scanMove, "SELECT "+moveColumns+" FROM moves WHERE origin = ?", o.Origin)
	}
	return m, known, err
}

// movable is the session that is to move, or why it can't be.
func movable(tx *Tx, o MoveOrder, now time.Time) (s record.Session, err error) {
	list, err := all(tx, scanSeen(now), withSeen()+"WHERE s.id = ?", o.Session)
	switch {
	case err != nil:
		return s, fmt.Errorf("move: %w", err)
	case len(list) == 0:
		return s, ErrUnknown
	case o.To == record.ToCloud:
		return s, &BadMove{"a move to the cloud is not available yet"}
	}
	s = list[0]
	target, known, err := moveEnd(tx, o.To)
	if err != nil {
		return s, err
	}
	source, _, err := moveEnd(tx, s.Machine)
	if err != nil {
		return s, err
	}
	open, moving, err := one(tx, scanMove, "SELECT "+moveColumns+" FROM moves WHERE ended_at = 0 AND session = ?", s.Session)
	if err == nil && moving && open.overdue(now) {
		err = open.timeOut(tx, now)
		moving = false
	}
	switch {
	case err != nil:
		return s, fmt.Errorf("move: %w", err)
	case !known:
		return s, &BadMove{"the hub knows no machine of that name"}
	case o.To == s.Machine:
		return s, &BadMove{"the session runs on " + s.Machine + " already"}
	case moving:
		return s, open.conflict("the session moves to %s already (move %s, %s)", open.target, open.id, open.state)
	case s.Status == record.StatusEnded:
		return s, &NotNow{"the session has ended: resume it first"}
	case s.Status == record.StatusStale:
		return s, &NotNow{s.Machine + ", on which the session runs, is silent"}
	case now.UnixMilli()-target.seen > StaleAfter.Milliseconds():
		return s, &NotNow{o.To + " is silent since " + at(target.seen).String()}
	case source.key == "":
		return s, &NotNow{s.Machine + " has registered no key for moves: do its tools run, in a version that moves sessions?"}
	case target.key == "":
		return s, &NotNow{o.To + " has registered no key for moves: do its tools run, in a version that moves sessions?"}
	}
	return s, nil
}

// end is what the hub knows of a machine at one end of a move.
type endOfMove struct {
	seen int64
	key  string
}

func moveEnd(r rower, machine string) (e endOfMove, known bool, err error) {
	e, known, err = one(r, func(rows *sql.Rows) (e endOfMove, err error) { return e, rows.Scan(&e.seen, &e.key) },
		"SELECT last_seen, move_key FROM machines WHERE name = ?", machine)
	if err != nil {
		err = fmt.Errorf("machine: %w", err)
	}
	return e, known, err
}

// moveKey is the key that a machine registered last.
func moveKey(r rower, machine string) (k record.MoveKey, err error) {
	e, _, err := moveEnd(r, machine)
	if err != nil || e.key == "" {
		return k, err
	}
	return k, json.Unmarshal([]byte(e.key), &k)
}

// SetMoveKey registers a machine's keys; the last ones count.
func SetMoveKey(tx *Tx, machine string, k record.MoveKey, now time.Time) error {
	raw, err := json.Marshal(k)
	if err == nil {
		err = tx.exec(`INSERT INTO machines (name, last_seen, move_key) VALUES (?1, ?2, ?3)
			ON CONFLICT (name) DO UPDATE SET move_key = ?3`, machine, now.UnixMilli(), string(raw))
	}
	if err != nil {
		return fmt.Errorf("move key: %w", err)
	}
	return nil
}

// inFlight are the states in which the hub keeps a move's bundle.
func inFlight() string {
	return "'" + strings.Join([]string{string(record.MoveUploaded), string(record.MoveUnpacking), string(record.MoveStarting)}, "', '") + "'"
}
