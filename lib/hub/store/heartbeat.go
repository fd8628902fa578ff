package store

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"sessionhub/lib/record"
)

const (
	// unnamedFor is how long no snapshot must have named a session before the
	// snapshot of what runs outside herdr ends it (contract §7).
	unnamedFor = 2 * time.Minute
	// transit bounds the way of a snapshot that is sent at once, generously: a
	// client gives up after seconds. What the machine is known to have said
	// more than this after such a snapshot was said by another clock: by one
	// that was set back since, or by a record with an absurd time.
	transit = time.Minute
	// tooOld is the age above which a snapshot that waited in a queue takes no
	// session from another machine: it tells of another day.
	tooOld = time.Minute
)

// ReasonVanished is why a session ended that a snapshot lacks.
const ReasonVanished = "vanished"

// Way is how a snapshot came.
type Way int

const (
	// Direct snapshots are sent the moment they are taken.
	Direct Way = iota
	// Queued ones may have waited, for hours when the hub was down. Later ones
	// may have overtaken them.
	Queued
)

// Heartbeat takes in a snapshot that was sent at once: what it names is live,
// and what it lacks of the sessions that it may end is over.
func Heartbeat(tx *Tx, machine string, snap *record.Snapshot, now time.Time) error {
	return TakeSnapshot(tx, machine, snap, Direct, now)
}

// TakeSnapshot takes in a snapshot of a machine.
//
// It ends live sessions of its machine that its own source (machine and herdr
// session) named last and that it lacks, but not those whose pane it lists as
// unidentified, and nothing that is known to have happened after it was taken.
// Both times are by the machine's own clock, so its skew does not matter; a
// clock that was set back is found by the bound on a snapshot's way.
func TakeSnapshot(tx *Tx, machine string, snap *record.Snapshot, way Way, now time.Time) error {
	h := heartbeat{tx: tx, machine: machine, snap: snap, way: way, now: now.UnixMilli(), sent: snap.At.UnixMilli()}
	h.source = clean(snap.HerdrSession, maxText)
	for _, step := range []func() error{h.heard, h.readLive, h.nameAll, h.endRest, h.saveSame} {
		if err := step(); err != nil {
			return fmt.Errorf("heartbeat: %w", err)
		}
	}
	return nil
}

type heartbeat struct {
	tx      *Tx
	machine string
	source  string // the herdr session
	snap    *record.Snapshot
	way     Way
	now     int64
	sent    int64               // when it was taken, by the machine's clock
	live    map[string]*session // the machine's, as they were before
	named   map[string]bool     // by this snapshot
	same    []string            // sessions of which it says nothing new
}

// heard notes that the machine and the source are there. Only a snapshot that
// was not delayed tells the machine's skew.
func (h *heartbeat) heard() error {
	err := h.tx.exec(`INSERT INTO machines (name, last_seen, skew_ms, herdr_version, tools_version)
		VALUES (?1, ?2, CASE WHEN ?6 THEN ?3 ELSE 0 END, ?4, ?5)
		ON CONFLICT (name) DO UPDATE SET last_seen = ?2, skew_ms = CASE WHEN ?6 THEN ?3 ELSE skew_ms END, tools_version = ?5,
		herdr_version = CASE WHEN ?4 = '' THEN herdr_version ELSE ?4 END`,
		h.machine, h.now, h.sent-h.now, clean(h.snap.HerdrVersion, maxTitle), clean(h.snap.ToolsVersion, maxTitle), h.way == Direct)
	if err != nil {
		return err
	}
	return h.tx.exec(`INSERT INTO sources (machine, herdr_session, last_seen) VALUES (?1, ?2, ?3)
		ON CONFLICT (machine, herdr_session) DO UPDATE SET last_seen = ?3`, h.machine, h.source, h.now)
}

// readLive reads the machine's live sessions at once: nearly always those that
// the snapshot names, and all that it may end.
func (h *heartbeat) readLive() error {
	list, err := all(h.tx, scanSession, "SELECT "+sessionColumns+" FROM sessions WHERE live = 1 AND machine = ?", h.machine)
	h.live, h.named = make(map[string]*session, len(list)), make(map[string]bool, len(h.snap.Sessions))
	for i := range list {
		h.live[list[i].id] = &list[i]
	}
	return err
}

func (h *heartbeat) find(id string) (session, bool, error) {
	if s, ok := h.live[id]; ok {
		return *s, true, nil
	}
	return getSession(h.tx, id)
}

func (h *heartbeat) nameAll() error {
	for i := range h.snap.Sessions {
		h.named[h.snap.Sessions[i].Session] = true
		if err := h.name(&h.snap.Sessions[i]); err != nil {
			return err
		}
	}
	return nil
}

// name notes that a session runs here.
func (h *heartbeat) name(e *record.LiveSession) error {
	s, ok, err := h.find(e.Session)
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
		if err := s.relocate(h.tx, h.machine, h.now); err != nil {
			return err
		}
	case !s.live && h.overtakenBy(s.sentEnded):
		return nil // a snapshot from before its end, sent late
	}
	if h.update(&s, e); s.news() || s.sentNamed != h.sent {
		return s.save(h.tx)
	}
	h.same = append(h.same, s.id)
	return nil
}

// saveStep bounds how many sessions one statement saves.
const saveStep = 50

// saveSame notes that sessions were named, which is all that there is to note
// of nearly all of them.
func (h *heartbeat) saveSame() error {
	for ids := range slices.Chunk(h.same, saveStep) {
		args := []any{h.now, h.source, h.sent}
		for _, id := range ids {
			args = append(args, id)
		}
		err := h.tx.exec("UPDATE sessions SET last_seen = ?1, named_by = ?2, named_at = ?1, sent_named = ?3, sent_touched = ?3 WHERE id IN (?4"+
			strings.Repeat(", ?", len(ids)-1)+")", args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// mayTake reports whether a snapshot may change a session's machine: the
// session is over, or its source is silent.
func (h *heartbeat) mayTake(s *session) (bool, error) {
	if h.way == Queued {
		skew, err := skewOf(h.tx, h.machine)
		if err != nil || h.now+skew-h.sent > tooOld.Milliseconds() {
			return false, err
		}
	}
	return abandoned(h.tx, s, h.now)
}

func (h *heartbeat) update(s *session, e *record.LiveSession) {
	overtaken := h.overtakenBy(s.sentTouched) // something newer is known
	s.revive(h.now)
	s.lastSeen = h.now
	if overtaken {
		return
	}
	s.namedBy, s.namedAt = sql.NullString{String: h.source, Valid: true}, h.now
	s.sentNamed, s.sentTouched = h.sent, h.sent
	note := s.note
	if s.state != e.AgentState {
		note = "" // it spoke of the state before
	}
	s.setState(e.AgentState, e.Background, note, h.now)
	s.setPlace(record.Place{HerdrSession: h.source, PaneID: e.PaneID, WorkspaceID: e.WorkspaceID})
	s.otherPanes = otherPanes(e.OtherPanes)
	s.fill(record.Upsert{Cwd: e.Cwd, TitleHint: e.TitleHint, Git: e.Git})
}

// otherPanes is a list of panes as one text.
func otherPanes(list []string) string {
	var panes []string
	for _, p := range list {
		panes = append(panes, strings.ReplaceAll(clean(p, maxTitle), " ", ""))
	}
	return strings.Join(panes, " ")
}

// overtakenBy reports whether a moment of the machine's clock is after the
// snapshot was taken.
func (h *heartbeat) overtakenBy(moment int64) bool {
	if h.way == Direct && moment-h.sent > transit.Milliseconds() {
		return false // by another clock
	}
	return moment > h.sent
}

// endRest ends what this snapshot may end and does not name.
func (h *heartbeat) endRest() error {
	for id, s := range h.live {
		if h.named[id] || !h.mayEnd(s) {
			continue
		}
		if h.waits(s) {
			s.namedAt = h.now // it is accounted for
		} else if !h.overtakenBy(s.sentTouched) {
			s.end(ReasonVanished, h.now, h.sent)
		}
		if err := s.save(h.tx); err != nil {
			return err
		}
	}
	return nil
}

// mayEnd reports whether a live session is this snapshot's to end: the same
// source named it last, or none did yet and its records place it there. That of
// what runs outside herdr may end what no snapshot named for a while, too.
func (h *heartbeat) mayEnd(s *session) bool {
	switch {
	case s.namedBy.Valid && s.namedBy.String == h.source:
		return true
	case !s.namedBy.Valid && s.paneID != "" && s.herdrSession == h.source:
		return true
	}
	return h.source == "" && max(s.namedAt, s.touchedAt) < h.now-unnamedFor.Milliseconds()
}

// waits reports whether the session's pane waits to be identified.
func (h *heartbeat) waits(s *session) bool {
	return s.paneID != "" && s.herdrSession == h.source && slices.ContainsFunc(h.snap.UnidentifiedPanes,
		func(u record.UnidentifiedPane) bool { return u.PaneID == s.paneID })
}
