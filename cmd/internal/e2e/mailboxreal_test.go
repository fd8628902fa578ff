//go:build realclaude

package e2e

import "testing"

func TestRealClaudeMailbox(t *testing.T) {
	w := newWorld(t)
	env := realClaude(t, w)
	f := flowIn(t, w, env)
	f.command = manualClaude
	defer f.showFailure()
	f.post(env, "--permission-mode", "default").mailboxJob("slow [[sleep 3000]]")
}
