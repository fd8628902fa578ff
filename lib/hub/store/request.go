package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sessionhub/lib/record"
)

const (
	// requestLife is how long a request may wait for its machine (contract §6);
	// messages wait a day, and what is to wait for a machine to come back a week.
	requestLife = 2 * time.Minute
	messageLife = 24 * time.Hour
	onlineLife  = 7 * 24 * time.Hour
	// leaseTime is how long a machine may be silent about a claim before it is
	// offered again.
	leaseTime = 30 * time.Second
	// busyPause is how long after it was offered a message that found its
	// session busy is offered again.
	busyPause = 15 * time.Second
)

// ErrEnded is returned for a change of a request that is over.
var ErrEnded = errors.New("the request has ended")

// Order is a new request.
type Order struct {
	ID        string
	Machine   string
	Session   string // "" for a start
	Action    record.Action
	Online    record.Online
	Text      string
	AsCommand bool
	Start     *record.Start
	Answer    *record.Answer
}

// payload is what of a request its machine needs. It is forgotten when the
// request ends: it may hold what its owner wrote.
type payload struct {
	Text      string         `json:"text,omitempty"`
	AsCommand bool           `json:"as_command,omitempty"`
	Start     *record.Start  `json:"start,omitempty"`
	Answer    *record.Answer `json:"answer,omitempty"`
}

// request is a row of the requests table.
type request struct {
	seq                              int64
	id, machine, session, body, move string // move: whose step it is
	action                           record.Action
	state                            record.RequestState
	detail, url, result              string
	attempt                          int
	created, expires, ended          int64
	notBefore, offeredAt, leaseUntil int64
}

const requestColumns = "seq, id, machine, session, body, move, action, state, detail, url, result, attempt, created_at, expires_at, ended_at, not_before, offered_at, lease_until"

func scanRequest(rows *sql.Rows) (r request, err error) {
	return r, rows.Scan(&r.seq, &r.id, &r.machine, &r.session, &r.body, &r.move, &r.action, &r.state, &r.detail, &r.url, &r.result, &r.attempt,
		&r.created, &r.expires, &r.ended, &r.notBefore, &r.offeredAt, &r.leaseUntil)
}

func (r *request) record() record.Request {
	out := record.Request{
		ID: r.id, Action: r.action, Session: r.session, Machine: r.machine, State: r.state, Detail: r.detail, URL: r.url,
		Attempt: r.attempt, CreatedAt: at(r.created), ExpiresAt: at(r.expires),
	}
	if r.ended > 0 {
		t := at(r.ended)
		out.EndedAt = &t
	}
	return out
}

// AddRequest queues a request. The same id again gives the request as it is.
func AddRequest(tx *Tx, o Order, now time.Time) (record.Request, error) {
	old, known, err := getRequest(tx, o.ID)
	if err != nil {
		return record.Request{}, err
	}
	if known {
		return old.record(), nil
	}
	if err := checkNotMoving(tx, o.Session, now); err != nil {
		return record.Request{}, err
	}
	body, err := json.Marshal(payload{Text: o.Text, AsCommand: o.AsCommand, Start: o.Start, Answer: o.Answer})
	if err != nil {
		return record.Request{}, fmt.Errorf("request: %w", err)
	}
	r := request{
		id: o.ID, machine: o.Machine, session: o.Session, action: o.Action, body: string(body), state: record.RequestQueued,
		created: now.UnixMilli(), expires: now.Add(life(o)).UnixMilli(),
	}
	err = tx.exec("INSERT INTO requests (id, machine, session, action, body, state, created_at, expires_at) VALUES (?,?,?,?,?,?,?,?)",
		r.id, r.machine, r.session, string(r.action), r.body, string(r.state), r.created, r.expires)
	if err != nil {
		return record.Request{}, fmt.Errorf("request: %w", err)
	}
	return r.record(), nil
}

func life(o Order) time.Duration {
	switch {
	case o.Online == record.AskWhenOnline:
		return onlineLife
	case o.Action == record.ActionMessage:
		return messageLife
	}
	return requestLife
}

func getRequest(r rower, id string) (request, bool, error) {
	req, ok, err := one(r, scanRequest, "SELECT "+requestColumns+" FROM requests WHERE id = ?", id)
	if err != nil {
		err = fmt.Errorf("request: %w", err)
	}
	return req, ok, err
}

// Request is one request, or ErrUnknown. Overdue says whether it is to be ended
// as expired (EndOverdue).
func (s *Store) Request(ctx context.Context, id string, now time.Time) (r record.Request, overdue bool, err error) {
	row, ok, err := getRequest(s.reader(ctx), id)
	if err != nil {
		return r, false, err
	}
	if !ok {
		return r, false, ErrUnknown
	}
	return row.record(), row.overdue(now.UnixMilli()), nil
}

// OpenRequests lists the requests of a session that have not ended.
func (s *Store) OpenRequests(ctx context.Context, session string) ([]record.Request, error) {
	rows, err := all(s.reader(ctx), scanRequest, "SELECT "+requestColumns+" FROM requests WHERE ended_at = 0 AND session = ? ORDER BY seq", session)
	if err != nil {
		return nil, fmt.Errorf("requests: %w", err)
	}
	list := make([]record.Request, len(rows))
	for i := range rows {
		list[i] = rows[i].record()
	}
	return list, nil
}

// overdue reports whether a request's time is over while no machine works on
// it. The steps of a move have the move's deadline, all but the last.
func (r *request) overdue(now int64) bool {
	if r.move != "" && r.action != record.ActionMoveFinish {
		return false
	}
	return r.ended == 0 && r.expires <= now && (r.state == record.RequestQueued || r.leaseUntil <= now)
}

// EndOverdue ends the requests of a machine whose time is over, and returns
// their ids.
func EndOverdue(tx *Tx, machine string, now time.Time) (ids []string, err error) {
	open, err := openOf(tx, machine)
	if err != nil {
		return nil, err
	}
	for i := range open {
		r := &open[i]
		if !r.overdue(now.UnixMilli()) {
			continue
		}
		detail := "the machine did not take it in time"
		if r.attempt > 0 && r.state == record.RequestOffered {
			detail = "the machine took it and did not answer; what became of it is unknown"
		} else if r.detail != "" {
			detail = r.detail // why it was busy all the time
		}
		if err := end(tx, r, record.Result{State: record.RequestExpired, Detail: detail}, now); err != nil {
			return nil, err
		}
		if err := noteMove(tx, r.move, detail); err != nil {
			return nil, err
		}
		ids = append(ids, r.id)
	}
	return ids, nil
}

func openOf(r rower, machine string) ([]request, error) {
	list, err := all(r, scanRequest, "SELECT "+requestColumns+" FROM requests WHERE ended_at = 0 AND machine = ? ORDER BY seq", machine)
	if err != nil {
		err = fmt.Errorf("requests: %w", err)
	}
	return list, err
}

// end ends a request and forgets what it carried.
func end(tx *Tx, r *request, res record.Result, now time.Time) error {
	raw, err := json.Marshal(res)
	if err == nil {
		err = tx.exec("UPDATE requests SET state = ?, detail = ?, url = ?, ended_at = ?, body = '{}', result = ? WHERE id = ?",
			string(res.State), clean(res.Detail, maxText), clean(res.URL, maxText), now.UnixMilli(), string(raw), r.id)
	}
	if err == nil {
		err = freeAsk(tx, r, res.State)
	}
	if err != nil {
		return fmt.Errorf("end request %s: %w", r.id, err)
	}
	if r.session != "" {
		tx.tell(r.session)
	}
	return nil
}

// takenBack is the detail of a request that its owner cancelled.
const takenBack = "taken back"

// CancelRequest takes a request back. One that a machine works on already may
// be carried out all the same: it is left as it is, and the state tells.
func CancelRequest(tx *Tx, id string, now time.Time) (record.Request, error) {
	r, ok, err := getRequest(tx, id)
	if err != nil {
		return record.Request{}, err
	}
	switch {
	case !ok, r.move != "": // a step is not taken back, its move is
		return record.Request{}, ErrUnknown
	case r.ended > 0:
		return record.Request{}, fmt.Errorf("%w: it is %s already", ErrEnded, r.state)
	case r.state == record.RequestOffered && r.leaseUntil > now.UnixMilli():
		return record.Request{}, fmt.Errorf("%w in the machine's hands: it is being carried out", ErrEnded)
	}
	if err := end(tx, &r, record.Result{State: record.RequestExpired, Detail: takenBack}, now); err != nil {
		return record.Request{}, err
	}
	r, _, err = getRequest(tx, id)
	return r.record(), err
}

// maxLinks bounds the links of a session that people see.
const maxLinks = 10

// links are the Remote Control links that requests gave, the newest first.
func links(r rower, session string) ([]record.Link, error) {
	return all(r, func(rows *sql.Rows) (l record.Link, err error) {
		var ended int64
		err = rows.Scan(&l.URL, &ended)
		l.At = at(ended)
		return l, err
	}, "SELECT url, max(ended_at) FROM requests WHERE session = ? AND url <> '' GROUP BY url ORDER BY max(ended_at) DESC LIMIT ?", session, maxLinks)
}
