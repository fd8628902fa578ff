package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"sessionhub/cmd/internal/script"
	"sessionhub/lib/claude/claudetest"
)

func TestMain(m *testing.M) { script.MainWith(m, "herdr", "shinstall", main) }

// The scripts have besides the commands of all:
//
//	tools DIR [VERSION]   install the tools into DIR; those that tell their
//	                      version tell that
//	claude DIR            install the stand-in for Claude Code into DIR
//
// The program herdr is the stand-in for herdr; none of its servers runs at
// first.
func TestScripts(t *testing.T) {
	testscript.Run(t, params(t, func(*testscript.Env) error { return nil }))
}

func params(t *testing.T, more func(*testscript.Env) error) testscript.Params {
	b := &builder{t: t, dir: t.TempDir(), built: map[string]func() error{}}
	p := script.Params(t)
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		if err := setup(e); err != nil {
			return err
		}
		home, err := os.MkdirTemp("", "si") // short, for socket paths
		if err != nil {
			return err
		}
		e.Defer(func() { os.RemoveAll(home) })
		e.Setenv("HOME", home)
		e.Setenv("SHELL", "/bin/sh")
		e.Setenv("FAKEHERDR_TIMINGS", "short")
		return more(e)
	}
	p.Cmds["tools"] = b.tools
	p.Cmds["claude"] = b.claude
	return p
}

// builder builds each program once.
type builder struct {
	t     *testing.T
	dir   string
	mu    sync.Mutex
	built map[string]func() error
}

// once builds what goes into a folder of its own, and returns that.
func (b *builder) once(ts *testscript.TestScript, name string, build func(dir string) error) string {
	dir := filepath.Join(b.dir, name)
	b.mu.Lock()
	if b.built[name] == nil {
		b.built[name] = sync.OnceValue(func() error { return build(dir) })
	}
	f := b.built[name]
	b.mu.Unlock()
	ts.Check(f())
	return dir
}

func (b *builder) tools(ts *testscript.TestScript, _ bool, args []string) {
	version := "1.0.0"
	if len(args) > 1 {
		version = args[1]
	}
	to := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(to, 0o755))
	for tool, v := range map[string]string{"shq": "1.0.0", "shctl": "1.0.0", "shwatch": version, "shinstall": version} {
		from := b.once(ts, tool+"-"+v, func(dir string) error {
			cmd := exec.Command("go", "build", "-ldflags", "-X sessionhub/cmd/internal/front.version="+v, "-o", filepath.Join(dir, tool), "sessionhub/cmd/"+tool)
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("build %s: %w\n%s", tool, err, out)
			}
			return nil
		})
		copyProgram(ts, filepath.Join(from, tool), filepath.Join(to, tool))
	}
	ts.Defer(func() { // a watcher that a failed script left
		cmd := exec.Command(filepath.Join(to, "shwatch"), "stop")
		cmd.Env = []string{"HOME=" + ts.Getenv("HOME"), "SESSIONHUB_STATE_DIR=" + ts.Getenv("SESSIONHUB_STATE_DIR")}
		if out, err := cmd.CombinedOutput(); err != nil {
			b.t.Errorf("stop the watcher: %v: %s", err, out)
		}
	})
}

func (b *builder) claude(ts *testscript.TestScript, _ bool, args []string) {
	from := b.once(ts, "claude", claudetest.BuildTo)
	to := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(to, 0o755))
	copyProgram(ts, filepath.Join(from, "claude"), filepath.Join(to, "claude"))
}

// copyProgram replaces a program as make install does: by a rename, as a
// running one can't be written to. A process of its own writes it: what this
// one has open for writing, a script that starts at this moment would inherit,
// and the program could not be run.
func copyProgram(ts *testscript.TestScript, from, to string) {
	if out, err := exec.Command("cp", from, to+".new").CombinedOutput(); err != nil {
		ts.Fatalf("%v: %s", err, out)
	}
	ts.Check(os.Rename(to+".new", to))
}
