package store

import (
	"database/sql"
	"fmt"
	"slices"
	"time"

	"sessionhub/lib/record"
)

const (
	// unnamedFor is how long no snapshot must have named a session before the
	// snapshot of what runs outside herdr ends it (contract §7).
	unnamedFor = 2 * time.Minute
	// clockTrust is for how long a time by the machine's clock that lies
	// after a snapshot's keeps a session from being ended by it. A clock that
	// was set back must not keep a session alive for ever.
	clockTrust = 10 * time.Minute
)

// Reasons of ended sessions that the hub itself gives.
const ReasonVanished = "vanished"

// Heartbeat takes a snapshot of a machine in: what it names is live, and what
// it lacks of the sessions that it may end is over.
func Heartbeat(tx *Tx, machine string, snap *record.Snapshot, now time.Time) error {
	h := heartbeat{tx: tx, machine: machine, snap: snap, now: now.UnixMilli(), sent: snap.At.UnixMilli()}
	if err := h.sources(); err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	for i := range snap.Sessions {
		if err := h.name(&snap.Sessions[i]); err != nil {
			return fmt.Errorf("heartbeat: %w", err)
		}
	}
	if err := h.endRest(); err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	return nil
}

type heartbeat struct {
	tx      *Tx
	machine string
	snap    *record.Snapshot
	now     int64
	sent    int64 // when it was taken, by the machine's clock
}

func (h *heartbeat) sources() error {
	err := h.tx.exec(`INSERT INTO machines (name, last_seen, skew_ms, herdr_version, tools_version) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (name) DO UPDATE SET last_seen = ?2, skew_ms = ?3, tools_version = ?5,
		herdr_version = CASE WHEN ?4 = '' THEN herdr_version ELSE ?4 END`,
		h.machine, h.now, h.sent-h.now, clean(h.snap.HerdrVersion, maxTitle), clean(h.snap.ToolsVersion, maxTitle))
	if err != nil {
		return err
	}
	return h.tx.exec(`INSERT INTO sources (machine, herdr_session, last_seen) VALUES (?1, ?2, ?3)
		ON CONFLICT (machine, herdr_session) DO UPDATE SET last_seen = ?3`, h.machine, h.snap.HerdrSession, h.now)
}

// name notes that a session runs here.
func (h *heartbeat) name(e *record.LiveSession) error {
	s, ok, err := getSession(h.tx, e.Session)
	if err != nil {
		return err
	}
	switch {
	case !ok:
		s = newSession(e.Session, h.machine, h.now)
	case s.machine != h.machine:
		if may, err := h.mayTake(&s); err != nil || !may {
			return err
		}
		s.revive(h.now)
		s.machine, s.sentTouched = h.machine, 0 // times by another clock
	case !s.live && h.sent <= s.sentEnded:
		return nil // a snapshot from before its end, sent late
	}
	h.update(&s, e)
	return s.save(h.tx)
}

// mayTake reports whether a snapshot may change a session's machine: the
// session is over, or the machine that it ran on is silent.
func (h *heartbeat) mayTake(s *session) (bool, error) {
	if !s.live {
		return true, nil
	}
	seen, ok, err := one(h.tx, scanInt, "SELECT last_seen FROM sources WHERE machine = ? AND herdr_session = ?", s.machine, s.namedBy.String)
	if err != nil {
		return false, err
	}
	if !ok {
		seen = s.lastSeen
	}
	return h.now-max(seen, s.touchedAt) > StaleAfter.Milliseconds(), nil
}

func scanInt(rows *sql.Rows) (n int64, err error) { return n, rows.Scan(&n) }

func (h *heartbeat) update(s *session, e *record.LiveSession) {
	late := h.sent < s.sentTouched && h.trusts(s) // something newer is known
	s.revive(h.now)
	s.lastSeen = h.now
	s.namedBy, s.namedAt = sql.NullString{String: h.snap.HerdrSession, Valid: true}, h.now
	if late {
		return
	}
	s.sentTouched = h.sent
	note := s.note
	if s.state != e.AgentState {
		note = "" // it spoke of the state before
	}
	s.setState(e.AgentState, e.Background, note, h.now)
	s.setPlace(record.Place{HerdrSession: h.snap.HerdrSession, PaneID: e.PaneID, WorkspaceID: e.WorkspaceID})
	s.otherPanes = slices.Clone(e.OtherPanes)
	s.fill(record.Upsert{Cwd: e.Cwd, TitleHint: e.TitleHint, Git: e.Git})
}

// trusts reports whether a time by the machine's clock that lies after the
// snapshot's is believed.
func (h *heartbeat) trusts(s *session) bool {
	return h.now-max(s.touchedAt, s.namedAt) <= clockTrust.Milliseconds()
}

// endRest ends what this snapshot may end and does not name: the live sessions
// that the same source named last, or that none named yet and whose records
// place them there, but not those whose pane waits to be
// identified, nor those of which something later is known.
func (h *heartbeat) endRest() error {
	query := "SELECT " + sessionColumns + " FROM sessions WHERE live = 1 AND machine = ?1 AND " +
		"(named_by = ?2 OR named_by IS NULL AND pane_id <> '' AND herdr_session = ?2)"
	args := []any{h.machine, h.snap.HerdrSession}
	if h.snap.HerdrSession == "" {
		query += " UNION SELECT " + sessionColumns + " FROM sessions WHERE live = 1 AND machine = ?1 AND max(named_at, touched_at) < ?3"
		args = append(args, h.now-unnamedFor.Milliseconds())
	}
	list, err := all(h.tx, scanSession, query, args...)
	if err != nil {
		return err
	}
	for i := range list {
		s := &list[i]
		if h.keeps(s) {
			continue
		}
		s.end(ReasonVanished, h.now, h.sent)
		if err := s.save(h.tx); err != nil {
			return err
		}
	}
	return nil
}

func (h *heartbeat) keeps(s *session) bool {
	if slices.ContainsFunc(h.snap.Sessions, func(e record.LiveSession) bool { return e.Session == s.id }) {
		return true
	}
	if s.paneID != "" && slices.ContainsFunc(h.snap.UnidentifiedPanes, func(u record.UnidentifiedPane) bool { return u.PaneID == s.paneID }) {
		return true
	}
	return s.sentTouched > h.sent && h.trusts(s)
}
