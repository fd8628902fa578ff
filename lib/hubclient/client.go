// Package hubclient speaks the hub's HTTP API (docs/openapi.yaml).
package hubclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sessionhub/lib/config"
	"sessionhub/lib/record"
)

const (
	// Timeout bounds a request that is no long poll. The hub answers in
	// milliseconds; a slow uplink needs more.
	Timeout = 10 * time.Second
	// maxAnswer bounds an answer in bytes: the sessions of many machines.
	maxAnswer = 64 << 20
	// idleConns keeps a connection for each of the watcher's few callers.
	idleConns = 4
)

// Client calls one hub with one token. It is safe for use by several
// goroutines.
type Client struct {
	base    string
	token   string
	machine string // sent along, so that another machine's token is noticed
	http    *http.Client
}

// New returns a client. It refuses an address that is none, and plain http to
// a host that is not this machine unless the configuration allows it, since
// the token would travel in the clear.
func New(conf config.Config, token string) (*Client, error) {
	if conf.ServerURL == "" {
		return nil, fmt.Errorf("%w: server_url is not configured: shinstall hub, or shinstall join URL, writes it", config.ErrInvalid)
	}
	u, err := url.Parse(conf.ServerURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%w: server_url %q is no http or https address", config.ErrInvalid, conf.ServerURL)
	}
	if u.User != nil {
		return nil, fmt.Errorf("%w: server_url holds a user or password; use token_file", config.ErrInvalid)
	}
	if u.Scheme == "http" && !conf.AllowHTTP && !loopback(u.Hostname()) {
		return nil, fmt.Errorf("%w: server_url is plain http to %s, which would show the token to the network: use https, or set allow_http = true", config.ErrInvalid, u.Hostname())
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = idleConns
	return &Client{base: conf.ServerURL, token: token, machine: conf.Machine, http: &http.Client{
		Transport: transport,
		// A hub never redirects. What does is something else, such as a
		// network's sign-in page, whose "200 OK" is no receipt.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// call is one request.
type call struct {
	op     string // for errors: "heartbeat"
	method string
	path   string
	key    string        // Idempotency-Key
	etag   string        // If-None-Match
	wait   time.Duration // that the hub may take before it answers
	body   any
	stream *stream // in place of a body; nothing bounds its time
	from   int64   // Range: from this byte on
	match  string  // If-Range: of this version
	out    any
}

// do sends a request and decodes its answer. The error is an *Error.
func (c *Client) do(ctx context.Context, r call) (http.Header, error) {
	if r.stream == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, Timeout+r.wait)
		defer cancel()
	}
	res, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, c.unreachable(r.op, err)
	}
	switch res.StatusCode {
	case http.StatusNotModified:
		return res.Header, errNotModified
	case http.StatusNoContent:
		return res.Header, errNoContent
	}
	if res.StatusCode/100 != 2 {
		return nil, c.problem(r.op, res, body)
	}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		return nil, c.stranger(r.op, res)
	}
	if r.out == nil {
		return res.Header, nil
	}
	if err := json.Unmarshal(body, r.out); err != nil {
		return nil, &Error{Op: r.op, Status: res.StatusCode, Detail: "the answer makes no sense: " + err.Error()}
	}
	return res.Header, nil
}

func (c *Client) send(ctx context.Context, r call) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		b, err := json.Marshal(r.body)
		if err != nil {
			// Sending it again would not help: it is refused here.
			return nil, &Error{Op: r.op, Status: http.StatusUnprocessableEntity, Detail: "it can't be written as JSON: " + err.Error()}
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.op, err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if c.machine != "" {
		req.Header.Set(record.MachineHeader, c.machine)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	if r.stream != nil {
		r.stream.fill(req)
	}
	if r.from > 0 {
		req.Header.Set("Range", rangeFrom(r.from))
		req.Header.Set("If-Range", `"`+r.match+`"`)
	}
	if r.etag != "" {
		req.Header.Set("If-None-Match", r.etag)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(r.op, err)
	}
	return res, nil
}

func (c *Client) unreachable(op string, err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // the address and the method are said anyway
	}
	todo := "is `shhub serve` running there, and server_url right?"
	if Untrusted(err) {
		todo = "this machine must trust who signed its certificate, which must be made for this address"
	}
	return &Error{Op: op, Detail: fmt.Sprintf("the hub at %s is out of reach: %v: %s", c.base, err, todo), Err: err}
}

// Untrusted reports whether an error is that of a certificate that was refused:
// something answers there.
func Untrusted(err error) bool {
	var refused *tls.CertificateVerificationError
	return errors.As(err, &refused)
}

// problem is the error of an answer that is no success. One without a problem
// document is not the hub's: a proxy's, or that of a wrong address.
func (c *Client) problem(op string, res *http.Response, body []byte) error {
	var p record.Problem
	if !strings.HasPrefix(res.Header.Get("Content-Type"), record.ProblemType) || json.Unmarshal(body, &p) != nil {
		return c.stranger(op, res)
	}
	e := &Error{Op: op, Status: res.StatusCode, Type: p.Type, Detail: p.Title, Move: p.Move}
	if p.Detail != "" {
		e.Detail = p.Detail
	}
	return e
}

// stranger is the error of an answer that no hub gave.
func (c *Client) stranger(op string, res *http.Response) error {
	return &Error{Op: op, Status: res.StatusCode, NotHub: true,
		Detail: fmt.Sprintf("what answers at %s (%s) is no hub: is server_url right?", c.base, res.Status)}
}
