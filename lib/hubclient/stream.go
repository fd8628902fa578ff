package hubclient

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Changes calls f whenever the hub says that something changed, until the
// context ends or the stream does. The error is why it ended.
func (c *Client) Changes(ctx context.Context, f func()) error {
	res, err := c.send(ctx, call{op: "events", method: http.MethodGet, path: "/v1/events"})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(res.Body, maxProblem))
		return c.problem("events", res, body)
	}
	r := bufio.NewReader(res.Body)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return c.unreachable("events", fmt.Errorf("the stream ended: %w", err))
		}
		if strings.HasPrefix(line, "data:") {
			f()
		}
	}
}

// maxProblem bounds the answer that says why there is no stream.
const maxProblem = 64 << 10
