package store

import (
	"bytes"
	"database/sql"
	"fmt"
	"time"

	"sessionhub/lib/record"
)

// endGrace is how long after its end a session may still be seen: Claude says
// that it ends before its process is gone, and herdr lags behind. A snapshot
// that names the session later than that saw another run of it.
const endGrace = 10 * time.Second

// Upsert notes what is known of a session. One that is over lives again, as
// after a resume, when the record is later than its end. Of a session that has
// left the machine nothing changes: only a snapshot brings it back. Of one
// that runs elsewhere the error is ErrNotYours.
func Upsert(tx *Tx, machine, id string, u record.UpsertPut, now time.Time) error {
	ms := now.UnixMilli()
	sent := u.At.UnixMilli()
	if u.At.IsZero() { // made now, by the machine's clock
		skew, err := skewOf(tx, machine)
		if err != nil {
			return fmt.Errorf("upsert: %w", err)
		}
		sent = ms + skew
	}
	s, ok, err := getSession(tx, id)
	if err != nil {
		return fmt.Errorf("upsert: %w", err)
	}
	if !ok {
		s = newSession(id, machine, ms)
	} else if st, err := standingOf(tx, &s, machine, ms); err != nil || st != owner {
		return err
	}
	if !s.live && sent > s.sentEnded {
		s.revive(ms)
	}
	s.touch(ms, sent)
	s.fill(u.Upsert)
	if u.Herdr != nil && s.live && sent >= s.sentNamed {
		s.setPlace(*u.Herdr)
	}
	if err := s.save(tx); err != nil {
		return fmt.Errorf("upsert: %w", err)
	}
	return nil
}

// Event records an event of a session and applies it, unless it is late: from
// a machine that the session has left, after its end, of a pane that it has
// left, or of an end that it survived. Then it is kept and changes nothing.
// An id that was recorded before is not recorded again.
func Event(tx *Tx, machine, id string, e *record.EventPost, now time.Time) error {
	row := eventRow{session: id, at: now.UnixMilli(), machine: machine, post: e}
	if err := row.decode(); err != nil {
		return err
	}
	s, mine, err := owned(tx, machine, id, row.at)
	if err != nil {
		return err
	}
	row.late = !mine || !s.live || row.outdated(&s)
	if fresh, err := row.insert(tx); err != nil || !fresh {
		return err
	}
	if row.late {
		tx.tell(id)
		return row.applyAsk(tx)
	}
	if err := row.apply(tx, &s); err != nil {
		return err
	}
	tx.tell(id) // its history grew, whatever the event changed
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
	ask              record.AskBody
	askEnded         record.AskEnded
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
		if err == nil && r.reason == "" {
			err = &BadBody{fmt.Errorf(`body: "reason" holds nothing that can be shown`)}
		}
		return err
	case record.KindAsk:
		err := decodeBody(r.post.Body, &r.ask)
		if b := bytes.TrimSpace(r.ask.Input); len(b) == 0 || b[0] != '{' {
			r.ask.Input = []byte("{}")
		}
		r.state.Note = askWords(&r.ask)
		return err
	case record.KindAskEnded:
		err := decodeBody(r.post.Body, &r.askEnded)
		r.reason = r.askEnded.How
		return err
	}
	return &BadBody{fmt.Errorf(`"kind" is %q, none of state, closed, ended, ask, ask_ended`, clean(string(r.post.Kind), maxTitle))}
}

func decodeBody(raw []byte, v interface{ Validate() error }) error {
	if len(raw) == 0 {
		return &BadBody{fmt.Errorf(`"body" is missing`)}
	}
	if err := record.Decode(raw, v); err != nil {
		return &BadBody{fmt.Errorf("body: %w", err)}
	}
	if err := v.Validate(); err != nil {
		return &BadBody{fmt.Errorf("body: %w", err)}
	}
	return nil
}

// outdated reports whether what the event tells was overtaken by what is known
// of the session: it is in another pane, or it was seen alive long after this
// end of it.
func (r *eventRow) outdated(s *session) bool {
	switch r.post.Kind {
	case record.KindState, record.KindAsk, record.KindAskEnded:
		return false
	}
	if p := r.post.Herdr; r.post.Kind == record.KindClosed && p != nil && s.paneID != "" &&
		(p.PaneID != s.paneID || p.HerdrSession != s.herdrSession) {
		return true
	}
	return s.sentNamed-r.post.At.UnixMilli() > endGrace.Milliseconds()
}

// insert keeps the event. fresh is false when its id came before, ever. An id
// that another record has is ErrKeyReused.
func (r *eventRow) insert(tx *Tx) (fresh bool, err error) {
	known, err := recorded(tx, r.post.ID, "event", r.session)
	if err != nil || known {
		return false, err
	}
	err = tx.exec(`INSERT INTO events (id, session, at, sent_at, machine, source, kind, agent_state, reason, note, late)
		VALUES (?,?,?,?,?,?,?,?,?,?,?)`,
		r.post.ID, r.session, r.at, r.post.At.UnixMilli(), r.machine, string(r.post.Source), string(r.post.Kind),
		string(r.state.AgentState), r.reason, clean(r.state.Note, maxText), r.late)
	if err != nil {
		return false, fmt.Errorf("event: %w", err)
	}
	return true, nil
}

// recorded reports whether an id was recorded before, also when the record was
// pruned since. The id of a record of another kind or session is ErrKeyReused.
func recorded(tx *Tx, id, kind, session string) (bool, error) {
	type owner struct{ kind, session string }
	o, ok, err := one(tx, func(rows *sql.Rows) (o owner, err error) { return o, rows.Scan(&o.kind, &o.session) },
		`SELECT 'event', session FROM events WHERE id = ?1 UNION ALL SELECT 'report', session FROM reports WHERE id = ?1
		UNION ALL SELECT '', '' FROM pruned WHERE id = ?1`, id)
	switch {
	case err != nil:
		return false, fmt.Errorf("%s: %w", kind, err)
	case ok && o.kind != "" && o != owner{kind, session}:
		return false, ErrIDTaken
	}
	tx.known = ok
	return ok, nil
}

// applyAsk keeps an ask, or its end, also a late one.
func (r *eventRow) applyAsk(tx *Tx) error {
	switch r.post.Kind {
	case record.KindAsk:
		return addAsk(tx, r)
	case record.KindAskEnded:
		return endAsk(tx, r)
	}
	return nil
}

// apply changes the session. A state tells where it runs, too, unless a later
// snapshot has told that.
func (r *eventRow) apply(tx *Tx, s *session) error {
	sent := r.post.At.UnixMilli()
	switch r.post.Kind {
	case record.KindAsk, record.KindAskEnded:
		s.touch(r.at, sent)
		return r.applyAsk(tx)
	case record.KindState:
	default:
		s.end(r.reason, r.at, sent)
		return nil
	}
	s.touch(r.at, sent)
	s.setState(r.state.AgentState, r.state.Background, clean(r.state.Note, maxText), r.at)
	if p := r.post.Herdr; p != nil && p.PaneID != "" && sent >= s.sentNamed {
		s.setPlace(*p)
	}
	return nil
}

func events(r rower, id string) ([]record.Event, error) {
	return all(r, func(rows *sql.Rows) (e record.Event, err error) {
		var when, sent int64
		err = rows.Scan(&e.ID, &when, &sent, &e.Machine, &e.Source, &e.Kind, &e.AgentState, &e.Reason, &e.Note, &e.Late)
		e.At, e.SentAt = at(when), at(sent)
		return e, err
	}, "SELECT id, at, sent_at, machine, source, kind, agent_state, reason, note, late FROM events WHERE session = ? ORDER BY seq", id)
}
