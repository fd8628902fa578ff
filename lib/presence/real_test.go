//go:build realclaude

package presence

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/herdr"
	"sessionhub/lib/herdr/herdrtest"
	"sessionhub/lib/record"
)

// realRun is the real Claude Code in a pane.
type realRun struct {
	t    *testing.T
	s    server
	pane string
}

// newRealRun opens a pane of the double, without herdr's integration: herdr
// knows no session ids here, only the registry does.
func newRealRun(t *testing.T) *realRun {
	bin := t.TempDir()
	if err := os.Symlink(claudetest.RealBin(t), filepath.Join(bin, "claude")); err != nil {
		t.Fatal(err)
	}
	env := claudetest.RealEnv(claudetest.MessagesAPI(t))
	var home string
	s := herdrtest.Start(t, herdrtest.WithPath(bin), herdrtest.WithEnv(env...))
	home = s.Home()
	claudetest.RealHome(t, home, home)
	t.Cleanup(func() { claudetest.End(t, filepath.Join(bin, "claude"), home) })
	return openPane(t, s)
}

func openPane(t *testing.T, s server) *realRun {
	t.Helper()
	made, err := s.Client().CreateWorkspace(t.Context(), herdr.NewWorkspace{Cwd: s.Home()})
	if err != nil {
		t.Fatal(err)
	}
	r := &realRun{t: t, s: s, pane: made.RootPane.PaneID}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen:\n%s", r.screen())
		}
	})
	return r
}

func (r *realRun) claudeHome() claude.Home { return claude.Home(filepath.Join(r.s.Home(), ".claude")) }

func (r *realRun) screen() string {
	screen, err := r.s.Client().Read(context.Background(), herdr.ReadParams{PaneID: r.pane, Source: herdr.ReadVisible})
	if err != nil {
		return err.Error()
	}
	return screen.Text
}

func (r *realRun) shows(text string) {
	r.t.Helper()
	untilSaid(r.t, r.s, "the screen shows "+text, func(Verdict) bool { return strings.Contains(r.screen(), text) })
}

func (r *realRun) keys(keys ...string) {
	r.t.Helper()
	if err := r.s.Client().SendKeys(r.t.Context(), r.pane, keys...); err != nil {
		r.t.Fatal(err)
	}
}

// typed types a line, and Enter once it is shown: at once, Claude Code would
// take both for something pasted.
func (r *realRun) typed(line string) {
	r.t.Helper()
	if err := r.s.Client().SendText(r.t.Context(), r.pane, line); err != nil {
		r.t.Fatal(err)
	}
	shown := strings.TrimLeft(line, "! ") // a command's sign stands where the prompt's did
	r.shows(shown[:min(len(shown), 20)])
	r.keys("Enter")
}

// is waits until one session is in the state and, if differs is not "", has
// another id; it returns the id.
func (r *realRun) is(state record.AgentState, differs string) string {
	r.t.Helper()
	v := untilSaid(r.t, r.s, "it is "+string(state), func(v Verdict) bool {
		return len(v.Sessions) == 1 && len(v.Unidentified) == 0 && v.Sessions[0].Session != differs &&
			(v.Sessions[0].AgentState == state || state == record.Idle && v.Sessions[0].AgentState == record.Done)
	})
	return v.Sessions[0].Session
}

const anyID = ""

// shell waits until the pane's shell reads what is typed again: for a moment
// after its registry entry is gone, Claude still does.
func (r *realRun) shell() {
	r.t.Helper()
	untilSaid(r.t, r.s, "the shell is in front", func(v Verdict) bool {
		info, err := r.s.Client().ProcessInfo(r.t.Context(), r.pane)
		return err == nil && !v.at(r.pane) && info.ForegroundProcessGroupID == info.ShellPID
	})
}

// at says whether a session is in the pane.
func (v Verdict) at(pane string) bool {
	return slices.ContainsFunc(v.Sessions, func(s Session) bool { return s.PaneID == pane })
}

func TestRealClaudeThroughItsStates(t *testing.T) {
	r := newRealRun(t)
	r.typed("claude --permission-mode default")
	first := r.is(record.Idle, anyID)
	r.typed("hello [[sleep 1500]]")
	r.is(record.Working, anyID)
	if id := r.is(record.Idle, anyID); id != first {
		t.Errorf("the prompt changed the id from %s to %s", first, id)
	}
	r.typed(`ask [[tool Bash {"command":"touch x","description":"d"}]] [[say Done.]]`)
	r.is(record.Blocked, anyID)
	r.keys("escape")
	r.is(record.Idle, anyID)

	r.typed("/status") // a dialog, but nobody is asked (finding 13)
	r.shows("Esc to ")
	if id := r.is(record.Idle, anyID); id != first {
		t.Errorf("the dialog changed the id to %s", id)
	}
	r.keys("escape")
	untilSaid(t, r.s, "the dialog is closed", func(Verdict) bool { return !strings.Contains(r.screen(), "Esc to ") })

	r.typed("/clear")
	cleared := r.is(record.Idle, first)
	r.typed("one more [[sleep 1000]]") // a branch needs something to branch off
	r.is(record.Working, anyID)
	r.is(record.Idle, anyID)
	r.typed("/branch") // herdr is told nothing that it would follow (finding 2)
	branch := r.is(record.Idle, cleared)
	if branch == first {
		t.Errorf("the branch has the first session's id")
	}
	r.typed("/exit")
	untilSaid(t, r.s, "nobody is there", func(v Verdict) bool { return say(v) == "" })
}

// Finding 5: `claude -p` in a shell's pane is nobody's session, whatever herdr
// takes it for.
func TestRealHeadlessClaudeIsNobodys(t *testing.T) {
	r := newRealRun(t)
	r.typed("claude -p 'x [[sleep 4000]] [[say over now]]'")
	for end := time.Now().Add(60 * time.Second); !strings.Contains(r.screen(), "\nover now"); {
		if v := look(t, r.s); len(v.Sessions)+len(v.Outside) > 0 {
			t.Fatalf("taken for a session: %s", say(v))
		}
		if time.Now().After(end) {
			t.Fatal("it did not end")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Finding 4: Left on the empty line puts the session into the background,
// where it goes on under another id; herdr and the registry keep the old one.
func TestRealClaudeLeftForTheAgentsView(t *testing.T) {
	r := newRealRun(t)
	r.typed("claude")
	first := r.is(record.Idle, anyID)
	r.typed("before left [[sleep 1000]]")
	r.is(record.Working, anyID)
	r.is(record.Idle, anyID)
	r.keys("left")
	next := r.is(record.Idle, first)
	if v := look(t, r.s); len(v.Sessions) != 1 || !v.Sessions[0].Attached {
		t.Errorf("the pane only shows it: %s", say(v))
	}
	r.keys("ctrl+c")
	r.keys("ctrl+c")
	r.shell()

	// Taken up again, the old conversation is itself, whatever its transcript
	// says of the past, and whether or not Claude keeps the new one running.
	r.typed("claude --resume " + first)
	v := untilSaid(t, r.s, "a session is idle in the pane", func(v Verdict) bool {
		return len(v.Unidentified) == 0 && slices.ContainsFunc(v.Sessions, func(s Session) bool {
			return s.PaneID == r.pane && s.AgentState == record.Idle
		})
	})
	for _, s := range v.Sessions {
		if (s.PaneID == r.pane) != (s.Session == first) || s.PaneID != r.pane && s.Session != next {
			t.Errorf("resumed %s, gone on as %s, but it is said: %s", first, next, say(v))
		}
	}
}

// Finding 12: a background shell keeps herdr at working.
func TestRealClaudeWithABackgroundShell(t *testing.T) {
	r := newRealRun(t)
	r.typed("claude --allowedTools 'Bash(sleep *)'")
	r.is(record.Idle, anyID)
	r.typed(`bg [[tool Bash {"command":"sleep 60","description":"d","run_in_background":true}]] [[say Started.]]`)
	untilSaid(t, r.s, "it is idle with background work", func(v Verdict) bool {
		return len(v.Sessions) == 1 && v.Sessions[0].AgentState == record.Idle && v.Sessions[0].Background
	})
}
