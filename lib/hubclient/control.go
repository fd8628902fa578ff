package hubclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"sessionhub/lib/record"
)

// Control asks the machine of a session to do something (user token, scope
// ask). The same key again gives the same request.
func (c *Client) Control(ctx context.Context, key, session string, p record.ControlPost) (record.Request, error) {
	var r record.Request
	_, err := c.do(ctx, call{op: string(p.Action), method: http.MethodPost, path: sessionPath(session, "/control"), key: key, body: p, out: &r})
	return r, err
}

// Answer answers what a session asks (user token, scope answer). The same key
// again gives the same request.
func (c *Client) Answer(ctx context.Context, key, session, ask string, p record.AnswerPost) (record.Request, error) {
	var r record.Request
	_, err := c.do(ctx, call{op: "answer", method: http.MethodPost, path: sessionPath(session, "/asks/"+url.PathEscape(ask)+"/answer"), key: key, body: p, out: &r})
	return r, err
}

// Start asks a machine to start a session (user token, scope ask).
func (c *Client) Start(ctx context.Context, key, machine string, p record.StartPost) (record.Request, error) {
	var r record.Request
	_, err := c.do(ctx, call{op: "start", method: http.MethodPost, path: "/v1/machines/" + url.PathEscape(machine) + "/start", key: key, body: p, out: &r})
	return r, err
}

// Request tells how a request stands; with a wait, of at most 55 s, it waits
// for its end.
func (c *Client) Request(ctx context.Context, id string, wait time.Duration) (record.Request, error) {
	var r record.Request
	_, err := c.do(ctx, call{op: "request", method: http.MethodGet, path: controlPath(id, "") + seconds("?", wait), wait: wait, out: &r})
	return r, err
}

// Cancel takes a request back.
func (c *Client) Cancel(ctx context.Context, id string) (record.Request, error) {
	var r record.Request
	_, err := c.do(ctx, call{op: "cancel", method: http.MethodPost, path: controlPath(id, "/cancel"), out: &r})
	return r, err
}

// NextClaim is this machine's next request, waiting for one (machine token). ok
// is false when none came.
func (c *Client) NextClaim(ctx context.Context, wait time.Duration) (claim record.Claim, ok bool, err error) {
	_, err = c.do(ctx, call{op: "claim", method: http.MethodGet, path: "/v1/machines/self/control" + seconds("?", wait), wait: wait, out: &claim})
	if errors.Is(err, errNoContent) {
		return claim, false, nil
	}
	return claim, err == nil, err
}

// PostResult tells what became of a claim.
func (c *Client) PostResult(ctx context.Context, r record.Result) error {
	_, err := c.do(ctx, call{op: "result", method: http.MethodPost, path: controlPath(r.ID, "/result"), body: r})
	return err
}

// Renew lengthens the lease of a claim.
func (c *Client) Renew(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{op: "renew", method: http.MethodPost, path: controlPath(id, "/renew"), body: struct{}{}})
	return err
}

func controlPath(id, tail string) string { return "/v1/control/" + url.PathEscape(id) + tail }

func seconds(sep string, wait time.Duration) string {
	if wait <= 0 {
		return ""
	}
	return fmt.Sprintf("%swait=%d", sep, int(wait.Round(time.Second)/time.Second))
}
