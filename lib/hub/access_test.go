package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
)

// A machine's token acts as that machine: what it writes of another's session
// is a 409 of a type of its own: the token is good, only the record is refused.
func TestAnotherMachinesSession(t *testing.T) {
	h := newTestHub(t)
	h.want(200, h.tower, "PUT /v1/machines/self/herdr-sessions", beat(sessionA))
	for _, c := range []struct{ key, route, body string }{
		{"k1", "PUT /v1/sessions/aaaa-1", `{"cwd":"/forged"}`},
		{"e1", "POST /v1/sessions/aaaa-1/events", `{"id":"e1",` + at + `,"kind":"state","body":{"agent_state":"idle"}}`},
		{"e2", "POST /v1/sessions/aaaa-1/events", `{"id":"e2",` + at + `,"kind":"ended","body":{"reason":"x"}}`},
		{"r1", "POST /v1/sessions/aaaa-1/reports", `{"id":"r1","done":"x"}`},
		{"k2", "PUT /v1/sessions/aaaa-1/title", `{"title":"forged"}`},
		{"k3", "PUT /v1/sessions/aaaa-1/digest", `{"session":"aaaa-1","title":"forged","turns":1}`},
	} {
		t.Run(c.route, func(t *testing.T) {
			res := h.want(409, h.laptop, c.route, c.body, "Idempotency-Key: "+c.key)
			var p record.Problem
			if err := json.Unmarshal(res.Body.Bytes(), &p); err != nil || p.Type != ProblemOtherMachine || strings.Contains(p.Detail, "tower") {
				t.Errorf("problem %s", res.Body)
			}
		})
	}
	b, err := h.store.Books(context.Background())
	if err != nil || len(b.Events)+len(b.Reports)+len(b.Keys) != 0 {
		t.Errorf("something was stored: %+v, %v", b, err)
	}
	if s := h.want(200, h.owner, "GET /v1/sessions/aaaa-1", "").Body.String(); strings.Contains(s, "forged") {
		t.Errorf("it was changed: %s", s)
	}
}

// A user's token is honoured and revoked without a word to the hub: by another
// process, which has the same file.
func TestTokensOfAnotherProcess(t *testing.T) {
	h := newTestHub(t)
	other, err := store.Open(context.Background(), h.path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	secret, err := other.AddToken(context.Background(), store.Token{Kind: store.KindMachine, Name: "new"}, h.now)
	if err != nil {
		t.Fatal(err)
	}
	h.want(200, secret, "GET /v1/sessions", "")
	list, err := other.Tokens(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, tok := range list {
		if tok.Name == "new" {
			if err := other.RevokeToken(context.Background(), tok.ID, h.now); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.want(401, secret, "GET /v1/sessions", "")
}

// The secret is on disk nowhere.
func TestTokensAreStoredHashed(t *testing.T) {
	h := newTestHub(t)
	for _, secret := range []string{h.tower, h.owner} {
		if !strings.HasPrefix(secret, "shm_") && !strings.HasPrefix(secret, "shu_") || len(secret) < 4+43 {
			t.Errorf("token %q", secret)
		}
		files, err := filepath.Glob(h.path + "*")
		if err != nil || len(files) == 0 {
			t.Fatalf("files %q, %v", files, err)
		}
		for _, f := range files {
			if b, err := os.ReadFile(f); err != nil || bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s holds the secret, %v", f, err)
			}
			if fi, err := os.Stat(f); err != nil || fi.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v: want 0600", f, fi.Mode(), err)
			}
		}
	}
}

func TestIdempotencyOfWhatIsNoRecord(t *testing.T) {
	h := newTestHub(t)
	h.want(200, h.owner, "PUT /v1/instructions", `{"text":"one"}`, "Idempotency-Key: k")
	h.want(200, h.owner, "PUT /v1/instructions", `{"text":"two"}`)
	h.want(200, h.owner, "PUT /v1/instructions", `{"text":"one"}`, "Idempotency-Key: k") // repeated: it does nothing
	if in := h.want(200, h.owner, "GET /v1/instructions", "").Body.String(); !strings.Contains(in, `"two"`) {
		t.Errorf("a repeated request was carried out: %s", in)
	}
	h.want(422, h.owner, "PUT /v1/instructions", `{"text":"three"}`, "Idempotency-Key: k")
	h.want(400, h.owner, "PUT /v1/instructions", `{"text":"x"}`, "Idempotency-Key: a b")
}

// The id of an event or a report is its key, with a header or without one.
func TestIdempotencyByTheItemsID(t *testing.T) {
	h := newTestHub(t)
	h.want(200, h.tower, "PUT /v1/machines/self/herdr-sessions", beat(sessionA))
	event := `{"id":"e1",` + at + `,"kind":"state","body":{"agent_state":"working"}}`
	h.want(200, h.tower, "POST /v1/sessions/aaaa-1/events", event)
	h.want(200, h.tower, "POST /v1/sessions/aaaa-1/events", event)
	h.want(422, h.tower, "POST /v1/sessions/aaaa-1/events", strings.Replace(event, "working", "idle", 1))
	h.want(422, h.tower, "POST /v1/sessions/aaaa-1/reports", `{"id":"e1","done":"x"}`)
	h.want(400, h.tower, "POST /v1/sessions/aaaa-1/events", event, "Idempotency-Key: other")
	h.now = h.now.Add(31 * 24 * time.Hour)
	if err := h.store.PruneKeys(context.Background(), h.now); err != nil {
		t.Fatal(err)
	}
	h.want(200, h.tower, "POST /v1/sessions/aaaa-1/events", event)
	h.want(422, h.tower, "POST /v1/sessions/aaaa-1/reports", `{"id":"e1","done":"x"}`)
	var m []record.Machine
	if err := json.Unmarshal(h.want(200, h.owner, "GET /v1/machines", "").Body.Bytes(), &m); err != nil || len(m) != 1 || m[0].Recorded != 1 {
		t.Errorf("machines %+v, %v: want one record", m, err)
	}
}
