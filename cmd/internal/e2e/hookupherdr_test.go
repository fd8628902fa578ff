//go:build realherdr && realclaude

package e2e

import (
	"os"
	"testing"
)

// The whole story with a real herdr and the real Claude Code: make install,
// shinstall, a session, the doctor, and away again.
func TestRealHerdrHookUp(t *testing.T) {
	bin := os.Getenv("HERDR")
	if bin == "" {
		t.Fatal("HERDR names no herdr: use make test-herdr HERDR=/path/to/herdr")
	}
	n := newNewcomer(t, bin)
	n.install()
	n.story()
}
