package hub

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/record"
)

// Every route of moves, held against the description.
func TestEveryRouteOfMoves(t *testing.T) {
	h := newTestHub(t)
	for _, token := range []string{h.tower, h.laptop} {
		h.want(200, token, "PUT /v1/machines/self/move-key", specKey(t))
	}
	h.want(422, h.tower, "PUT /v1/machines/self/move-key", strings.Replace(specKey(t), "SHA256:", "SHA256:x", 1))
	h.want(200, h.tower, "PUT /v1/machines/self/herdr-sessions", beat(sessionA))
	h.want(200, h.laptop, "PUT /v1/machines/self/herdr-sessions", beat(""))
	h.want(422, h.owner, "POST /v1/sessions/aaaa-1/moves", `{"to":"cloud"}`)
	h.want(400, h.owner, "POST /v1/sessions/aaaa-1/moves", `{"to":7}`)
	h.want(403, h.reader, "POST /v1/sessions/aaaa-1/moves", `{"to":"laptop"}`)
	m := readJSON[record.Move](t, h.want(200, h.owner, "POST /v1/sessions/aaaa-1/moves", `{"to":"laptop","worktree":true}`, "Idempotency-Key: k1").Body.Bytes())
	h.want(409, h.owner, "POST /v1/sessions/aaaa-1/moves", `{"to":"laptop"}`)
	h.want(409, h.owner, "POST /v1/sessions/aaaa-1/control", `{"action":"resume"}`)
	h.want(200, h.owner, "GET /v1/sessions", "")
	h.want(200, h.owner, "GET /v1/sessions/aaaa-1", "")
	at := "/v1/moves/" + m.ID
	claim := func(token, result string) {
		t.Helper()
		c := readJSON[record.Claim](t, h.want(200, token, "GET /v1/machines/self/control", "").Body.Bytes())
		if result != "" {
			h.want(200, token, "POST /v1/control/"+c.ID+"/result", `{"v":1,"state":"`+result+`"}`)
		}
	}
	claim(h.laptop, "done")
	claim(h.tower, "")
	h.want(200, h.reader, "GET "+at+"?wait=0&while=packing", "")
	h.want(409, h.laptop, "GET "+at+"/bundle", "")
	sum := sha256.Sum256([]byte("sealed"))
	head := []string{"Content-Type: application/octet-stream", record.BundleHeader + ": " + hex.EncodeToString(sum[:])}
	h.want(422, h.tower, "PUT "+at+"/bundle", "broken", head...)
	h.want(200, h.tower, "PUT "+at+"/bundle", "sealed", head...)
	h.want(200, h.tower, "PUT "+at+"/bundle", "sealed", head...)
	h.want(409, h.owner, "POST "+at+"/cancel", "")
	claim(h.laptop, "")
	if res := h.want(200, h.laptop, "GET "+at+"/bundle", ""); res.Body.String() != "sealed" {
		t.Errorf("bundle %q", res.Body)
	}
	if res := h.want(206, h.laptop, "GET "+at+"/bundle", "", "Range: bytes=2-", `If-Range: "`+hex.EncodeToString(sum[:])+`"`); res.Body.String() != "aled" {
		t.Errorf("its rest %q", res.Body)
	}
	h.want(416, h.laptop, "GET "+at+"/bundle", "", "Range: bytes=99-")
	h.want(409, h.laptop, "POST "+at+"/result", `{"v":1,"state":"done"}`)
	h.want(200, h.laptop, "POST "+at+"/result", `{"v":1,"state":"starting","expect":"unpacking"}`)
	h.want(200, h.laptop, "POST "+at+"/result", `{"v":1,"state":"done","notes":["not carried: .env"]}`)
	h.want(400, h.laptop, "POST "+at+"/result", `{"v":2,"state":"done"}`)
	h.want(200, h.owner, "GET "+at, "")
	claim(h.tower, "done")
	h.want(200, h.owner, "GET /v1/machines", "")
}

func specKey(t *testing.T) string {
	t.Helper()
	k := record.MoveKey{Recipient: "age1qqq", Signer: base64.StdEncoding.EncodeToString(make([]byte, 32))}
	k.Fingerprint = record.Fingerprint(k.Recipient, k.Signer)
	raw, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func readJSON[T any](t *testing.T, raw []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

// Who watches hears of each change of a move.
func TestStreamTellsOfMoves(t *testing.T) {
	h := newTestHub(t)
	for _, token := range []string{h.tower, h.laptop} {
		h.want(200, token, "PUT /v1/machines/self/move-key", specKey(t))
	}
	h.want(200, h.tower, "PUT /v1/machines/self/herdr-sessions", beat(sessionA))
	h.want(200, h.laptop, "PUT /v1/machines/self/herdr-sessions", beat(""))
	lines := h.listen(h.owner)
	const told = `{"session":"aaaa-1"}`
	h.want(200, h.owner, "POST /v1/sessions/aaaa-1/moves", `{"to":"laptop"}`)
	wantLine(t, lines, told)
	h.want(200, h.laptop, "GET /v1/machines/self/control", "")
	wantLine(t, lines, told)
	h.now = h.now.Add(10 * time.Minute)
	h.want(200, h.owner, "GET /v1/inbox", "")
	wantLine(t, lines, told)
}
