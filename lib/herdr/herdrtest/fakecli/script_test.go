package fakecli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"sessionhub/lib/herdr/herdrtest/fakecli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"herdr": func() {
			os.Exit(fakecli.Main(fakecli.Process{
				Args: os.Args[1:], Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
			}))
		},
	})
}

func TestScripts(t *testing.T) { testscript.Run(t, params()) }

func params() testscript.Params {
	return testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			// A short home: socket paths have a limit.
			home, err := os.MkdirTemp("", "fh")
			if err != nil {
				return err
			}
			e.Defer(func() { os.RemoveAll(home) })
			e.Setenv("HOME", home)
			e.Setenv("FAKEHERDR_TIMINGS", "short")
			e.Setenv("SHELL", "/bin/sh")
			e.Setenv("GORACE", "atexit_sleep_ms=0") // else each command of a race build takes a second to end
			script, err := os.ReadFile(filepath.Join("..", "testdata", "stand-in-claude"))
			if err != nil {
				return err
			}
			bin := filepath.Join(e.WorkDir, "bin")
			if err := os.MkdirAll(bin, 0o755); err != nil {
				return err
			}
			e.Setenv("PATH", bin+":"+e.Getenv("PATH"))
			return os.WriteFile(filepath.Join(bin, "claude"), script, 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"await": await},
	}
}
