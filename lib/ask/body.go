package ask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"sessionhub/lib/config"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

const (
	// inputLimit is how much of an input leaves the machine, in bytes of JSON.
	inputLimit = 8 << 10
	// suggestLimit is the same for all of Claude's suggestions together; with
	// more of them, "always" is for the screen.
	suggestLimit = 4 << 10
	// cutDown is where the cutting of long texts in an input ends.
	cutDown = 64
)

// Body is the ask as the hub and its person see it.
func (f *File) Body(c config.Config) record.AskBody {
	b := f.body(record.AskBody{Since: f.Since})
	if b.Why = f.Barred(c); b.Why == "" {
		b.Answerable = true
		if b.InputCut {
			b.Why = "it was cut: it can be denied from afar, not allowed"
		}
	}
	return b
}

// body fills in what does not depend on the configuration.
func (f *File) body(b record.AskBody) record.AskBody {
	b.Ask, b.Tool, b.InputSHA256 = f.Ask, text.Cut(text.Line(f.Tool), 200), f.InputSHA256
	input := f.Input
	if f.Tool == toolPlan { // its text has a field of its own
		input = without(input, "plan")
	}
	var cut, planCut bool
	b.Input, cut = Shown(input, inputLimit)
	b.Plan, planCut = f.Plan, len(f.Plan) > inputLimit
	if planCut {
		b.Plan = shorten(f.Plan, inputLimit)
	}
	b.InputCut = cut || planCut
	if len(f.Questions) > 0 && !cut {
		b.Questions = f.Questions
	}
	size := 0
	for _, s := range f.Suggestions {
		size += len(s)
	}
	if size <= suggestLimit {
		b.Suggestions = f.Suggestions
	}
	return b
}

func without(input json.RawMessage, field string) json.RawMessage {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(input, &fields) != nil {
		return input
	}
	delete(fields, field)
	b, err := json.Marshal(fields)
	if err != nil {
		return input
	}
	return b
}

// Shown is an input as it is shown from afar: as it is when it fits into limit
// bytes, else with its longest texts cut, each with a mark that says how much is
// missing. Control characters and what hides or turns text are spelled as JSON
// escapes, so that no log and no terminal heeds them; the value is the same.
func Shown(input json.RawMessage, limit int) (shown json.RawMessage, cut bool) {
	v, err := decode(input)
	if err != nil {
		v = map[string]any{"text": string(input)}
	}
	if _, object := v.(map[string]any); !object {
		v = map[string]any{"value": v}
	}
	if b := encode(v); len(b) <= limit {
		return b, false
	}
	for most := limit / 2; most >= cutDown; most /= 2 {
		if b := encode(cutTexts(v, most)); len(b) <= limit {
			return b, true
		}
	}
	whole := encode(v)
	return encode(map[string]any{"cut": shorten(string(whole), limit/4)}), true
}

func decode(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return v, d.Decode(&v)
}

func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil { // it was decoded from JSON
		return json.RawMessage("{}")
	}
	return escapeHidden(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// escapeHidden spells characters that a terminal would heed as JSON escapes.
// They stand in texts alone: JSON itself has none of them.
func escapeHidden(b []byte) json.RawMessage {
	var out bytes.Buffer
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			out.WriteString(`\ufffd`)
		case !text.Hides(r):
			out.Write(b[:n])
		case r > 0xffff:
			hi, lo := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		b = b[n:]
	}
	return out.Bytes()
}

// cutTexts is v with every text cut to most bytes.
func cutTexts(v any, most int) any {
	switch v := v.(type) {
	case string:
		return shorten(v, most)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = cutTexts(v[i], most)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = cutTexts(x, most)
		}
		return out
	}
	return v
}

// shorten cuts a text to at most n bytes and says how much is missing.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head := strings.ToValidUTF8(s[:n], "")
	return fmt.Sprintf("%s… [cut: %d of %d bytes are missing]", head, len(s)-len(head), len(s))
}
