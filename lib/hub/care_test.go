package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/record"
)

// A hub that starts forgets what is too old at once, and nothing with
// --retention 0.
func TestRetention(t *testing.T) {
	for _, c := range []struct {
		name string
		keep time.Duration
		want int
	}{{"keep 90 days", 90 * 24 * time.Hour, 404}, {"keep all", 0, 200}} {
		t.Run(c.name, func(t *testing.T) {
			h := newTestHub(t)
			h.want(200, h.tower, "PUT /v1/machines/self/herdr-sessions", beat(sessionA), "Idempotency-Key: k1")
			h.want(200, h.tower, "POST /v1/sessions/aaaa-1/events", `{"id":"e1",`+at+`,"kind":"ended","body":{"reason":"x"}}`)
			h.now = h.now.Add(91 * 24 * time.Hour)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() {
				h.hub.Retain(ctx, c.keep, func(err error) { t.Error(err) })
				close(done)
			}()
			for end := time.Now().Add(10 * time.Second); h.keys() > 0; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("nothing was forgotten")
				}
			}
			cancel()
			<-done
			h.want(c.want, h.owner, "GET /v1/sessions/aaaa-1", "")
		})
	}
}

func (h *testHub) keys() int {
	h.t.Helper()
	b, err := h.store.Books(context.Background())
	if err != nil {
		h.t.Fatal(err)
	}
	return len(b.Keys)
}

// What is the hub's own fault is logged with its cause and told without it.
func TestFaultsAreLogged(t *testing.T) {
	h := newTestHub(t)
	var logged []string
	h.hub.Failed = func(err error) { logged = append(logged, err.Error()) }
	h.want(404, h.owner, "GET /v1/sessions/none", "") // nobody's fault
	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	res := h.want(500, h.owner, "GET /v1/sessions", "")
	var p record.Problem
	if err := json.Unmarshal(res.Body.Bytes(), &p); err != nil || strings.Contains(p.Detail, "database") {
		t.Errorf("problem %s, %v", res.Body, err)
	}
	if len(logged) != 1 || !strings.Contains(logged[0], "GET /v1/sessions") || !strings.Contains(logged[0], "database is closed") {
		t.Errorf("logged %q", logged)
	}
}

// A snapshot of a thousand sessions, of a machine gone wild.
func TestAHugeSnapshot(t *testing.T) {
	h := newTestHub(t)
	var list strings.Builder
	const n = 1000
	for i := range n {
		if i > 0 {
			list.WriteByte(',')
		}
		list.WriteString(strings.Replace(sessionA, "aaaa-1", fmt.Sprint("s", i), 1))
	}
	body := beat(list.String())
	if len(body) > MaxBody {
		t.Fatalf("the test's body has %d bytes", len(body))
	}
	for range 2 {
		h.want(200, h.tower, "PUT /v1/machines/self/herdr-sessions", body)
	}
}
