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

func TestRealClaudeMailboxAtRandom(t *testing.T) {
	realRandom(t, 30)
}

func realRandom(t *testing.T, messages int) {
	w := newWorld(t)
	env := realClaude(t, w)
	f := flowIn(t, w, env)
	f.post(env, "--permission-mode", "default").atRandom(messages, "slow [[sleep 1000]]")
}
