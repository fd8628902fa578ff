//go:build soak && realclaude

package e2e

import "testing"

// The real Claude Code, 200 times.
func TestSoakRealClaudePersonAndAnswerAtOnce(t *testing.T) {
	w := newWorld(t)
	f := flowIn(t, w, realClaude(t, w))
	f.command = manualClaude
	defer f.showFailure()
	f.atOnce(200)
}
