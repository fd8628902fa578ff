package record

import (
	"encoding/base64"
	"strings"
	"testing"
)

func goodKey() MoveKey {
	k := MoveKey{Recipient: "age1qqq", Signer: base64.StdEncoding.EncodeToString(make([]byte, 32))}
	k.Fingerprint = Fingerprint(k.Recipient, k.Signer)
	return k
}

// The contract's words, spelled out: anybody can compute it.
func TestFingerprint(t *testing.T) {
	if got := Fingerprint("age1qqq", "AAAA"); got != "SHA256:"+fingerprintOf {
		t.Errorf("%s", got)
	}
}

func goodMoveClaim() Claim {
	k := goodKey()
	return Claim{V: 1, ID: "c1", Action: ActionMoveIn, Session: &ClaimSession{Session: "s1"}, Move: &ClaimMove{
		ID: "m1", Session: "s1", From: "tower", To: "laptop", State: MoveUnpacking, Keys: MoveKeys{k, k},
		Bundle: &Bundle{Size: 1, SHA256: strings.Repeat("0a", 32)},
	}}
}

func TestClaimsOfMoves(t *testing.T) {
	good := goodMoveClaim()
	if err := good.Validate(); err != nil || !good.Action.OfMove() || ActionResume.OfMove() {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(c *Claim)
		want   string
	}{
		"no move":             {func(c *Claim) { c.Move = nil }, `"move" is missing`},
		"an id that climbs":   {func(c *Claim) { c.Move.ID = "../x" }, `"move.id" has the character`},
		"another session":     {func(c *Claim) { c.Session.Session = "s2" }, "not the session of the move"},
		"no source":           {func(c *Claim) { c.Move.From = "" }, `"move.from" is missing`},
		"an unknown state":    {func(c *Claim) { c.Move.State = "flying" }, `"move.state" is "flying"`},
		"no key":              {func(c *Claim) { c.Move.Keys.To = MoveKey{} }, `"recipient" is missing`},
		"another fingerprint": {func(c *Claim) { c.Move.Keys.From.Fingerprint = "SHA256:x" }, "not that of recipient and signer"},
		"a short hash":        {func(c *Claim) { c.Move.Bundle.SHA256 = "ab" }, "lower-case hex"},
		"an empty bundle":     {func(c *Claim) { c.Move.Bundle.Size = 0 }, `"size" is 0`},
	} {
		claim := goodMoveClaim()
		c.change(&claim)
		if err := claim.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestMoveResults(t *testing.T) {
	for in, want := range map[string]string{
		`{"v":1,"id":"m","state":"starting","expect":"unpacking"}`:       "",
		`{"v":1,"id":"m","notes":["x"]}`:                                 "",
		`{"v":1,"id":"m"}`:                                               "both missing",
		`{"v":2,"id":"m","state":"done"}`:                                `"v" is 2`,
		`{"v":1,"state":"done"}`:                                         `"id" is missing`,
		`{"v":1,"id":"m","state":"packing"}`:                             "none of starting, done, failed",
		`{"v":1,"id":"m","state":"done","expect":"x"}`:                   `"expect" is "x"`,
		`{"v":1,"id":"m","notes":["` + strings.Repeat(`","`, 20) + `"]}`: "over the limit",
	} {
		var r MoveResult
		if err := Decode([]byte(in), &r); err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

// fingerprintOf is by: printf 'age1qqq\nAAAA' | openssl dgst -sha256 -binary | base64
const fingerprintOf = "gj9rHMotCZla/cxbx3DBdbWs6DZoLLHfiyQM9TdHXzc="
