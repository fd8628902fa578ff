//go:build realherdr && realclaude

package session

import (
	"os"
	"path/filepath"
	"testing"

	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/herdr/herdrtest"
)

// realRoom is a real herdr with the real Claude Code.
func realRoom(t *testing.T) *room {
	t.Helper()
	root, err := os.MkdirTemp("", "rs") // short, for socket paths
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(root, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	// Sessions must ask before they run anything.
	script := "#!/bin/sh\nexec '" + claudetest.RealBin(t) + "' --permission-mode default \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s := herdrtest.NewProgram(t, root, append(claudetest.RealEnv(claudetest.MessagesAPI(t)), "PATH="+bin+":"+os.Getenv("PATH"))...)
	t.Cleanup(func() {
		s.Stop()
		claudetest.End(t, claudetest.RealBin(t), s.Home())
		os.RemoveAll(root)
	})
	claudetest.RealHome(t, s.Home(), s.Home())
	s.Run("integration", "install", "claude")
	s.Start()
	return roomAt(t, s)
}

// 200 messages to a real Claude Code in a real herdr while a person acts.
func TestRealHerdrRandomTries(t *testing.T) { realRoom(t).tries(200) }
