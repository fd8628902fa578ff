//go:build realclaude && realherdr

package move

import (
	"os"
	"testing"

	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/herdr/herdrtest"
)

// Two real herdrs with the real Claude Code.
func TestRealHerdrMoves(t *testing.T) {
	api := claudetest.StartMessages(t)
	thereAndBack(t, api, func(string) (server, string) {
		root, err := os.MkdirTemp("", "mv") // short, for socket paths
		if err != nil {
			t.Fatal(err)
		}
		bin := realBin(t)
		s := herdrtest.NewProgram(t, root, append(claudetest.RealEnv(api.URL), "PATH="+bin+":"+os.Getenv("PATH"))...)
		t.Cleanup(func() {
			s.Stop()
			claudetest.End(t, claudetest.RealBin(t), s.Home())
			os.RemoveAll(root)
		})
		claudetest.RealHome(t, s.Home(), s.Home())
		s.Run("integration", "install", "claude")
		s.Start()
		return s, bin
	})
}
