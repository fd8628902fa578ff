package tree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const moveID = "01976f3e-7c1a-7c11-9d2e-0d9d0a6a1b11"

// TestMain gives every git of the tests a user whose settings would break a
// program that trusts the defaults.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tree-test-")
	if err != nil {
		panic(err)
	}
	config := `[user]
	name = dev
	email = dev@example.org
[init]
	defaultBranch = main
[protocol "file"]
	allow = always
[color]
	ui = always
	diff = always
[core]
	quotePath = true
	pager = false
	safecrlf = true
	hooksPath = ` + dir + `/hooks
	whitespace = trailing-space,cr-at-eol
[diff]
	noprefix = true
	mnemonicPrefix = true
	external = false
	renames = copies
	context = 0
	algorithm = histogram
	interHunkContext = 5
	ignoreSubmodules = all
	submodule = log
	wsErrorHighlight = all
	colorMoved = zebra
	suppressBlankEmpty = true
	relative = true
[apply]
	whitespace = fix
	ignoreWhitespace = change
[status]
	showUntrackedFiles = no
	relativePaths = true
	branch = true
[fetch]
	prune = true
[merge]
	ff = false
[push]
	followTags = true
[commit]
	gpgSign = true
[branch]
	autoSetupRebase = always
[index]
	version = 4
`
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	must(os.WriteFile(filepath.Join(dir, "gitconfig"), []byte(config), 0o600))
	must(os.Mkdir(filepath.Join(dir, "hooks"), 0o755))
	hook := "#!/bin/sh\necho \"$0\" >>" + dir + "/hooked\n"
	for _, name := range []string{"post-checkout", "post-merge", "pre-auto-gc", "reference-transaction", "post-index-change", "pre-push"} {
		must(os.WriteFile(filepath.Join(dir, "hooks", name), []byte(hook), 0o755))
	}
	must(os.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(dir, "gitconfig")))
	must(os.Setenv("GIT_CONFIG_SYSTEM", "/dev/null"))
	must(os.Setenv("TREE_TEST_HOOKED", filepath.Join(dir, "hooked")))
	code := m.Run()
	os.RemoveAll(dir)
	os.RemoveAll(template.dir)
	os.Exit(code)
}

// hooked is which of the user's hooks ran since the last call.
func hooked(t testing.TB) string {
	t.Helper()
	name := os.Getenv("TREE_TEST_HOOKED")
	b, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	os.Remove(name)
	return string(b)
}

// fataler is what *testing.T and *rapid.T have in common.
type fataler interface {
	Helper()
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

func gitIn(t fataler, dir string, args ...string) string {
	t.Helper()
	return gitFeed(t, dir, nil, args...)
}

func gitFeed(t fataler, dir string, in io.Reader, args ...string) string {
	t.Helper()
	cmd := gitCommand(dir, args...)
	cmd.Stdin = in
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q in %s: %v\n%s", args, dir, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func put(t fataler, dir, name, content string, mode fs.FileMode) {
	t.Helper()
	at := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatalf("%v", err)
	}
	os.Remove(at)
	if err := os.WriteFile(at, []byte(content), mode); err != nil {
		t.Fatalf("%v", err)
	}
	if err := os.Chmod(at, mode); err != nil {
		t.Fatalf("%v", err)
	}
}

// baseFiles are what the first commit holds.
func baseFiles() map[string]string {
	long := strings.Repeat("line of text\n", 40)
	return map[string]string{
		"a.txt": "one\ntwo\nthree\n", "dir/b.txt": long, "dir/sp ace.txt ": "x\n", "bin.dat": "\x00\x01\x02" + long, "exec.sh": "#!/bin/sh\n",
		"empty": "", "crlf.txt": "a\r\nb\r\n", "odd \"q\"\n name": "odd\n", "caf\xe9.txt": "latin\n", "deep/x/y/z.txt": "deep\n", "-dash": "dash\n",
		"tab\tname": "tab\n", "ümlaut": "no line end", ".gitignore": "*.log\nbuild/\n", "trailing.txt": "a  \nb\t\n\n\n", "back\\slash": "b\n",
	}
}

// world is an origin with three commits on main and a branch feature on top,
// and two clones of it.
type world struct{ origin, source, target string }

var template struct { // built once: cloning is most of what a test costs
	sync.Once
	dir string
}

func buildTemplate(t fataler) string {
	template.Do(func() {
		dir, err := os.MkdirTemp("", "tree-template-")
		if err != nil {
			t.Fatalf("%v", err)
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			t.Fatalf("%v", err)
		}
		template.dir = dir
		gitIn(t, dir, "init", "-q", "--bare", "origin.git")
		gitIn(t, dir, "clone", "-q", filepath.Join(dir, "origin.git"), "source")
		src := filepath.Join(dir, "source")
		for name, content := range baseFiles() {
			put(t, src, name, content, 0o644)
		}
		put(t, src, "exec.sh", "#!/bin/sh\n", 0o755)
		if err := os.Symlink("a.txt", filepath.Join(src, "link")); err != nil {
			t.Fatalf("%v", err)
		}
		gitIn(t, src, "add", "-A")
		gitIn(t, src, "commit", "-qm", "one")
		put(t, src, "later.txt", "later\n", 0o644)
		gitIn(t, src, "add", "-A")
		gitIn(t, src, "commit", "-qm", "two")
		gitIn(t, src, "push", "-q", "-u", "origin", "main")
		gitIn(t, dir, "clone", "-q", filepath.Join(dir, "origin.git"), "target")
		put(t, src, "a.txt", "zero\none\ntwo\nthree\n", 0o644)
		gitIn(t, src, "mv", "later.txt", "moved.txt")
		gitIn(t, src, "commit", "-qam", "three")
		gitIn(t, src, "push", "-q")
		gitIn(t, src, "checkout", "-q", "-b", "feature/x")
		put(t, src, "feature.txt", "feature\n", 0o644)
		gitIn(t, src, "add", "-A")
		gitIn(t, src, "commit", "-qm", "four")
		gitIn(t, src, "push", "-q", "-u", "origin", "feature/x")
	})
	return template.dir
}

func newWorld(t fataler, dir string) world {
	t.Helper()
	from := buildTemplate(t)
	w := world{filepath.Join(from, "origin.git"), filepath.Join(dir, "source"), filepath.Join(dir, "target")}
	for _, to := range []string{w.source, w.target} {
		copyTree(t, filepath.Join(from, filepath.Base(to)), to)
	}
	return w
}

// copyTree copies with times, so that an index stays true; os.CopyFS would
// also refuse names that are not UTF-8.
func copyTree(t fataler, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatalf("%v", err)
	}
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func tempDir(t testing.TB) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func capture(t fataler, dir string) *Captured {
	t.Helper()
	into, err := os.MkdirTemp(buildTemplate(t), "captured-")
	if err != nil {
		t.Fatalf("%v", err)
	}
	c, err := Source{}.Capture(context.Background(), dir, into)
	if err != nil {
		t.Fatalf("capture: %v", err)
	}
	return c
}

// carry is what a bundle does: it hashes what it packs.
func carry(t fataler, c *Captured) *Incoming {
	t.Helper()
	in := &Incoming{Move: moveID, Git: c.Git, Dir: c.Dir, Staged: c.Staged, Changes: c.Changes, Open: c.Open}
	for _, f := range c.Untracked {
		if f.Link == "" {
			r, err := c.Open(f)
			if err != nil {
				t.Fatalf("%v", err)
			}
			h := sha256.New()
			if _, err := io.Copy(h, r); err != nil {
				t.Fatalf("%v", err)
			}
			r.Close()
			f.SHA256 = hex.EncodeToString(h.Sum(nil))
		}
		in.Untracked = append(in.Untracked, f)
	}
	return in
}

// notes is a journal in memory.
type notes struct{ last Steps }

func (n *notes) Save(s Steps) error { n.last = s; return nil }

// view is all of a work tree that a person or Git could tell apart, but for
// times and the refs of remotes.
func view(t fataler, dir string) string {
	t.Helper()
	return inner(t, dir) + refs(t, dir)
}

func refs(t fataler, dir string) string {
	t.Helper()
	var out strings.Builder
	for _, name := range []string{"HEAD", "config"} {
		b, _ := os.ReadFile(filepath.Join(dir, ".git", name))
		fmt.Fprintf(&out, "%s\n%s\n", name, b)
	}
	return out.String() + gitIn(t, dir, "for-each-ref", "refs/heads", "refs/tags")
}

// inner is index, status and files.
func inner(t fataler, dir string) string {
	t.Helper()
	status := gitIn(t, dir, "--no-optional-locks", "-c", "status.branch=false", "-c", "color.ui=false", "-c", "diff.ignoreSubmodules=none", "status", "--porcelain=v2", "-z", "-uall", "--no-renames")
	index := gitIn(t, dir, "ls-files", "-s", "-z")
	return fmt.Sprintf("%q\n%q\n%s", strings.Split(status, "\x00"), strings.Split(index, "\x00"), files(t, dir))
}

func files(t fataler, dir string) string {
	t.Helper()
	var out bytes.Buffer
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, at)
		switch {
		case d.IsDir():
			return nil
		case fi.Mode().Type() == fs.ModeSymlink:
			to, err := os.Readlink(at)
			fmt.Fprintf(&out, "%q -> %q\n", name, to)
			return err
		}
		b, err := os.ReadFile(at)
		fmt.Fprintf(&out, "%q %v %x\n", name, fi.Mode().Perm()&0o111, sha256.Sum256(b))
		return err
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return out.String()
}

// same compares two views and shows what differs.
func same(t fataler, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	in := map[string]int{}
	for line := range strings.Lines(want) {
		in[line]++
	}
	for line := range strings.Lines(got) {
		in[line]--
	}
	var diff strings.Builder
	for line, n := range in {
		if n > 0 {
			fmt.Fprintf(&diff, "  want %s", line)
		} else if n < 0 {
			fmt.Fprintf(&diff, "  got  %s", line)
		}
	}
	t.Errorf("%s differs:\n%s", what, diff.String())
}

func gitCommand(dir string, args ...string) *exec.Cmd {
	return exec.Command("git", append([]string{"-C", dir, "-c", "commit.gpgSign=false", "-c", "core.hooksPath=/dev/null", "-c", "core.safecrlf=false"}, args...)...)
}
