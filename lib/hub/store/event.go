package store

import (
	"database/sql"
	"fmt"
	"time"

	"sessionhub/lib/record"
)

// Upsert notes what is known of a session. One that is over lives again, as
// after a resume, when the record is later than its end. A session of another
// machine is left as it is: only a snapshot moves it.
func Upsert(tx *Tx, machine, id string, u record.UpsertPut, now time.Time) error {
	ms := now.UnixMilli()
	s, ok, err := getSession(tx, id)
	if err != nil {
		return fmt.Errorf("upsert: %w", err)
	}
	sent := ms
	if !u.At.IsZero() {
		sent = u.At.UnixMilli()
	}
	switch {
	case !ok:
		s = newSession(id, machine, ms)
	case s.machine != machine:
		return nil
	case sent > s.sentEnded:
		s.revive(ms)
	}
	s.touch(ms, sent)
	s.fill(u.Upsert)
	if u.Herdr != nil && s.live {
		s.setPlace(*u.Herdr)
	}
	if err := s.save(tx); err != nil {
		return fmt.Errorf("upsert: %w", err)
	}
	return nil
}

// Event records an event of a session and applies it, unless it comes from a
// machine that the session has left, or after its end: then it is kept and
// changes nothing.
func Event(tx *Tx, machine, id string, e *record.EventPost, now time.Time) error {
	s, ok, err := getSession(tx, id)
	if err != nil {
		return fmt.Errorf("event: %w", err)
	}
	if !ok {
		return ErrUnknown
	}
	row := eventRow{session: id, at: now.UnixMilli(), machine: machine, post: e}
	if err := row.decode(); err != nil {
		return err
	}
	row.late = s.machine != machine || !s.live
	if fresh, err := row.insert(tx); err != nil || !fresh || row.late {
		return err
	}
	if !row.apply(&s) {
		return tx.exec("UPDATE events SET late = 1 WHERE id = ?", e.ID)
	}
	if err := s.save(tx); err != nil {
		return fmt.Errorf("event: %w", err)
	}
	return nil
}

type eventRow struct {
	session, machine string
	at               int64
	post             *record.EventPost
	state            record.State
	reason           string
	late             bool
}

// BadBody is an error of a record's body.
type BadBody struct{ Err error }

func (b *BadBody) Error() string { return b.Err.Error() }

// Unwrap gives the cause.
func (b *BadBody) Unwrap() error { return b.Err }

func (r *eventRow) decode() error {
	switch r.post.Kind {
	case record.KindState:
		return decodeBody(r.post.Body, &r.state)
	case record.KindClosed:
		var c record.Closed
		err := decodeBody(r.post.Body, &c)
		r.reason = c.Cause
		return err
	case record.KindEnded:
		var e record.Ended
		err := decodeBody(r.post.Body, &e)
		r.reason = clean(e.Reason, maxTitle)
		return err
	}
	return &BadBody{fmt.Errorf(`"kind" is %q, none of state, closed, ended`, clean(string(r.post.Kind), maxTitle))}
}

func decodeBody(raw []byte, v interface{ Validate() error }) error {
	if err := record.Decode(raw, v); err != nil {
		return &BadBody{fmt.Errorf("body: %w", err)}
	}
	if err := v.Validate(); err != nil {
		return &BadBody{fmt.Errorf("body: %w", err)}
	}
	return nil
}

// insert keeps the event. fresh is false when its id came before, ever.
func (r *eventRow) insert(tx *Tx) (fresh bool, err error) {
	if known, err := seen(tx, r.post.ID); err != nil || known {
		return false, err
	}
	n, err := tx.affect(`INSERT INTO events (id, session, at, sent_at, machine, source, kind, agent_state, reason, note, late)
		VALUES (?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING`,
		r.post.ID, r.session, r.at, r.post.At.UnixMilli(), r.machine, string(r.post.Source), string(r.post.Kind),
		string(r.state.AgentState), r.reason, clean(r.state.Note, maxText), r.late)
	if err != nil {
		return false, fmt.Errorf("event: %w", err)
	}
	return n > 0, nil
}

// seen reports whether an id was recorded and pruned since.
func seen(tx *Tx, id string) (bool, error) {
	_, ok, err := one(tx, scanInt, "SELECT 1 FROM pruned WHERE id = ?", id)
	return ok, err
}

// apply changes the session. false means that the event is late after all:
// it speaks of a pane that the session has left.
func (r *eventRow) apply(s *session) bool {
	sent := r.post.At.UnixMilli()
	switch r.post.Kind {
	case record.KindState:
		s.touch(r.at, sent)
		s.setState(r.state.AgentState, r.state.Background, clean(r.state.Note, maxText), r.at)
	case record.KindClosed:
		if p := r.post.Herdr; p != nil && s.paneID != "" && (p.PaneID != s.paneID || p.HerdrSession != s.herdrSession) {
			return false
		}
		s.end(r.reason, r.at, sent)
	case record.KindEnded:
		s.end(r.reason, r.at, sent)
	}
	return true
}

// Report keeps what a session says of itself.
func Report(tx *Tx, id string, r record.SavedReport, now time.Time) error {
	if _, ok, err := getSession(tx, id); err != nil {
		return fmt.Errorf("report: %w", err)
	} else if !ok {
		return ErrUnknown
	}
	if known, err := seen(tx, r.ID); err != nil || known {
		return err
	}
	err := tx.exec("INSERT INTO reports (id, session, at, done, in_flight, waiting_on) VALUES (?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING",
		r.ID, id, now.UnixMilli(), clean(r.Done, maxText), clean(r.InFlight, maxText), clean(r.WaitingOn, maxText))
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// Title names a session.
func Title(tx *Tx, id string, t record.Title) error {
	return set(tx, "UPDATE sessions SET title = ? WHERE id = ?", clean(t.Title, maxTitle), id)
}

// Digest keeps what a transcript says in short, as JSON.
func Digest(tx *Tx, id, digest string) error {
	return set(tx, "UPDATE sessions SET digest = ? WHERE id = ?", digest, id)
}

// Retire archives a session, or takes that back. It is its owner's word
// alone: no heartbeat touches it (field report A15).
func Retire(tx *Tx, id string, retired bool) error {
	return set(tx, "UPDATE sessions SET retired = ? WHERE id = ?", retired, id)
}

func set(tx *Tx, query string, args ...any) error {
	n, err := tx.affect(query, args...)
	if err == nil && n == 0 {
		return ErrUnknown
	}
	return err
}

func events(r rower, id string) ([]record.Event, error) {
	return all(r, func(rows *sql.Rows) (e record.Event, err error) {
		var when, sent int64
		err = rows.Scan(&e.ID, &when, &sent, &e.Machine, &e.Source, &e.Kind, &e.AgentState, &e.Reason, &e.Note, &e.Late)
		e.At, e.SentAt = at(when), at(sent)
		return e, err
	}, "SELECT id, at, sent_at, machine, source, kind, agent_state, reason, note, late FROM events WHERE session = ? ORDER BY seq", id)
}

func reports(r rower, id string) ([]record.SavedReport, error) {
	return all(r, func(rows *sql.Rows) (p record.SavedReport, err error) {
		var when int64
		err = rows.Scan(&p.ID, &when, &p.Done, &p.InFlight, &p.WaitingOn)
		p.At = at(when)
		return p, err
	}, "SELECT id, at, done, in_flight, waiting_on FROM reports WHERE session = ? ORDER BY seq", id)
}
