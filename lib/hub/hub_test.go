package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
)

// testHub is a hub whose every exchange is held against docs/openapi.yaml.
type testHub struct {
	t                    *testing.T
	path                 string
	hub                  *Hub
	store                *store.Store
	spec                 *spec
	now                  time.Time
	tower, laptop, owner string
	reader, nobody       string
}

func newTestHub(t *testing.T) *testHub {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hub.db")
	s, err := store.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	h := &testHub{t: t, path: path, store: s, spec: loadSpec(t), now: time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC), nobody: "shm_nobody"}
	h.hub = New(s, func() time.Time { return h.now })
	h.tower = h.token(store.Token{Kind: store.KindMachine, Name: "tower"})
	h.laptop = h.token(store.Token{Kind: store.KindMachine, Name: "laptop"})
	h.owner = h.token(store.Token{Kind: store.KindUser, Name: "owner", Scopes: []string{"read", "ask"}})
	h.reader = h.token(store.Token{Kind: store.KindUser, Name: "reader", Scopes: []string{"read"}})
	return h
}

func (h *testHub) token(tok store.Token) string {
	h.t.Helper()
	secret, err := h.store.AddToken(context.Background(), tok, h.now)
	if err != nil {
		h.t.Fatal(err)
	}
	return secret
}

// do sends "METHOD /path" with headers as "Name: value" and returns the answer.
func (h *testHub) do(token, route, body string, headers ...string) *httptest.ResponseRecorder {
	h.t.Helper()
	method, target, _ := strings.Cut(route, " ")
	req := httptest.NewRequest(method, target, strings.NewReader(body))
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	res := httptest.NewRecorder()
	h.hub.ServeHTTP(res, req)
	h.spec.check(h.t, req, body, res)
	return res
}

func (h *testHub) want(status int, token, route, body string, headers ...string) *httptest.ResponseRecorder {
	h.t.Helper()
	res := h.do(token, route, body, headers...)
	if res.Code != status {
		h.t.Errorf("%s: %d, want %d: %s", route, res.Code, status, res.Body)
	}
	return res
}

const at = `"at":"2026-11-30T20:00:00.000Z"`

func beat(sessions string) string {
	return `{"v":1,` + at + `,"herdr_session":"default","sessions":[` + sessions + `],"unidentified_panes":[]}`
}

const sessionA = `{"session":"aaaa-1","agent":"claude","pane_id":"w1:p1","agent_state":"blocked","cwd":"/src/app","git":{"branch":"main"}}`

func TestEveryRoute(t *testing.T) {
	h := newTestHub(t)
	h.want(200, "", "GET /healthz", "")
	h.want(200, h.tower, "PUT /v1/machines/self/herdr-sessions", beat(sessionA), "Idempotency-Key: k1")
	h.want(200, h.tower, "PUT /v1/sessions/bbbb-2", `{"first_prompt":"hello","herdr":{"herdr_session":"default","pane_id":"w1:p2"}}`, "Idempotency-Key: k2")
	h.want(200, h.tower, "POST /v1/sessions/aaaa-1/events", `{"id":"e1",`+at+`,"source":"plugin","kind":"state","body":{"agent_state":"working","new":1}}`)
	h.want(200, h.tower, "POST /v1/sessions/aaaa-1/reports", `{"id":"r1",`+at+`,"done":"it","waiting_on":"review"}`)
	h.want(200, h.tower, "PUT /v1/sessions/aaaa-1/title", `{"title":"Fix \u001b[31mit"}`)
	h.want(200, h.tower, "PUT /v1/sessions/aaaa-1/digest", `{"session":"aaaa-1","last_prompt":"go on","turns":3,"tokens":{"in":1,"out":2,"cache_read":3,"cache_write":4},"updated_at":"2026-11-30T20:00:00Z","size":9}`)
	h.want(200, h.owner, "PUT /v1/instructions", `{"text":"be kind"}`)
	h.want(200, h.owner, "GET /v1/sessions?machine=tower&all=1", "")
	h.want(200, h.owner, "GET /v1/machines", "")
	h.want(200, h.owner, "GET /v1/inbox", "")
	h.want(200, h.tower, "GET /v1/inbox", "")
	h.want(200, h.owner, "PUT /v1/sessions/bbbb-2/retired", `{"retired":true}`)
	h.want(200, h.owner, "POST /v1/inbox/waiting.aaaa-1.1/read", "")
	if body := h.want(200, "", "GET /metrics", "").Body.String(); !strings.Contains(body, `sessionhub_live_sessions{machine="tower"} 2`) {
		t.Errorf("metrics:\n%s", body)
	}
	var s record.Session
	if err := json.Unmarshal(h.want(200, h.owner, "GET /v1/sessions/aaaa-1", "").Body.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	if s.Title != "Fix it" || s.AgentState != record.Working || len(s.Events) != 1 || len(s.Reports) != 1 || s.LastPrompt != "go on" || s.Git.Branch != "main" {
		t.Errorf("session %+v", s)
	}
}

// Every answer has the clock that the hub's times are of, and anybody may ask
// which hub it is.
func TestTheHubTellsItsClockAndVersion(t *testing.T) {
	h := newTestHub(t)
	h.hub.Version = "1.2.3"
	res := h.want(200, "", "GET /healthz", "")
	if got := strings.TrimSpace(res.Body.String()); got != `{"status":"ok","version":"1.2.3"}` {
		t.Error(got)
	}
	for _, res := range []*httptest.ResponseRecorder{res, h.want(401, "", "GET /v1/sessions", ""), h.want(404, "", "GET /nowhere", "")} {
		if got := res.Header().Get("Date"); got != "Mon, 30 Nov 2026 20:00:00 GMT" {
			t.Errorf("Date: %q", got)
		}
	}
}

func TestInstructionsByVersion(t *testing.T) {
	h := newTestHub(t)
	h.want(200, h.owner, "PUT /v1/instructions", `{"text":"one"}`)
	etag := h.want(200, h.tower, "GET /v1/instructions", "").Header().Get("ETag")
	h.want(304, h.tower, "GET /v1/instructions", "", "If-None-Match: "+etag)
	h.want(200, h.owner, "PUT /v1/instructions", `{"text":"two"}`)
	h.want(200, h.tower, "GET /v1/instructions", "", "If-None-Match: "+etag)
	h.want(413, h.owner, "PUT /v1/instructions", `{"text":"`+strings.Repeat("x", MaxInstructions+1)+`"}`)
}

func TestTokensAndScopes(t *testing.T) {
	h := newTestHub(t)
	h.want(200, h.tower, "PUT /v1/machines/self/herdr-sessions", beat(sessionA))
	for _, c := range []struct {
		name, token, route, body string
		status                   int
	}{
		{"none", "", "GET /v1/sessions", "", 401},
		{"unknown", h.nobody, "GET /v1/sessions", "", 401},
		{"a user as a machine", h.owner, "PUT /v1/machines/self/herdr-sessions", beat(""), 403},
		{"a machine as a user", h.tower, "GET /v1/machines", "", 403},
		{"a machine archives", h.tower, "PUT /v1/sessions/aaaa-1/retired", `{"retired":true}`, 403},
		{"a reader asks", h.reader, "PUT /v1/instructions", `{"text":"x"}`, 403},
		{"a reader reads", h.reader, "GET /v1/sessions", "", 200},
		{"another machine's session", h.laptop, "GET /v1/sessions/aaaa-1", "", 404},
		{"in another machine's name", h.laptop, "PUT /v1/machines/self/herdr-sessions", strings.Replace(beat(""), `"v":1`, `"v":1,"machine":"tower"`, 1), 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := h.want(c.status, c.token, c.route, c.body)
			if c.status == 401 && res.Header().Get("WWW-Authenticate") == "" {
				t.Error("no WWW-Authenticate")
			}
		})
	}
	if list := h.want(200, h.laptop, "GET /v1/sessions?machine=tower&all=1", "").Body.String(); strings.TrimSpace(list) != "[]" {
		t.Errorf("laptop sees %s", list)
	}
	h.want(403, h.laptop, "PUT /v1/sessions/cccc-3", `{}`, record.MachineHeader+": tower")
	h.want(200, h.laptop, "PUT /v1/sessions/cccc-3", `{}`, record.MachineHeader+": laptop")
	tokens, _ := h.store.Tokens(context.Background())
	for _, tok := range tokens {
		if tok.Name == "tower" {
			if err := h.store.RevokeToken(context.Background(), tok.ID, h.now); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.want(401, h.tower, "GET /v1/sessions", "")
}

func TestIdempotency(t *testing.T) {
	h := newTestHub(t)
	h.want(200, h.tower, "PUT /v1/machines/self/herdr-sessions", beat(sessionA))
	event := `{` + at + `,"source":"plugin","kind":"state","body":{"agent_state":"working"}}`
	for range 3 {
		h.want(200, h.tower, "POST /v1/sessions/aaaa-1/events", event, "Idempotency-Key: e1")
	}
	h.want(422, h.tower, "POST /v1/sessions/aaaa-1/events", strings.Replace(event, "working", "idle", 1), "Idempotency-Key: e1")
	// Only a success is remembered.
	h.want(404, h.tower, "POST /v1/sessions/cccc-3/events", event, "Idempotency-Key: e2")
	h.want(200, h.tower, "PUT /v1/sessions/cccc-3", `{}`)
	h.want(200, h.tower, "POST /v1/sessions/cccc-3/events", event, "Idempotency-Key: e2")
	// Another owner's keys are its own.
	h.want(200, h.laptop, "PUT /v1/sessions/dddd-4", `{}`, "Idempotency-Key: e1")
	// The id of an event is known for ever, the key for 30 days.
	h.now = h.now.Add(31 * 24 * time.Hour)
	if err := h.store.PruneKeys(context.Background(), h.now); err != nil {
		t.Fatal(err)
	}
	h.want(200, h.tower, "POST /v1/sessions/aaaa-1/events", event, "Idempotency-Key: e1")
	b, err := h.store.Books(context.Background())
	if err != nil || fmt.Sprint(b.Events) != "[e1 e2]" {
		t.Errorf("events %v, %v", b.Events, err)
	}
}

// What is wrong is a 4xx that says what, never a 500, and nothing is stored.
func TestBadRequests(t *testing.T) {
	h := newTestHub(t)
	h.want(200, h.tower, "PUT /v1/machines/self/herdr-sessions", beat(sessionA))
	const events = "POST /v1/sessions/aaaa-1/events"
	event := func(fields string) string { return `{"id":"x","source":"plugin",` + fields + `}` }
	for _, c := range []struct {
		name, route, body string
		status            int
		says              string
	}{
		{"no body", events, "", 400, "JSON body"},
		{"broken JSON", events, `{"id":`, 400, "not valid JSON"},
		{"an array", events, `[]`, 400, "object"},
		{"a wrong type", events, `{"id":7}`, 400, `"id" must be a string`},
		{"no time", events, event(`"kind":"state","body":{"agent_state":"idle"}`), 400, `"at" is missing`},
		{"an absurd time", events, event(`"at":"0001-01-01T00:00:00Z","kind":"state","body":{"agent_state":"idle"}`), 400, "out of range"},
		{"a far future", events, event(`"at":"9999-01-01T00:00:00Z","kind":"state","body":{"agent_state":"idle"}`), 400, "out of range"},
		{"no time at all", events, event(`"at":"soon","kind":"state","body":{"agent_state":"idle"}`), 400, "RFC 3339"},
		{"an unknown kind", events, event(at + `,"kind":"dance","body":{}`), 400, "kind"},
		{"an unknown state", events, event(at + `,"kind":"state","body":{"agent_state":"happy"}`), 400, "agent_state"},
		{"a body of another type", events, event(at + `,"kind":"state","body":"x"`), 400, "object"},
		{"an id with a slash", events, `{"id":"a/b",` + at + `,"kind":"state","body":{"agent_state":"idle"}}`, 400, "id"},
		{"a path with an escaped slash", "GET /v1/sessions/a%2fb", "", 400, "not allowed"},
		{"a path that climbs", "GET /v1/sessions/..%2f..%2fetc", "", 404, "no such route"},
		{"a path to be cleaned", "GET /v1//sessions", "", 404, "no such route"},
		{"a control character", "GET /v1/sessions/a%1bb", "", 400, "not allowed"},
		{"an unknown route", "GET /v1/dance", "", 404, "no such route"},
		{"a wrong method", "DELETE /v1/sessions", "", 405, "GET"},
		{"an empty report", "POST /v1/sessions/aaaa-1/reports", `{"id":"r"}`, 400, "missing"},
		{"an empty title", "PUT /v1/sessions/aaaa-1/title", `{"title":""}`, 400, "missing"},
		{"a session twice", "PUT /v1/machines/self/herdr-sessions", beat(sessionA + "," + sessionA), 400, "twice"},
		{"a snapshot of another version", "PUT /v1/machines/self/herdr-sessions", strings.Replace(beat(""), `"v":1`, `"v":2`, 1), 400, `"v"`},
		{"a body over the limit", "PUT /v1/sessions/aaaa-1", `{"cwd":"` + strings.Repeat("x", MaxBody) + `"}`, 413, "too large"},
		{"an unknown session", "POST /v1/sessions/zzzz-9/reports", `{"id":"r","done":"x"}`, 404, "does not know"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := h.want(c.status, h.tower, c.route, c.body)
			var p record.Problem
			if err := json.Unmarshal(res.Body.Bytes(), &p); err != nil || p.Status != c.status || !strings.Contains(p.Detail, c.says) {
				t.Errorf("problem %s, want %q", res.Body, c.says)
			}
			if c.status == 413 && p.Limit != MaxBody {
				t.Errorf("limit %d", p.Limit)
			}
			if c.status == 405 && res.Header().Get("Allow") == "" {
				t.Error("no Allow")
			}
		})
	}
	b, err := h.store.Books(context.Background())
	if err != nil || len(b.Events)+len(b.Reports) != 0 {
		t.Errorf("something was stored: %+v, %v", b, err)
	}
}

func FuzzNeverA500(f *testing.F) {
	f.Add("PUT", "/v1/sessions/a", `{"git":{"remote":"x"}}`, "k")
	f.Add("POST", "/v1/sessions/a/events", `{"id":"e",`+at+`,"kind":"closed","body":{"cause":"pane_closed"}}`, "")
	f.Add("PUT", "/v1/machines/self/herdr-sessions", beat(sessionA), "k2")
	s, err := store.Open(context.Background(), filepath.Join(f.TempDir(), "hub.db"))
	if err != nil {
		f.Fatal(err)
	}
	defer s.Close()
	token, err := s.AddToken(context.Background(), store.Token{Kind: store.KindMachine, Name: "tower"}, time.Now())
	if err != nil {
		f.Fatal(err)
	}
	h := New(s, time.Now)
	f.Fuzz(func(t *testing.T, method, path, body, key string) {
		if method != http.MethodPut && method != http.MethodPost || !strings.HasPrefix(path, "/v1/") || strings.ContainsAny(path, " #?\x00\r\n") {
			return
		}
		req, err := http.NewRequest(method, "http://hub"+path, strings.NewReader(body))
		if err != nil {
			return
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Idempotency-Key", key)
		res := httptest.NewRecorder()
		h.ServeHTTP(res, req)
		if res.Code >= 500 {
			t.Errorf("%s %s with %q: %d %s", method, path, body, res.Code, res.Body)
		}
	})
}
