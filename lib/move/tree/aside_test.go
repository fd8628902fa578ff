package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// wentAway is a world whose session went from the source to the target with all
// kinds of changes: these stay in the source, and left is their Sum.
func wentAway(t fataler, w world, change func(dir string)) (left string) {
	t.Helper()
	change(w.source)
	c := capture(t, w.source)
	left, err := c.Sum()
	if err != nil {
		t.Fatalf("%v", err)
	}
	var n notes
	if _, err := (&Target{Clone: w.target, In: carry(t, c)}).Apply(context.Background(), &n); err != nil {
		t.Fatalf("%v", err)
	}
	if err := Settle(n.last, &n); err != nil {
		t.Fatalf("%v", err)
	}
	return left
}

// A session that comes back finds what it left behind, and brings what became
// of it: that is what is there then, or after Undo again what it had left.
func TestComesBack(t *testing.T) {
	ctx := context.Background()
	dir := tempDir(t)
	w := newWorld(t, dir)
	origin := filepath.Join(dir, "origin.git") // one's own, as it is pushed to
	copyTree(t, w.origin, origin)
	for _, clone := range []string{w.source, w.target} {
		gitIn(t, clone, "remote", "set-url", "origin", origin)
	}
	left := wentAway(t, w, func(dir string) { messy(t, dir) })
	put(t, w.target, "a.txt", "changed over there\n", 0o644)
	put(t, w.target, "un/tracked/more", "new\n", 0o600)
	os.Remove(filepath.Join(w.target, "un/empty"))
	gitIn(t, w.target, "add", "later added")
	gitIn(t, w.target, "commit", "-q", "-m", "five", "--", "later added")
	gitIn(t, w.target, "push", "-q", "origin", "feature/x")
	was := view(t, w.source)
	in := carry(t, capture(t, w.target))
	back := Target{Clone: w.source, In: in}
	if found, err := back.Check(ctx); err != nil || len(found) == 0 || found[0].Reason != Dirty || back.Aside {
		t.Errorf("without knowing of it: %v %v", found, err)
	}
	back.Left = left
	if found, err := back.Check(ctx); err != nil || len(found) > 0 || !back.Aside {
		t.Fatalf("check: %v %v, aside %v", found, err, back.Aside)
	}
	same(t, "the source after Check", view(t, w.source), was)
	var n notes
	if _, err := back.Apply(ctx, &n); err != nil {
		t.Fatal(err)
	}
	same(t, "the source", inner(t, w.source), inner(t, w.target))
	u, err := Undo(ctx, n.last, &n)
	if err != nil || len(u.Kept) > 0 {
		t.Errorf("undo: %v, kept %v", err, u.Kept)
	}
	same(t, "the source after Undo", view(t, w.source), was)
	again := Target{Clone: w.source, In: in, Left: left}
	if _, err := again.Apply(ctx, &n); err != nil {
		t.Fatal(err)
	}
	if err := Settle(n.last, &n); err != nil {
		t.Fatal(err)
	}
	same(t, "the source", inner(t, w.source), inner(t, w.target))
	if list, _ := filepath.Glob(filepath.Join(w.source, ".git", "sessionhub*")); len(list) > 0 {
		t.Errorf("left: %v", list)
	}
}

// Whatever was done since in what a session left behind: it is somebody's.
func TestWhatWasLeftIsAnothersNow(t *testing.T) {
	for name, since := range map[string]func(t fataler, dir string){
		"a change":          func(t fataler, dir string) { put(t, dir, "a.txt", "mine\n", 0o644) },
		"a new file":        func(t fataler, dir string) { put(t, dir, "mine", "mine\n", 0o644) },
		"an untracked file": func(t fataler, dir string) { put(t, dir, "un/empty", "mine\n", 0o644) },
		"its mode":          func(t fataler, dir string) { os.Chmod(filepath.Join(dir, "un/empty"), 0o755) },
		"one is gone":       func(t fataler, dir string) { os.Remove(filepath.Join(dir, "un/empty")) },
		"one is staged":     func(t fataler, dir string) { gitIn(t, dir, "add", "un/empty") },
		"a commit":          func(t fataler, dir string) { gitIn(t, dir, "commit", "-q", "-m", "mine") },
		"another branch":    func(t fataler, dir string) { gitIn(t, dir, "checkout", "-q", "-b", "mine") },
		"a merge is going on": func(t fataler, dir string) {
			put(t, dir, ".git/MERGE_HEAD", gitIn(t, dir, "rev-parse", "HEAD")+"\n", 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			w := newWorld(t, tempDir(t))
			left := wentAway(t, w, func(dir string) { messy(t, dir) })
			since(t, w.source)
			was := view(t, w.source)
			var n notes
			back := Target{Clone: w.source, In: carry(t, capture(t, w.target)), Left: left}
			var refused *Refusal
			if _, err := back.Apply(ctx, &n); !errors.As(err, &refused) || refused.Reason != Dirty && refused.Reason != UnderWay && refused.Reason != Elsewhere {
				t.Errorf("got %v", err)
			}
			same(t, "the source", view(t, w.source), was)
		})
	}
}

// A crash at every step of coming back, and at every step of undoing it.
func TestCrashComingBack(t *testing.T) {
	ctx := context.Background()
	dir := tempDir(t)
	w := newWorld(t, dir)
	left := wentAway(t, w, func(dir string) { messy(t, dir); put(t, dir, "odd/place/kept", "x", 0o600) })
	put(t, w.target, "a.txt", "changed over there\n", 0o644)
	in := carry(t, capture(t, w.target))
	was := view(t, w.source)
	try := func(n int, stored bool, undoAt int) bool {
		at := filepath.Join(dir, fmt.Sprint(n, stored, undoAt))
		copyTree(t, w.source, at)
		defer os.RemoveAll(at)
		j := &dying{at: n, stored: stored}
		dead := dies(func() {
			if _, err := (&Target{Clone: at, In: in, Left: left}).Apply(ctx, j); err != nil {
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
		same(t, fmt.Sprintf("the clone after a crash at save %d (stored: %v, undo broken off at %d)", n, stored, undoAt), view(t, at), was)
		if _, err := os.Lstat(filepath.Join(at, ".git", "sessionhub-moves")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("save %d: its private folder is left", n)
		}
		return dead
	}
	n := 1
	for ; try(n, true, 0); n++ {
		try(n, false, 0)
	}
	if n < 6 {
		t.Errorf("only %d steps", n)
	}
	for undoAt := 1; undoAt <= 2; undoAt++ {
		try(n, true, undoAt)
		try(n, false, undoAt)
	}
}

// git itself may be killed while changes are put aside, or put back: half of them
// are there then.
func TestHalfPutAside(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, tempDir(t))
	left := wentAway(t, w, func(dir string) { messy(t, dir) })
	in := carry(t, capture(t, w.target))
	was := view(t, w.source)
	j := &dying{at: 2, stored: true} // what is to be put aside is noted, and copied
	dies(func() { _, _ = (&Target{Clone: w.source, In: in, Left: left}).Apply(ctx, j) })
	if j.last.Aside == nil {
		t.Fatalf("another step: %+v", j.last)
	}
	// Half of it: some files as they were before, some gone.
	for _, name := range []string{"un/empty", "un/tracked/run"} {
		os.Remove(filepath.Join(w.source, name))
	}
	gitIn(t, w.source, "checkout-index", "-f", "--", "a.txt", "exec.sh")
	if back, err := Undo(ctx, j.last, j); err != nil || len(back.Kept) > 0 {
		t.Errorf("undo: %v, kept %v", err, back.Kept)
	}
	same(t, "the clone", view(t, w.source), was)
}

// What can't be put back since somebody worked there meanwhile is not lost: the
// error says where it lies, and it can be tried again.
func TestPuttingBackMeetsSomethingElse(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, tempDir(t))
	left := wentAway(t, w, func(dir string) { messy(t, dir) })
	was := view(t, w.source)
	var n notes
	if _, err := (&Target{Clone: w.source, In: carry(t, capture(t, w.target)), Left: left}).Apply(ctx, &n); err != nil {
		t.Fatal(err)
	}
	steps := n.last
	steps.Files = nil // as if they were taken back already
	os.RemoveAll(filepath.Join(w.source, "un"))
	put(t, w.source, "un/empty", "the person's own", 0o600)
	_, err := Undo(ctx, steps, &n)
	if err == nil || !strings.Contains(err.Error(), filepath.Join("sessionhub-moves", moveID, "aside")) || n.last.Over {
		t.Fatalf("undo: %v", err)
	}
	if b, _ := os.ReadFile(filepath.Join(w.source, "un/empty")); string(b) != "the person's own" {
		t.Errorf("lost: %q", b)
	}
	os.RemoveAll(filepath.Join(w.source, "un"))
	if _, err := Undo(ctx, n.last, &n); err != nil {
		t.Errorf("undo again: %v", err)
	}
	same(t, "the clone", view(t, w.source), was)
}

// Whatever a person did before the session went, and where it was: it comes back
// with that, and Undo brings what it had left.
func TestPropertyComesBack(t *testing.T) { tries(t, 50, comesBack) }

func comesBack(t *testing.T) {
	ctx := context.Background()
	inWorlds(t, func(t *rapid.T, w world) {
		left := wentAway(t, w, func(dir string) { scramble(t, dir) })
		if rapid.Bool().Draw(t, "goes on") {
			gitIn(t, w.target, "reset", "-q") // a mark of git add -N keeps the mode that the file had then
			scramble(t, w.target)
		}
		was := view(t, w.source)
		var n notes
		if _, err := (&Target{Clone: w.source, In: carry(t, capture(t, w.target)), Left: left}).Apply(ctx, &n); err != nil {
			t.Fatalf("%v", err)
		}
		same(t, "the source", inner(t, w.source), inner(t, w.target))
		back, err := Undo(ctx, n.last, &n)
		if err != nil || len(back.Kept) > 0 {
			t.Fatalf("undo: %v, kept %v", err, back.Kept)
		}
		same(t, "the source after Undo", view(t, w.source), was)
	})
}
