package store

import (
	"context"
	"database/sql"
	"fmt"
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
	entries := []record.InboxEntry{}
	for _, one := range sessions {
		for _, e := range causes(one, waits[one.Session]) {
			if e.Since.UnixMilli() > read[cause{session: e.Session, kind: e.Kind}] {
				entries = append(entries, e)
			}
		}
	}
	return entries, nil
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

// causes are the reasons to look at a live session.
func causes(s record.Session, waits *record.SavedReport) []record.InboxEntry {
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
	switch s.AgentState {
	case record.Blocked:
		add(record.InboxBlocked, s.Note, s.Since)
	case record.Done:
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
