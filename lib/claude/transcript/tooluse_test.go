package transcript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	useA    = `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"A","name":"Bash","input":{"command":"rm x","description":"d"}}]}}`
	useB    = `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"B","name":"Bash","input":{"command":"rm y"}}]}}`
	useA2   = `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"A2","name":"Bash","input":{"command":"rm x","description":"d"}}]}}`
	useQ    = `{"type":"assistant","message":{"content":[{"type":"text","text":"hm"},{"type":"tool_use","id":"Q","name":"AskUserQuestion","input":{"questions":[]}}]}}`
	resA    = `{"type":"user","toolUseResult":{"stdout":""},"permissionDecision":{"decision":"accept","source":"hook"},"message":{"content":[{"type":"tool_result","tool_use_id":"A","content":[{"type":"text","text":"fine"}]}]}}`
	rejects = `{"type":"user","toolUseResult":"User rejected tool use","message":{"content":[{"type":"tool_result","tool_use_id":"B","is_error":true,"content":"The user doesn't want to proceed with this tool use. The tool use was rejected."}]}}`
	denied  = `{"type":"user","toolUseResult":"Error: no","permissionDecision":{"decision":"reject","source":"hook"},"message":{"content":[{"type":"tool_result","tool_use_id":"B","is_error":true,"content":"The user doesn't want to proceed with this tool use. (says the hook)"}]}}`
)

func grown(t *testing.T, lines ...string) *Tools {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &Tools{Path: path}
}

func (t *Tools) mustRead(tb testing.TB) {
	tb.Helper()
	if err := t.Read(); err != nil {
		tb.Fatal(err)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestAToolUseIsFoundByNameAndInput(t *testing.T) {
	for _, c := range []struct {
		name, tool, input string
		lines             []string
		taken             string
		want              string
	}{
		{"not the last one", "Bash", `{"description":"d","command":"rm x"}`, []string{useA, useB}, "", "A"},
		{"the last one", "Bash", `{"command":"rm y"}`, []string{useA, useB}, "", "B"},
		{"one that has a result is over", "Bash", `{"command":"rm x","description":"d"}`, []string{useA, resA, useA2}, "", "A2"},
		{"of equal ones the first", "Bash", `{"command":"rm x","description":"d"}`, []string{useA, useA2}, "", "A"},
		{"that no other ask has", "Bash", `{"command":"rm x","description":"d"}`, []string{useA, useA2}, "A", "A2"},
		{"input that was normalised", "AskUserQuestion", `{"questions":[],"x":false}`, []string{useA, useQ}, "", "Q"},
		{"which of several can't be told", "Bash", `{"command":"rm z"}`, []string{useA, useB}, "", ""},
		{"another tool", "Write", `{"command":"rm x","description":"d"}`, []string{useA}, "", ""},
		{"lines that are none", "Bash", `{"command":"rm y"}`, []string{`{"tool_use"`, `null`, `{"type":"assistant","message":{"content":"\"tool_use\""}}`, useB}, "", "B"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools := grown(t, c.lines...)
			tools.mustRead(t)
			u, ok := tools.Find(c.tool, []byte(c.input), func(id string) bool { return id == c.taken })
			if u.ID != c.want || ok != (c.want != "") {
				t.Errorf("got %q, %v, want %q", u.ID, ok, c.want)
			}
		})
	}
}

func TestOutcomes(t *testing.T) {
	tools := grown(t, useA, useB)
	tools.mustRead(t)
	if _, ok := tools.Outcome("A"); ok {
		t.Error("A has an outcome before its result")
	}
	appendTo(t, tools.Path, resA+"\n"+rejects[:40])
	tools.mustRead(t)
	if o, ok := tools.Outcome("A"); !ok || !o.ByHook() || o.Rejected || o.Text != "fine" {
		t.Errorf("A: %+v, %v", o, ok)
	}
	if _, ok := tools.Outcome("B"); ok {
		t.Error("a line that is being written counted")
	}
	appendTo(t, tools.Path, rejects[40:]+"\n")
	tools.mustRead(t)
	if o, ok := tools.Outcome("B"); !ok || !o.Rejected || !o.Failed {
		t.Errorf("B: %+v, %v", o, ok)
	}
	if err := os.WriteFile(tools.Path, []byte(useB+"\n"+denied+"\n"), 0o600); err != nil { // rewritten, shorter
		t.Fatal(err)
	}
	tools.mustRead(t)
	if o, _ := tools.Outcome("B"); o.Rejected || !o.ByHook() || !o.Failed {
		t.Errorf("a hook's denial: %+v", o)
	}
	if _, ok := tools.Outcome(""); ok {
		t.Error("no id has an outcome")
	}
}

// A tool use may come with its result, when a hook answers at once.
func TestAToolUseThatIsOverAlreadyIsFound(t *testing.T) {
	tools := grown(t, useB, rejects)
	tools.mustRead(t)
	if u, ok := tools.Find("Bash", []byte(`{"command":"rm y"}`), nil); ok {
		t.Errorf("one from before was found: %+v", u)
	}
	appendTo(t, tools.Path, useA+"\n"+resA+"\n")
	tools.mustRead(t)
	u, ok := tools.Find("Bash", []byte(`{"command":"rm x","description":"d"}`), nil)
	if _, over := tools.Outcome(u.ID); !ok || !over || u.ID != "A" {
		t.Errorf("%+v, %v, %v", u, ok, over)
	}
}

func TestToolsOfALongTranscript(t *testing.T) {
	filler := `{"type":"user","message":{"content":"` + strings.Repeat("x", 1<<20) + `"}}`
	lines := []string{useA}
	for range 12 {
		lines = append(lines, filler)
	}
	tools := grown(t, append(lines, useB)...)
	tools.mustRead(t)
	if _, ok := tools.Find("Bash", []byte(`{"command":"rm y"}`), nil); !ok || len(tools.open) != 1 {
		t.Errorf("found %v, open %d: only the end is read", ok, len(tools.open))
	}
	if err := (&Tools{Path: filepath.Join(t.TempDir(), "none")}).Read(); err != nil {
		t.Errorf("a transcript that is not there yet: %v", err)
	}
}
