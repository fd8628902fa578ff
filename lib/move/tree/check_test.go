package tree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What can be said without changing anything is said before the source stops
// anything; Apply refuses for the same reason.
func TestTargetRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		reason  Reason
		what    string
		way     string
		prepare func(t *testing.T, w world, target *Target)
	}{
		"bare": {Bare, "bare repository", "clone", func(_ *testing.T, w world, x *Target) { x.Clone = w.origin }},
		"no origin": {NoOrigin, "no remote origin", "git remote add", func(t *testing.T, w world, _ *Target) {
			gitIn(t, w.target, "remote", "remove", "origin")
		}},
		"another repository": {OtherRemote, "a clone of something else", "name the clone", func(t *testing.T, w world, _ *Target) {
			gitIn(t, w.target, "remote", "set-url", "origin", "https://example.org/other.git")
		}},
		"changed": {Dirty, "uncommitted changes: a.txt", "--worktree", func(t *testing.T, w world, _ *Target) {
			put(t, w.target, "a.txt", "mine", 0o644)
		}},
		"staged": {Dirty, "uncommitted changes: new", "--worktree", func(t *testing.T, w world, _ *Target) {
			put(t, w.target, "new", "mine", 0o644)
			gitIn(t, w.target, "add", "new")
		}},
		"hidden change": {Hidden, "changes in dir/b.txt", "--no-assume-unchanged", func(t *testing.T, w world, _ *Target) {
			gitIn(t, w.target, "update-index", "--assume-unchanged", "dir/b.txt")
			put(t, w.target, "dir/b.txt", "mine", 0o644)
		}},
		"a rebase": {UnderWay, "a rebase is under way", "--abort", func(t *testing.T, w world, _ *Target) {
			conflict(t, w.target, "rebase", "-q", "other")
		}},
		"shallow": {Shallow, "only the last commits", "--unshallow", func(t *testing.T, w world, x *Target) {
			x.Clone = filepath.Join(tempDir(t), "shallow")
			gitIn(t, w.source, "clone", "-q", "--depth", "1", "file://"+w.origin, x.Clone)
		}},
		"sparse": {Sparse, "only a part", "disable", func(t *testing.T, w world, _ *Target) {
			gitIn(t, w.target, "sparse-checkout", "set", "dir")
		}},
		"locked": {Locked, "another git works", "index.lock", func(t *testing.T, w world, _ *Target) {
			put(t, w.target, ".git/index.lock", "", 0o644)
		}},
		"an untracked file there": {InTheWay, "un/file lies in", "move it away", func(t *testing.T, w world, _ *Target) {
			put(t, w.target, "un/file", "mine", 0o644)
		}},
		"a file in a folder's place": {InTheWay, "un lies in", "move it away", func(t *testing.T, w world, _ *Target) {
			put(t, w.target, "un", "mine", 0o644)
		}},
		"a link in a folder's place": {InTheWay, "un lies in", "move it away", func(t *testing.T, w world, _ *Target) {
			if err := os.Symlink("/tmp", filepath.Join(w.target, "un")); err != nil {
				t.Fatal(err)
			}
		}},
		"an ignored file there": {InTheWay, "staged.log lies in", "move it away", func(t *testing.T, w world, _ *Target) {
			put(t, w.target, "staged.log", "mine", 0o644)
		}},
		"the branch is elsewhere": {Elsewhere, "feature/x is checked out in", "git switch", func(t *testing.T, w world, _ *Target) {
			gitIn(t, w.target, "worktree", "add", "-q", "-b", "feature/x", filepath.Join(tempDir(t), "linked"), "main")
		}},
		"the branch has more": {Diverged, "has commits in", "push them", func(t *testing.T, w world, _ *Target) {
			gitIn(t, w.target, "fetch", "-q")
			gitIn(t, w.target, "checkout", "-q", "feature/x")
			gitIn(t, w.target, "commit", "-q", "--allow-empty", "-m", "more")
		}},
		"no space": {NoSpace, "too little space", "MiB free", func(_ *testing.T, _ world, x *Target) {
			x.Free = func(string) (uint64, error) { return spareSpace, nil }
		}},
		"a new work tree that is there": {InTheWay, "is there already", "name a path", func(t *testing.T, _ world, x *Target) {
			x.Worktree = tempDir(t)
		}},
		"a new work tree without a root": {InTheWay, "is relative", "from the root", func(t *testing.T, _ world, x *Target) { x.Worktree = "x" }},
		"a new work tree for the branch checked out": {Elsewhere, "feature/x is checked out", "git switch", func(t *testing.T, w world, x *Target) {
			gitIn(t, w.target, "checkout", "-q", "-b", "feature/x")
			x.Worktree = filepath.Join(tempDir(t), "x")
		}},
		"a filter": {Filter, "the filter crypt, which is not set up", "filter.crypt", func(_ *testing.T, _ world, x *Target) {
			x.In.Git.Filters = []string{"crypt"}
		}},
		"Git LFS (field report A43)": {Filter, "git-lfs is not on this machine", "install git-lfs", func(t *testing.T, _ world, x *Target) {
			t.Setenv("PATH", withoutLFS(t))
			x.In.Git.Filters = []string{"lfs"}
		}},
		"a submodule (field report A44)": {Submodule, "vendor/lib is not checked out", "git submodule update", func(_ *testing.T, _ world, x *Target) {
			x.In.Git.Submodules = []string{"vendor/lib"}
		}},
		"a submodule in a new work tree (field report A44)": {Submodule, "a new work tree would lack", "the clone itself", func(t *testing.T, _ world, x *Target) {
			x.In.Git.Submodules = []string{"vendor/lib"}
			x.Worktree = filepath.Join(tempDir(t), "x")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tempDir(t))
			put(t, w.source, "staged.log", "x", 0o644)
			gitIn(t, w.source, "add", "-f", "staged.log")
			put(t, w.source, "un/file", "x", 0o644)
			target := &Target{Clone: w.target, In: carry(t, capture(t, w.source))}
			c.prepare(t, w, target)
			found, err := target.Check(context.Background())
			if err != nil || len(found) == 0 {
				t.Fatalf("found %v, %v", found, err)
			}
			r := found[0]
			if r.Reason != c.reason || !strings.Contains(r.What, c.what) || !strings.Contains(r.Way, c.way) {
				t.Errorf("refused with %#v", r)
			}
			var n notes
			_, err = target.Apply(context.Background(), &n)
			if !Refused(err, c.reason) || !strings.HasPrefix(err.Error(), "check clone: ") || n.last.Clone != "" {
				t.Errorf("apply: %v, %+v", err, n.last)
			}
		})
	}
}

// Check goes on after the first find.
func TestCheckSaysAll(t *testing.T) {
	w := newWorld(t, tempDir(t))
	put(t, w.source, "un/file", "x", 0o644)
	target := &Target{Clone: w.target, In: carry(t, capture(t, w.source))}
	put(t, w.target, "un/file", "mine", 0o644)
	put(t, w.target, "a.txt", "mine", 0o644)
	target.In.Git.Filters = []string{"crypt"}
	found, err := target.Check(context.Background())
	var got []string
	for _, r := range found {
		got = append(got, string(r.Reason))
	}
	if err != nil || strings.Join(got, ", ") != "dirty, in the way, filter" {
		t.Errorf("found %v, %v", got, err)
	}
}

// Only the source's commits tell of these: found after the fetch, with the
// work tree still untouched.
func TestRefusalsAfterTheFetch(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		reason Reason
		what   string
		source func(t *testing.T, dir string)
		target func(t *testing.T, dir string)
	}{
		"a file that the branch brings": {InTheWay, "feature.txt lies in", nil, func(t *testing.T, dir string) { put(t, dir, "feature.txt", "mine", 0o644) }},
		"A42, a link over an ignored folder": {InTheWay, "build/mine lies in", func(t *testing.T, dir string) {
			if err := os.Symlink("dir", filepath.Join(dir, "build")); err != nil {
				t.Fatal(err)
			}
			gitIn(t, dir, "add", "-f", "build")
		}, func(t *testing.T, dir string) { put(t, dir, "build/mine", "mine", 0o644) }},
		"A42, a file over an ignored one": {InTheWay, "x.log lies in", func(t *testing.T, dir string) {
			put(t, dir, "x.log", "theirs", 0o644)
			gitIn(t, dir, "add", "-f", "x.log")
		}, func(t *testing.T, dir string) { put(t, dir, "x.log", "mine", 0o644) }},
		"A42, a folder over an ignored file": {InTheWay, "y.log lies in", func(t *testing.T, dir string) {
			put(t, dir, "y.log/in", "theirs", 0o644)
			gitIn(t, dir, "add", "-f", "y.log/in")
		}, func(t *testing.T, dir string) { put(t, dir, "y.log", "mine", 0o644) }},
		"diverged": {Diverged, "has commits", nil, func(t *testing.T, dir string) {
			gitIn(t, dir, "checkout", "-q", "-b", "feature/x")
			gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", "mine")
		}},
		"A43, LFS since": {Filter, "git-lfs", func(t *testing.T, dir string) {
			put(t, dir, ".gitattributes", "*.big filter=lfs\n", 0o644)
			put(t, dir, "x.big", "pointer", 0o644)
			gitIn(t, dir, "add", "-A")
		}, func(t *testing.T, dir string) { t.Setenv("PATH", withoutLFS(t)) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tempDir(t))
			if c.source != nil {
				c.source(t, w.source)
				gitIn(t, w.source, "commit", "-qm", "more")
			}
			in := &Incoming{Move: moveID, Dir: "."}
			in.Git.Remote, in.Git.Branch, in.Git.Head = w.origin, "feature/x", gitIn(t, w.source, "rev-parse", "HEAD")
			in.Commits = filepath.Join(tempDir(t), "commits.bundle")
			gitIn(t, w.source, "bundle", "create", "-q", in.Commits, "feature/x")
			c.target(t, w.target)
			was := view(t, w.target)
			_, err := (&Target{Clone: w.target, In: in}).Apply(ctx, &notes{})
			var r *Refusal
			if !errors.As(err, &r) || r.Reason != c.reason || !strings.Contains(r.What, c.what) || !strings.HasPrefix(err.Error(), "checkout: ") {
				t.Errorf("refused with %v", err)
			}
			same(t, "the clone", view(t, w.target), was)
		})
	}
}

// What no honest source sends.
func TestHostileIncoming(t *testing.T) {
	ctx := context.Background()
	for name, spoil := range map[string]func(in *Incoming){
		"the move":               func(in *Incoming) { in.Move = "../x" },
		"a branch with dots":     func(in *Incoming) { in.Git.Branch = "../../config" },
		"a branch as an option":  func(in *Incoming) { in.Git.Branch = "--detach" },
		"a branch as a question": func(in *Incoming) { in.Git.Branch = "@{-1}" },
		"a commit as an option":  func(in *Incoming) { in.Git.Head = "--upload-pack=touch /tmp/x                           " },
		"a commit by name":       func(in *Incoming) { in.Git.Head = "main" },
		"up":                     func(in *Incoming) { in.Untracked[0].Path = "../x" },
		"up in the middle":       func(in *Incoming) { in.Untracked[0].Path = "un/../../x" },
		"from the root":          func(in *Incoming) { in.Untracked[0].Path = "/tmp/x" },
		"into .git":              func(in *Incoming) { in.Untracked[0].Path = ".git/hooks/post-checkout" },
		"into .GIT":              func(in *Incoming) { in.Untracked[0].Path = "sub/.GIT/config" },
		"into .g\u200cit":        func(in *Incoming) { in.Untracked[0].Path = ".g\u200cit/config" },
		"into GIT~1":             func(in *Incoming) { in.Untracked[0].Path = "GIT~1/config" },
		"NUL":                    func(in *Incoming) { in.Untracked[0].Path = "a\x00b" },
		"setuid":                 func(in *Incoming) { in.Untracked[0].Mode = 0o4755 },
		"the directory":          func(in *Incoming) { in.Dir = "../elsewhere" },
		"an intended path":       func(in *Incoming) { in.Git.IntentToAdd = []string{"../x"} },
		"a patch into .git": func(in *Incoming) {
			b := "diff --git a/.git/config b/.git/config\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/.git/config\n@@ -0,0 +1 @@\n+x\n"
			_ = os.WriteFile(in.Staged, []byte(b), 0o600)
		},
		"a patch with a submodule": func(in *Incoming) {
			b := "diff --git a/sub b/sub\nnew file mode 160000\nindex 0..1\n--- /dev/null\n+++ b/sub\n@@ -0,0 +1 @@\n+Subproject commit 1\n"
			_ = os.WriteFile(in.Staged, []byte(b), 0o600)
		},
		"no patch": func(in *Incoming) { _ = os.WriteFile(in.Staged, []byte("--- a/x\n+++ b/../../y\n"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tempDir(t))
			put(t, w.source, "un/file", "x", 0o644)
			put(t, w.source, "a.txt", "x", 0o644)
			gitIn(t, w.source, "add", "a.txt")
			in := carry(t, capture(t, w.source))
			spoil(in)
			was := view(t, w.target)
			_, err := (&Target{Clone: w.target, In: in}).Apply(ctx, &notes{})
			if err == nil || name != "the move" && !Refused(err, Hostile) {
				t.Errorf("got %v", err)
			}
			same(t, "the clone", view(t, w.target), was)
		})
	}
}

// A patch whose lines name another file than its header does: Git or the last
// look finds it, and it is taken back.
func TestPatchThatSaysAnotherName(t *testing.T) {
	w := newWorld(t, tempDir(t))
	put(t, w.source, "a.txt", "x", 0o644)
	in := carry(t, capture(t, w.source))
	b, err := os.ReadFile(in.Changes)
	if err != nil {
		t.Fatal(err)
	}
	spoiled := strings.ReplaceAll(string(b), "diff --git a/a.txt b/a.txt", "diff --git a/empty b/empty")
	if err := os.WriteFile(in.Changes, []byte(spoiled), 0o600); err != nil {
		t.Fatal(err)
	}
	was := view(t, w.target)
	if _, err := (&Target{Clone: w.target, In: in}).Apply(context.Background(), &notes{}); err == nil {
		t.Error("applied")
	}
	same(t, "the clone", view(t, w.target), was)
}

// A link is swapped in for a folder after the check: nothing is written
// beyond it, and what was there stays.
func TestLinkSwappedInForAFolder(t *testing.T) {
	ctx := context.Background()
	for _, swapped := range []string{"un", "un/deep"} {
		t.Run(swapped, func(t *testing.T) {
			w := newWorld(t, tempDir(t))
			put(t, w.source, "un/deep/file", "x", 0o644)
			in := carry(t, capture(t, w.source))
			elsewhere := tempDir(t)
			was := view(t, w.target)
			_, err := (&Target{Clone: w.target, In: in}).Apply(ctx, saver(func(s Steps) error {
				if len(s.Files) == 0 || s.Over {
					return nil
				}
				at := filepath.Join(w.target, swapped)
				if fi, err := os.Lstat(at); err == nil && fi.IsDir() { // between making folders and writing files
					if err := os.RemoveAll(at); err != nil {
						t.Fatal(err)
					}
					if err := os.MkdirAll(filepath.Join(w.target, "real", "deep"), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.Symlink(elsewhere, at); err != nil {
						t.Fatal(err)
					}
				}
				return nil
			}))
			if err == nil || !strings.Contains(err.Error(), "is not a folder of the work tree's own") {
				t.Errorf("got %v", err)
			}
			if list, _ := os.ReadDir(elsewhere); len(list) > 0 {
				t.Errorf("written: %v", list)
			}
			if _, err := os.Readlink(filepath.Join(w.target, swapped)); err != nil {
				t.Errorf("the link is gone: %v", err)
			}
			os.RemoveAll(filepath.Join(w.target, "un"))
			os.RemoveAll(filepath.Join(w.target, "real"))
			same(t, "the clone", view(t, w.target), was)
		})
	}
}

// A file that came after the check is never written over, nor taken away.
func TestFileThatCameBetween(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, tempDir(t))
	put(t, w.source, "un/a", "same", 0o644)
	put(t, w.source, "un/b", "same", 0o644)
	in := carry(t, capture(t, w.source))
	_, err := (&Target{Clone: w.target, In: in}).Apply(ctx, saver(func(s Steps) error {
		if len(s.Files) == 2 {
			put(t, w.target, "un/b", "same", 0o644) // even one that is just like it
		}
		return nil
	}))
	if !errors.Is(err, os.ErrExist) || !strings.Contains(err.Error(), "the clone is back on main") {
		t.Errorf("got %v", err)
	}
	if b, err := os.ReadFile(filepath.Join(w.target, "un/b")); err != nil || string(b) != "same" {
		t.Errorf("un/b: %q, %v", b, err)
	}
	if _, err := os.Lstat(filepath.Join(w.target, "un/a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("un/a stays: %v", err)
	}
}

// The session's directory must be in the clone, whatever links say.
func TestDirectoryThatLeavesTheClone(t *testing.T) {
	w := newWorld(t, tempDir(t))
	if err := os.Symlink("/", filepath.Join(w.source, "out")); err != nil {
		t.Fatal(err)
	}
	in := carry(t, capture(t, w.source))
	in.Dir = "out"
	was := view(t, w.target)
	_, err := (&Target{Clone: w.target, In: in}).Apply(context.Background(), &notes{})
	if err == nil || !strings.Contains(err.Error(), "unpack: "+w.target+"/out leaves the clone; the clone is back on main") {
		t.Errorf("got %v", err)
	}
	same(t, "the clone", view(t, w.target), was)
}

// A directory of the session's that held nothing that travels is made.
func TestDirectoryThatIsMissing(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, tempDir(t))
	if err := os.MkdirAll(filepath.Join(w.source, "build/out"), 0o755); err != nil {
		t.Fatal(err)
	}
	in := carry(t, capture(t, filepath.Join(w.source, "build/out")))
	var n notes
	done, err := (&Target{Clone: w.target, In: in}).Apply(ctx, &n)
	if err != nil || done.Cwd != filepath.Join(w.target, "build/out") {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := Undo(ctx, n.last, &n); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(w.target, "build")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("build stays: %v", err)
	}
}

// The way out that is named is one: a new work tree can't have the branch that the
// clone is on.
func TestBesides(t *testing.T) {
	for ref, want := range map[string]bool{"refs/heads/main": true, "refs/heads/other": false, "": false} {
		if got := strings.Contains(besides(ref, "refs/heads/main"), "git switch to another branch there and have"); got != want {
			t.Errorf("on %q: %v, want %v", ref, got, want)
		}
	}
}
