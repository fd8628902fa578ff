// Package claudetest holds a stand-in for Claude Code.
package claudetest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

// BuildTo builds the stand-in as dir/claude.
func BuildTo(dir string) error {
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "claude"), "sessionhub/lib/claude/claudetest/cmd/fakeclaude")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the stand-in for Claude: %w\n%s", err, out)
	}
	return nil
}

// Build builds the stand-in and returns the folder of the program claude, to
// put first in a PATH.
func Build(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := BuildTo(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}
