package tree

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// atMain brings both ends to the same commit, so that no checkout is taken
// back and every error is one of the patches.
func atMain(t fataler, w world) {
	gitIn(t, w.source, "checkout", "-q", "main")
	gitIn(t, w.target, "pull", "-q", "--ff-only", "--no-rebase")
}

// A file takes a folder's place in the index, and a folder that file's in the
// work tree: each step back needs the folder of the one before it gone.
func TestUndoOfAFolderThatWasAFile(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, tempDir(t))
	change{"deep/x", "write", "a file\n"}.apply(w.source)
	gitIn(t, w.source, "add", "-A")
	change{"deep/x/y/z.txt", "write", "a folder again\n"}.apply(w.source)
	was := view(t, w.target)
	var n notes
	if _, err := (&Target{Clone: w.target, In: carry(t, capture(t, w.source))}).Apply(ctx, &n); err != nil {
		t.Fatal(err)
	}
	same(t, "the target", inner(t, w.target), inner(t, w.source))
	back, err := Undo(ctx, n.last, &n)
	if err != nil || len(back.Kept) > 0 {
		t.Errorf("undo: %v, kept %v", err, back.Kept)
	}
	same(t, "the target after Undo", view(t, w.target), was)
}

// What a patch took away can't return where somebody put something since; the
// rest is taken back all the same.
func TestUndoWhereSomethingIsInTheWay(t *testing.T) {
	for name, c := range map[string]struct {
		source, since func(t fataler, dir string)
		kept          string // path and content
	}{
		"a file for a folder": {
			func(t fataler, dir string) { change{"deep", "delete", ""}.apply(dir) },
			func(t fataler, dir string) { put(t, dir, "deep/x", "mine", 0o644) }, "deep/x"},
		"a folder for a file": {
			func(t fataler, dir string) { change{"exec.sh", "delete", ""}.apply(dir) },
			func(t fataler, dir string) { put(t, dir, "exec.sh/run", "mine", 0o644) }, "exec.sh/run"},
		"a file beside the one that was moved": {
			func(t fataler, dir string) { change{"exec.sh/inner", "write", "theirs"}.apply(dir) },
			func(t fataler, dir string) { put(t, dir, "exec.sh/mine", "mine", 0o644) }, "exec.sh/mine"},
		"the folder of a patched file is a link": {
			func(t fataler, dir string) { put(t, dir, "dir/b.txt", "mine", 0o644) }, elsewhere, "dir/b.txt"},
		"the folder of a created file is a link": {
			func(t fataler, dir string) {
				put(t, dir, "dir/new", "mine", 0o644)
				gitIn(t, dir, "add", "-A")
			}, elsewhere, "dir/new"},
	} {
		for _, staged := range []bool{false, true} {
			for _, stagedSince := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, staged %v, since %v", name, staged, stagedSince), func(t *testing.T) {
					ctx := context.Background()
					w := newWorld(t, tempDir(t))
					atMain(t, w)
					c.source(t, w.source)
					put(t, w.source, "a.txt", "changed\n", 0o644)
					if staged {
						gitIn(t, w.source, "add", "-A")
					}
					var n notes
					if _, err := (&Target{Clone: w.target, In: carry(t, capture(t, w.source))}).Apply(ctx, &n); err != nil {
						t.Fatal(err)
					}
					c.since(t, w.target)
					if stagedSince {
						gitIn(t, w.target, "add", "-A")
					}
					back, err := Undo(ctx, n.last, &n)
					if err != nil || len(back.Kept) == 0 {
						t.Errorf("undo: %v, kept %q", err, back.Kept)
					}
					if b, err := os.ReadFile(filepath.Join(w.target, c.kept)); err != nil || string(b) != "mine" {
						t.Errorf("%s is %q, %v", c.kept, b, err)
					}
					if b, err := os.ReadFile(filepath.Join(w.target, "a.txt")); err != nil || string(b) != "zero\none\ntwo\nthree\n" {
						t.Errorf("a.txt is %q, %v", b, err)
					}
				})
			}
		}
	}
}

// elsewhere moves a folder away, and links to it.
func elsewhere(t fataler, dir string) {
	at := filepath.Join(dir, "dir")
	if err := os.Rename(at, dir+"-elsewhere"); err != nil {
		t.Fatalf("%v", err)
	}
	if err := os.Symlink(dir+"-elsewhere", at); err != nil {
		t.Fatalf("%v", err)
	}
}

// states are what a person could tell apart of each file of a tree.
func states(t fataler, dir string) map[string]string {
	m := map[string]string{}
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == ".git" {
			return fs.SkipDir
		}
		name, _ := filepath.Rel(dir, at)
		switch {
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(at)
			m[name] = "-> " + to
			return err
		case !d.IsDir():
			b, err := os.ReadFile(at)
			m[name] = string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return m
}

// staged reports whether an index has a file with this content: that is what a
// half applied patch leaves, too.
func staged(dir, name, content string) bool {
	b, err := gitCommand(dir, "cat-file", "blob", ":"+name).Output()
	return err == nil && string(b) == strings.TrimPrefix(content, "-> ")
}

// Whatever somebody did in the target after the move: taking it back loses
// none of it, and comes to an end.
func TestPropertyUndoLosesNothing(t *testing.T) { tries(t, 50, undoLosesNothing) }

func undoLosesNothing(t *testing.T) {
	ctx := context.Background()
	inWorlds(t, func(t *rapid.T, w world) {
		atMain(t, w)
		scramble(t, w.source)
		c := capture(t, w.source)
		before := states(t, w.target)
		var n notes
		if _, err := (&Target{Clone: w.target, In: carry(t, c)}).Apply(ctx, &n); err != nil {
			t.Fatalf("%v", err)
		}
		moved := states(t, w.target)
		for _, c := range drawChanges(t, "since", 4) {
			c.apply(w.target)
		}
		feed(t, w.target, pick(t, "stage since", reachable(w.target, listed(t, w.target, "-m", "-o", "--exclude-standard"))), "add", "-A")
		feed(t, w.target, pick(t, "untrack since", listed(t, w.target)), "rm", "-q", "--cached", "-f")
		since := states(t, w.target)
		back, err := Undo(ctx, n.last, &n)
		if err != nil {
			t.Fatalf("undo: %v, kept %q", err, back.Kept)
		}
		after := states(t, w.target)
		for name, content := range since {
			if content != moved[name] && content != before[name] && after[name] != content && !staged(w.source, name, content) {
				t.Errorf("%q was lost: %q, now %q; kept %q", name, content, after[name], back.Kept)
			}
		}
		for name, content := range before {
			told := slices.ContainsFunc(back.Kept, func(kept string) bool { return strings.HasSuffix(kept, show(name)) })
			if since[name] == moved[name] && after[name] != content && !told {
				t.Errorf("%q did not come back, and nobody is told: kept %q", name, back.Kept)
			}
		}
	})
}
