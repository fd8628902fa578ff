package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strings"

	"sessionhub/lib/jsonl"
)

// ToolUse is a tool that the model wants to use.
type ToolUse struct {
	ID    string
	Name  string
	Input json.RawMessage
}

// Outcome is what became of a tool use: the transcript has its result.
type Outcome struct {
	Text     string // of the result, its first part
	Failed   bool
	Rejected bool   // by a person at the screen, who refused it or pressed Esc
	Source   string // what decided: "hook", "user_temporary", …; "" when it is not told
}

// ByHook reports whether a hook decided.
func (o Outcome) ByHook() bool { return o.Source == "hook" }

const (
	// toolTail is how much of a transcript's end is searched for a tool use that
	// is being asked about, in bytes: it was written right before.
	toolTail = 8 << 20
	// toolLine is the longest line that is read, in bytes. A tool use in a longer
	// one, such as a file of that size, is not found.
	toolLine = 4 << 20
	// outcomeText is how much of a result is kept, in bytes.
	outcomeText = 4 << 10
	// outcomes is how many outcomes are remembered: only the latest are asked for.
	outcomes = 64
)

// Tools follows the tool uses of a transcript as it grows. The zero value with a
// Path begins near its end. It is not safe for use by several goroutines.
type Tools struct {
	Path string

	begun  bool
	grown  bool  // what is read now was appended since
	at     int64 // up to where it was read
	open   []ToolUse
	recent []ToolUse // settled since the first Read
	done   map[string]Outcome
	order  []string // of done
}

// Read takes in what was appended. A missing file has nothing; one that became
// shorter was rewritten and is read anew.
func (t *Tools) Read() error {
	f, err := os.Open(t.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the transcript: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read the transcript: %w", err)
	}
	if st.Size() == t.at {
		return nil
	}
	t.grown = t.begun
	if !t.begun || st.Size() < t.at {
		t.begun, t.open = true, nil
		if t.at = max(st.Size()-toolTail, 0); t.at > 0 {
			t.at = lineAfter(f, t.at)
		}
	}
	return t.readFrom(f, st.Size())
}

// lineAfter is where the first whole line begins behind an offset.
func lineAfter(f *os.File, at int64) int64 {
	r := jsonl.NewReader(io.NewSectionReader(f, at, toolTail), toolLine)
	l, err := r.Next()
	if err != nil {
		return at
	}
	return at + l.Size + 1
}

func (t *Tools) readFrom(f *os.File, size int64) error {
	r := jsonl.NewReader(io.NewSectionReader(f, t.at, size-t.at), toolLine)
	for from := t.at; ; {
		l, err := r.Next()
		if errors.Is(err, io.EOF) || err == nil && l.Torn { // it is being written
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the transcript: %w", err)
		}
		t.at = from + l.Offset + l.Size + 1
		if !l.Long && (bytes.Contains(l.Bytes, []byte(`"tool_use"`)) || bytes.Contains(l.Bytes, []byte(`"tool_result"`))) {
			t.line(l.Bytes)
		}
	}
}

// toolLineOf are the fields of a line that matter here.
type toolLineOf struct {
	Type    string `json:"type"`
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	ToolUseResult      json.RawMessage `json:"toolUseResult"`
	PermissionDecision struct {
		Source string `json:"source"`
	} `json:"permissionDecision"`
}

// toolBlock is a block of a message.
type toolBlock struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// line takes in a line of the transcript. What is no message counts for nothing.
func (t *Tools) line(b []byte) {
	var l toolLineOf
	if json.Unmarshal(b, &l) != nil || l.Type != "assistant" && l.Type != "user" {
		return
	}
	var blocks []toolBlock
	if json.Unmarshal(l.Message.Content, &blocks) != nil {
		return
	}
	for _, k := range blocks {
		switch {
		case k.Type == "tool_use" && l.Type == "assistant" && k.ID != "":
			t.open = append(t.open, ToolUse{ID: k.ID, Name: k.Name, Input: bytes.Clone(k.Input)})
		case k.Type == "tool_result" && l.Type == "user":
			t.settle(k.ToolUseID, outcomeOf(l, k))
		}
	}
}

func (t *Tools) settle(id string, o Outcome) {
	for i := range t.open {
		if t.open[i].ID == id {
			if t.recent = append(t.recent, t.open[i]); !t.grown {
				t.recent = nil
			}
			t.recent = t.recent[max(len(t.recent)-outcomes, 0):]
			t.open = append(t.open[:i:i], t.open[i+1:]...)
			break
		}
	}
	if t.done == nil {
		t.done = make(map[string]Outcome)
	}
	if _, known := t.done[id]; !known {
		if t.order = append(t.order, id); len(t.order) > outcomes {
			delete(t.done, t.order[0])
			t.order = t.order[1:]
		}
	}
	t.done[id] = o
}

// rejected is how Claude Code says in a result that a person refused a tool use
// at the screen (seen with 2.1.332); Esc gives the same.
const (
	rejectedResult = `"User rejected tool use"`
	rejectedText   = "The user doesn't want to proceed with this tool use."
)

func outcomeOf(l toolLineOf, k toolBlock) Outcome {
	o := Outcome{Text: resultText(k.Content), Failed: k.IsError, Source: l.PermissionDecision.Source}
	o.Rejected = o.Failed && !o.ByHook() && (string(l.ToolUseResult) == rejectedResult || strings.HasPrefix(o.Text, rejectedText))
	return o
}

// resultText is a result as text: a string, or the first text of its blocks.
func resultText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		var blocks []struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(raw, &blocks) != nil || len(blocks) == 0 {
			return ""
		}
		s = blocks[0].Text
	}
	return strings.ToValidUTF8(s[:min(len(s), outcomeText)], "")
}

// Outcome is what became of a tool use; ok is false while it has no result.
func (t *Tools) Outcome(id string) (o Outcome, ok bool) {
	o, ok = t.done[id]
	return o, ok && id != ""
}

// Find is the tool use without a result that has this name and input, and that
// taken does not claim for another: of several that are equal, the first, as
// they are asked about in their order. One that got its result since the first
// Read is as good. What a hook is given was normalised (fields reordered,
// defaults added), so one of that name is enough, if there is one alone.
func (t *Tools) Find(name string, input []byte, taken func(id string) bool) (u ToolUse, ok bool) {
	var same []ToolUse
	want := decoded(input)
	for _, u := range append(t.open[:len(t.open):len(t.open)], t.recent...) {
		if u.Name != name || taken != nil && taken(u.ID) {
			continue
		}
		if reflect.DeepEqual(decoded(u.Input), want) {
			return u, true
		}
		same = append(same, u)
	}
	if len(same) == 1 {
		return same[0], true
	}
	return ToolUse{}, false
}

func decoded(b []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(b)
	}
	return v
}
