package record

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

const good = `{"v":1,"id":"01976f3e-7c1a-7c11-9d2e-0d9d0a6a1b11","at":"2026-11-30T20:00:00.123Z","source":"plugin","kind":"state",` +
	`"pane":{"herdr":"/home/dev/.config/herdr/herdr.sock","pane_id":"w4:p1","workspace_id":"w4"},"body":{"agent_state":"blocked"}}`

func TestParseItemKeepsWhatItReads(t *testing.T) {
	it, err := ParseItem([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	line, err := it.Line()
	if err != nil || string(line) != good {
		t.Errorf("got  %s, %v\nwant %s", line, err, good)
	}
}

// What is wrong is named by its field.
func TestParseItemNamesTheField(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"version", `"v":1`, `"v":2`, `"v" is 2, not 1`},
		{"no id", `"id":"01976f3e-7c1a-7c11-9d2e-0d9d0a6a1b11"`, `"id":""`, `"id" is missing`},
		{"an id that climbs", `01976f3e-7c1a-7c11-9d2e-0d9d0a6a1b11`, `../../etc/passwd`, `"id" has the character`},
		{"no time", `"at":"2026-11-30T20:00:00.123Z",`, ``, `"at" is missing`},
		{"a time that is none", `2026-11-30T20:00:00.123Z`, `yesterday`, `not an RFC 3339 time`},
		{"an absurd year", `2026-11-30`, `1970-01-01`, `out of range`},
		{"an unknown source", `"source":"plugin"`, `"source":"tv"`, `"source" is "tv"`},
		{"no kind", `"kind":"state",`, ``, `"kind" is missing`},
		{"an unknown kind", `"kind":"state"`, `"kind":"dance"`, `"kind" is "dance"`},
		{"no subject", `"pane":{"herdr":"/home/dev/.config/herdr/herdr.sock","pane_id":"w4:p1","workspace_id":"w4"},`, ``, `"pane" and "session" are both missing`},
		{"two subjects", `"pane":`, `"session":"s","pane":`, `"pane" and "session" are both set`},
		{"a pane of no herdr", `"herdr":"/home/dev/.config/herdr/herdr.sock",`, ``, `"pane.herdr" is missing`},
		{"no body", `,"body":{"agent_state":"blocked"}`, ``, `"body" is missing`},
		{"a body that is none", `{"agent_state":"blocked"}`, `[]`, `"body" must be an object`},
		{"a body without its field", `{"agent_state":"blocked"}`, `{}`, `body: "agent_state" is missing`},
		{"a body of a wrong type", `"blocked"`, `7`, `body: "agent_state" must be a string, not a number`},
		{"a nested wrong type", `"pane_id":"w4:p1"`, `"pane_id":[]`, `"pane.pane_id" must be a string, not an array`},
		{"not JSON", `{"v":1`, `{"v"`, `not valid JSON`},
		{"an array", good, `[1]`, `a JSON object is wanted, not an array`},
		{"more than one", `"blocked"}}`, `"blocked"}} {}`, `more than one JSON value`},
	} {
		t.Run(c.name, func(t *testing.T) {
			line := strings.Replace(good, c.from, c.to, 1)
			if line == good {
				t.Fatal("nothing was changed")
			}
			_, err := ParseItem([]byte(line))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestBodies(t *testing.T) {
	now := At(time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC))
	sum := strings.Repeat("a", 64)
	for _, c := range []struct {
		name string
		b    interface{ Validate() error }
		ok   bool
	}{
		{"upsert", &Upsert{}, true},
		{"closed", &Closed{Cause: CausePaneExited}, true},
		{"closed for another cause", &Closed{Cause: "boredom"}, false},
		{"closed for none", &Closed{}, false},
		{"ended", &Ended{Reason: "x"}, true},
		{"ended without a reason", &Ended{}, false},
		{"report", &Report{WaitingOn: "x"}, true},
		{"an empty report", &Report{}, false},
		{"title", &Title{Title: "x"}, true},
		{"no title", &Title{}, false},
		{"ask", &AskBody{Ask: "a", Tool: "Bash", InputSHA256: sum}, true},
		{"ask without a hash", &AskBody{Ask: "a", Tool: "Bash"}, false},
		{"ask_ended", &AskEnded{Ask: "a", How: "answered"}, true},
		{"ask_ended in another way", &AskEnded{Ask: "a", How: "lost"}, false},
		{"snapshot", &Snapshot{V: 1, At: now}, true},
		{"snapshot without a time", &Snapshot{V: 1}, false},
		{"snapshot with a session twice", &Snapshot{V: 1, At: now, Sessions: []LiveSession{{Session: "a", AgentState: Idle}, {Session: "a", AgentState: Idle}}}, false},
		{"snapshot with a pane that is none", &Snapshot{V: 1, At: now, UnidentifiedPanes: []UnidentifiedPane{{PaneID: "a b"}}}, false},
	} {
		if err := c.b.Validate(); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestTimesAreUTCWithMilliseconds(t *testing.T) {
	tm, err := ParseTime("2026-11-30T21:00:00.123456+01:00")
	if err != nil || tm.String() != "2026-11-30T20:00:00.123Z" {
		t.Errorf("got %s, %v", tm, err)
	}
	b, err := json.Marshal(struct{ A, B Time }{tm, Time{}})
	if err != nil || string(b) != `{"A":"2026-11-30T20:00:00.123Z","B":null}` {
		t.Errorf("got %s, %v", b, err)
	}
	var back struct{ A, B Time }
	if err := json.Unmarshal(b, &back); err != nil || !back.A.Equal(tm.Time) || !back.B.IsZero() {
		t.Errorf("got %+v, %v", back, err)
	}
}

func TestLineIsBounded(t *testing.T) {
	it, err := ParseItem([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	it.Body = json.RawMessage(`{"agent_state":"idle","note":"` + strings.Repeat("x", MaxItem) + `"}`)
	if _, err := it.Line(); err == nil {
		t.Error("a record over the limit passed")
	}
}

func FuzzParseItem(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(strings.Replace(good, `"kind":"state"`, `"kind":"snapshot"`, 1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		it, err := ParseItem(b)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r\x1b") {
				t.Errorf("error %q", err)
			}
			return
		}
		line, err := it.Line()
		if err != nil {
			return // only its length can be wrong
		}
		again, err := ParseItem(line)
		if err != nil || again.ID != it.ID || again.Kind != it.Kind || !again.At.Equal(it.At.Time) {
			t.Errorf("%s came back as %+v, %v", line, again, err)
		}
	})
}
