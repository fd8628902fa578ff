package hub

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/hub/store"
)

// streamTestLimit bounds every wait for a stream.
const streamTestLimit = 20 * time.Second

// listen opens the stream of changes and hands over its data lines. The
// channel is closed when the stream ends.
func (h *testHub) listen(token string) <-chan string {
	h.t.Helper()
	srv := httptest.NewServer(h.hub)
	ctx, cancel := context.WithTimeout(context.Background(), streamTestLimit)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/v1/events", nil)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := srv.Client().Do(req)
	if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		h.t.Fatalf("stream: %v, %+v", err, res)
	}
	h.t.Cleanup(func() { cancel(); res.Body.Close(); srv.Close() })
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(res.Body); in.Scan(); {
			if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
				lines <- data
			}
		}
	}()
	return lines
}

func wantLine(t *testing.T, lines <-chan string, want string) {
	t.Helper()
	select {
	case got, open := <-lines:
		if got != want || !open {
			t.Fatalf("the stream says %q, want %q", got, want)
		}
	case <-time.After(streamTestLimit):
		t.Fatalf("the stream is silent, want %q", want)
	}
}

func TestStreamTellsOneEventForEachChangedSession(t *testing.T) {
	h := newTestHub(t)
	const b = `{"session":"bbbb-2","agent":"claude","pane_id":"w1:p2","agent_state":"idle"}`
	h.want(200, h.tower, "PUT /v1/machines/self/herdr-sessions", beat(sessionA+","+b))
	lines := h.listen(h.owner)
	h.want(200, h.tower, "PUT /v1/machines/self/herdr-sessions", beat(sessionA+","+b)) // nothing is new
	h.want(200, h.tower, "PUT /v1/machines/self/herdr-sessions", beat(strings.Replace(sessionA, "blocked", "working", 1)+","+b))
	wantLine(t, lines, `{"session":"aaaa-1"}`)
	h.want(200, h.tower, "PUT /v1/machines/self/herdr-sessions", beat(""))
	wantLine(t, lines, `{"session":"aaaa-1"}`)
	wantLine(t, lines, `{"session":"bbbb-2"}`)
	h.want(200, h.tower, "PUT /v1/sessions/bbbb-2/title", `{"title":"x"}`)
	wantLine(t, lines, `{"session":"bbbb-2"}`)
	h.want(400, h.tower, "PUT /v1/sessions/bbbb-2/title", `{"title":""}`) // tells nobody
	h.want(200, h.owner, "PUT /v1/sessions/aaaa-1/retired", `{"retired":true}`)
	wantLine(t, lines, `{"session":"aaaa-1"}`)
	h.hub.CloseStreams()
	if got, open := <-lines; open {
		t.Errorf("the stream goes on after its end: %q", got)
	}
}

func TestStreamEndsWithItsToken(t *testing.T) {
	h := newTestHub(t)
	lines := h.listen(h.owner)
	tokens, err := h.store.Tokens(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, tok := range tokens {
		if tok.Kind == store.KindUser {
			if err := h.store.RevokeToken(context.Background(), tok.ID, h.now); err != nil {
				t.Fatal(err)
			}
		}
	}
	select {
	case got, open := <-lines:
		if open {
			t.Errorf("the stream says %q", got)
		}
	case <-time.After(streamTestLimit):
		t.Error("the stream of a revoked token goes on")
	}
}

func TestStreamIsForUsers(t *testing.T) {
	h := newTestHub(t)
	h.want(403, h.tower, "GET /v1/events", "")
	h.want(401, "", "GET /v1/events", "")
	req := httptest.NewRequest(http.MethodHead, "/v1/events", nil) // ends, though the stream would not
	req.Header.Set("Authorization", "Bearer "+h.owner)
	res := httptest.NewRecorder()
	if h.hub.ServeHTTP(res, req); res.Code != http.StatusOK {
		t.Errorf("HEAD: %d", res.Code)
	}
}
