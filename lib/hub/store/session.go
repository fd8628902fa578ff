package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// StaleAfter is how long a source may be silent, by the hub's own clock,
// before its sessions are stale (contract §6, field report A54).
const StaleAfter = 3 * time.Minute

// ErrUnknown is returned for a session, or another thing, that is not there.
var ErrUnknown = errors.New("not known")

// session is a row of the sessions table.
type session struct {
	id, machine                            string
	herdrSession, paneID, workspaceID      string
	otherPanes                             string         // separated by spaces
	namedBy                                sql.NullString // the source that named it last
	namedAt, sentNamed                     int64
	live                                   bool
	endedReason                            string
	endedAt, sentEnded                     int64
	retired                                bool
	state                                  record.AgentState
	background                             bool
	note                                   string
	since, startedAt, lastSeen             int64
	touchedAt, sentTouched                 int64
	title, titleHint, cwd, git             string
	firstPrompt, model, transcript, digest string

	before *session // as it was read; nil for a new one
}

const sessionColumns = `id, machine, herdr_session, pane_id, workspace_id, other_panes, named_by, named_at, sent_named, live, ended_reason, ended_at,
  sent_ended, retired, agent_state, background, note, since, started_at, last_seen, touched_at, sent_touched, title, title_hint, cwd, git,
  first_prompt, model, transcript_path, digest`

func scanSession(rows *sql.Rows) (session, error) { return scanSessionAnd(rows) }

// scanSessionAnd reads a row that has more columns behind those of a session.
func scanSessionAnd(rows *sql.Rows, more ...any) (session, error) {
	var s session
	err := rows.Scan(append([]any{&s.id, &s.machine, &s.herdrSession, &s.paneID, &s.workspaceID, &s.otherPanes, &s.namedBy, &s.namedAt,
		&s.sentNamed, &s.live, &s.endedReason, &s.endedAt, &s.sentEnded, &s.retired, &s.state, &s.background, &s.note, &s.since, &s.startedAt, &s.lastSeen,
		&s.touchedAt, &s.sentTouched, &s.title, &s.titleHint, &s.cwd, &s.git, &s.firstPrompt, &s.model, &s.transcript, &s.digest}, more...)...)
	before := s
	s.before = &before
	return s, err
}

func getSession(r rower, id string) (session, bool, error) {
	return one(r, scanSession, "SELECT "+sessionColumns+" FROM sessions WHERE id = ?", id)
}

// save writes the whole row, new or not. It updates in place: replacing a row
// would take its events along. What people see of the change is told to those
// who watch.
func (s *session) save(tx *Tx) error {
	if s.news() {
		tx.tell(s.id)
	}
	if s.before != nil && (s.before.live && !s.live || s.before.machine != s.machine) {
		if err := endAsksOf(tx, s.id, max(s.endedAt, s.since, s.lastSeen)); err != nil {
			return err
		}
	}
	return tx.exec(tx.saveQuery(),
		s.id, s.machine, s.herdrSession, s.paneID, s.workspaceID, s.otherPanes, s.namedBy, s.namedAt, s.sentNamed, s.live, s.endedReason,
		s.endedAt, s.sentEnded, s.retired, string(s.state), s.background, s.note, s.since, s.startedAt, s.lastSeen, s.touchedAt, s.sentTouched,
		s.title, s.titleHint, s.cwd, s.git, s.firstPrompt, s.model, s.transcript, s.digest)
}

func (tx *Tx) saveQuery() string {
	if tx.save == "" {
		columns := strings.Fields(strings.ReplaceAll(sessionColumns, ",", " "))
		// Not the id: a parent key that is set, to whatever value, makes SQLite
		// look at every event of the session.
		sets := make([]string, len(columns)-1)
		for i, c := range columns[1:] {
			sets[i] = c + " = excluded." + c
		}
		tx.save = "INSERT INTO sessions (" + sessionColumns + ") VALUES (" + strings.Repeat("?,", len(columns)-1) + "?) " +
			"ON CONFLICT (id) DO UPDATE SET " + strings.Join(sets, ", ")
	}
	return tx.save
}

// news reports whether people see the session differently than before it was
// read, or see it at all.
func (s *session) news() bool {
	return s.before == nil || s.shown() != s.before.shown() || s.lastSeen-s.before.lastSeen > StaleAfter.Milliseconds()
}

// shown is the row without what changes with every heartbeat.
func (s *session) shown() session {
	v := *s
	v.before, v.namedBy, v.namedAt, v.sentNamed, v.lastSeen, v.touchedAt, v.sentTouched = nil, sql.NullString{}, 0, 0, 0, 0, 0
	return v
}

// newSession is a session that began now.
func newSession(id, machine string, now int64) session {
	return session{id: id, machine: machine, live: true, state: record.Unknown, since: now, startedAt: now, lastSeen: now}
}

// touch notes that something of the session arrived.
func (s *session) touch(now, sent int64) {
	s.lastSeen, s.touchedAt = now, now
	s.sentTouched = max(s.sentTouched, sent)
}

// setState changes the state; since moves only when it really changes.
func (s *session) setState(state record.AgentState, background bool, note string, now int64) {
	if s.state != state {
		s.state, s.since = state, now
	}
	s.background, s.note = background, note
}

// revive makes an ended session live again, as after a resume. What it does is
// not known until something tells.
func (s *session) revive(now int64) {
	if s.live {
		return
	}
	s.live, s.endedReason, s.endedAt, s.sentEnded = true, "", 0, 0
	s.state, s.since = record.Unknown, now
}

// relocate makes a session of another machine a machine's.
func (s *session) relocate(tx *Tx, machine string, now int64) error {
	if err := tx.exec("INSERT INTO past_machines (session, machine) VALUES (?,?) ON CONFLICT DO NOTHING", s.id, s.machine); err != nil {
		return err
	}
	if err := tx.exec("DELETE FROM past_machines WHERE session = ? AND machine = ?", s.id, machine); err != nil {
		return err
	}
	s.revive(now)
	s.machine = machine
	s.sentTouched, s.sentNamed, s.sentEnded = 0, 0, 0 // times by another clock
	return nil
}

// end ends a live session.
func (s *session) end(reason string, now, sent int64) {
	s.live, s.endedReason, s.endedAt, s.sentEnded = false, reason, now, sent
	s.background, s.note = false, ""
}

// Limits of texts that come from outside, in characters.
const (
	maxTitle  = 200
	maxPrompt = 200
	maxText   = 2000
)

func clean(s string, n int) string { return text.Cut(text.Line(s), n) }

// fill takes over what an upsert says; absent fields say nothing, and the
// first prompt is recorded once.
func (s *session) fill(u record.Upsert) {
	set := func(field *string, v string, n int) {
		if v = clean(v, n); v != "" {
			*field = v
		}
	}
	set(&s.cwd, u.Cwd, maxText)
	set(&s.titleHint, u.TitleHint, maxTitle)
	set(&s.model, u.Model, maxTitle)
	set(&s.transcript, u.TranscriptPath, maxText)
	if s.firstPrompt == "" {
		set(&s.firstPrompt, u.FirstPrompt, maxPrompt)
	}
	if u.Git != nil {
		s.setGit(*u.Git)
	}
}

func (s *session) setGit(g record.Git) {
	g = record.Git{Remote: text.Remote(g.Remote), Branch: clean(g.Branch, maxTitle), Head: clean(g.Head, maxTitle)}
	if b, err := json.Marshal(g); err == nil {
		s.git = string(b)
	}
}

// setPlace notes the pane that it runs in. A record that does not tell the
// workspace of the pane that is known says nothing new.
func (s *session) setPlace(p record.Place) {
	herdr, pane, workspace := clean(p.HerdrSession, maxText), clean(p.PaneID, maxTitle), clean(p.WorkspaceID, maxTitle)
	if workspace == "" && herdr == s.herdrSession && pane == s.paneID {
		return
	}
	s.herdrSession, s.paneID, s.workspaceID = herdr, pane, workspace
}

// silent reports whether nothing was heard for too long, by the hub's own
// clock: neither of its source (machine and herdr session), which was heard of
// last at seen, nor of itself.
func (s *session) silent(seen, now int64) bool {
	return now-max(seen, s.touchedAt) > StaleAfter.Milliseconds()
}

// record is the session as people see it. seen is when its source was heard
// of last.
func (s *session) record(seen, now int64) record.Session {
	r := record.Session{
		Session: s.id, Machine: s.machine, Status: record.StatusLive, EndedReason: s.endedReason, Retired: s.retired,
		AgentState: s.state, Note: s.note, Cwd: s.cwd, Background: s.background, OtherPanes: strings.Fields(s.otherPanes),
		Since: at(s.since), LastSeenAt: at(s.lastSeen), StartedAt: at(s.startedAt), FirstPrompt: s.firstPrompt, Model: s.model, Asks: []record.Ask{},
	}
	switch {
	case !s.live:
		r.Status, r.Since = record.StatusEnded, at(s.endedAt)
	case s.silent(seen, now):
		r.Status = record.StatusStale
	}
	if s.paneID != "" {
		r.Herdr = &record.Place{HerdrSession: s.herdrSession, PaneID: s.paneID, WorkspaceID: s.workspaceID}
	}
	if s.git != "" {
		var g record.Git
		if json.Unmarshal([]byte(s.git), &g) == nil {
			r.Git = &g
		}
	}
	if s.digest != "" {
		var d record.Digest
		if json.Unmarshal([]byte(s.digest), &d) == nil {
			r.Digest, r.LastPrompt = &d, d.LastPrompt
		}
	}
	r.Title = s.bestTitle(r.Digest)
	return r
}

// bestTitle is the given title, else what is known that names the session
// best.
func (s *session) bestTitle(d *record.Digest) string {
	candidates := []string{s.title, "", s.titleHint, s.firstPrompt}
	if d != nil {
		candidates[1] = d.Title
	}
	for _, c := range candidates {
		if c != "" {
			return c
		}
	}
	return ""
}

func at(ms int64) record.Time {
	if ms == 0 {
		return record.Time{}
	}
	return record.At(time.UnixMilli(ms))
}

// Filter narrows a list of sessions.
type Filter struct {
	Machine string
	All     bool // ended and retired ones, too
}

// Sessions lists sessions, those that changed last first.
func (s *Store) Sessions(ctx context.Context, f Filter, now time.Time) ([]record.Session, error) {
	query := withSeen() + "WHERE 1 = 1"
	var args []any
	if !f.All {
		query += " AND s.live = 1 AND s.retired = 0"
	}
	if f.Machine != "" {
		query += " AND s.machine = ?"
		args = append(args, f.Machine)
	}
	list, err := all(s.reader(ctx), scanSeen(now), query+" ORDER BY s.since DESC, s.id", args...)
	if err == nil {
		err = s.withAsks(ctx, list)
	}
	if err == nil {
		err = s.withMoves(ctx, list)
	}
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	return list, nil
}

// withSeen selects sessions and when the source of each was heard of last.
func withSeen() string {
	columns := strings.Fields(strings.ReplaceAll(sessionColumns, ",", " "))
	return "SELECT s." + strings.Join(columns, ", s.") + ", coalesce(src.last_seen, 0) FROM sessions s " +
		"LEFT JOIN sources src ON src.machine = s.machine AND src.herdr_session = coalesce(s.named_by, s.herdr_session) "
}

func scanSeen(now time.Time) func(*sql.Rows) (record.Session, error) {
	return func(rows *sql.Rows) (record.Session, error) {
		var seen int64
		s, err := scanSessionAnd(rows, &seen)
		return s.record(seen, now.UnixMilli()), err
	}
}

// Session is one session with its events and reports, or ErrUnknown.
func (s *Store) Session(ctx context.Context, id string, now time.Time) (record.Session, error) {
	list, err := all(s.reader(ctx), scanSeen(now), withSeen()+"WHERE s.id = ?", id)
	if err != nil {
		return record.Session{}, fmt.Errorf("session: %w", err)
	}
	if len(list) == 0 {
		return record.Session{}, ErrUnknown
	}
	if err := s.withMoves(ctx, list); err != nil {
		return record.Session{}, fmt.Errorf("session: %w", err)
	}
	r := list[0]
	if r.Events, err = events(s.reader(ctx), id); err != nil {
		return r, fmt.Errorf("session: events: %w", err)
	}
	if r.Reports, err = reports(s.reader(ctx), id); err != nil {
		return r, fmt.Errorf("session: reports: %w", err)
	}
	if r.Asks, err = asksOf(s.reader(ctx), id); err != nil {
		return r, fmt.Errorf("session: asks: %w", err)
	}
	if r.Links, err = links(s.reader(ctx), id); err != nil {
		return r, fmt.Errorf("session: links: %w", err)
	}
	return r, nil
}
