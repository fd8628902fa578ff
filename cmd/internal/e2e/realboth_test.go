//go:build realherdr && realclaude

package e2e

import (
	"os/exec"
	"testing"
)

// The real Claude Code in a real herdr.
func TestRealHerdrRealClaude(t *testing.T) {
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
	f := &flow{t: t, w: w, h: w.Herdr(), command: manualClaude}
	defer func() {
		if t.Failed() {
			f.screens()
		}
	}()
	f.claudeJob()
	f.claudeRestart(r)
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
