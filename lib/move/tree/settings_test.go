package tree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Line ends are each machine's own: Git sees the same tree, whatever both
// sides are set to, and undoing leaves the target as it was.
func TestLineEndSettings(t *testing.T) {
	ctx := context.Background()
	for _, attributes := range []string{"", "* text=auto\n", "*.txt text eol=crlf\n", "* -text\n"} {
		for _, source := range []string{"false", "true", "input"} {
			for _, target := range []string{"false", "true"} {
				t.Run(fmt.Sprintf("%q %s %s", attributes, source, target), func(t *testing.T) {
					t.Parallel()
					dir := tempDir(t)
					gitIn(t, dir, "init", "-q", "--bare", "origin.git")
					src, dst := filepath.Join(dir, "source"), filepath.Join(dir, "target")
					gitIn(t, dir, "clone", "-q", "-c", "core.autocrlf="+source, "origin.git", "source")
					put(t, src, ".gitattributes", attributes, 0o644)
					for _, name := range []string{"lf.txt", "staged.txt", "plain"} {
						put(t, src, name, "one\ntwo\nthree\n", 0o644)
					}
					put(t, src, "crlf.txt", "one\r\ntwo\r\nthree\r\n", 0o644)
					put(t, src, "mixed.txt", "one\r\ntwo\nthree\r\n", 0o644)
					gitIn(t, src, "add", "-A")
					gitIn(t, src, "commit", "-qm", "one")
					gitIn(t, src, "push", "-q", "-u", "origin", "main")
					gitIn(t, dir, "clone", "-q", "-c", "core.autocrlf="+target, "origin.git", "target")
					put(t, src, "lf.txt", "one\n2\nthree\n", 0o644)
					put(t, src, "plain", "one\r\n2\r\nthree\r\n", 0o644)
					put(t, src, "crlf.txt", "one\r\n2\r\nthree\r\n", 0o644)
					put(t, src, "mixed.txt", "one\r\n2\nthree\r\n", 0o644)
					put(t, src, "staged.txt", "one\ntwo\n3\n", 0o644)
					put(t, src, "new.txt", "new\r\n", 0o644)
					gitIn(t, src, "add", "staged.txt", "new.txt")
					put(t, src, "staged.txt", "one\ntwo\n3\nfour\n", 0o644)
					put(t, src, "untracked", "a\r\nb\n", 0o644)
					was := view(t, dst)
					in := carry(t, capture(t, src))
					var n notes
					_, err := (&Target{Clone: dst, In: in}).Apply(ctx, &n)
					if err != nil && source == "false" && target == "true" && strings.Contains(err.Error(), "another plain than on the source: do both machines' core.autocrlf") {
						// A file that Git takes for LF here can't become one with
						// CRLF: said before anything was touched.
						same(t, "the target", view(t, dst), was)
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					if got, want := gitIn(t, dst, "ls-files", "-s"), gitIn(t, src, "ls-files", "-s"); got != want {
						t.Errorf("index:\n%s\nwant:\n%s", got, want)
					}
					if b, _ := os.ReadFile(filepath.Join(dst, "untracked")); string(b) != "a\r\nb\n" {
						t.Errorf("untracked: %q", b)
					}
					if back, err := Undo(ctx, n.last, &n); err != nil || len(back.Kept) > 0 {
						t.Errorf("undo: %v, %v", back, err)
					}
					same(t, "the target after Undo", view(t, dst), was)
				})
			}
		}
	}
}

// A filter of the user's runs on both sides, as for Git LFS: patches and
// commits hold what it makes of files.
func TestFiltersRun(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, tempDir(t))
	for _, dir := range []string{w.source, w.target} {
		gitIn(t, dir, "config", "filter.rot.clean", "tr a-z n-za-m")
		gitIn(t, dir, "config", "filter.rot.smudge", "tr a-z n-za-m")
		gitIn(t, dir, "config", "filter.rot.required", "true")
	}
	put(t, w.source, ".gitattributes", "*.rot filter=rot\n", 0o644)
	put(t, w.source, "x.rot", "secret words\n", 0o644)
	gitIn(t, w.source, "add", "-A")
	put(t, w.source, "x.rot", "secret words\nand more\n", 0o644)
	c := capture(t, w.source)
	if got := strings.Join(c.Git.Filters, " "); got != "rot" {
		t.Errorf("filters %q", got)
	}
	b, err := os.ReadFile(c.Changes)
	if err != nil || strings.Contains(string(b), "more") || !strings.Contains(string(b), "zber") {
		t.Errorf("the patch: %q, %v", b, err)
	}
	was := view(t, w.target)
	var n notes
	if _, err := (&Target{Clone: w.target, In: carry(t, c)}).Apply(ctx, &n); err != nil {
		t.Fatal(err)
	}
	same(t, "the target", inner(t, w.target), inner(t, w.source))
	if back, err := Undo(ctx, n.last, &n); err != nil || len(back.Kept) > 0 {
		t.Errorf("undo: %v, %v", back, err)
	}
	same(t, "the target after Undo", view(t, w.target), was)
}

// Submodules that are as the commit says stay as they are.
func TestCleanSubmodules(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, tempDir(t))
	dir := filepath.Dir(w.source)
	origin := filepath.Join(dir, "origin.git")
	copyTree(t, w.origin, origin)
	submodule(t, w.source)
	gitIn(t, w.source, "remote", "set-url", "origin", origin)
	gitIn(t, w.source, "push", "-q")
	gitIn(t, dir, "clone", "-q", "--recurse-submodules", "-b", "feature/x", origin, "third")
	third := filepath.Join(dir, "third")
	put(t, w.source, "a.txt", "changed\n", 0o644)
	c := capture(t, w.source)
	if got := strings.Join(c.Git.Submodules, " "); got != "vendor/lib" {
		t.Errorf("submodules %q", got)
	}
	var n notes
	if _, err := (&Target{Clone: third, In: carry(t, c)}).Apply(ctx, &n); err != nil {
		t.Fatal(err)
	}
	same(t, "the target", inner(t, third), inner(t, w.source))
	// Field report A44: one at another commit after the checkout is not passed
	// over in silence.
	gitIn(t, filepath.Join(w.source, "vendor/lib"), "commit", "-q", "--allow-empty", "-m", "more")
	gitIn(t, w.source, "add", "vendor/lib", "a.txt")
	gitIn(t, w.source, "commit", "-qm", "the submodule moves on")
	gitIn(t, w.source, "push", "-q")
	if _, err := Undo(ctx, n.last, &n); err != nil {
		t.Fatal(err)
	}
	was := view(t, third)
	_, err := (&Target{Clone: third, In: carry(t, capture(t, w.source))}).Apply(ctx, &n)
	if !Refused(err, Submodule) || !strings.Contains(err.Error(), "vendor/lib") {
		t.Errorf("got %v", err)
	}
	same(t, "the clone", view(t, third), was)
}

// Files in Git LFS travel as they are committed. A patch of one would hold a
// pointer to what was never pushed.
func TestLFSWithChangesStays(t *testing.T) {
	w := newWorld(t, tempDir(t))
	bin := tempDir(t)
	put(t, bin, "git-lfs", "#!/bin/sh\nexec cat\n", 0o755)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for _, part := range []string{"clean", "smudge"} {
		gitIn(t, w.source, "config", "filter.lfs."+part, "cat")
	}
	put(t, w.source, ".gitattributes", "*.big filter=lfs -text\n", 0o644)
	put(t, w.source, "x.big", "content", 0o644)
	gitIn(t, w.source, "add", "-A")
	gitIn(t, w.source, "commit", "-qm", "big")
	if c := capture(t, w.source); strings.Join(c.Git.Filters, " ") != "lfs" {
		t.Errorf("filters %q", c.Git.Filters)
	}
	put(t, w.source, "x.big", "changed", 0o644)
	_, err := Source{}.Capture(context.Background(), w.source, tempDir(t))
	if !Refused(err, Filter) || !strings.Contains(err.Error(), "x.big is kept in Git LFS and has changes") {
		t.Errorf("got %v", err)
	}
}
