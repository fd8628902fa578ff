//go:build realclaude

package install

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/claude/claudetest"
)

// realLimit bounds one run of the real program; they take some two seconds.
const realLimit = time.Minute

// realHome is a home for the real Claude Code, and the environment to run it.
func realHome(t *testing.T, api string) (home, app string, env []string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	app = filepath.Join(home, "app")
	mkdir(t, app)
	claudetest.RealHome(t, home, app)
	return home, app, append(claudetest.RealEnv(api), "HOME="+home, "PATH="+os.Getenv("PATH"), "TERM=xterm-256color", "CLAUDE_CODE_MAX_RETRIES=0")
}

// The real Claude Code takes the settings without a word, and runs each hook
// at its event, from a path that its shell must not split.
func TestRealClaudeRunsTheHooks(t *testing.T) {
	m := claudetest.StartMessages(t)
	home, app, env := realHome(t, m.URL)
	bin := filepath.Join(home, "it's my \"tools\" $HOME")
	mkdir(t, bin)
	log := filepath.Join(home, "hooks.log")
	write(t, filepath.Join(bin, "shq"), "#!/bin/sh\ncat > /dev/null\necho \"$@\" >> '"+log+"'\n", 0o755)
	h := &Hooks{Tools: Tools(bin), Home: filepath.Join(home, ".claude"), Rows: HookRows()}
	r, s := recorder()
	if err := h.Install(t.Context(), r); err != nil {
		t.Fatalf("%v\n%s", err, s.all())
	}
	ctx, cancel := context.WithTimeout(t.Context(), realLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, claudetest.RealBin(t), "-p", "hello")
	cmd.Dir, cmd.Env = app, env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || errs.Len() > 0 {
		t.Errorf("%v: %s%s", err, out.String(), errs.String())
	}
	ran := strings.Split(strings.TrimSpace(content(t, log)), "\n")
	slices.Sort(ran)
	// The mailbox's runs in the background, and so may be cut short with a -p run.
	ran = slices.DeleteFunc(ran, func(s string) bool { return s == "hook mailbox" })
	if want := []string{"hook context", "hook prompt", "hook refresh-instructions", "hook session-end", "hook session-start", "hook stop"}; !slices.Equal(ran, want) {
		t.Errorf("it ran %q", ran)
	}
	if err := h.Remove(t.Context(), r); err != nil {
		t.Errorf("%v\n%s", err, s.all())
	}
	if _, err := os.Stat(h.path()); !os.IsNotExist(err) {
		t.Errorf("the settings are still there: %v", err)
	}
}

// The real Claude Code registers the server, tells of it and forgets it.
func TestRealClaudeRegistersTheServer(t *testing.T) {
	home, app, env := realHome(t, "http://127.0.0.1:9")
	for _, kv := range env {
		k, v, _ := strings.Cut(kv, "=")
		t.Setenv(k, v)
	}
	bin := filepath.Join(home, "my tools")
	mkdir(t, bin)
	write(t, filepath.Join(bin, "shq"), "#!/bin/sh\n", 0o755)
	m := &MCP{Tools: Tools(bin), Claude: claudetest.RealBin(t), Getenv: os.Getenv, Dir: app}
	for i, want := range [][]Outcome{{Changed}, {Unchanged}} {
		r, s := recorder()
		if err := m.Install(t.Context(), r); err != nil || !slices.Equal(s.outcomes(), want) {
			t.Fatalf("%d: %v\n%s", i, err, s.all())
		}
	}
	if p := m.Look(t.Context()); p.State != Ready || p.Path != filepath.Join(bin, "shq") {
		t.Errorf("%+v", p)
	}
	for i, want := range [][]Outcome{{Changed}, {Unchanged}} {
		r, s := recorder()
		if err := m.Remove(t.Context(), r); err != nil || !slices.Equal(s.outcomes(), want) {
			t.Fatalf("%d: %v\n%s", i, err, s.all())
		}
	}
}
