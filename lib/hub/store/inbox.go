package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sessionhub/lib/record"
)

// CheckEntry checks the id of an inbox entry as record.CheckID checks others.
func CheckEntry(field, id string) error {
	c, ok := parseCause(id)
	if !ok {
		return fmt.Errorf("%q is no inbox entry's id", field)
	}
	return record.CheckID(field, c.session)
}

// Inbox is what its owner should look at: computed from what is the case, so
// an entry leaves by itself when its cause does. What was marked read comes
// back for a newer cause only.
func (s *Store) Inbox(ctx context.Context, now time.Time) ([]record.InboxEntry, error) {
	sessions, err := s.Sessions(ctx, Filter{}, now)
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	marks, err := all(s.reader(ctx), func(rows *sql.Rows) (c cause, err error) {
		return c, rows.Scan(&c.session, &c.kind, &c.since)
	}, "SELECT session, kind, since FROM inbox_read")
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	waits, err := s.waitingOn(ctx)
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	read := make(map[cause]int64, len(marks))
	for _, m := range marks {
		read[cause{session: m.session, kind: m.kind}] = m.since
	}
	_, asked, err := openAsks(s.reader(ctx))
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	entries := []record.InboxEntry{}
	for _, one := range sessions {
		for _, e := range causes(one, asked[one.Session], waits[one.Session]) {
			if e.Since.UnixMilli() > read[cause{session: e.Session, kind: e.Kind}] {
				entries = append(entries, e)
			}
		}
	}
	failed, err := s.failedRequests(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	moves, err := s.failedMoves(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	entries = append(append(entries, moves...), failed...)
	slices.SortStableFunc(entries, func(a, b record.InboxEntry) int { return boolOrder(a.Ask != "", b.Ask != "") })
	return entries, nil
}

// boolOrder sorts what is the case first.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// failedFor is how long a failed request stays in the inbox unread.
const failedFor = 7 * 24 * time.Hour

// failedRequests are the requests that came to nothing. One leaves when it is
// read, when a later one of the same kind succeeded, or after a week.
func (s *Store) failedRequests(ctx context.Context, now time.Time) ([]record.InboxEntry, error) {
	return all(s.reader(ctx), func(rows *sql.Rows) (record.InboxEntry, error) {
		var id, action, title string
		var ended int64
		e := record.InboxEntry{Kind: record.InboxFailed}
		err := rows.Scan(&id, &action, &e.Session, &e.Machine, &e.Text, &ended, &title)
		e.ID, e.Since = cause{kind: record.InboxFailed, session: id, since: ended}.id(), at(ended)
		e.Title = strings.TrimSpace(action + " " + title)
		return e, err
	}, `SELECT r.id, r.action, r.session, r.machine, r.detail, r.ended_at, coalesce(nullif(s.title, ''), nullif(s.title_hint, ''), s.first_prompt, '')
		FROM requests r LEFT JOIN sessions s ON s.id = r.session
		WHERE r.ended_at > ?1 AND r.read = 0 AND r.move = '' AND r.state IN ('failed', 'refused', 'expired') AND r.detail <> '`+takenBack+`'
		AND NOT (r.action = 'answer' AND EXISTS (SELECT 1 FROM asks a WHERE a.session = r.session AND a.state = 'answered' AND json_extract(nullif(a.answer, ''), '$.request') = r.id))
		AND NOT EXISTS (SELECT 1 FROM requests l WHERE l.seq > r.seq AND l.machine = r.machine AND l.session = r.session AND l.action = r.action
			AND l.state IN ('done', 'delivered')) ORDER BY r.seq DESC`, now.Add(-failedFor).UnixMilli())
}

// failedMoves are the moves that failed, or whose source could not archive or
// restart the session. One leaves when it is read, when a later move of the
// session was done, or after a week.
func (s *Store) failedMoves(ctx context.Context, now time.Time) ([]record.InboxEntry, error) {
	return all(s.reader(ctx), func(rows *sql.Rows) (record.InboxEntry, error) {
		var m move
		var id, title string
		e := record.InboxEntry{Kind: record.InboxFailed}
		err := rows.Scan(&id, &e.Session, &e.Machine, &m.detail, &m.notes, &m.ended, &title)
		e.ID, e.Since = cause{kind: record.InboxFailed, session: id, since: m.ended}.id(), at(m.ended)
		e.Title = strings.TrimSpace("move " + title)
		e.Text = strings.Join(append([]string{m.detail}, m.noteList()...), "; ")
		return e, err
	}, `SELECT m.id, m.session, m.source, m.detail, m.notes, m.ended_at, coalesce(nullif(s.title, ''), nullif(s.title_hint, ''), s.first_prompt, '')
		FROM moves m LEFT JOIN sessions s ON s.id = m.session
		WHERE m.ended_at > 0 AND m.read = 0 AND (m.state = 'failed' AND m.ended_at > ?1 AND NOT EXISTS
			(SELECT 1 FROM moves l WHERE l.seq > m.seq AND l.session = m.session AND l.state = 'done')
		OR EXISTS (SELECT 1 FROM requests r WHERE r.move = m.id AND r.action = 'move_finish' AND r.state IN ('failed', 'expired') AND r.ended_at > ?1))
		ORDER BY m.seq DESC`, now.Add(-failedFor).UnixMilli())
}

// cause is why an entry is in the inbox: its id is all three.
type cause struct {
	session, kind string
	since         int64
}

func (c cause) id() string { return c.kind + "." + c.session + "." + strconv.FormatInt(c.since, 10) }

// parseCause reads an entry's id. A session's id has no dot.
func parseCause(id string) (c cause, ok bool) {
	f := strings.Split(id, ".")
	if len(f) != 3 {
		return c, false
	}
	since, err := strconv.ParseInt(f[2], 10, 64)
	switch f[0] {
	case record.InboxBlocked, record.InboxDone, record.InboxWaiting, record.InboxFailed:
		c = cause{kind: f[0], session: f[1], since: since}
		return c, err == nil && since >= 0 && c.id() == id
	}
	return c, false
}

// causes are the reasons to look at a live session. What it asks is one entry,
// by the latest ask, whose time by the hub's clock is asked.
func causes(s record.Session, asked int64, waits *record.SavedReport) []record.InboxEntry {
	if s.Status == record.StatusEnded {
		return nil
	}
	var list []record.InboxEntry
	add := func(kind, text string, since record.Time) {
		list = append(list, record.InboxEntry{
			ID: cause{kind: kind, session: s.Session, since: since.UnixMilli()}.id(), Session: s.Session, Kind: kind,
			Since: since, Title: s.Title, Machine: s.Machine, Text: text,
		})
	}
	if n := len(s.Asks); n > 0 {
		last := s.Asks[n-1]
		words := askWords(&last.AskBody)
		if n > 1 {
			words += fmt.Sprintf(" (and %d more)", n-1)
		}
		add(record.InboxBlocked, words, at(asked))
		list[0].Ask = last.Ask
	}
	switch {
	case len(s.Asks) > 0:
	case s.AgentState == record.Blocked:
		add(record.InboxBlocked, s.Note, s.Since)
	case s.AgentState == record.Done:
		last := ""
		if s.Digest != nil {
			last = s.Digest.LastReply
		}
		add(record.InboxDone, last, s.Since)
	}
	if waits != nil {
		add(record.InboxWaiting, waits.WaitingOn, waits.At)
	}
	return list
}

// waitingOn is the last report of each session that waits for something.
func (s *Store) waitingOn(ctx context.Context) (map[string]*record.SavedReport, error) {
	type row struct {
		session string
		report  record.SavedReport
	}
	list, err := all(s.reader(ctx), func(rows *sql.Rows) (r row, err error) {
		var when int64
		err = rows.Scan(&r.session, &r.report.ID, &when, &r.report.WaitingOn)
		r.report.At = at(when)
		return r, err
	}, `SELECT r.session, r.id, r.at, r.waiting_on FROM reports r JOIN sessions s ON s.id = r.session AND s.live = 1
		WHERE r.waiting_on <> '' AND r.seq = (SELECT max(seq) FROM reports WHERE session = r.session AND late = 0)`)
	if err != nil {
		return nil, err
	}
	m := make(map[string]*record.SavedReport, len(list))
	for i := range list {
		m[list[i].session] = &list[i].report
	}
	return m, nil
}

// MarkRead takes an entry off the inbox until a newer cause comes. ErrUnknown
// for what is no entry of a known session.
func MarkRead(tx *Tx, id string, now time.Time) error {
	c, ok := parseCause(id)
	if !ok {
		return ErrUnknown
	}
	if c.kind == record.InboxFailed {
		n, err := tx.affect("UPDATE requests SET read = 1 WHERE id = ? AND ended_at = ?", c.session, c.since)
		if err == nil && n == 0 {
			n, err = tx.affect("UPDATE moves SET read = 1 WHERE id = ? AND ended_at = ?", c.session, c.since)
		}
		if err == nil && n == 0 {
			err = ErrUnknown
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		return nil
	}
	if _, known, err := getSession(tx, c.session); err != nil || !known {
		if err == nil {
			err = ErrUnknown
		}
		return fmt.Errorf("read: %w", err)
	}
	err := tx.exec(`INSERT INTO inbox_read (session, kind, since, at) VALUES (?1,?2,?3,?4)
		ON CONFLICT (session, kind) DO UPDATE SET since = max(since, ?3), at = ?4`, c.session, c.kind, c.since, now.UnixMilli())
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	tx.tell(c.session)
	return nil
}
