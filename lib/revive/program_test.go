package revive

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"sessionhub/lib/claude"
)

// script is a Claude Code that is a shell script, in an environment.
func script(t *testing.T, body string, env ...string) *Program {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return &Program{Bin: bin, Home: "/home/dev/.claude", Environ: append([]string{"PATH=/usr/bin:/bin", "HOME=/home/dev"}, env...)}
}

func TestAgents(t *testing.T) {
	list, err := script(t, `[ "$*" = "agents --json" ] || { echo "error: unknown option '--all'" >&2; exit 1; }
echo '[{"id":"f57081b5","sessionId":"s1","kind":"background","state":"blocked","pid":7}]'`).Agents(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != "f57081b5" || list[0].PID != 7 {
		t.Errorf("an older one: %+v %v", list, err)
	}
	if _, err := script(t, "echo welcome").Agents(t.Context()); err == nil || !strings.Contains(err.Error(), "is no list") {
		t.Error(err)
	}
	if _, err := script(t, "echo broken >&2; exit 3").Agents(t.Context()); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Error(err)
	}
}

func TestResume(t *testing.T) {
	d := Decision{Session: "s1", Cwd: t.TempDir()}
	short, err := script(t, `pwd > seen; echo "$*" >> seen; env >> seen
printf 'Starting background service…\nnote: woke session.\nbackgrounded · f57081b5 · nightly\n'`, "CLAUDECODE=1").Resume(t.Context(), d, "nightly", "go on")
	if err != nil || short != "f57081b5" {
		t.Errorf("%q %v", short, err)
	}
	b, err := os.ReadFile(filepath.Join(d.Cwd, "seen"))
	if err != nil || !strings.HasPrefix(string(b), d.Cwd+"\n--bg --resume s1 --name nightly go on\n") {
		t.Errorf("%s %v", b, err)
	}
	if s := string(b); strings.Contains(s, "CLAUDECODE") || strings.Contains(s, "NONESSENTIAL") || strings.Contains(s, "CLAUDE_CONFIG_DIR") {
		t.Errorf("the session inherits what is not its own:\n%s", s)
	}
	if _, err := script(t, "echo hello").Resume(t.Context(), d, "", "go on"); !errors.Is(err, ErrUnsure) {
		t.Errorf("an answer that is not understood: %v", err)
	}
	if _, err := script(t, "echo 'Workspace not trusted.' >&2; exit 1").Resume(t.Context(), d, "", "go on"); err == nil || errors.Is(err, ErrUnsure) || !strings.Contains(err.Error(), "Workspace not trusted.") {
		t.Errorf("a refusal: %v", err)
	}
}

// A Claude home that is not the usual one is named to the program.
func TestAnotherHome(t *testing.T) {
	p := script(t, `echo "[{\"id\":\"$CLAUDE_CONFIG_DIR\"}]"`, "CLAUDE_CONFIG_DIR=/elsewhere")
	for home, want := range map[claude.Home]string{"/elsewhere": "/elsewhere", "/home/dev/.claude": "/home/dev/.claude"} {
		p.Home = home
		list, err := p.Agents(t.Context())
		if err != nil || len(list) != 1 || list[0].ID != want {
			t.Errorf("%s: %+v %v", home, list, err)
		}
	}
}

// A program that is named by a relative path is the caller's, not one of that
// name in the session's directory.
func TestARelativePath(t *testing.T) {
	p := script(t, "printf 'backgrounded · f57081b5 · nightly\n'")
	t.Chdir(filepath.Dir(p.Bin))
	p.Bin = "./claude"
	if err := p.Find(); err != nil {
		t.Fatal(err)
	}
	if short, err := p.Resume(t.Context(), Decision{Session: "s1", Cwd: t.TempDir()}, "", "go on"); err != nil || short != "f57081b5" {
		t.Errorf("%q %v", short, err)
	}
}

// A program that never stops to print is no reason to run out of memory.
func TestEndlessOutput(t *testing.T) {
	p := script(t, "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo 'backgrounded · f57081b5'")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := p.Resume(t.Context(), Decision{Session: "s1", Cwd: t.TempDir()}, "", "go on")
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 50<<20 || !errors.Is(err, ErrUnsure) {
		t.Errorf("%d MiB, %v", grown>>20, err)
	}
}
