package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"sessionhub/lib/record"
)

// Report keeps what a session says of itself. One from a machine that the
// session has left is kept and does not fill the inbox.
func Report(tx *Tx, machine, id string, r record.SavedReport, now time.Time) error {
	_, mine, err := owned(tx, machine, id, now.UnixMilli())
	if err != nil {
		return err
	}
	if known, err := recorded(tx, r.ID, "report", id); err != nil || known {
		return err
	}
	sent := now.UnixMilli()
	if !r.At.IsZero() {
		sent = r.At.UnixMilli()
	}
	err = tx.exec("INSERT INTO reports (id, session, at, sent_at, machine, done, in_flight, waiting_on, late) VALUES (?,?,?,?,?,?,?,?,?)",
		r.ID, id, now.UnixMilli(), sent, machine, clean(r.Done, maxText), clean(r.InFlight, maxText), clean(r.WaitingOn, maxText), !mine)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	tx.tell(id)
	return nil
}

// Title names a session. From a machine that it has left it changes nothing.
func Title(tx *Tx, machine, id string, t record.Title, now time.Time) error {
	return change(tx, machine, id, now, func(s *session) error { s.title = clean(t.Title, maxTitle); return nil })
}

// Digest keeps what a transcript says in short. From a machine that the
// session has left it changes nothing.
func Digest(tx *Tx, machine, id string, d record.Digest, now time.Time) error {
	return change(tx, machine, id, now, func(s *session) error {
		raw, err := json.Marshal(d)
		s.digest = string(raw)
		return err
	})
}

func change(tx *Tx, machine, id string, now time.Time, f func(s *session) error) error {
	s, mine, err := owned(tx, machine, id, now.UnixMilli())
	if err != nil || !mine {
		return err
	}
	if err := f(&s); err != nil {
		return err
	}
	return s.save(tx)
}

// Retire archives a session, or takes that back. It is its owner's word
// alone: no heartbeat touches it (field report A15).
func Retire(tx *Tx, id string, retired bool) error {
	s, known, err := getSession(tx, id)
	if err != nil {
		return fmt.Errorf("retire: %w", err)
	}
	if !known {
		return ErrUnknown
	}
	s.retired = retired
	return s.save(tx)
}

func reports(r rower, id string) ([]record.SavedReport, error) {
	return all(r, func(rows *sql.Rows) (p record.SavedReport, err error) {
		var when int64
		err = rows.Scan(&p.ID, &when, &p.Done, &p.InFlight, &p.WaitingOn)
		p.At = at(when)
		return p, err
	}, "SELECT id, at, done, in_flight, waiting_on FROM reports WHERE session = ? ORDER BY seq", id)
}
