//go:build realherdr

package fakecli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// A real herdr keeps its hook for Claude as the stand-in does.
func TestRealHerdrIntegration(t *testing.T) {
	bin := os.Getenv("HERDR")
	if bin == "" {
		t.Fatal("HERDR names no herdr: use make test-herdr HERDR=/path/to/herdr")
	}
	p := params()
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		if err := setup(e); err != nil {
			return err
		}
		own := filepath.Join(e.WorkDir, "real")
		if err := os.Mkdir(own, 0o755); err != nil {
			return err
		}
		e.Setenv("PATH", own+":"+e.Getenv("PATH"))
		return os.Symlink(bin, filepath.Join(own, "herdr"))
	}
	p.Dir, p.Files = "", []string{filepath.Join("testdata", "script", "integration.txtar")}
	testscript.Run(t, p)
}
