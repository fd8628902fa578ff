package digest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/record"
)

// digestOf digests lines.
func digestOf(t *testing.T, lines ...string) record.Digest {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := File(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What a person said, and what only looks like it. Forms without a note were
// seen in transcripts of Claude Code 2.1.332.
func TestPrompts(t *testing.T) {
	user := func(content, more string) string {
		return `{"isSidechain":false,"type":"user","message":{"role":"user","content":` + content + `}` + more + `}`
	}
	const human = `,"origin":{"kind":"human"},"promptSource":"typed","turnOrigin":"human"`
	for _, c := range []struct{ name, line, want string }{
		{"typed", user(`"fix the parser"`, human), "fix the parser"},
		{"claude -p", user(`"hello"`, `,"promptSource":"sdk","turnOrigin":"sdk"`), "hello"},
		{"an older version", user(`"hello"`, ``), "hello"},
		{"two lines", user(`"one\n\ttwo"`, human), "one two"},
		{"blocks", user(`[{"type":"text","text":"one"},{"type":"text","text":"two"}]`, human), "one two"},
		{"a tag that a person typed", user(`"<div> is closed twice"`, human), "<div> is closed twice"},
		{"with an image", user(`[{"type":"text","text":"[Image #1] why?"},{"type":"image","source":{"data":"AAAA"}}]`, human), "[Image #1] why?"},
		{"an image alone", user(`[{"type":"image","source":{"data":"AAAA"}}]`, human), "[image]"},
		{"pasted", user(`"see \n\n<pasted_content id=\"3b2e\">\nline 0\nline 1\n</pasted_content id=\"3b2e\">\n please"`, human), "see line 0 line 1 please"},
		{"only pasted", user(`"\n\n<pasted_content id=\"6ef3\">\na\nb\n</pasted_content id=\"6ef3\">\n"`, human), "a b"},
		{"a skill", user(`"<command-message>rev</command-message>\n<command-name>/rev</command-name>\n<command-args>foo bar</command-args>"`, human), "/rev foo bar"},
		{"a skill without arguments", user(`"<command-message>rev</command-message>\n<command-name>/rev</command-name>"`, human), "/rev"},
		{"said while it worked", `{"attachment":{"type":"queued_command","prompt":"and the tests","commandMode":"prompt","origin":{"kind":"human"}},"type":"attachment"}`, "and the tests"},
		{"control characters", user(`"a\u001b[31mred\u001b[0m\u202eb"`, human), "aredb"},
		{"beside what an editor has open", user(`[{"type":"text","text":"<ide_opened_file>x.go</ide_opened_file>"},{"type":"text","text":"fix it"}]`, human), "fix it"},

		{"a tool's result", user(`[{"tool_use_id":"t","type":"tool_result","content":"ok"}]`, `,"toolUseResult":{"type":"text"}`), ""},
		{"a tool's result without its structure", user(`[{"tool_use_id":"t","type":"tool_result","content":"ok"},{"type":"text","text":"x"}]`, ``), ""},
		{"a tool's result behind a text", user(`[{"type":"text","text":"x"},{"tool_use_id":"t","type":"tool_result","content":"ok"}]`, ``), ""},
		{"meta", user(`"Continue from where you left off."`, `,"isMeta":true`), ""},
		{"a subagent's task", strings.Replace(user(`"look around"`, ``), `"isSidechain":false`, `"isSidechain":true`, 1), ""},
		{"automatic continuation", user(`"Your limit has reset."`, `,"origin":{"kind":"auto-continuation"},"promptSource":"system"`), ""},
		{"a task's notice", user(`"<task-notification>\n<task-id>a</task-id>"`, `,"origin":{"kind":"task-notification"},"promptSource":"system","turnOrigin":"task_notification"`), ""},
		{"a task's notice without origin", user(`"<task-notification>\n<task-id>a</task-id>"`, ``), ""},
		{"another session", user(`"do it"`, `,"origin":{"kind":"peer"}`), ""},
		{"the system's own turn", user(`"do it"`, `,"turnOrigin":"scheduled"`), ""},
		{"a compact's summary", user(`"This session is being continued"`, `,"isVisibleInTranscriptOnly":true,"isCompactSummary":true`), ""},
		{"a summary of an older version", user(`"This session is being continued"`, `,"isCompactSummary":true`), ""},
		{"for the eyes only", user(`"x"`, `,"isVisibleInTranscriptOnly":true`), ""},
		{"virtual", user(`"x"`, `,"isVirtual":true`), ""},
		{"a tool's result as a string", user(`"x"`, `,"toolUseResult":"x"`), ""},
		{"a local command", user(`"<command-name>/model</command-name>\n            <command-message>model</command-message>"`, ``), ""},
		{"its output", user(`"<local-command-stdout>Set model</local-command-stdout>"`, ``), ""},
		{"its caveat", user(`"<local-command-caveat>The command below"`, ``), ""},
		{"a shell command", user(`"<bash-input>ls</bash-input>"`, ``), ""},
		{"its output", user(`"<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"`, `,"turnOrigin":"human"`), ""},
		{"interrupted", user(`[{"type":"text","text":"[Request interrupted by user for tool use]"}]`, ``), ""},
		{"a reminder", user(`[{"type":"text","text":"<system-reminder>\nx</system-reminder>"}]`, ``), ""},
		{"a notice said while it worked", `{"attachment":{"type":"queued_command","prompt":"<task-notification>","commandMode":"task-notification","origin":{"kind":"task-notification"}},"type":"attachment"}`, ""},
		{"a hook's output", `{"attachment":{"type":"hook_additional_context","content":["use tabs"]},"type":"attachment"}`, ""},
		{"blank", user(`"  \n"`, human), ""},
		{"no content", user(`null`, human), ""},
		{"a type inside a string", `{"type":"system","x":"\"type\":\"user\",\"message\":{\"content\":\"fooled\"}"}`, ""},
		{"a type inside an object", `{"x":{"type":"user"},"message":{"content":"fooled"}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := record.Digest{FirstPrompt: c.want, LastPrompt: c.want}
			if c.want != "" {
				want.Turns = 1
			}
			d := digestOf(t, c.line)
			if d.FirstPrompt != want.FirstPrompt || d.LastPrompt != want.LastPrompt || d.Turns != want.Turns {
				t.Errorf("%d turns, first %q, last %q", d.Turns, d.FirstPrompt, d.LastPrompt)
			}
		})
	}
}

func TestTextsAreCut(t *testing.T) {
	long := strings.Repeat("äöü ", 10_000)
	d := digestOf(t,
		`{"type":"user","message":{"content":"`+long+`"}}`,
		`{"type":"assistant","message":{"id":"m","model":"opus","content":[{"type":"text","text":"`+long+`"}]}}`,
		`{"type":"custom-title","customTitle":"`+long+`"}`,
		`{"type":"system","subtype":"away_summary","content":"`+long+`"}`)
	for name, c := range map[string]struct {
		s string
		n int
	}{"prompt": {d.LastPrompt, 200}, "reply": {d.LastReply, 200}, "title": {d.Title, 200}, "recap": {d.Recap, 600}} {
		if n := len([]rune(c.s)); n > c.n || n < c.n-1 || !strings.HasSuffix(c.s, "…") {
			t.Errorf("%s: %d characters, %q", name, n, c.s)
		}
	}
}

// The blocks of a reply share its id and repeat its usage, the last one whole.
// Results of tools stand between them, and lines may come out of turn.
func TestTokensCountAReplyOnce(t *testing.T) {
	block := func(id string, in, out, read, write string) string {
		return `{"type":"assistant","message":{"id":"` + id + `","model":"opus","content":[],"usage":{"input_tokens":` + in + `,"output_tokens":` + out +
			`,"cache_read_input_tokens":` + read + `,"cache_creation_input_tokens":` + write + `,"cache_creation":{"ephemeral_5m_input_tokens":9}}}}`
	}
	d := digestOf(t,
		block("a", "1", "1", "10", "100"), `{"type":"user","toolUseResult":{},"message":{"content":[]}}`, block("a", "1", "5", "10", "100"),
		block("b", "2", "2", "20", "200"), block("a", "1", "7", "10", "100"), block("b", "2", "9", "20", "200"),
		block("c", "-5", "1e3", "99999999999999999999", `"many"`), // no counts
		strings.Replace(block("d", "50", "50", "50", "50"), `{"type"`, `{"isSidechain":true,"type"`, 1),
		strings.Replace(block("e", "50", "50", "50", "50"), "opus", "<synthetic>", 1),
		strings.Replace(block("f", "50", "50", "50", "50"), `{"type"`, `{"isApiErrorMessage":true,"type"`, 1))
	if want := (record.Tokens{In: 3, Out: 16, CacheRead: 30, CacheWrite: 300}); d.Tokens != want {
		t.Errorf("%+v, want %+v", d.Tokens, want)
	}
}

func TestRepliesAndModel(t *testing.T) {
	say := func(id, model, content, more string) string {
		return `{"type":"assistant","message":{"id":"` + id + `","model":"` + model + `","content":` + content + `}` + more + `}`
	}
	text := func(s string) string { return `[{"type":"text","text":"` + s + `"}]` }
	for _, c := range []struct {
		name         string
		lines        []string
		reply, model string
	}{
		{"the last with text", []string{say("a", "opus", text("one"), ""), say("b", "opus", text("two"), ""), say("c", "sonnet", `[{"type":"tool_use","input":{"text":"no"}}]`, "")}, "two", "sonnet"},
		{"blocks of one", []string{say("a", "opus", text("one"), ""), say("a", "opus", `[{"type":"thinking","thinking":"hm"}]`, ""), say("a", "opus", text("two"), "")}, "one two", "opus"},
		{"a string", []string{say("a", "opus", `"said"`, "")}, "said", "opus"},
		{"no content", []string{say("a", "opus", text("one"), ""), say("b", "opus", text("(no content)"), "")}, "one", "opus"},
		{"an error of the API", []string{say("a", "opus", text("one"), ""), say("b", "<synthetic>", text("API Error: 529"), `,"isApiErrorMessage":true`)}, "one", "opus"},
		{"the program's own", []string{say("a", "opus", text("one"), ""), say("b", "<synthetic>", text("No response requested."), "")}, "one", "opus"},
		{"a subagent's", []string{say("a", "opus", text("one"), ""), say("b", "haiku", text("sub"), `,"isSidechain":true`)}, "one", "opus"},
		{"none", nil, "", ""},
	} {
		d := digestOf(t, c.lines...)
		if d.LastReply != c.reply || d.Model != c.model {
			t.Errorf("%s: %q by %q", c.name, d.LastReply, d.Model)
		}
	}
	// More of a reply that is cut already is not put behind its ellipsis.
	long := strings.Repeat("word ", 39) + "fou " // it is cut at a space, and so is shorter than it might be
	d := digestOf(t, say("a", "opus", text(long+"x and more"), ""), say("a", "opus", text("END"), ""))
	if !strings.HasSuffix(d.LastReply, " fou…") {
		t.Errorf("%q", d.LastReply)
	}
}

func TestTitleBranchAndTime(t *testing.T) {
	at := func(s, branch string) string {
		return `{"type":"system","timestamp":"` + s + `","gitBranch":"` + branch + `"}`
	}
	d := digestOf(t, `{"type":"custom-title","customTitle":"mine"}`, `{"type":"ai-title","aiTitle":"made"}`,
		at("2026-11-30T20:00:00.123Z", "main"), at("2026-11-30T21:00:00.5+01:00", "fix/a"), at("not a time", "fix/a"),
		`{"type":"user","isSidechain":true,"timestamp":"2026-11-30T23:00:00Z","gitBranch":"sub"}`)
	if d.Title != "mine" || d.GitBranch != "fix/a" || d.UpdatedAt.String() != "2026-11-30T20:00:00.500Z" {
		t.Errorf("%q %q %s", d.Title, d.GitBranch, d.UpdatedAt)
	}
	d = digestOf(t, `{"type":"custom-title","customTitle":"mine"}`, `{"type":"ai-title","aiTitle":"made"}`, `{"type":"custom-title","customTitle":""}`,
		at("2026-11-30T20:00:00Z", "main"), at("2026-11-30T20:00:00Z", "HEAD"))
	if d.Title != "made" || d.GitBranch != "" {
		t.Errorf("%q %q", d.Title, d.GitBranch)
	}
	// Without a message the file's own time counts.
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if d, err := File(t.Context(), path, ""); err != nil || d.UpdatedAt.Year() != 2000 {
		t.Errorf("%+v, %v: the hub would refuse it", d, err)
	}
	if err := os.Chtimes(path, time.Time{}, st.ModTime()); err != nil {
		t.Fatal(err)
	}
	d, err = File(t.Context(), path, "  a \x1b[1mhint ")
	if err != nil || d.UpdatedAt != record.At(st.ModTime()) || d.Title != "a hint" {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestRecaps(t *testing.T) {
	answer := func(s, more string) string {
		return `{"type":"system","subtype":"local_command","content":"<local-command-stdout>` + s + `</local-command-stdout>","commandRun":{"command":"recap","args":""}` + more + `}`
	}
	away := func(s string) string { return `{"type":"system","subtype":"away_summary","content":"` + s + `"}` }
	compact := `{"type":"user","isCompactSummary":true,"message":{"content":"This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\n` +
		`<system-reminder>\n<tools-used-before-summary>Bash</tools-used-before-summary>\n</system-reminder>\nSummary:\n1. Primary Request: lists"}}`
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"away", []string{away("Half is done. (turn off recaps in /config)")}, "Half is done."},
		{"asked for", []string{answer("Half is done.", "")}, "Half is done."},
		{"a compact's summary", []string{compact}, "1. Primary Request: lists"},
		{"the last one", []string{compact, away("Half is done."), answer("All is done.", "")}, "All is done."},
		{"one that failed", []string{away("Half is done."), answer("API Error: 400", `,"commandOutcome":{"kind":"failed"}`)}, "Half is done."},
		{"too early", []string{answer("Nothing to recap yet — send a message first.", "")}, ""},
		{"cancelled", []string{away("Half is done."), answer("Recap cancelled.", "")}, "Half is done."},
		{"another command", []string{strings.Replace(answer("Set model", ""), `"recap"`, `"model"`, 1)}, ""},
		{"none", []string{`{"type":"system","subtype":"informational","content":"x"}`}, ""},
	} {
		if d := digestOf(t, c.lines...); d.Recap != c.want {
			t.Errorf("%s: %q, want %q", c.name, d.Recap, c.want)
		}
	}
}
