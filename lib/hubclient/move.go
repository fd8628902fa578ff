package hubclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"sessionhub/lib/record"
)

const (
	// stallTime is how long a bundle may stand still on its way before it is cut.
	stallTime = time.Minute
	// resumeTries is how often a download that was cut goes on without having got
	// a byte further.
	resumeTries = 5
	// resumePause is the first pause before that, doubling.
	resumePause = 200 * time.Millisecond
)

// Move asks for a move of a session (user token, scope ask). The same key again
// gives the same move.
func (c *Client) Move(ctx context.Context, key, session string, p record.MovePost) (record.Move, error) {
	var m record.Move
	_, err := c.do(ctx, call{op: "move", method: http.MethodPost, path: sessionPath(session, "/moves"), key: key, body: p, out: &m})
	return m, err
}

// GetMove tells how a move stands: to its two machines, and to users. With a
// wait, of at most 55 s, it waits until the move has left the state while.
func (c *Client) GetMove(ctx context.Context, id string, while record.MoveState, wait time.Duration) (record.Move, error) {
	var m record.Move
	path := movePath(id, "") + seconds("?", wait)
	if wait > 0 && while != "" {
		path += "&while=" + url.QueryEscape(string(while))
	}
	_, err := c.do(ctx, call{op: "move", method: http.MethodGet, path: path, wait: wait, out: &m})
	return m, err
}

// CancelMove takes a move back (user token, scope ask).
func (c *Client) CancelMove(ctx context.Context, id string) (record.Move, error) {
	var m record.Move
	_, err := c.do(ctx, call{op: "cancel", method: http.MethodPost, path: movePath(id, "/cancel"), out: &m})
	return m, err
}

// PutMoveKey registers this machine's keys for moves (machine token).
func (c *Client) PutMoveKey(ctx context.Context, k record.MoveKey) error {
	_, err := c.do(ctx, call{op: "move key", method: http.MethodPut, path: "/v1/machines/self/move-key", body: k})
	return err
}

// PostMoveResult tells how this end of a move got on (machine token), and gives
// how the move stands. When the hub does not take it, the *Error's Move does.
func (c *Client) PostMoveResult(ctx context.Context, r record.MoveResult) (record.Move, error) {
	var m record.Move
	_, err := c.do(ctx, call{op: "move result", method: http.MethodPost, path: movePath(r.ID, "/result"), body: r, out: &m})
	return m, err
}

// UploadBundle sends a move's bundle from its source (machine token): what r
// gives, which must be just as b says. Nothing bounds the time that it takes,
// but it is cut when it stands still for a minute. The same bundle again is a
// success.
func (c *Client) UploadBundle(ctx context.Context, move string, b record.Bundle, r io.Reader) (record.Move, error) {
	var m record.Move
	ctx, alive := stalling(ctx, stallTime)
	defer alive.stop()
	_, err := c.do(ctx, call{op: "upload", method: http.MethodPut, path: movePath(move, "/bundle"), out: &m, stream: &stream{
		body: io.TeeReader(r, alive), size: b.Size, sha256: b.SHA256,
	}})
	return m, alive.explain(err, "upload")
}

// DownloadBundle gets a move's bundle to its target (machine token) and writes
// it to w. What is cut is taken up where it ended. The error is nil only when w
// has got the whole of b.
func (c *Client) DownloadBundle(ctx context.Context, move string, b record.Bundle, w io.Writer) error {
	got := &counter{w: w, sum: sha256.New()}
	pause := resumePause
	for tries := 0; ; {
		before := got.n
		err := c.downloadFrom(ctx, move, b, got)
		if err == nil {
			break
		}
		var e *Error
		if got.failed != nil || ctx.Err() != nil || errors.As(err, &e) && !e.Retryable() {
			return err
		}
		if got.n > before {
			tries, pause = 0, resumePause
		}
		if tries++; tries >= resumeTries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
			pause *= 2
		}
	}
	if sum := hex.EncodeToString(got.sum.Sum(nil)); got.n != b.Size || sum != b.SHA256 {
		return &Error{Op: "download", Status: http.StatusUnprocessableEntity,
			Detail: fmt.Sprintf("the bundle is not the one of the move: %d bytes with SHA-256 %s arrived", got.n, sum)}
	}
	return nil
}

// downloadFrom gets what is missing yet.
func (c *Client) downloadFrom(ctx context.Context, move string, b record.Bundle, got *counter) error {
	if got.n >= b.Size {
		return nil
	}
	ctx, alive := stalling(ctx, stallTime)
	defer alive.stop()
	res, err := c.send(ctx, call{op: "download", method: http.MethodGet, path: movePath(move, "/bundle"), from: got.n, match: b.SHA256})
	if err != nil {
		return alive.explain(err, "download")
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusPartialContent && got.n > 0,
		res.StatusCode == http.StatusOK && got.n == 0:
	case res.StatusCode/100 == 2: // another bundle than before
		return &Error{Op: "download", Status: http.StatusConflict, Detail: "the hub has another bundle than before"}
	default:
		body, err := io.ReadAll(io.LimitReader(res.Body, maxProblem))
		if err != nil {
			return c.unreachable("download", err)
		}
		return c.problem("download", res, body)
	}
	_, err = io.Copy(got, io.TeeReader(io.LimitReader(res.Body, b.Size-got.n), alive))
	switch {
	case got.failed != nil:
		return got.failed
	case err != nil:
		return alive.explain(c.unreachable("download", err), "download")
	case got.n < b.Size:
		return c.unreachable("download", io.ErrUnexpectedEOF)
	}
	return nil
}

// counter writes on, and keeps count and hash of what was written.
type counter struct {
	w      io.Writer
	sum    hash.Hash
	n      int64
	failed error // of w
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.sum.Write(b[:n])
	c.n += int64(n)
	if err != nil {
		c.failed = fmt.Errorf("download: %w", err)
	}
	return n, err
}

// pulse ends a context when nothing is written to it for a while.
type pulse struct {
	timer  *time.Timer
	every  time.Duration
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// errStalled is why a pulse ended its context.
var errStalled = errors.New("the bundle stood still for too long")

func stalling(ctx context.Context, every time.Duration) (context.Context, *pulse) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &pulse{timer: time.AfterFunc(every, func() { cancel(errStalled) }), every: every, ctx: ctx, cancel: cancel}
}

// Write notes that it goes on.
func (p *pulse) Write(b []byte) (int, error) {
	p.timer.Reset(p.every)
	return len(b), nil
}

func (p *pulse) stop() {
	p.timer.Stop()
	p.cancel(nil)
}

// explain says that it was the pulse that ended a transfer: it may be tried
// again.
func (p *pulse) explain(err error, op string) error {
	if err != nil && errors.Is(context.Cause(p.ctx), errStalled) {
		return &Error{Op: op, Detail: errStalled.Error(), Err: errStalled}
	}
	return err
}

// stream is the body of a request that is too large to be held.
type stream struct {
	body   io.Reader
	size   int64
	sha256 string
}

func (s *stream) fill(req *http.Request) {
	req.Body, req.ContentLength = io.NopCloser(s.body), s.size
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Header.Set(record.BundleHeader, s.sha256)
	req.Header.Set("Expect", "100-continue") // a refusal comes before the body goes
}

func movePath(id, tail string) string { return "/v1/moves/" + url.PathEscape(id) + tail }

func rangeFrom(n int64) string { return "bytes=" + strconv.FormatInt(n, 10) + "-" }
