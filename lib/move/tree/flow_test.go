package tree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// messy makes every kind of change that travels.
func messy(t fataler, dir string) {
	put(t, dir, "a.txt", "staged\n", 0o644)
	put(t, dir, "caf\xe9.txt", "staged latin\n", 0o755)
	put(t, dir, "new staged", "n\n", 0o644)
	put(t, dir, "staged then gone", "n\n", 0o644)
	os.Remove(filepath.Join(dir, "empty"))
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "mv", "moved.txt", "renamed \"again\"")
	gitIn(t, dir, "rm", "-q", "--cached", "dir/b.txt", "crlf.txt")
	os.Remove(filepath.Join(dir, "staged then gone"))
	put(t, dir, "a.txt", "staged\nand changed", 0o644)
	put(t, dir, "bin.dat", "\x00\xff\xfe", 0o644)
	put(t, dir, "trailing.txt", "a  \nb\t\nc \n\n\n\n", 0o644)
	put(t, dir, "exec.sh", "#!/bin/sh\n", 0o644)
	os.Remove(filepath.Join(dir, "link"))
	put(t, dir, "link", "no link any more\n", 0o644)
	os.Remove(filepath.Join(dir, "tab\tname"))
	if err := os.Symlink("no\xffwhere\n at all", filepath.Join(dir, "tab\tname")); err != nil {
		t.Fatalf("%v", err)
	}
	put(t, dir, "later added", "text\n", 0o644)
	put(t, dir, "later gone", "text\n", 0o644)
	gitIn(t, dir, "add", "-N", "later added", "later gone", "crlf.txt")
	os.Remove(filepath.Join(dir, "later gone"))
	put(t, dir, "un/tracked/fi\xffle", "bytes \x00\n", 0o640)
	put(t, dir, "un/tracked/run", "#!/bin/sh\n", 0o700)
	put(t, dir, "un/empty", "", 0o600)
	put(t, dir, "un/100% \\new\nline", "odd", 0o644)
	if err := os.Symlink("/etc/../nowhere", filepath.Join(dir, "un/li\nnk")); err != nil {
		t.Fatalf("%v", err)
	}
}

// The whole way, and back. Binary files travel with their full index line (field
// report A40).
func TestMessyTreeTravelsAndReturns(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, tempDir(t))
	messy(t, w.source)
	hooked(t)
	before := view(t, w.source)
	c := capture(t, filepath.Join(w.source, "dir"))
	same(t, "the source after Capture", view(t, w.source), before)
	if c.Dir != "dir" || c.Top != w.source || c.Git.Branch != "feature/x" || c.Git.Upstream != "feature/x" || c.Git.Remote != w.origin {
		t.Errorf("captured: %+v", c)
	}
	was := view(t, w.target)
	var n notes
	target := Target{Clone: w.target, In: carry(t, c)}
	if found, err := target.Check(ctx); err != nil || len(found) > 0 {
		t.Fatalf("check: %v, %v", found, err)
	}
	same(t, "the target after Check", view(t, w.target), was)
	done, err := target.Apply(ctx, &n)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the target", inner(t, w.target), inner(t, w.source))
	if done.Cwd != filepath.Join(w.target, "dir") {
		t.Errorf("cwd %s", done.Cwd)
	}
	if got := gitIn(t, w.target, "rev-parse", "--abbrev-ref", "HEAD@{upstream}"); got != "origin/feature/x" {
		t.Errorf("follows %s", got)
	}
	for _, name := range []string{"un/tracked/fi\xffle", "un/tracked/run", "un/empty"} {
		a, _ := os.Stat(filepath.Join(w.source, name))
		b, _ := os.Stat(filepath.Join(w.target, name))
		if a.Mode() != b.Mode() {
			t.Errorf("%q has mode %v, not %v", name, b.Mode(), a.Mode())
		}
	}
	if st, err := os.Stat(filepath.Join(done.Steps.Private, "staged.patch")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the patch: %v, %v", st, err)
	}
	back, err := Undo(ctx, n.last, &n)
	if err != nil || len(back.Kept) > 0 || back.String() != "the clone is back on main" {
		t.Errorf("undo: %v, %v", back, err)
	}
	same(t, "the target after Undo", view(t, w.target), was)
	if left, _ := filepath.Glob(filepath.Join(w.target, ".git", "sessionhub*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if got := hooked(t); got != "" {
		t.Errorf("hooks ran:\n%s", got)
	}
	if _, err := Undo(ctx, n.last, &n); err != nil {
		t.Errorf("undo again: %v", err)
	}
	same(t, "the target after Undo again", view(t, w.target), was)
}

func TestSettleForgets(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, tempDir(t))
	messy(t, w.source)
	var n notes
	if _, err := (&Target{Clone: w.target, In: carry(t, capture(t, w.source))}).Apply(ctx, &n); err != nil {
		t.Fatal(err)
	}
	if err := Settle(n.last, &n); err != nil {
		t.Fatal(err)
	}
	after := view(t, w.target)
	if _, err := Undo(ctx, n.last, &n); err != nil {
		t.Fatal(err)
	}
	same(t, "a settled target", view(t, w.target), after)
	if left, _ := filepath.Glob(filepath.Join(w.target, ".git", "sessionhub*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestIntoNewWorktree(t *testing.T) {
	ctx := context.Background()
	dir := tempDir(t)
	w := newWorld(t, dir)
	messy(t, w.source)
	put(t, w.target, "a.txt", "the person's own\n", 0o644) // dirty, and stays so
	was := view(t, w.target)
	var n notes
	at := filepath.Join(dir, "trees", "deep", "x")
	done, err := (&Target{Clone: w.target, Worktree: at, In: carry(t, capture(t, w.source))}).Apply(ctx, &n)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the new work tree", inner(t, at), inner(t, w.source))
	if done.Top != at || done.Cwd != at {
		t.Errorf("applied: %+v", done)
	}
	if back, err := Undo(ctx, n.last, &n); err != nil || len(back.Kept) > 0 {
		t.Errorf("undo: %v, %v", back, err)
	}
	same(t, "the clone after Undo", view(t, w.target), was)
	if _, err := os.Lstat(filepath.Join(dir, "trees")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the work tree's folders stay: %v", err)
	}
	if got := gitIn(t, w.target, "worktree", "list"); strings.Count(got, "\n") > 0 {
		t.Errorf("work trees: %s", got)
	}
}
