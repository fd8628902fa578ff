//go:build realherdr

package spawn_test

import (
	"os"
	"path/filepath"
	"testing"
)

// The whole suite on a real herdr.
func TestRealHerdrSpawn(t *testing.T) {
	herdr := os.Getenv("HERDR")
	if herdr == "" {
		t.Fatal("HERDR names no herdr")
	}
	double := herdrBin
	herdrBin = func(t *testing.T) string {
		t.Helper()
		dir := t.TempDir()
		if err := os.Symlink(herdr, filepath.Join(dir, "herdr")); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	t.Cleanup(func() { herdrBin = double })
	for name, f := range map[string]func(*testing.T){
		"pane": TestAnAgentRunsInItsPane, "stop": TestStopAsksFirst, "wait": TestWait, "refused": TestWhatCannotBeStarted, "split": TestSplit,
		"arguments": TestArgumentsPassAsTheyAre, "many": TestManyAtOnce, "stuck": TestAServerThatCannotBeAsked, "secret": TestA50ASecretIsNowhereElse,
		"shell": TestAShellThatIsNotReady,
	} {
		t.Run(name, f)
	}
}
