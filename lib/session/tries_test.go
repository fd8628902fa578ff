package session

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/herdr/herdrtest"
)

// act is something that a person does to a session, and how it is undone.
type act struct {
	name string
	do   func(r *room)
}

// acts are what a person may do at the very moment at which a message comes.
// Whatever was typed by then is theirs.
func acts() []act {
	enter := func(line string) func(r *room) { return func(r *room) { r.enters(line) } }
	return []act{
		{"nothing", func(*room) {}},
		{"a prompt", enter("hello [[sleep 300]]")},
		{"half a line", func(r *room) { r.types("a draft") }},
		{"a shell command, half typed", func(r *room) { r.types("!echo") }},
		{"a permission prompt", enter(`[[tool Bash {"command":"touch approved","description":"make a file"}]] [[say Done.]]`)},
		{"a dialog", enter("/status")},
		{"/clear", enter("/clear")},
		{"/exit", enter("/exit")},
	}
}

// raceTime is how long after a person's key it may not have shown its effect:
// what is typed within it cannot be told from nothing. /exit takes Claude Code
// half a second (finding 36).
func raceTime(name string) time.Duration {
	if name == "/exit" || name == "/clear" {
		return 900 * time.Millisecond
	}
	return 300 * time.Millisecond
}

// tries sends messages while a person acts, and looks at where each went: into
// the session as it is, or nowhere. Those that met a person's key within its
// race time are counted, and may have gone wrong.
func (r *room) tries(n int) {
	wrong := map[string]int{}
	delivered, raced := 0, 0
	id := ""
	for i := range n {
		id = r.restored(id)
		a := acts()[rand.IntN(len(acts()))]
		ahead := rand.N(1200 * time.Millisecond)
		text := fmt.Sprintf("touch into-a-shell-%d", i)
		var typedAt time.Time
		a.do(r)
		acted := time.Now()
		Pause(r.t.Context(), ahead)
		s, err := r.desk.Say(r.t.Context(), id, text, func() error { typedAt = time.Now(); return nil })
		if err != nil {
			r.t.Fatal(err)
		}
		went := r.where(i, id, text)
		if s.Seen {
			delivered++
		}
		if s.Seen != (went == "") && s.Typed || went != "" {
			if s.Typed && typedAt.Sub(acted) < raceTime(a.name) {
				raced++
				wrong[a.name+": "+went]++
				continue
			}
			r.t.Errorf("try %d, %s, %s before: typed %v, seen %v, why %q; it went %s", i, a.name, typedAt.Sub(acted).Round(time.Millisecond), s.Typed, s.Seen, s.Gate.Why, went)
		}
	}
	r.t.Logf("%d tries: %d delivered; %d met a person's key within its race time and went wrong: %v", n, delivered, raced, wrong)
}

// where says into what wrong place a text went, "" when into none.
func (r *room) where(i int, id, text string) string {
	r.t.Helper()
	if _, err := os.Stat(filepath.Join(r.s.Home(), fmt.Sprintf("into-a-shell-%d", i))); err == nil {
		return "into a shell"
	}
	if _, err := os.Stat(filepath.Join(r.s.Home(), "approved")); err == nil {
		return "into a dialog, which it answered"
	}
	paths, err := filepath.Glob(filepath.Join(string(r.desk.Home), "projects", "*", "*.jsonl"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			r.t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if !strings.Contains(line, text) || !strings.Contains(line, `"type":"user"`) {
				continue
			}
			if !strings.HasPrefix(filepath.Base(p), id) {
				return "into another session"
			}
			if !carries([]byte(line), fold(text)) {
				return "behind a draft"
			}
		}
	}
	return ""
}

// restored is a session at its empty prompt: the one before, if what was left in
// it can be taken away, else a fresh one.
func (r *room) restored(id string) string {
	r.t.Helper()
	os.Remove(filepath.Join(r.s.Home(), "approved"))
	if id == "" {
		return r.fresh()
	}
	ctx := r.t.Context()
	client := r.s.Client()
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); Pause(ctx, 100*time.Millisecond) {
		switch g := r.desk.Gate(ctx, id); {
		case g.Answer == Open:
			return id
		case g.Reason == Blocked, g.Reason == Dialog:
			_ = client.SendKeys(ctx, r.pane, "esc") // looked at again
		case g.Reason == Draft, g.Reason == NotAPrompt:
			_ = client.SendKeys(ctx, r.pane, "ctrl+u", "backspace")
		case g.Reason == Absent:
			return r.fresh()
		}
	}
	return r.fresh()
}

// fresh is a session at its empty prompt, in a pane of its own: the one before is
// closed with all that was left in it.
func (r *room) fresh() string {
	r.t.Helper()
	old := r.pane
	r.pane = r.open()
	if err := r.s.Client().ClosePane(r.t.Context(), old); err != nil {
		r.t.Fatal(err)
	}
	return r.claude()
}

// A message in the middle of what a person does goes into its session, or
// nowhere.
func TestRandomTries(t *testing.T) {
	r := roomAt(t, herdrtest.Start(t, herdrtest.WithPath(claudetest.Build(t))))
	r.tries(20)
}
