package tree

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sessionhub/lib/git"
)

// change is one thing that a person does to a path.
type change struct {
	path, do, content string
}

func drawChanges(t *rapid.T, label string, most int) []change {
	var names []string
	for name := range baseFiles() {
		if name != ".gitignore" { // what is ignored does not travel
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = append(names, "link", "moved.txt", "feature.txt", "new", "new dir/new", "new dir/n\xfcw\n", "deep/x", "deep/x/y", "\"", "dir", "dir/neu", "exec.sh/inner", " lead", "a.txt/b")
	one := rapid.Custom(func(t *rapid.T) change {
		return change{
			rapid.SampledFrom(names).Draw(t, "path"),
			rapid.SampledFrom([]string{"write", "write", "append", "binary", "exec", "delete", "link", "empty"}).Draw(t, "do"),
			rapid.SampledFrom([]string{"x\n", "a\r\nb\r\n", "no end", "diff --git a/x b/x\n", "  \n\t\n\n", "one\ntwo\nthree\nfour\n", "\x00\x01binary\xff", strings.Repeat("long\x00line ", 2000)}).Draw(t, "content"),
		}
	})
	return rapid.SliceOfN(one, 0, most).Draw(t, label)
}

// apply carries a change out where it can be: a file in the place of a folder
// replaces what is in it.
func (c change) apply(dir string) {
	at := filepath.Join(dir, c.path)
	for d := filepath.Dir(at); len(d) > len(dir); d = filepath.Dir(d) {
		if fi, err := os.Lstat(d); err == nil && !fi.IsDir() {
			os.Remove(d)
		}
	}
	if c.do == "delete" {
		os.RemoveAll(at)
		return
	}
	os.MkdirAll(filepath.Dir(at), 0o755)
	fi, err := os.Lstat(at)
	regular := err == nil && fi.Mode().IsRegular()
	switch {
	case c.do == "exec" && regular:
		os.Chmod(at, fi.Mode().Perm()^0o111)
	case c.do == "append" && regular:
		b, _ := os.ReadFile(at)
		os.WriteFile(at, append(b, c.content...), fi.Mode().Perm())
	default:
		os.RemoveAll(at)
		content := c.content
		switch c.do {
		case "link":
			os.Symlink(fmt.Sprintf("to %d", len(c.content)), at)
			return
		case "empty":
			content = ""
		}
		mode := os.FileMode(0o644)
		if c.do == "exec" {
			mode = 0o755
		}
		os.WriteFile(at, []byte(content), mode)
	}
}

// pick draws some of a list.
func pick(t *rapid.T, label string, from []string) []string {
	if len(from) == 0 {
		return nil
	}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, min(4, len(from)), rapid.ID[string]).Draw(t, label)
}

func listed(t fataler, dir string, args ...string) []string {
	return git.Split([]byte(gitIn(t, dir, append([]string{"ls-files", "-z"}, args...)...)))
}

func feed(t fataler, dir string, list []string, args ...string) {
	if len(list) > 0 {
		gitFeed(t, dir, git.Join(list), append(append([]string{"--literal-pathspecs"}, args...), "--pathspec-from-file=-", "--pathspec-file-nul")...)
	}
}

// reachable leaves out what lies behind a link that took a folder's place.
func reachable(dir string, list []string) []string {
	return slices.DeleteFunc(list, func(name string) bool {
		for d := filepath.Dir(name); d != "."; d = filepath.Dir(d) {
			if fi, err := os.Lstat(filepath.Join(dir, d)); err == nil && fi.Mode().Type() == os.ModeSymlink {
				return true
			}
		}
		return false
	})
}

// scramble works in a source: files change, some are staged, some taken out
// of the index, files change again, some are intended to be added.
func scramble(t *rapid.T, dir string) {
	for _, c := range drawChanges(t, "first", 6) {
		c.apply(dir)
	}
	if rapid.Bool().Draw(t, "stage all") {
		gitIn(t, dir, "add", "-A")
	} else {
		feed(t, dir, pick(t, "stage", reachable(dir, listed(t, dir, "-m", "-o", "--exclude-standard"))), "add", "-A")
	}
	feed(t, dir, pick(t, "untrack", listed(t, dir)), "rm", "-q", "--cached", "-f")
	for _, c := range drawChanges(t, "then", 5) {
		c.apply(dir)
	}
	intend := pick(t, "intend", listed(t, dir, "-o", "--exclude-standard"))
	feed(t, dir, intend, "add", "-N")
	for _, name := range pick(t, "lose", intend) {
		// The mark of a lost file has the usual mode on the target.
		if fi, err := os.Lstat(filepath.Join(dir, name)); err == nil && fi.Mode().Type() == 0 && fi.Mode()&0o111 == 0 {
			os.Remove(filepath.Join(dir, name))
		}
	}
}

// clones are the states that a target may be in.
func clones() map[string]func(t fataler, dir string) {
	return map[string]func(t fataler, dir string){
		"on main, behind":      func(fataler, string) {},
		"has the branch, old":  func(t fataler, dir string) { gitIn(t, dir, "branch", "-q", "--no-track", "feature/x") },
		"on the branch, old":   func(t fataler, dir string) { gitIn(t, dir, "checkout", "-q", "-b", "feature/x") },
		"detached":             func(t fataler, dir string) { gitIn(t, dir, "checkout", "-q", "--detach", "HEAD~1") },
		"on the branch, there": func(t fataler, dir string) { gitIn(t, dir, "checkout", "-q", "feature/x") },
		"with files of its own": func(t fataler, dir string) {
			put(t, dir, "own.txt", "own", 0o600)
			put(t, dir, "build/own.o", "own", 0o644)
		},
	}
}

// tries has rapid try a property that often: each try costs some fifty runs of
// git, a tenth of a second or more.
func tries(t *testing.T, n int, property func(*testing.T)) {
	checks := flag.Lookup("rapid.checks")
	was := checks.Value.String()
	if err := checks.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = checks.Value.Set(was) }()
	property(t)
}

// inWorlds checks a property in a new world each time.
func inWorlds(t *testing.T, property func(t *rapid.T, w world)) {
	dir := tempDir(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		at := filepath.Join(dir, fmt.Sprint(n))
		if err := os.Mkdir(at, 0o755); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(at)
		property(t, newWorld(t, at))
	})
}

// Whatever a person did to the source: the target becomes like it, and like
// it was.
func TestPropertyThereAndBack(t *testing.T) { tries(t, 100, thereAndBack) }

func thereAndBack(t *testing.T) {
	ctx := context.Background()
	var kinds []string
	for kind := range clones() {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	inWorlds(t, func(t *rapid.T, w world) {
		kind := rapid.SampledFrom(kinds).Draw(t, "clone")
		if kind == "on the branch, there" {
			gitIn(t, w.target, "fetch", "-q")
		}
		clones()[kind](t, w.target)
		scramble(t, w.source)
		c := capture(t, w.source)
		was := view(t, w.target)
		var n notes
		if _, err := (&Target{Clone: w.target, In: carry(t, c)}).Apply(ctx, &n); err != nil {
			t.Fatalf("%v", err)
		}
		if kind != "with files of its own" {
			same(t, "the target", inner(t, w.target), inner(t, w.source))
		}
		back, err := Undo(ctx, n.last, &n)
		if err != nil || len(back.Kept) > 0 {
			t.Fatalf("undo: %v, kept %v", err, back.Kept)
		}
		same(t, "the target after Undo", view(t, w.target), was)
	})
}
