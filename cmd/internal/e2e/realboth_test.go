//go:build realherdr && realclaude

package e2e

import (
	"os/exec"
	"testing"
)

// The real Claude Code in a real herdr.
func TestRealHerdrRealClaude(t *testing.T) {
	f, r := realBoth(t)
	f.claudeJob()
	f.claudeRestart(r)
}

func TestRealHerdrRealClaudeControl(t *testing.T) {
	f, _ := realBoth(t)
	f.controlJob(realWork, realAsk)
}

func TestRealHerdrRealClaudeAsks(t *testing.T) {
	f, _ := realBoth(t)
	f.asksJob()
}

// realBoth is a flow with nothing but the programs themselves.
func realBoth(t *testing.T) (*flow, *real) {
	t.Helper()
	w := newWorld(t)
	env := realClaude(t, w)
	r := &real{w: w, env: env}
	r.begin(t)
	// herdr resumes a conversation after a restart only when its own hook told
	// it the id.
	install := exec.Command(r.path, "integration", "install", "claude")
	install.Env = env
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("integration install: %v\n%s", err, out)
	}
	f := &flow{t: t, w: w, h: w.Herdr(), server: r, command: manualClaude}
	t.Cleanup(f.showFailure)
	return f, r
}

// claudeRestart: restarting herdr neither brings an ended session back nor
// loses a live one. herdr itself resumes the conversation.
func (f *flow) claudeRestart(server herdrServer) {
	pane, session := f.startClaude()
	f.typeLine(pane, "hello")
	f.until("it has a turn behind it", func() bool {
		s, err := f.w.Session(session)
		return err == nil && len(s.Events) > 1
	})
	f.untilState(session, "done", "idle")
	f.restart(server, pane, session)
}
