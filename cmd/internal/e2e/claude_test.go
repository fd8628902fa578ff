//go:build realclaude

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/cmd/internal/world"
	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/herdr"
	"sessionhub/lib/record"
)

// realClaude puts the real Claude Code in the place of the stand-in, in a home
// where it starts without asking, and returns the environment that it needs.
func realClaude(t *testing.T, w *world.World) []string {
	t.Helper()
	app := filepath.Join(w.Home, "Code", "app")
	claudetest.RealHome(t, w.Home, app)
	link := filepath.Join(w.Bin, "claude")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(claudetest.RealBin(t), link); err != nil {
		t.Fatal(err)
	}
	return w.Env(claudetest.RealEnv(claudetest.MessagesAPI(t))...)
}

// manualClaude starts Claude so that it asks before it runs a command.
const manualClaude = "claude --permission-mode default"

// claudeJob is what the real Claude Code is seen to do.
func (f *flow) claudeJob() {
	t := f.t
	pane, session := f.startClaude()
	f.untilState(session, record.Idle)

	f.typeLine(pane, "hello [[sleep 2000]]")
	f.untilState(session, record.Working)
	f.untilState(session, record.Done, record.Idle)

	f.typeLine(pane, `make it [[tool Bash {"command":"touch made-by-tool","description":"make a file"}]] [[say Done.]]`)
	f.untilState(session, record.Blocked)
	if err := f.h.SendKeys(ctx(t), pane, "escape"); err != nil {
		t.Fatal(err)
	}
	f.untilState(session, record.Done, record.Idle)

	f.typeLine(pane, "/clear")
	old := session
	began := time.Now()
	f.until("the new session is in "+pane, func() bool {
		for _, s := range f.sessions() {
			if s.Herdr != nil && s.Herdr.PaneID == pane && s.Session != old {
				session = s.Session
				return true
			}
		}
		return false
	})
	t.Logf("/clear: the new session is in the hub after %s", time.Since(began).Round(time.Millisecond))
	f.untilEnded(old)

	if err := f.h.ClosePane(ctx(t), pane); err != nil {
		t.Fatal(err)
	}
	f.untilEnded(session)
	f.books()
}

func TestRealClaudeInTheDouble(t *testing.T) {
	w := newWorld(t)
	f := flowIn(t, w, realClaude(t, w))
	f.command = manualClaude
	defer f.showFailure()
	f.claudeJob()
}

// What makes the real Claude Code work for long, and ask for permission.
const (
	realWork = "slow [[sleep 60000]]"
	realAsk  = `make it [[tool Bash {"command":"touch made-by-tool","description":"make a file"}]] [[say Done.]]`
)

func TestRealClaudeControlInTheDouble(t *testing.T) {
	w := newWorld(t)
	f := flowIn(t, w, realClaude(t, w))
	f.command = manualClaude
	defer f.showFailure()
	f.controlJob(realWork, realAsk)
}

func TestRealClaudeAsks(t *testing.T) {
	w := newWorld(t)
	f := flowIn(t, w, realClaude(t, w))
	f.command = manualClaude
	defer f.showFailure()
	f.asksJob()
}

func TestRealClaudePlans(t *testing.T) {
	w := newWorld(t)
	f := flowIn(t, w, realClaude(t, w))
	f.command = "claude --permission-mode plan"
	defer f.showFailure()
	f.plansJob()
}

// The plan lies in a file, as it does when a model wrote it. One that was
// changed after it was asked about is not approved from afar.
func TestRealClaudePlanInAFile(t *testing.T) {
	w := newWorld(t)
	f := flowIn(t, w, realClaude(t, w))
	f.command = "claude --permission-mode plan"
	defer f.showFailure()
	f.mayAnswer()
	pane, session := f.startClaude()
	f.untilState(session, record.Idle)
	f.prompt(pane, "hello there plan")
	var file string
	f.until("the transcript names the plan's file", func() bool {
		file = f.planFile()
		return file != ""
	})
	f.untilState(session, record.Idle, record.Done)
	f.prompt(pane, `plan it [[tool Write {"file_path":"`+file+`","content":"# In a file\n"}]] [[tool ExitPlanMode {}]] [[say Planned.]]`)
	a := f.open(session)
	if a.Plan != "# In a file\n" || !a.Answerable {
		t.Errorf("ask %+v", a)
	}
	if err := os.WriteFile(file, []byte("# Another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.asked(record.RequestFailed, "the plan was changed", "answer", session, "allow")
	if err := os.WriteFile(file, []byte("# In a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.asked(record.RequestDone, "answered", "answer", session, "allow")
	f.over(session, a, record.HowAnswered)
	if !f.heard("User has approved your plan") {
		t.Error("the plan was not approved")
	}
}

// planFile is where Claude Code tells the model to write its plan.
func (f *flow) planFile() string {
	paths, err := filepath.Glob(filepath.Join(f.w.Home, ".claude", "projects", "*", "*.jsonl"))
	if err != nil {
		f.t.Fatal(err)
	}
	begin := filepath.Join(f.w.Home, ".claude", "plans") + "/"
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			f.t.Fatal(err)
		}
		if _, rest, ok := strings.Cut(string(b), begin); ok {
			name, _, _ := strings.Cut(rest, ".md")
			return begin + name + ".md"
		}
	}
	return ""
}

// A subagent in the background runs its hooks before its dialog: nothing waits
// in front of it.
func TestRealClaudeSubagentInTheBackground(t *testing.T) {
	w := newWorld(t)
	f := flowIn(t, w, realClaude(t, w))
	f.command = manualClaude
	defer f.showFailure()
	f.mayAnswer()
	pane, session := f.startClaude()
	f.untilState(session, record.Idle)
	f.prompt(pane, `agents [[tool Agent {"description":"do","subagent_type":"general-purpose","prompt":"<<tool Bash {\"command\":\"touch by-agent; make x\",\"description\":\"x\"}>> <<say ok>>"}]]`)
	f.until("its dialog stands on the screen", func() bool {
		s, err := f.h.Read(ctx(t), herdr.ReadParams{PaneID: pane, Source: herdr.ReadVisible})
		return err == nil && strings.Contains(s.Text, "Do you want to proceed")
	})
	f.untilState(session, record.Blocked)
	f.until("no hook waits", func() bool { return f.waiters() == 0 })
	if f.made("by-agent") {
		t.Error("it ran unasked")
	}
}
