package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"sessionhub/lib/record"
)

// Machines lists the machines by name.
func (s *Store) Machines(ctx context.Context, now time.Time) ([]record.Machine, error) {
	return all(s.reader(ctx), func(rows *sql.Rows) (m record.Machine, err error) {
		var seen int64
		err = rows.Scan(&m.Machine, &seen, &m.SkewMS, &m.HerdrVersion, &m.ToolsVersion, &m.Recorded, &m.Live)
		m.LastSeenAt, m.Stale = at(seen), now.UnixMilli()-seen > StaleAfter.Milliseconds()
		return m, err
	}, `SELECT name, last_seen, skew_ms, herdr_version, tools_version, recorded,
		(SELECT count(*) FROM sessions WHERE machine = name AND live = 1) FROM machines ORDER BY name`)
}

// Inbox is what its owner should look at: computed from what is the case, so
// an entry leaves by itself when its cause does. Its id holds when the cause
// began, so one that was marked read comes back for a new cause only.
func (s *Store) Inbox(ctx context.Context, now time.Time) ([]record.InboxEntry, error) {
	sessions, err := s.Sessions(ctx, Filter{}, now)
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	read, err := all(s.reader(ctx), func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) }, "SELECT id FROM inbox_read")
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	waits, err := s.waitingOn(ctx)
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	seen := make(map[string]bool, len(read))
	for _, id := range read {
		seen[id] = true
	}
	entries := []record.InboxEntry{}
	for _, one := range sessions {
		for _, e := range causes(one, waits[one.Session]) {
			if !seen[e.ID] {
				entries = append(entries, e)
			}
		}
	}
	return entries, nil
}

// causes are the reasons to look at a live session.
func causes(s record.Session, waits *record.SavedReport) []record.InboxEntry {
	if s.Status == record.StatusEnded {
		return nil
	}
	var list []record.InboxEntry
	add := func(kind, text string, since record.Time) {
		list = append(list, record.InboxEntry{
			ID: kind + "." + s.Session + "." + strconv.FormatInt(since.UnixMilli(), 10), Session: s.Session, Kind: kind,
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
		WHERE r.waiting_on <> '' AND r.seq = (SELECT max(seq) FROM reports WHERE session = r.session)`)
	if err != nil {
		return nil, err
	}
	m := make(map[string]*record.SavedReport, len(list))
	for i := range list {
		m[list[i].session] = &list[i].report
	}
	return m, nil
}

// MarkRead takes an entry off the inbox until its cause comes anew.
func MarkRead(tx *Tx, id string, now time.Time) error {
	return tx.exec("INSERT INTO inbox_read (id, at) VALUES (?,?) ON CONFLICT (id) DO NOTHING", id, now.UnixMilli())
}

const instructionsName = "instructions"

// Instructions are the standing rules; the zero value when there are none.
func (s *Store) Instructions(ctx context.Context) (record.Instructions, error) {
	raw, ok, err := one(s.reader(ctx), func(rows *sql.Rows) (v string, err error) { return v, rows.Scan(&v) },
		"SELECT value FROM settings WHERE name = ?", instructionsName)
	if err != nil || !ok {
		return record.Instructions{}, err
	}
	var in record.Instructions
	return in, json.Unmarshal([]byte(raw), &in)
}

// SetInstructions replaces the standing rules.
func SetInstructions(tx *Tx, in record.Instructions) error {
	raw, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return tx.exec("INSERT OR REPLACE INTO settings (name, value) VALUES (?,?)", instructionsName, string(raw))
}
