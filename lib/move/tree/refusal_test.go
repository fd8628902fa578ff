package tree

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sessionhub/lib/git"
	"sessionhub/lib/record"
)

// mayFail runs git for a state that git itself reports with a failure, such
// as a conflict.
func mayFail(dir string, args ...string) {
	cmd := gitCommand(dir, args...)
	_ = cmd.Run()
}

func conflict(t fataler, dir string, how ...string) {
	gitIn(t, dir, "checkout", "-q", "-b", "other", "HEAD~1")
	put(t, dir, "a.txt", "their side\n", 0o644)
	gitIn(t, dir, "commit", "-qam", "theirs")
	gitIn(t, dir, "checkout", "-q", "-")
	put(t, dir, "a.txt", "our side\n", 0o644)
	gitIn(t, dir, "commit", "-qam", "ours")
	mayFail(dir, how...)
}

func submodule(t fataler, dir string) string {
	sub := filepath.Join(filepath.Dir(dir), "library")
	gitIn(t, filepath.Dir(dir), "init", "-q", "library")
	put(t, sub, "lib.c", "int x;\n", 0o644)
	gitIn(t, sub, "add", "-A")
	gitIn(t, sub, "commit", "-qm", "lib")
	gitIn(t, dir, "submodule", "--quiet", "add", sub, "vendor/lib")
	gitIn(t, dir, "commit", "-qm", "a submodule")
	return filepath.Join(dir, "vendor/lib")
}

// Field report A39: a refusal without a word. Each says what, where, and a
// way out.
func TestA39SourceRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		reason  Reason
		what    string
		way     string
		prepare func(t *testing.T, w world) (dir string)
	}{
		"no such folder": {NoWorkTree, "is no folder", "folder", func(_ *testing.T, w world) string { return w.source + "/missing" }},
		"not in Git": {NoWorkTree, "is not in a Git work tree", "git init", func(t *testing.T, w world) string {
			return tempDir(t)
		}},
		"inside .git": {NoWorkTree, "inside a Git directory", "beside", func(_ *testing.T, w world) string { return w.source + "/.git/refs" }},
		"bare":        {Bare, "is a bare repository", "clone it", func(_ *testing.T, w world) string { return w.origin }},
		"no origin": {NoOrigin, "no remote origin", "git remote add", func(t *testing.T, w world) string {
			gitIn(t, w.source, "remote", "rename", "origin", "upstream")
			return w.source
		}},
		"detached": {Detached, "no branch checked out", "git switch", func(t *testing.T, w world) string {
			gitIn(t, w.source, "checkout", "-q", "--detach")
			return w.source
		}},
		"unborn": {Unborn, "branch fresh has no commit", "commit", func(t *testing.T, w world) string {
			gitIn(t, w.source, "checkout", "-q", "--orphan", "fresh")
			return w.source
		}},
		"merge": {UnderWay, "a merge is under way", "git merge --continue", func(t *testing.T, w world) string {
			conflict(t, w.source, "merge", "-q", "other")
			return w.source
		}},
		"rebase": {UnderWay, "a rebase is under way", "git rebase --continue", func(t *testing.T, w world) string {
			conflict(t, w.source, "rebase", "-q", "other")
			return w.source
		}},
		"am or old rebase": {UnderWay, "a rebase, or git am, is under way", "--abort", func(t *testing.T, w world) string {
			conflict(t, w.source, "rebase", "-q", "--apply", "other")
			return w.source
		}},
		"cherry-pick": {UnderWay, "a cherry-pick is under way", "git cherry-pick --continue", func(t *testing.T, w world) string {
			conflict(t, w.source, "cherry-pick", "other")
			return w.source
		}},
		"revert": {UnderWay, "a revert is under way", "git revert --continue", func(t *testing.T, w world) string {
			conflict(t, w.source, "revert", "--no-edit", "HEAD~1")
			put(t, w.source, ".git/REVERT_HEAD", gitIn(t, w.source, "rev-parse", "HEAD")+"\n", 0o644)
			return w.source
		}},
		"bisect": {UnderWay, "a bisect is under way", "git bisect reset", func(t *testing.T, w world) string {
			gitIn(t, w.source, "bisect", "start")
			return w.source
		}},
		"unmerged": {Unmerged, "a.txt is not merged", "git add", func(t *testing.T, w world) string {
			conflict(t, w.source, "merge", "-q", "other")
			gitIn(t, w.source, "update-ref", "-d", "MERGE_HEAD")
			return w.source
		}},
		"sparse": {Sparse, "only a part", "sparse-checkout disable", func(t *testing.T, w world) string {
			gitIn(t, w.source, "sparse-checkout", "set", "dir")
			return w.source
		}},
		"shallow": {Shallow, "only the last commits", "--unshallow", func(t *testing.T, w world) string {
			dir := filepath.Join(tempDir(t), "shallow")
			gitIn(t, w.source, "clone", "-q", "--depth", "1", "file://"+w.origin, dir)
			return dir
		}},
		"hidden by assume-unchanged": {Hidden, "a.txt has changes that Git was told to overlook", "--no-assume-unchanged", func(t *testing.T, w world) string {
			gitIn(t, w.source, "update-index", "--assume-unchanged", "a.txt")
			put(t, w.source, "a.txt", "hidden", 0o644)
			return w.source
		}},
		"hidden by skip-worktree": {Hidden, "dir/b.txt has changes", "--no-skip-worktree", func(t *testing.T, w world) string {
			gitIn(t, w.source, "update-index", "--skip-worktree", "dir/b.txt", "a.txt")
			put(t, w.source, "dir/b.txt", "hidden", 0o644)
			return w.source
		}},
		"submodule with changes": {Submodule, "vendor/lib has changes of its own", "commit", func(t *testing.T, w world) string {
			put(t, submodule(t, w.source), "lib.c", "int y;\n", 0o644)
			return w.source
		}},
		"submodule with untracked files": {Submodule, "vendor/lib has changes", "commit", func(t *testing.T, w world) string {
			put(t, submodule(t, w.source), "new.c", "int y;\n", 0o644)
			return w.source
		}},
		"submodule elsewhere": {Submodule, "vendor/lib has changes", "commit", func(t *testing.T, w world) string {
			gitIn(t, submodule(t, w.source), "commit", "-q", "--allow-empty", "-m", "more")
			return w.source
		}},
		"submodule staged": {Submodule, "vendor/lib is staged with another commit", "commit it", func(t *testing.T, w world) string {
			gitIn(t, submodule(t, w.source), "commit", "-q", "--allow-empty", "-m", "more")
			gitIn(t, w.source, "add", "vendor/lib")
			return w.source
		}},
		"Git LFS without git-lfs": {Filter, "git-lfs is not on this machine", "install git-lfs", func(t *testing.T, w world) string {
			t.Setenv("PATH", withoutLFS(t))
			put(t, w.source, ".gitattributes", "*.dat filter=lfs diff=lfs merge=lfs -text\n", 0o644)
			return w.source
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tempDir(t))
			dir := c.prepare(t, w)
			_, err := Source{}.Capture(context.Background(), dir, tempDir(t))
			var r *Refusal
			if !errors.As(err, &r) || r.Reason != c.reason || !strings.Contains(r.What, c.what) || !strings.Contains(r.Way, c.way) || !Refused(err, c.reason) {
				t.Errorf("refused with %#v", err)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("several lines: %q", err)
			}
		})
	}
}

// withoutLFS is a PATH with git and a shell's needs, and no git-lfs.
func withoutLFS(t *testing.T) string {
	dir := tempDir(t)
	for _, name := range []string{"git", "sh", "cat", "sed"} {
		at, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(at, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// States that look odd and travel all the same.
func TestSourcesThatMayTravel(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, w world) (dir string){
		"a linked work tree": func(t *testing.T, w world) string {
			dir := filepath.Join(tempDir(t), "linked")
			gitIn(t, w.source, "checkout", "-q", "main")
			gitIn(t, w.source, "worktree", "add", "-q", dir, "feature/x")
			messy(t, dir)
			return dir
		},
		"the branch is checked out elsewhere too": func(t *testing.T, w world) string {
			gitIn(t, w.source, "worktree", "add", "-q", "-f", filepath.Join(tempDir(t), "linked"), "feature/x")
			return w.source
		},
		"flags without changes": func(t *testing.T, w world) string {
			gitIn(t, w.source, "update-index", "--assume-unchanged", "a.txt")
			gitIn(t, w.source, "update-index", "--skip-worktree", "dir/b.txt")
			return w.source
		},
		"no index": func(t *testing.T, w world) string {
			os.Remove(filepath.Join(w.source, ".git", "index"))
			return w.source
		},
		"a split index": func(t *testing.T, w world) string {
			gitIn(t, w.source, "update-index", "--split-index")
			put(t, w.source, "a.txt", "x", 0o644)
			return w.source
		},
		"the session in a subfolder": func(t *testing.T, w world) string { return filepath.Join(w.source, "deep/x") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tempDir(t))
			dir := prepare(t, w)
			c := capture(t, dir)
			var n notes
			done, err := (&Target{Clone: w.target, In: carry(t, c)}).Apply(context.Background(), &n)
			if err != nil {
				t.Fatal(err)
			}
			if name == "flags without changes" { // flags are the source's own
				gitIn(t, w.source, "update-index", "--no-assume-unchanged", "a.txt")
			}
			same(t, "the target", inner(t, done.Top), inner(t, c.Top))
		})
	}
}

// What stays is named, with why.
func TestWhatStays(t *testing.T) {
	w := newWorld(t, tempDir(t))
	put(t, w.source, ".gitignore", ".env\nnode_modules/\nrun.sock\n", 0o644)
	put(t, w.source, ".env", "KEY=x", 0o600)
	put(t, w.source, ".env.example", "KEY=", 0o600)
	put(t, w.source, "node_modules/.env", "KEY=x", 0o600)
	put(t, w.source, "keys/id_ed25519", "x", 0o600)
	put(t, w.source, "keys/note", "-----BEGIN RSA PRIVATE KEY-----\n", 0o600)
	put(t, w.source, "caf\xe9.pem", "x", 0o600)
	put(t, w.source, "big", strings.Repeat("x", 2000), 0o600)
	put(t, w.source, "shut", "x", 0o600)
	put(t, w.source, "SHUT", "x", 0o600)
	put(t, w.source, "git~1", "x", 0o600)
	put(t, w.source, strings.Repeat("\xff", 200), "x", 0o600)
	if err := os.Symlink("to\nnowhere", filepath.Join(w.source, "odd")); err != nil {
		t.Fatal(err)
	}
	gitIn(t, filepath.Dir(w.source), "init", "-q", "source/nested")
	put(t, w.source, "nested/file", "x", 0o600)
	if err := syscall.Mkfifo(filepath.Join(w.source, "dir/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sock", "run.sock"} {
		l, err := net.Listen("unix", filepath.Join(w.source, name))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	if err := os.Symlink("keys/id_ed25519", filepath.Join(w.source, "innocent")); err != nil {
		t.Fatal(err)
	}
	c, err := Source{MaxUntracked: 1000}.Capture(context.Background(), w.source, tempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []record.NotCarried{
		{Path: git.Quote(strings.Repeat("\xff", 200)), Why: "its name is too long"},
		{Path: `"caf\351.pem"`, Why: "looks like a secret"},
		{Path: ".env", Why: "looks like a secret, and Git ignores it"},
		{Path: "big", Why: "untracked and larger than 1000 bytes"},
		{Path: "dir/pipe", Why: "a pipe"},
		{Path: "git~1", Why: "some file system takes its name for .git"},
		{Path: "keys/id_ed25519", Why: "looks like a secret"},
		{Path: "keys/note", Why: "holds a private key"},
		{Path: "nested/", Why: "a repository of its own"},
		{Path: "odd", Why: "a link whose target is not plain text"},
		{Path: "shut", Why: "differs from SHUT only in case"},
		{Path: "sock", Why: "a socket"},
	}
	if len(c.NotCarried) != len(want) {
		t.Errorf("stays: %+v", c.NotCarried)
	}
	for i, w := range want {
		if i < len(c.NotCarried) && c.NotCarried[i] != w {
			t.Errorf("stays %+v, want %+v", c.NotCarried[i], w)
		}
	}
	var travels []string
	for _, f := range c.Untracked {
		travels = append(travels, f.Path)
	}
	if got := strings.Join(travels, " "); got != ".env.example SHUT innocent" {
		t.Errorf("travels: %s", got)
	}
}

// A tree that changes while it is read is not carried half old, half new.
func TestChangedWhileItWasRead(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"an untracked file":  func(t *testing.T, dir string) { put(t, dir, "un", "other", 0o644) },
		"one more":           func(t *testing.T, dir string) { put(t, dir, "more", "", 0o644) },
		"a tracked file":     func(t *testing.T, dir string) { put(t, dir, "a.txt", "other", 0o644) },
		"a changed file":     func(t *testing.T, dir string) { put(t, dir, "exec.sh", "b", 0o755) },
		"the index":          func(t *testing.T, dir string) { gitIn(t, dir, "add", "exec.sh") },
		"a commit":           func(t *testing.T, dir string) { gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", "x") },
		"another branch":     func(t *testing.T, dir string) { gitIn(t, dir, "checkout", "-q", "-b", "x") },
		"a file taken away":  func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "un")) },
		"a mode":             func(t *testing.T, dir string) { os.Chmod(filepath.Join(dir, "un"), 0o755) },
		"nothing (no error)": func(*testing.T, string) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tempDir(t))
			put(t, w.source, "un", "un", 0o644)
			put(t, w.source, "exec.sh", "a", 0o755)
			s := Source{Read: func() { change(t, w.source) }}
			_, err := s.Capture(context.Background(), w.source, tempDir(t))
			if want := !strings.Contains(name, "no error"); errors.Is(err, ErrChanged) != want {
				t.Errorf("got %v", err)
			}
		})
	}
}
