//go:build realclaude

package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"sessionhub/cmd/internal/world"
	"sessionhub/lib/claude/claudetest"
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
