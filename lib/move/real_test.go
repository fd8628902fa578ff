//go:build realclaude

package move

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/herdr/herdrtest"
	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/record"
)

// realBin is a folder with the real Claude Code, which may edit files.
func realBin(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	script := "#!/bin/sh\n[ \"$1\" = --version ] && exec '" + claudetest.RealBin(t) + "' --version\n" +
		"exec '" + claudetest.RealBin(t) + "' --permission-mode acceptEdits --allowedTools 'Bash(sleep *)' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return bin
}

// The real Claude Code in panes of the double.
func TestRealClaudeMoves(t *testing.T) {
	api := claudetest.StartMessages(t)
	thereAndBack(t, api, func(string) (server, string) {
		bin := realBin(t)
		s := herdrtest.Start(t, herdrtest.WithPath(bin), herdrtest.WithEnv(claudetest.RealEnv(api.URL)...))
		t.Cleanup(func() { claudetest.End(t, claudetest.RealBin(t), s.Home()) })
		return s, bin
	})
}

// asked reports whether the model was asked with both texts in one conversation.
func asked(api *claudetest.Messages, prompt, earlier string) bool {
	for _, r := range api.Requests() {
		if strings.Contains(r.Prompt, prompt) && bytes.Contains(r.Body, []byte(earlier)) {
			return true
		}
	}
	return false
}

// thereAndBack moves a session with an edit, a subagent, a large result and a
// background task there and back, twice; each time the next prompt knows the
// whole conversation, the work tree is the same, and rewinding works.
func thereAndBack(t *testing.T, api *claudetest.Messages, make maker) {
	p := newPairAt(t, hubtest.Start(t), make)
	timing := func(m *machine) { m.desk().Timing.Exit = 30 * time.Second }
	timing(p.tower)
	timing(p.laptop)
	edited := filepath.Join(p.tower.clone, "edited.txt")
	p.write(p.tower.clone, "edited.txt", "as it was\n")
	p.git(p.tower.clone, "add", "edited.txt")
	p.git(p.tower.clone, "commit", "-q", "-m", "two")
	p.git(p.tower.clone, "push", "-q")
	id := p.tower.claude("remember the number 4711")
	p.tower.say(id, `edit [[tool Read {"file_path":"`+edited+`"}]] [[tool Write {"file_path":"`+edited+`","content":"as Claude wrote it\n"}]] [[say Edited.]]`)
	p.tower.say(id, `agent [[tool Agent {"description":"look","subagent_type":"general-purpose","prompt":"look around <<say Nothing there.>>"}]] [[say Looked.]]`)
	p.tower.say(id, `background [[tool Bash {"command":"sleep 600","description":"long","run_in_background":true}]] [[say Started.]]`)
	p.tower.dirty()
	before := strings.Replace(p.tower.status(), "? .env\n", "", 1)

	from, to := p.tower, p.laptop
	for round := 1; round <= 4; round++ {
		took := time.Now()
		mv := p.move(id, record.MovePost{To: to.name, StopBackground: round == 1})
		if mv.State != record.MoveDone || p.runs(id) != to.name || p.transcripts(id) != to.name {
			t.Fatalf("round %d: %+v\nit runs at %q, transcripts at %q\ntower %+v\nlaptop %+v", round, mv, p.runs(id), p.transcripts(id), p.tower.steps, p.laptop.steps)
		}
		t.Logf("round %d: %s after %s", round, mv.Detail, time.Since(took).Round(time.Millisecond))
		if got := strings.Replace(to.status(), "? .env\n", "", 1); got != before {
			t.Errorf("round %d: the status is\n%s\nwant\n%s", round, got, before)
		}
		word := "what was it, round " + string(rune('0'+round)) + "?"
		to.say(id, word)
		if !asked(api, word, "remember the number 4711") {
			t.Errorf("round %d: the model did not get the conversation", round)
		}
		agents, err := filepath.Glob(filepath.Join(to.end.Home.Project(to.clone), id, "subagents", "*.jsonl"))
		if err != nil || len(agents) == 0 {
			t.Errorf("A38: round %d: the subagent's transcript is gone: %v", round, err)
		}
		from, to = to, from
	}
	from.rewinds(id)
}

// rewinds takes the work back to before the edit, by Claude's own list.
func (m *machine) rewinds(id string) {
	t := m.p.t
	t.Helper()
	g := m.desk().Gate(t.Context(), id)
	pane := g.PaneID
	keys := func(keys ...string) {
		if err := m.s.Client().SendKeys(t.Context(), pane, keys...); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(text string) {
		m.p.until("the screen shows "+text, func() bool { return strings.Contains(m.screen(pane), text) })
	}
	m.enters(pane, "/rewind")
	shows("Rewind")
	for !strings.Contains(selected(m.screen(pane)), "edit [[tool Read") {
		was := m.screen(pane)
		keys("up")
		m.p.until("the list moves", func() bool { return m.screen(pane) != was })
	}
	keys("enter")
	shows("Restore code")
	keys("enter")
	m.p.until("the file is as it was", func() bool {
		b, err := os.ReadFile(filepath.Join(m.clone, "edited.txt"))
		return err == nil && string(b) == "as it was\n"
	})
}

// selected is the line that a list's sign stands at.
func selected(screen string) string {
	for line := range strings.SplitSeq(screen, "\n") {
		if strings.Contains(line, "❯") {
			return line
		}
	}
	return ""
}
