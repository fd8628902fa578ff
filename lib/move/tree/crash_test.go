package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dying is a journal whose process dies at a save: before it is on disk, or
// right after.
type dying struct {
	notes
	at     int // the save that it dies at
	stored bool
	saves  int
}

type died struct{}

func (d *dying) Save(s Steps) error {
	d.saves++
	if d.saves == d.at {
		if d.stored {
			d.last = s
		}
		panic(died{})
	}
	d.last = s
	return nil
}

// dies runs what may die, and reports whether it did.
func dies(f func()) (dead bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(died); !ok {
				panic(r)
			}
			dead = true
		}
	}()
	f()
	return false
}

func light(t fataler, dir string) { put(t, dir, "a.txt", "changed\n", 0o644) }

// A crash at every step of Apply, with the step's note on disk or not, and
// then at every step of Undo: the clone is what it was.
func TestCrashAtEveryStep(t *testing.T) {
	ctx := context.Background()
	for name, state := range map[string]struct {
		prepare  func(t fataler, dir string)
		worktree bool
		change   func(t fataler, dir string) // in the source
	}{
		"another branch":  {func(fataler, string) {}, false, messy},
		"a new work tree": {func(fataler, string) {}, true, messy},
		// These differ in how HEAD and the branch move; one change will do.
		"the branch, old": {clones()["on the branch, old"], false, light},
		"detached":        {clones()["detached"], false, light},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			from := newWorld(t, dir)
			state.change(t, from.source)
			put(t, from.source, "odd/place/kept", "x", 0o644)
			in := carry(t, capture(t, from.source))
			state.prepare(t, from.target)
			was := view(t, from.target)
			try := func(n int, stored bool, undoAt int) bool {
				at := filepath.Join(dir, fmt.Sprint(n, stored, undoAt))
				w := world{target: filepath.Join(at, "target")}
				copyTree(t, from.target, w.target)
				defer os.RemoveAll(at)
				target := Target{Clone: w.target, In: in}
				if state.worktree {
					target.Worktree = filepath.Join(at, "new", "tree")
				}
				j := &dying{at: n, stored: stored}
				dead := dies(func() {
					if _, err := target.Apply(ctx, j); err != nil {
						t.Error(err)
					}
				})
				steps := j.last
				if undoAt > 0 {
					again := &dying{notes: j.notes, at: undoAt, stored: stored}
					dies(func() {
						if _, err := Undo(ctx, steps, again); err != nil {
							t.Errorf("save %d, stored %v, undo broken off at %d: %v", n, stored, undoAt, err)
						}
					})
					steps = again.last
				}
				back, err := Undo(ctx, steps, &notes{})
				if err != nil || len(back.Kept) > 0 {
					t.Errorf("save %d, stored %v, undo at %d: %v, kept %v", n, stored, undoAt, err, back.Kept)
				}
				same(t, fmt.Sprintf("the clone after a crash at save %d (stored: %v, undo broken off at %d)", n, stored, undoAt), view(t, w.target), was)
				for _, left := range []string{filepath.Join(w.target, ".git", "sessionhub-moves"), filepath.Join(at, "new")} {
					if _, err := os.Lstat(left); !errors.Is(err, os.ErrNotExist) {
						t.Errorf("save %d: left %s", n, left)
					}
				}
				return dead
			}
			n := 1
			for ; try(n, true, 0); n++ {
				try(n, false, 0)
			}
			if n < 5 {
				t.Errorf("only %d steps", n)
			}
			for undoAt := 1; undoAt <= 2; undoAt++ {
				try(n, true, undoAt)
				try(n, false, undoAt)
			}
		})
	}
}

// A second try does not start on what the first one left: only its own
// journal takes that back.
func TestSecondTryWaitsForTheFirst(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, tempDir(t))
	messy(t, w.source)
	in := carry(t, capture(t, w.source))
	was := view(t, w.target)
	j := &dying{at: 4, stored: true}
	dies(func() { _, _ = (&Target{Clone: w.target, In: in}).Apply(ctx, j) })
	left := j.last
	gitIn(t, w.target, "checkout", "-q", "main")
	if _, err := (&Target{Clone: w.target, In: in}).Apply(ctx, j); !Refused(err, Locked) || !strings.Contains(err.Error(), "shmove undo --move "+moveID) {
		t.Errorf("got %v", err)
	}
	if j.last.Private != left.Private || j.last.Over {
		t.Errorf("the journal was written over: %+v", j.last)
	}
	if _, err := Undo(ctx, j.last, j); err != nil {
		t.Error(err)
	}
	same(t, "the clone", view(t, w.target), was)
}

// git itself may be killed with some of a patch's files written. What is as
// the patch leaves it is taken back, and the rest never was changed.
func TestUndoOfHalfAPatch(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, tempDir(t))
	gitIn(t, w.source, "checkout", "-q", "main")
	gitIn(t, w.target, "pull", "-q", "--ff-only", "--no-rebase")
	for _, name := range []string{"one", "two", "a.txt", "bin.dat"} {
		put(t, w.source, name, "changed "+name, 0o644)
	}
	os.Remove(filepath.Join(w.source, "empty"))
	os.Remove(filepath.Join(w.source, "crlf.txt"))
	gitIn(t, w.source, "add", "-A")
	in := carry(t, capture(t, w.source))
	was := view(t, w.target)
	j := &dying{at: 2, stored: true} // before git apply
	dies(func() { _, _ = (&Target{Clone: w.target, In: in}).Apply(ctx, j) })
	if j.last.Staged == "" {
		t.Fatalf("another step: %+v", j.last)
	}
	put(t, w.target, "one", "changed one", 0o644)
	put(t, w.target, "a.txt", "changed a.txt", 0o644)
	os.Remove(filepath.Join(w.target, "empty"))
	back, err := Undo(ctx, j.last, j)
	if err != nil || len(back.Kept) > 0 {
		t.Errorf("undo: %v, kept %v", err, back.Kept)
	}
	same(t, "the clone", view(t, w.target), was)
}

// What somebody changed after the move stays, and is named.
func TestUndoKeepsWhatChangedSince(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, tempDir(t))
	gitIn(t, w.source, "checkout", "-q", "main")
	gitIn(t, w.target, "pull", "-q", "--ff-only", "--no-rebase")
	put(t, w.source, "a.txt", "changed\n", 0o644)
	put(t, w.source, "exec.sh", "changed\n", 0o755)
	put(t, w.source, "un/one", "one", 0o644)
	put(t, w.source, "un/two", "two", 0o644)
	put(t, w.source, "away/three", "three", 0o644)
	put(t, w.source, "away/four", "four", 0o644)
	var n notes
	if _, err := (&Target{Clone: w.target, In: carry(t, capture(t, w.source))}).Apply(ctx, &n); err != nil {
		t.Fatal(err)
	}
	put(t, w.target, "a.txt", "changed since\n", 0o644)
	put(t, w.target, "un/one", "one more", 0o644)
	put(t, w.target, "un/own", "own", 0o644)
	// A folder of the move is a link now: nothing beyond it is touched.
	elsewhere := tempDir(t)
	if err := os.Rename(filepath.Join(w.target, "away"), filepath.Join(elsewhere, "away")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(elsewhere, "away"), filepath.Join(w.target, "away")); err != nil {
		t.Fatal(err)
	}
	back, err := Undo(ctx, n.last, &n)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(back.Kept, " "); got != "away/four away/three un/one a.txt" {
		t.Errorf("kept %q", got)
	}
	if want := "the clone is back on main; changed since, and kept: "; !strings.HasPrefix(back.String(), want) {
		t.Errorf("says %q", back)
	}
	for name, want := range map[string]string{"a.txt": "changed since\n", "exec.sh": "#!/bin/sh\n", "un/one": "one more", "un/own": "own", "away/three": "three"} {
		if b, err := os.ReadFile(filepath.Join(w.target, name)); err != nil || string(b) != want {
			t.Errorf("%s is %q, %v", name, b, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(w.target, "un/two")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("un/two stays: %v", err)
	}
}

// Commits that somebody made on the moved branch are not thrown away.
func TestUndoKeepsNewCommits(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, tempDir(t))
	put(t, w.source, "a.txt", "changed\n", 0o644)
	var n notes
	if _, err := (&Target{Clone: w.target, In: carry(t, capture(t, w.source))}).Apply(ctx, &n); err != nil {
		t.Fatal(err)
	}
	gitIn(t, w.target, "commit", "-qam", "since")
	want := view(t, w.target)
	back, err := Undo(ctx, n.last, &n)
	if err != nil || len(back.Kept) != 2 || back.On != "feature/x" {
		t.Errorf("undo: %v, %+v", err, back)
	}
	same(t, "the clone", view(t, w.target), want)
}

// The branch moved on elsewhere while the clone is back where it was.
func TestUndoSwapsTheBranchOnlyIfItIsAsLeft(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, tempDir(t))
	var n notes
	if _, err := (&Target{Clone: w.target, In: carry(t, capture(t, w.source))}).Apply(ctx, &n); err != nil {
		t.Fatal(err)
	}
	gitIn(t, w.target, "checkout", "-q", "main")
	since := gitIn(t, w.target, "commit-tree", "-p", "feature/x", "-m", "since", "feature/x^{tree}")
	gitIn(t, w.target, "update-ref", "refs/heads/feature/x", since)
	back, err := Undo(ctx, n.last, &n)
	if err != nil || len(back.Kept) != 1 || !strings.Contains(back.Kept[0], "feature/x") {
		t.Errorf("undo: %v, %+v", err, back)
	}
	if got := gitIn(t, w.target, "rev-parse", "feature/x"); got != since {
		t.Errorf("the branch is at %s", got)
	}
}

// A full disk, or a journal that can't be written, at each step: Apply takes
// itself back, and says how that went.
func TestFailureTakesItselfBack(t *testing.T) {
	ctx := context.Background()
	dir := tempDir(t)
	from := newWorld(t, dir)
	messy(t, from.source)
	in := carry(t, capture(t, from.source))
	was := view(t, from.target)
	full := errors.New("no space left on device")
	for n := 1; ; n++ {
		at := filepath.Join(dir, fmt.Sprint(n))
		copyTree(t, from.target, at)
		saves := 0
		_, err := (&Target{Clone: at, In: in}).Apply(ctx, saver(func(Steps) error {
			if saves++; saves == n {
				return full
			}
			return nil
		}))
		if err == nil {
			if n < 6 {
				t.Errorf("only %d steps", n)
			}
			break
		}
		same(t, fmt.Sprint("the clone after a failure at ", n), view(t, at), was)
		var f *Failed
		if !errors.Is(err, full) || !errors.As(err, &f) {
			t.Fatalf("error %v", err)
		}
		says := strings.HasSuffix(err.Error(), "; the clone is back on main")
		if says != (f.Step == "apply") || strings.Contains(err.Error(), "failed:") {
			t.Errorf("step %s says %q", f.Step, err)
		}
		os.RemoveAll(at)
	}
}

type saver func(Steps) error

func (s saver) Save(x Steps) error { return s(x) }

func TestFailedUndoIsSaid(t *testing.T) {
	w := newWorld(t, tempDir(t))
	put(t, w.source, "a.txt", "changed\n", 0o644)
	in := carry(t, capture(t, w.source))
	_, err := (&Target{Clone: w.target, In: in}).Apply(context.Background(), saver(func(s Steps) error {
		if s.Changes == "" {
			return nil
		}
		// Now something of the person's is in the way back.
		put(t, w.target, "moved.txt", "the person's own\n", 0o644)
		return errors.New("stop")
	}))
	if err == nil || !strings.Contains(err.Error(), "apply: journal: stop; putting the clone back failed: git checkout: ") {
		t.Errorf("says %v", err)
	}
	if b, _ := os.ReadFile(filepath.Join(w.target, "moved.txt")); string(b) != "the person's own\n" {
		t.Errorf("lost: %q", b)
	}
}
