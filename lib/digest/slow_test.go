package digest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The slow reading of a transcript, with encoding/json and without any
// shortcut, that the fast one must agree with on every input.

// firsts are the members of an object; of a key that stands there twice the
// first one. It is nil for what is no object.
func firsts(b []byte) map[string]raw {
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	m := map[string]raw{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil
		}
		var v json.RawMessage
		if dec.Decode(&v) != nil {
			return nil
		}
		if _, twice := m[key.(string)]; !twice {
			m[key.(string)] = raw(v)
		}
	}
	return m
}

func slowLine(b []byte) (l line, ok bool) {
	if !json.Valid(b) {
		return line{}, false
	}
	top := firsts(b)
	msg, att := firsts(top["message"]), firsts(top["attachment"])
	if !slices.Contains(telling, slowText(top["type"])) || string(top["isSidechain"]) == "true" {
		return line{}, false
	}
	if list, _ := slowBlocks(msg["content"]); len(list) > 0 && msg["content"][0] == '[' && slowText(list[0].kind) == "tool_result" {
		return line{}, false
	}
	if top["attachment"] != nil && slowText(att["type"]) != "queued_command" {
		return line{}, false
	}
	return line{
		kind: top["type"], subtype: top["subtype"], timestamp: top["timestamp"], gitBranch: top["gitBranch"],
		customTitle: top["customTitle"], aiTitle: top["aiTitle"], content: top["content"],
		command: firsts(top["commandRun"])["command"], outcome: firsts(top["commandOutcome"])["kind"], origin: firsts(top["origin"])["kind"],
		isSidechain: top["isSidechain"], isMeta: top["isMeta"], isCompact: top["isCompactSummary"],
		isTranscript: top["isVisibleInTranscriptOnly"], isVirtual: top["isVirtual"], isAPIError: top["isApiErrorMessage"],
		toolUseResult: top["toolUseResult"], promptSource: top["promptSource"], turnOrigin: top["turnOrigin"],
		message: message{id: msg["id"], model: msg["model"], content: msg["content"], usage: msg["usage"]},
		attachment: attachment{kind: att["type"], prompt: att["prompt"], commandMode: att["commandMode"],
			isMeta: att["isMeta"], origin: firsts(att["origin"])["kind"]},
	}, true
}

func slowBlocks(content raw) ([]block, bool) {
	if slowText(content) != "" || string(content) == `""` {
		return []block{{kind: raw(`"text"`), text: content}}, true
	}
	var list []json.RawMessage
	if json.Unmarshal(content, &list) != nil || list == nil {
		return nil, false
	}
	var all []block
	for _, e := range list {
		m := firsts(e)
		all = append(all, block{kind: m["type"], text: m["text"]})
	}
	return all, true
}

func slowText(v raw) string {
	var s string
	if len(v) == 0 || v[0] != '"' || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// slowTally splits at newlines, and knows no buffers.
func slowTally(file []byte) tally {
	var t tally
	for len(file) > 0 {
		b, rest, _ := bytes.Cut(file, []byte("\n"))
		file = rest
		if len(b) > maxLine {
			t.Skipped++
		} else if l, ok := slowLine(b); ok {
			t.add(&l)
			t.settle()
		}
	}
	return t
}

// agree compares the two readings of one line, and of what is in it.
func agree(t interface {
	Helper()
	Fatalf(string, ...any)
}, b []byte) {
	t.Helper()
	var l line
	ok := l.parse(b)
	want, wantOK := slowLine(b)
	if ok != wantOK {
		t.Fatalf("%q: whole is %v, want %v", b, ok, wantOK)
	}
	if !ok {
		return
	}
	if !reflect.DeepEqual(l, want) {
		t.Fatalf("%q:\n%q, want\n%q", b, l, want)
	}
	for _, v := range []raw{l.message.content, l.attachment.prompt} {
		have, ok := blocks(v)
		want, wantOK := slowBlocks(v)
		if ok != wantOK || !reflect.DeepEqual(have, want) {
			t.Fatalf("%q: blocks %q, want %q", v, have, want)
		}
		for _, b := range have {
			if got, want := b.text.text(), slowText(b.text); got != want {
				t.Fatalf("%q: text %q, want %q", b.text, got, want)
			}
		}
	}
	if got, want := l.timestamp.text(), slowText(l.timestamp); got != want {
		t.Fatalf("%q: text %q, want %q", l.timestamp, got, want)
	}
}

// value makes JSON that looks for trouble: the keys that matter in every
// place, also escaped, quotes and braces in strings, doubles, white space.
func value(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.IntRange(0, 9).Draw(t, "kind")
		switch {
		case kind < 4 || depth == 0:
			return rapid.SampledFrom([]string{`"user"`, `"assistant"`, `"human"`, `"text"`, `"system"`, `"attachment"`, `"tool_result"`, `true`, `false`, `null`,
				`0`, `-1`, `17`, `1.5e3`, `99999999999999999999`, `""`, `"\"type\":\"user\""`, `"{\"type\":\"user\"}"`, `"\\"`, `"a\\\"}"`, `"ü\u00fc\ud83d\ude00\ud800"`,
				`"` + strings.Repeat("long ", 60) + `\n"`, "\"\xff\xfe\"", `"<bash-input>x</bash-input>"`, `"2026-11-30T20:34:43.672Z"`, `"prompt"`, `"queued_command"`, `"m1"`, `"m2"`, `"HEAD"`}).Draw(t, "scalar")
		case kind < 6:
			return "[" + strings.Join(rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "list"), " ,") + "]"
		}
		return object(t, depth-1)
	})
}

var keys = []string{"type", `t\u0079pe`, "message", "attachment", "origin", "kind", "content", "text", "usage", "id", "model", "isMeta", "isSidechain", "toolUseResult", "prompt",
	"commandMode", "customTitle", "aiTitle", "input_tokens", "output_tokens", "timestamp", "gitBranch", "other", "", `\"type\":`, "Type", "subtype", "commandRun", "command", "isCompactSummary"}

func object(t *rapid.T, depth int) string {
	var b strings.Builder
	b.WriteString("{")
	for i := range rapid.IntRange(0, 6).Draw(t, "members") {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(rapid.SampledFrom([]string{"", " ", "\t\r"}).Draw(t, "space") + `"` + rapid.SampledFrom(keys).Draw(t, "key") + `": ` + value(depth).Draw(t, "value"))
	}
	return b.String() + "}"
}

// message lines that count, so that tallies are not empty.
func likely(t *rapid.T) string {
	kind := rapid.SampledFrom([]string{"user", "assistant", "system", "attachment", "custom-title", "ai-title"}).Draw(t, "kind")
	text := rapid.SampledFrom([]string{"fix it", "<task-notification>x", "Fix\\nthe \\\"parser\\\"", strings.Repeat("wide ", 80)}).Draw(t, "text")
	id := rapid.SampledFrom([]string{"m1", "m2", "m3", ""}).Draw(t, "id")
	switch kind {
	case "user":
		return `{"isSidechain":` + rapid.SampledFrom([]string{"true", "false"}).Draw(t, "side") + `,"message":{"role":"user","content":"` + text + `"},"type":"user","gitBranch":"main"}`
	case "assistant":
		return `{"message":{"id":"` + id + `","model":"opus","content":[{"type":"text","text":"` + text + `"}],"usage":{"input_tokens":` +
			rapid.SampledFrom([]string{"1", "22", "-3"}).Draw(t, "in") + `}},"type":"assistant","timestamp":"2026-11-30T20:34:43.672Z"}`
	case "system":
		return `{"type":"system","subtype":"away_summary","content":"` + text + `"}`
	case "attachment":
		return `{"attachment":{"type":"queued_command","prompt":"` + text + `","commandMode":"prompt","origin":{"kind":"human"}},"type":"attachment"}`
	}
	return `{"type":"` + kind + `","customTitle":"` + text + `","aiTitle":"` + text + `"}`
}

func aLine(t *rapid.T) string {
	s := likely(t)
	if rapid.Bool().Draw(t, "odd") {
		s = object(t, 3)
	}
	switch rapid.IntRange(0, 5).Draw(t, "damage") {
	case 0:
		return s[:rapid.IntRange(0, len(s)).Draw(t, "cut")]
	case 1:
		at := rapid.IntRange(0, len(s)-1).Draw(t, "at")
		return s[:at] + rapid.SampledFrom([]string{`"`, `\`, "}", "]", ",", "\x00", "x", "\x1f"}).Draw(t, "byte") + s[at+1:]
	}
	return s
}

func TestPropertyTheFastReadingIsTheSlowOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { agree(t, []byte(aLine(t))) })
}

// Whatever the lines, and wherever the file ended when it was read before:
// the tally is that of one slow reading of it all.
func TestPropertyStepsAreOneReading(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for range rapid.IntRange(0, 12).Draw(t, "lines") {
			lines = append(lines, strings.ReplaceAll(aLine(t), "\n", " "))
		}
		file := []byte(strings.Join(lines, "\n"))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var m memory
		for end := 0; end < len(file); {
			end = rapid.IntRange(end+1, len(file)).Draw(t, "end")
			if err := os.WriteFile(path, file[:end], 0o600); err != nil {
				t.Fatal(err)
			}
			var err error
			if m, err = step(ctx, path, m); err != nil {
				t.Fatal(err)
			}
			if got, want := asJSON(m.now), asJSON(slowTally(file[:end])); got != want {
				t.Fatalf("after %d of %q:\n%s, want\n%s", end, file, got, want)
			}
		}
	})
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Skipping a value accepts what encoding/json accepts, and nothing else.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+7,true,false,null,"\u00e9\n"]}`, `[01]`, `"\x"`, `{"a"}`, `-`, `1.`, `1e`, ` [ ] `, `{,}`, "\"\x1f\"", `tru`, `"12345678\"`, `[1,]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := scanner{b: b}
		v := s.value()
		if got, want := s.end(), json.Valid(b); got != want {
			t.Fatalf("%q: %v, want %v", b, got, want)
		} else if got && !bytes.Equal(v, bytes.Trim(b, " \t\r\n")) {
			t.Fatalf("%q: %q", b, v)
		}
	})
}

// odd are lines with keys that stand there twice, or have no proper value.
var odd = []string{
	`{"type":"user","type":"system","message":{"content":"a","content":"b"},"message":{"content":"c"},"message":7}`,
	`{"message":7,"message":{"content":"a"},"type":"user"}`,
	`{"type":"system","type":"user","isSidechain":false,"isSidechain":true,"origin":{"kind":"human","kind":"peer"},"origin":{"kind":"peer"}}`,
	`{"type":"system","commandRun":{"command":"recap"},"commandRun":{"command":"model"},"commandOutcome":{},"commandOutcome":{"kind":"failed"}}`,
	`{"type":"attachment","attachment":{"type":"queued_command","type":"x","origin":{"kind":"human"},"origin":{"kind":"peer"}},"attachment":{"type":"x"}}`,
	`{"type":"user","message":{"content":[{"type":"text","type":"tool_result","text":"a","text":"b"},{"type":"tool_result"}]}}`,
	`{"type":"custom-title","customTitle":"a","customTitle":"b","t\u0079pe":"user"}`,
	`{"t\u0079pe":"user","type":"mode"}`,
	`{"type":"user","attachment":{},"message":{"content":"a"}}`,
	`{"type":"user","attachment":7,"message":{"content":"a"}}`,
	`{"type":7,"message":{"content":"a"}}`,
	`{"message":{"content":"a"}}`,
}

// Of a key that stands there twice the first one counts.
func TestOddLines(t *testing.T) {
	for _, s := range odd {
		agree(t, []byte(s))
	}
	d := digestOf(t, odd[0])
	if d.LastPrompt != "a" {
		t.Errorf("%+v", d)
	}
}

func FuzzLine(f *testing.F) {
	for _, path := range []string{"testdata/58f5e579-f5bf-4a6d-ad34-93fd88ea483d.jsonl", "testdata/limit.jsonl"} {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for l := range bytes.Lines(b) {
			f.Add(l)
		}
	}
	for _, s := range odd {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"type":"user","type":{"type":"\u0000"},"message":{"content":[{"text":"\ud800"}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) { agree(t, b) })
}

// Any bytes in a file give the digest that the slow reading gives.
func FuzzFile(f *testing.F) {
	f.Add([]byte("{\"type\":\"user\",\"message\":{\"content\":\"hello\"}}\n{\"type\":\"us"), 20)
	f.Add([]byte("\n\n{}\r\n\x00"), 2)
	f.Fuzz(func(t *testing.T, file []byte, at int) {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		var m memory
		for _, b := range [][]byte{file[:min(max(at, 0), len(file))], file} {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			var err error
			if m, err = step(t.Context(), path, m); err != nil {
				t.Fatal(err)
			}
			if got, want := asJSON(m.now), asJSON(slowTally(b)); got != want {
				t.Fatalf("%q: %s, want %s", b, got, want)
			}
		}
	})
}

// Nesting is bounded as in encoding/json, and nothing overflows a stack.
func TestScanDepth(t *testing.T) {
	for _, n := range []int{maxDepth - 1, maxDepth, maxDepth + 1, 1 << 19} {
		b := []byte(`{"type":"user","a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}")
		var l line
		if got, want := l.parse(b), json.Valid(b); got != want {
			t.Errorf("%d deep: %v, want %v", n, got, want)
		}
	}
}
