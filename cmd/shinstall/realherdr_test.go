//go:build realherdr

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The plugin is linked, linked anew and unlinked by a real herdr as by its
// stand-in.
func TestRealHerdrPlugin(t *testing.T) {
	bin := os.Getenv("HERDR")
	if bin == "" {
		t.Fatal("HERDR names no herdr: use make test-herdr HERDR=/path/to/herdr")
	}
	p := params(t, func(e *testscript.Env) error {
		dir := filepath.Join(e.Getenv("HOME"), ".config", "herdr")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		conf := "onboarding = false\n[update]\nversion_check = false\nmanifest_check = false\n"
		if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(conf), 0o600); err != nil {
			return err
		}
		own := filepath.Join(e.WorkDir, "real")
		if err := os.Mkdir(own, 0o755); err != nil {
			return err
		}
		e.Setenv("PATH", own+":"+e.Getenv("PATH"))
		return os.Symlink(bin, filepath.Join(own, "herdr"))
	})
	p.Dir, p.Files = "", []string{filepath.Join("testdata", "script", "plugin.txtar")}
	testscript.Run(t, p)
}
