package hubclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"sessionhub/lib/record"
)

// PutSnapshot sends a heartbeat.
func (c *Client) PutSnapshot(ctx context.Context, key string, s record.Snapshot) error {
	_, err := c.do(ctx, call{op: "heartbeat", method: http.MethodPut, path: "/v1/machines/self/herdr-sessions", key: key, body: s})
	return err
}

// PutSession tells what is known of a session.
func (c *Client) PutSession(ctx context.Context, key, session string, u record.UpsertPut) error {
	_, err := c.do(ctx, call{op: "upsert", method: http.MethodPut, path: sessionPath(session, ""), key: key, body: u})
	return err
}

// PostEvent records an event of a session.
func (c *Client) PostEvent(ctx context.Context, session string, e record.EventPost) error {
	_, err := c.do(ctx, call{op: "event", method: http.MethodPost, path: sessionPath(session, "/events"), key: e.ID, body: e})
	return err
}

// PostReport records what a session says of itself.
func (c *Client) PostReport(ctx context.Context, session string, r record.SavedReport) error {
	_, err := c.do(ctx, call{op: "report", method: http.MethodPost, path: sessionPath(session, "/reports"), key: r.ID, body: r})
	return err
}

// PutTitle names a session.
func (c *Client) PutTitle(ctx context.Context, key, session string, t record.Title) error {
	_, err := c.do(ctx, call{op: "title", method: http.MethodPut, path: sessionPath(session, "/title"), key: key, body: t})
	return err
}

// Health asks whether a hub answers; no token is needed. skew is
// known to about a second.
func (c *Client) Health(ctx context.Context) (h record.Health, skew Skew, err error) {
	sent := time.Now()
	header, err := c.do(ctx, call{op: "health", method: http.MethodGet, path: "/healthz", out: &h})
	if err != nil {
		return h, skew, err
	}
	if h.Status != record.HealthOK {
		return h, skew, &Error{Op: "health", Status: http.StatusOK, NotHub: true, Detail: "what answers at " + c.base + " is no hub: is server_url right?"}
	}
	return h, skewOf(header, sent, time.Now()), nil
}

// Skew is this machine's clock minus the hub's.
type Skew struct {
	By    time.Duration
	Known bool
}

// skewOf compares the header Date, whole seconds, with the middle of the
// exchange.
func skewOf(h http.Header, sent, got time.Time) Skew {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return Skew{}
	}
	const half = 500 * time.Millisecond // the middle of the second that Date names
	middle := sent.Add(got.Sub(sent) / 2)
	return Skew{By: middle.Sub(date.Add(half)), Known: true}
}

// Probe proves that a record reaches the hub.
func (c *Client) Probe(ctx context.Context, key string) error {
	_, err := c.do(ctx, call{op: "probe", method: http.MethodPost, path: "/v1/probe", key: key, body: struct{}{}})
	return err
}

// Pair redeems a pairing code for a machine that calls itself machine. The
// client needs no token for it.
func (c *Client) Pair(ctx context.Context, code, machine string) (record.Paired, error) {
	var p record.Paired
	body := struct {
		Code    string `json:"code"`
		Machine string `json:"machine"`
	}{code, machine}
	_, err := c.do(ctx, call{op: "pair", method: http.MethodPost, path: "/v1/pair", body: body, out: &p})
	return p, err
}

// Sessions lists the sessions that are not over, or all.
func (c *Client) Sessions(ctx context.Context, f SessionFilter) ([]record.Session, error) {
	q := url.Values{}
	if f.Machine != "" {
		q.Set("machine", f.Machine)
	}
	if f.Ended {
		q.Set("all", "1")
	}
	path := "/v1/sessions"
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	var list []record.Session
	_, err := c.do(ctx, call{op: "sessions", method: http.MethodGet, path: path, out: &list})
	return list, err
}

// SessionFilter narrows, or widens, a list of sessions.
type SessionFilter struct {
	Machine string // only this machine's
	Ended   bool   // those that ended or were archived, too
}

// Session is one session with its events and reports.
func (c *Client) Session(ctx context.Context, id string) (record.Session, error) {
	var s record.Session
	_, err := c.do(ctx, call{op: "session", method: http.MethodGet, path: sessionPath(id, ""), out: &s})
	return s, err
}

// Machines lists the machines.
func (c *Client) Machines(ctx context.Context) ([]record.Machine, error) {
	var list []record.Machine
	_, err := c.do(ctx, call{op: "machines", method: http.MethodGet, path: "/v1/machines", out: &list})
	return list, err
}

// Inbox is what its owner should look at (user token).
func (c *Client) Inbox(ctx context.Context) ([]record.InboxEntry, error) {
	var list []record.InboxEntry
	_, err := c.do(ctx, call{op: "inbox", method: http.MethodGet, path: "/v1/inbox", out: &list})
	return list, err
}

// InboxCounts counts the inbox (machine token).
func (c *Client) InboxCounts(ctx context.Context) (record.InboxCounts, error) {
	var n record.InboxCounts
	_, err := c.do(ctx, call{op: "inbox", method: http.MethodGet, path: "/v1/inbox", out: &n})
	return n, err
}

// OwnSessions lists this machine's sessions that are not over (machine token).
func (c *Client) OwnSessions(ctx context.Context) ([]record.Session, error) {
	return c.Sessions(ctx, SessionFilter{})
}

// OwnInbox is what of the inbox is about this machine (machine token).
func (c *Client) OwnInbox(ctx context.Context) ([]record.InboxEntry, error) {
	var list []record.InboxEntry
	_, err := c.do(ctx, call{op: "inbox", method: http.MethodGet, path: "/v1/inbox?entries=1", out: &list})
	return list, err
}

// SetInstructions replaces the standing rules (user token).
func (c *Client) SetInstructions(ctx context.Context, text string) (record.Instructions, error) {
	var in record.Instructions
	body := struct {
		Text string `json:"text"`
	}{text}
	_, err := c.do(ctx, call{op: "instructions", method: http.MethodPut, path: "/v1/instructions", body: body, out: &in})
	return in, err
}

// PutDigest tells what a session's transcript says in short.
func (c *Client) PutDigest(ctx context.Context, key, session string, d record.Digest) error {
	_, err := c.do(ctx, call{op: "digest", method: http.MethodPut, path: sessionPath(session, "/digest"), key: key, body: d})
	return err
}

// Read marks an inbox entry as read.
func (c *Client) Read(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{op: "read", method: http.MethodPost, path: "/v1/inbox/" + url.PathEscape(id) + "/read"})
	return err
}

// Retire archives a session, or takes that back.
func (c *Client) Retire(ctx context.Context, session string, retired Retired) error {
	_, err := c.do(ctx, call{op: "archive", method: http.MethodPut, path: sessionPath(session, "/retired"), body: retired})
	return err
}

// Retired is the body of Retire.
type Retired struct {
	Retired bool `json:"retired"`
}

// Instructions reads the standing rules unless they still have the version
// that is known. Changed reports whether they did not.
func (c *Client) Instructions(ctx context.Context, known string) (in record.Instructions, changed bool, err error) {
	_, err = c.do(ctx, call{op: "instructions", method: http.MethodGet, path: "/v1/instructions", etag: known, out: &in})
	if errors.Is(err, errNotModified) {
		return in, false, nil
	}
	return in, err == nil, err
}

func sessionPath(id, tail string) string { return "/v1/sessions/" + url.PathEscape(id) + tail }
