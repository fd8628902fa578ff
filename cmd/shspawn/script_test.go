package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"sessionhub/cmd/internal/script"
)

func TestMain(m *testing.M) {
	// The pane runs this program by its own path.
	if len(os.Args) == 3 && os.Args[1] == "launch" {
		main()
	}
	script.MainWith(m, "herdr", "shspawn", main, nil)
}

func TestScripts(t *testing.T) {
	example := filepath.Join(t.TempDir(), "example")
	if out, err := exec.Command("go", "build", "-o", example, "sessionhub/examples/spawn").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	p := script.Params(t)
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		home, err := os.MkdirTemp("", "sps") // short, for sockets
		if err != nil {
			return err
		}
		e.Defer(func() { os.RemoveAll(home) })
		e.Vars = append(e.Vars, "EXAMPLE="+example, "EXAMPLES="+examples, "TMUX_TMPDIR="+home, "FAKEHERDR_TIMINGS=short", "SHELL=/bin/bash")
		if err := setup(e); err != nil {
			return err
		}
		e.Setenv("HOME", home)
		return nil
	}
	testscript.Run(t, p)
}
