package herdr

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"
)

// Subscription is one kind of event to hear of. Types are dot names.
// pane.agent_status_changed needs a PaneID; AgentStatus narrows it and makes
// herdr tell the present status at once if it is that one.
type Subscription struct {
	Type        string `json:"type"`
	PaneID      string `json:"pane_id,omitempty"`
	AgentStatus Status `json:"agent_status,omitempty"`
}

// Stream is an open subscription. It is no truth but a hint: herdr 0.8 replays
// old events, orders those of 100 ms by the subscription list, and loses some
// in silence (findings 20 and 21). After any error take a snapshot and
// subscribe again.
type Stream struct {
	client *Client
	conn   net.Conn
	lines  lineReader
}

// Subscribe opens a stream. One unknown pane makes the whole call fail. Close
// the stream when done.
func (c *Client) Subscribe(ctx context.Context, subs []Subscription) (*Stream, error) {
	const method = "events.subscribe"
	type params struct {
		Subscriptions []Subscription `json:"subscriptions"`
	}
	if subs == nil {
		subs = []Subscription{}
	}
	line, err := encode(method, params{subs})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	conn, err := c.send(ctx, line)
	if err != nil {
		return nil, c.failed(ctx, method, err)
	}
	s := &Stream{client: c, conn: conn, lines: lineReader{from: conn, max: MaxAnswer}}
	if err := s.acknowledged(ctx, method); err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stream) acknowledged(ctx context.Context, method string) error {
	defer watch(ctx, s.conn)()
	got, err := s.lines.next()
	if err != nil {
		return s.client.failed(ctx, method, err)
	}
	_, err = decode[none](method, got)
	return err
}

// Next waits for the next event until ctx ends; after an end of ctx the stream
// can still be used. A server that ends makes it ErrUnreachable; one that had
// to drop events (since 0.9.2) CodeEventsLost.
func (s *Stream) Next(ctx context.Context) (Event, error) {
	if err := ctx.Err(); err != nil {
		return Event{}, err
	}
	until, _ := ctx.Deadline() // zero: no deadline
	s.conn.SetDeadline(until)
	stop := watch(ctx, s.conn)
	got, err := s.lines.next()
	stop()
	if err != nil && ctx.Err() != nil {
		return Event{}, ctx.Err()
	}
	if os.IsTimeout(err) {
		// The kernel's clock was ahead of the context's by a moment.
		return Event{}, context.DeadlineExceeded
	}
	if err != nil {
		return Event{}, s.client.failed(ctx, "events.subscribe", err)
	}
	return parseLine(got)
}

func parseLine(line []byte) (Event, error) {
	var w wireEvent
	if err := json.Unmarshal(line, &w); err != nil {
		return Event{}, fmt.Errorf("herdr events.subscribe: %w: %w", ErrBadAnswer, err)
	}
	if w.Error != nil {
		return Event{}, &Error{Method: "events.subscribe", Code: w.Error.Code, Message: w.Error.Message}
	}
	return w.event()
}

// Close ends the subscription.
func (s *Stream) Close() error {
	s.conn.SetDeadline(time.Unix(1, 0))
	return s.conn.Close()
}
