package claude

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestDefaultHome(t *testing.T) {
	for _, c := range []struct {
		name string
		env  []string
		want Home
		ok   bool
	}{
		{"HOME", []string{"HOME=/home/dev"}, "/home/dev/.claude", true},
		{"moved", []string{"HOME=/home/dev", "CLAUDE_CONFIG_DIR=/srv/work/"}, "/srv/work", true},
		{"moved to nowhere", []string{"HOME=/home/dev", "CLAUDE_CONFIG_DIR="}, "/home/dev/.claude", true},
		{"relative", []string{"HOME=/home/dev", "CLAUDE_CONFIG_DIR=work"}, "work", false},
		{"nothing", nil, ".claude", false},
	} {
		if h, ok := fromEnviron(c.env); h != c.want || ok != c.ok {
			t.Errorf("%s: %s, %v", c.name, h, ok)
		}
	}
}

func TestVersion(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, script, want string }{
		{"real", `echo "2.1.332 (Claude Code)"`, "2.1.332"},
		{"a preview", `echo "2.2.0-beta.1 (Claude Code)"`, "2.2.0-beta.1"},
		{"another program", `echo "claude 1.0"`, ""},
		{"silent", `exit 0`, ""},
		{"failing", `echo "2.1.332 (Claude Code)"; exit 1`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			bin := filepath.Join(dir, "claude")
			if err := os.WriteFile(bin, []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			got, err := Version(t.Context(), bin)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	if _, err := Version(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
}

func TestVersionDoesNotHang(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\nsleep 60 & wait\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Version(ctx, bin); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
