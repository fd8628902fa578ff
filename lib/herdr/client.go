package herdr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

const (
	// DefaultTimeout bounds a call when Client.Timeout is zero. A healthy
	// server answers in 1 ms, one call in a hundred in 102 ms (finding 2), but
	// closing panes stops the whole server for half a second and more a pane
	// (finding 7), and reporters with 0.5 s limits lost their reports (herdr
	// issue 1049).
	DefaultTimeout = 5 * time.Second
	// MaxAnswer caps one line from a server. Nothing limits a snapshot, which
	// takes 1 to 2 KB a pane, so this is far above any real one.
	MaxAnswer = 64 << 20
	// redialEvery is how often a dial is tried again while the server's accept
	// queue is full; Linux answers EAGAIN at once then instead of waiting.
	redialEvery = 10 * time.Millisecond
	firstRead   = 8 << 10
)

// Client calls one herdr server. It holds no connection, as herdr answers one
// request a connection, and may be used by several goroutines.
type Client struct {
	// Socket is the path of the server's API socket; DefaultSocket finds it.
	Socket string
	// Timeout bounds each call; zero means DefaultTimeout. An earlier deadline
	// of the call's context wins.
	Timeout time.Duration
}

// request is herdr's envelope. All three fields must be there, and the id must
// be a string.
type request struct {
	ID     string `json:"id"`
	Method string `json:"method"`
	Params any    `json:"params"`
}

// answer leaves the id out: parse errors of herdr up to 0.9.1 come back with
// an empty one (finding 5), and a connection carries one request only.
type answer[T any] struct {
	Result *T         `json:"result"`
	Error  *wireError `json:"error"`
}

type wireError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type none struct{}

// call sends one request and reads its answer into a T.
func call[T any](ctx context.Context, c *Client, method string, params any) (T, error) {
	return callFor[T](ctx, c, c.timeout(), method, params)
}

// do is call for methods whose answer says nothing but ok.
func (c *Client) do(ctx context.Context, method string, params any) error {
	_, err := call[none](ctx, c, method, params)
	return err
}

func (c *Client) timeout() time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return DefaultTimeout
}

func callFor[T any](ctx context.Context, c *Client, limit time.Duration, method string, params any) (T, error) {
	var zero T
	line, err := encode(method, params)
	if err != nil {
		return zero, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := c.send(ctx, line)
	if err != nil {
		return zero, c.failed(ctx, method, err)
	}
	defer conn.Close()
	defer watch(ctx, conn)()
	got, err := (&lineReader{from: conn, max: MaxAnswer}).next()
	if err != nil {
		return zero, c.failed(ctx, method, err)
	}
	return decode[T](method, got)
}

func encode(method string, params any) ([]byte, error) {
	if params == nil {
		params = none{}
	}
	line, err := json.Marshal(request{ID: "sessionhub", Method: method, Params: params})
	if err != nil {
		return nil, fmt.Errorf("herdr %s: encode request: %w", method, err)
	}
	return append(line, '\n'), nil
}

func decode[T any](method string, line []byte) (T, error) {
	var a answer[T]
	if err := json.Unmarshal(line, &a); err != nil {
		return *new(T), fmt.Errorf("herdr %s: %w: %w", method, ErrBadAnswer, err)
	}
	if a.Error != nil {
		return *new(T), &Error{Method: method, Code: a.Error.Code, Message: a.Error.Message}
	}
	if a.Result == nil {
		return *new(T), fmt.Errorf("herdr %s: %w: neither result nor error", method, ErrBadAnswer)
	}
	return *a.Result, nil
}

// send dials and writes the whole request at once: the server looks for bytes
// when it accepts and then only every 100 ms (finding 2).
func (c *Client) send(ctx context.Context, line []byte) (net.Conn, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	if until, ok := ctx.Deadline(); ok {
		conn.SetDeadline(until)
	}
	_, err = conn.Write(line)
	// A server that refuses a request unread may still have answered it.
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	for {
		conn, err := d.DialContext(ctx, "unix", c.Socket)
		if !errors.Is(err, syscall.EAGAIN) {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(redialEvery):
		}
	}
}

// watch makes conn fail as soon as ctx ends. The function that it returns ends
// that, and returns only when conn's deadline will not be touched any more.
func watch(ctx context.Context, conn net.Conn) func() {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		conn.SetDeadline(time.Unix(1, 0))
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// failed turns an error of the connection into one that says what to do.
func (c *Client) failed(ctx context.Context, method string, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("herdr %s: %w", method, context.Canceled)
	}
	if errors.Is(err, errTooLong) {
		return fmt.Errorf("herdr %s: %w: %w", method, ErrBadAnswer, err)
	}
	u := &UnreachableError{Socket: c.Socket, Method: method, Err: err}
	switch {
	case errors.Is(err, os.ErrNotExist):
		u.Cause = NoSocket
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTSOCK), errors.Is(err, syscall.ENOTDIR):
		u.Cause = Refused
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		u.Cause, u.Err = TimedOut, context.DeadlineExceeded
	case errors.Is(err, os.ErrPermission):
		u.Cause = Forbidden
	default:
		u.Cause = HungUp
	}
	return u
}

var errTooLong = errors.New("answer is longer than " + strconv.Itoa(MaxAnswer>>20) + " MiB")

// lineReader reads lines of any length up to max; what came of an unfinished
// line is kept, so that a reader may go on after a deadline.
type lineReader struct {
	from interface{ Read([]byte) (int, error) }
	max  int
	buf  []byte
	seen int // bytes of buf known to hold no newline
	err  error
}

// next returns the next line without its newline. The line is valid until the
// following call. A line is whole only with its newline; an error that comes
// together with or after whole lines is reported when they are used up, since
// herdr resets a connection after a complete answer when it left bytes unread
// (finding 1).
func (r *lineReader) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(r.buf[r.seen:], '\n'); i >= 0 && r.seen+i <= r.max {
			line := r.buf[:r.seen+i]
			r.buf, r.seen = r.buf[r.seen+i+1:], 0
			return line, nil
		}
		r.seen = len(r.buf)
		if r.seen > r.max {
			return nil, errTooLong
		}
		if err := r.err; err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				r.err = nil
			}
			return nil, err
		}
		r.fill()
	}
}

func (r *lineReader) fill() {
	if cap(r.buf)-len(r.buf) < firstRead {
		grown := make([]byte, len(r.buf), 2*len(r.buf)+firstRead)
		copy(grown, r.buf)
		r.buf = grown
	}
	n, err := r.from.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf, r.err = r.buf[:len(r.buf)+n], err
}
