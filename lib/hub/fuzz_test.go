package hub

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
)

// FuzzRequestLines sends what a stranger may write on the wire, with each kind
// of token. Whatever it is: never a 5xx, and every refusal is a problem
// document.
func FuzzRequestLines(f *testing.F) {
	for _, line := range []string{
		"GET /v1/sessions/a%2Fb", "GET /v1/sessions/..%2f..%2fetc%2fpasswd", "PUT /v1/sessions/%00", "PUT /v1/sessions/%ff%fe",
		"GET /v1/sessions/%E2%80%AEevil", "POST /v1/sessions/a/events/", "POST /v1/sessions//events", "GET //v1/sessions", "GET /v1/../v1/sessions",
		"GET /v1/sessions?machine=%zz&all=%", "DELETE /v1/sessions/a", "OPTIONS *", "HEAD /healthz", "PATCH /metrics", "CONNECT hub:80",
		"POST /v1/inbox/done.a.99999999999999999999/read", "POST /v1/inbox/done.a.-1/read", "POST /v1/inbox/done..1/read", "PUT /v1/instructions",
		"GET http://elsewhere/v1/sessions", "GET /v1/sessions/" + strings.Repeat("a", 201), "get /v1/sessions",
	} {
		for kind := range byte(3) {
			f.Add(line, `{"text":"x","title":"y","retired":true}`, kind)
		}
	}
	s, err := store.Open(context.Background(), filepath.Join(f.TempDir(), "hub.db"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	h := New(s, time.Now)
	tokens := []string{"shm_unknown"}
	for _, tok := range []store.Token{{Kind: store.KindMachine, Name: "tower"}, {Kind: store.KindUser, Name: "me", Scopes: []string{"read", "ask"}}} {
		secret, err := s.AddToken(context.Background(), tok, time.Now())
		if err != nil {
			f.Fatal(err)
		}
		tokens = append(tokens, secret)
	}
	f.Fuzz(func(t *testing.T, line, body string, kind byte) {
		if strings.ContainsAny(line, "\r\n") || strings.Contains(line, "/v1/events") { // which streams
			return
		}
		req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(line + " HTTP/1.1\r\nHost: hub\r\n\r\n")))
		if err != nil {
			return // net/http answers it
		}
		req.Body = http.NoBody
		if body != "" {
			req.Body = httptest.NewRequest(http.MethodPut, "/", strings.NewReader(body)).Body
		}
		req.Header.Set("Authorization", "Bearer "+tokens[int(kind)%len(tokens)])
		res := httptest.NewRecorder()
		h.ServeHTTP(res, req)
		if res.Code >= 500 {
			t.Errorf("%q: %d %s", line, res.Code, res.Body)
		}
		if res.Code < 400 || req.Method == http.MethodHead {
			return
		}
		var p record.Problem
		if err := json.Unmarshal(res.Body.Bytes(), &p); err != nil || p.Status != res.Code || p.Type == "" || p.Title == "" || p.Detail == "" ||
			res.Header().Get("Content-Type") != record.ProblemType {
			t.Errorf("%q: %d with %s", line, res.Code, res.Body)
		}
		if res.Code == http.StatusMethodNotAllowed && res.Header().Get("Allow") == "" {
			t.Errorf("%q: 405 without Allow", line)
		}
	})
}
