package herdrtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/herdr"
)

// lines opens a raw subscription.
func lines(t *testing.T, s *Server, types ...string) (*bufio.Scanner, *net.UnixConn) {
	t.Helper()
	var list []string
	for _, typ := range types {
		list = append(list, fmt.Sprintf(`{"type":%q}`, typ))
	}
	conn, err := net.Dial("unix", s.Socket())
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(15 * time.Second))
	fmt.Fprintf(conn, `{"id":"sub","method":"events.subscribe","params":{"subscriptions":[%s]}}`+"\n", strings.Join(list, ","))
	scan := bufio.NewScanner(conn)
	scan.Buffer(nil, 1<<20)
	if !scan.Scan() || !strings.Contains(scan.Text(), "subscription_started") {
		t.Fatalf("no acknowledgement: %q", scan.Text())
	}
	return scan, conn.(*net.UnixConn)
}

func nextName(t *testing.T, scan *bufio.Scanner) string {
	t.Helper()
	if !scan.Scan() {
		t.Fatalf("the stream ended: %v", scan.Err())
	}
	var line struct{ Event string }
	must(t, json.Unmarshal(scan.Bytes(), &line))
	return line.Event
}

func names(t *testing.T, scan *bufio.Scanner, n int) string {
	t.Helper()
	var out []string
	for range n {
		out = append(out, nextName(t, scan))
	}
	return strings.Join(out, " ")
}

// Up to 0.8.2 a subscription begins with the history, and the lines of a step
// come in the order of its list (findings 20 and 21).
func TestEventsOf082(t *testing.T) {
	s, c := start(t)
	ctx := context.Background()
	w, err := c.CreateWorkspace(ctx, herdr.NewWorkspace{Cwd: s.Home()})
	must(t, err)
	must(t, c.ClosePane(ctx, w.RootPane.PaneID))
	scan, _ := lines(t, s, "workspace.closed", "pane.closed", "pane.created", "pane.closed")
	if got, want := names(t, scan, 4), "workspace_closed pane_closed pane_created pane_closed"; got != want {
		t.Errorf("history %q, want %q", got, want)
	}
}

func TestEventsOf093(t *testing.T) {
	s, c := start(t, WithDialect(Herdr093()))
	ctx := context.Background()
	w, err := c.CreateWorkspace(ctx, herdr.NewWorkspace{Cwd: s.Home()})
	must(t, err)
	scan, _ := lines(t, s, "pane.created", "pane.closed")
	must(t, c.ClosePane(ctx, w.RootPane.PaneID))
	if got := nextName(t, scan); got != "pane_closed" {
		t.Errorf("first event %q: the past", got)
	}
	s.LoseEvents()
	if !scan.Scan() || !strings.Contains(scan.Text(), `"code":"events_lost"`) || !strings.Contains(scan.Text(), `"id":"sub"`) {
		t.Errorf("%q, want events_lost", scan.Text())
	}
	if scan.Scan() {
		t.Errorf("more lines after events_lost: %q", scan.Text())
	}
}

// A half-close or any further byte ends a subscription (finding 4).
func TestSubscriptionEnds(t *testing.T) {
	s, _ := start(t)
	for name, end := range map[string]func(*net.UnixConn){
		"half-close": func(c *net.UnixConn) { c.CloseWrite() },
		"a byte":     func(c *net.UnixConn) { c.Write([]byte("x")) },
	} {
		scan, conn := lines(t, s, "pane.closed")
		end(conn)
		if scan.Scan() {
			t.Errorf("%s: %q, want the end", name, scan.Text())
		}
		if err, isNet := scan.Err().(net.Error); isNet && err.Timeout() {
			t.Errorf("%s: the subscription lives on", name)
		}
	}
}

func TestServerStop(t *testing.T) {
	s, c := start(t, func(c *Config) { c.Timings = ShortTimings(); c.Timings.Stop = 300 * time.Millisecond })
	ctx := context.Background()
	scan, _ := lines(t, s, "pane.closed")
	must(t, c.StopServer(ctx))
	if _, err := c.Snapshot(ctx); !herdr.IsCode(err, herdr.CodeServerUnavailable) {
		t.Errorf("snapshot while it stops: %v", err)
	}
	if _, err := c.Ping(ctx); err != nil {
		t.Errorf("ping while it stops: %v", err)
	}
	if scan.Scan() || scan.Err() != nil {
		t.Errorf("subscription: %q, %v, want a plain end", scan.Text(), scan.Err())
	}
	s.Wait()
	var u *herdr.UnreachableError
	if _, err := c.Ping(ctx); !asUnreachable(err, &u) || u.Cause != herdr.NoSocket {
		t.Errorf("after the end: %v", err)
	}
}
