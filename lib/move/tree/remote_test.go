package tree

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sessionhub/lib/record"
)

func TestFindClone(t *testing.T) {
	ctx := context.Background()
	make := func(t *testing.T, url string, paths ...string) string {
		root := tempDir(t)
		for _, p := range paths {
			gitIn(t, root, "init", "-q", p)
			gitIn(t, filepath.Join(root, p), "remote", "add", "origin", url)
		}
		return root
	}
	const url = "https://me:pw@Example.org/otgs/app.git"
	t.Run("the only one", func(t *testing.T) {
		root := make(t, url, "a/b/c/app", "other/x")
		gitIn(t, filepath.Join(root, "other/x"), "remote", "set-url", "origin", "https://example.org/other")
		got, err := FindClone(ctx, []string{filepath.Join(root, "missing"), root}, "git@example.org:otgs/app", "/home/dev/elsewhere")
		if err != nil || got != filepath.Join(root, "a/b/c/app") {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("too deep", func(t *testing.T) {
		root := make(t, url, "a/b/c/d/app")
		if got, err := FindClone(ctx, []string{root}, url, "/x"); !Refused(err, NoClone) || strings.Contains(err.Error(), "pw") {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("the one at the like path, whatever the case", func(t *testing.T) {
		root := make(t, url, "otgs/app", "play/app")
		got, err := FindClone(ctx, []string{root}, url, "/home/dev/Code/OTGS/app")
		if err != nil || got != filepath.Join(root, "otgs/app") {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("the longer like path", func(t *testing.T) {
		root := make(t, url, "otgs/app", "app")
		got, err := FindClone(ctx, []string{root}, url, "/home/dev/Code/otgs/app")
		if err != nil || got != filepath.Join(root, "otgs/app") {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("several, none alike", func(t *testing.T) {
		root := make(t, url, "x/app", "y/app")
		got, err := FindClone(ctx, []string{root}, url, "/home/dev/Code/otgs/app")
		if !Refused(err, SeveralClone) || !strings.Contains(err.Error(), root+"/x/app, "+root+"/y/app") {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("several alike", func(t *testing.T) {
		one, two := make(t, url, "otgs/app"), make(t, url, "otgs/app")
		got, err := FindClone(ctx, []string{one, two}, url, "/home/dev/Code/otgs/app")
		if !Refused(err, SeveralClone) {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("overlapping roots, links and linked work trees", func(t *testing.T) {
		w := newWorld(t, tempDir(t))
		dir := filepath.Dir(w.target)
		gitIn(t, w.target, "worktree", "add", "-q", filepath.Join(dir, "linked"), "-b", "x")
		os.RemoveAll(w.source)
		if err := os.Symlink(w.target, filepath.Join(dir, "again")); err != nil {
			t.Fatal(err)
		}
		got, err := FindClone(ctx, []string{dir, w.target, filepath.Dir(dir)}, w.origin, "/x")
		if err != nil || got != w.target {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("insteadOf", func(t *testing.T) {
		root := make(t, "work:app", "app")
		gitIn(t, filepath.Join(root, "app"), "config", "url.https://example.org/otgs/.insteadOf", "work:")
		got, err := FindClone(ctx, []string{root}, url, "/x")
		if err != nil || got != filepath.Join(root, "app") {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("a root that is a repository", func(t *testing.T) {
		root := make(t, url, "app")
		gitIn(t, root, "init", "-q")
		got, err := FindClone(ctx, []string{root}, url, "/x")
		if err != nil || got != filepath.Join(root, "app") {
			t.Errorf("%s, %v", got, err)
		}
	})
}

func TestPush(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, w world, origin string)
		says    string
		at      string // where origin has the commit, empty: not
		follows string
	}{
		"follows nothing": {func(t *testing.T, w world, _ string) { gitIn(t, w.source, "checkout", "-q", "-b", "new") },
			"pushed new, which now follows origin", "new", "origin/new"},
		"ahead": {func(*testing.T, world, string) {}, "pushed feature/x to origin's feature/x", "feature/x", "origin/feature/x"},
		"under another name": {func(t *testing.T, w world, _ string) {
			gitIn(t, w.source, "checkout", "-q", "-b", "mine", "--no-track")
			gitIn(t, w.source, "branch", "-q", "--set-upstream-to=origin/feature/x")
		}, "pushed mine to origin's feature/x", "feature/x", "origin/feature/x"},
		"a fork": {func(t *testing.T, w world, _ string) {
			gitIn(t, w.source, "remote", "add", "fork", w.origin)
			gitIn(t, w.source, "fetch", "-q", "fork")
			gitIn(t, w.source, "checkout", "-q", "-b", "forked", "--track", "fork/main")
		}, "pushed forked to origin", "forked", "fork/main"},
		"a local branch": {func(t *testing.T, w world, _ string) {
			gitIn(t, w.source, "checkout", "-q", "-b", "topic", "--track", "main")
		}, "pushed topic to origin", "topic", "main"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tempDir(t)
			w := newWorld(t, dir)
			origin := filepath.Join(dir, "origin.git")
			copyTree(t, w.origin, origin)
			gitIn(t, w.source, "remote", "set-url", "origin", origin)
			c.prepare(t, w, origin)
			put(t, w.source, "a.txt", name, 0o644)
			gitIn(t, w.source, "commit", "-qam", name)
			hooked(t)
			said, err := capture(t, w.source).Push(ctx)
			if err != nil || said != c.says {
				t.Errorf("says %q, %v", said, err)
			}
			if got, want := gitIn(t, origin, "rev-parse", c.at), gitIn(t, w.source, "rev-parse", "HEAD"); got != want {
				t.Errorf("origin's %s is %s, not %s", c.at, got, want)
			}
			if got := gitIn(t, w.source, "rev-parse", "--abbrev-ref", "@{upstream}"); got != c.follows {
				t.Errorf("follows %s", got)
			}
			if got := hooked(t); !strings.Contains(got, "pre-push") {
				t.Errorf("the user's pre-push hook did not run: %q", got)
			}
			if name == "ahead" {
				if said, err := capture(t, w.source).Push(ctx); err != nil || said != "nothing to push" {
					t.Errorf("again: %q, %v", said, err)
				}
			}
		})
	}
}

// Never by force.
func TestPushOfWhatOriginLacksNot(t *testing.T) {
	dir := tempDir(t)
	w := newWorld(t, dir)
	origin := filepath.Join(dir, "origin.git")
	copyTree(t, w.origin, origin)
	gitIn(t, w.source, "remote", "set-url", "origin", origin)
	gitIn(t, w.source, "commit", "-q", "--amend", "-m", "another")
	was := gitIn(t, origin, "rev-parse", "feature/x")
	if said, err := capture(t, w.source).Push(context.Background()); err == nil {
		t.Errorf("says %q", said)
	}
	if got := gitIn(t, origin, "rev-parse", "feature/x"); got != was {
		t.Errorf("origin's branch is %s", got)
	}
}

// A move by hand: the bundle brings the commits, and origin is not asked.
func TestCommitsTravelInABundle(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, tempDir(t))
	put(t, w.source, "a.txt", "unpushed\n", 0o644)
	gitIn(t, w.source, "commit", "-qam", "unpushed")
	put(t, w.source, "a.txt", "changed\n", 0o644)
	gitIn(t, w.target, "fetch", "-q")
	c := capture(t, w.source)
	in := carry(t, c)
	in.Commits = filepath.Join(tempDir(t), "commits.bundle")
	if ok, err := c.Commits(ctx, in.Commits); !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	gitIn(t, w.target, "config", "url.file:///nowhere/.insteadOf", filepath.Dir(w.origin)+"/")
	was := view(t, w.target)
	var n notes
	done, err := (&Target{Clone: w.target, In: in}).Apply(ctx, &n)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the target", inner(t, done.Top), inner(t, w.source))
	if _, err := Undo(ctx, n.last, &n); err != nil {
		t.Fatal(err)
	}
	same(t, "the target after Undo", view(t, w.target), was)

	gitIn(t, w.source, "checkout", "-q", "-f", "main")
	if ok, err := capture(t, w.source).Commits(ctx, filepath.Join(tempDir(t), "none")); ok || err != nil {
		t.Errorf("commits that origin has: %v, %v", ok, err)
	}
}

// The bundle stands on commits that the clone must fetch first.
func TestBundleOnCommitsOfOrigin(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, tempDir(t))
	put(t, w.source, "a.txt", "unpushed\n", 0o644)
	gitIn(t, w.source, "commit", "-qam", "unpushed")
	c := capture(t, w.source)
	in := carry(t, c)
	in.Commits = filepath.Join(tempDir(t), "commits.bundle")
	if ok, err := c.Commits(ctx, in.Commits); !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	if _, err := (&Target{Clone: w.target, In: in}).Apply(ctx, &notes{}); err != nil {
		t.Fatal(err)
	}
	same(t, "the target", inner(t, w.target), inner(t, w.source))
}

func TestFetch(t *testing.T) {
	ctx := context.Background()
	t.Run("a clone of one branch", func(t *testing.T) {
		w := newWorld(t, tempDir(t))
		dir := filepath.Join(tempDir(t), "single")
		gitIn(t, w.source, "clone", "-q", "--single-branch", "-b", "main", w.origin, dir)
		if _, err := (&Target{Clone: dir, In: carry(t, capture(t, w.source))}).Apply(ctx, &notes{}); err != nil {
			t.Fatal(err)
		}
		same(t, "the target", inner(t, dir), inner(t, w.source))
	})
	t.Run("not pushed", func(t *testing.T) {
		w := newWorld(t, tempDir(t))
		gitIn(t, w.source, "commit", "-q", "--allow-empty", "-m", "not pushed")
		was := view(t, w.target)
		_, err := (&Target{Clone: w.target, In: carry(t, capture(t, w.source))}).Apply(ctx, &notes{})
		if err == nil || !strings.Contains(err.Error(), "of feature/x is not at origin: push it from the source") {
			t.Errorf("got %v", err)
		}
		same(t, "the target", view(t, w.target), was)
	})
	t.Run("origin is gone", func(t *testing.T) {
		w := newWorld(t, tempDir(t))
		gitIn(t, w.target, "config", "url.file:///nowhere/.insteadOf", filepath.Dir(w.origin)+"/")
		_, err := (&Target{Clone: w.target, In: carry(t, capture(t, w.source))}).Apply(ctx, &notes{})
		if err == nil || !strings.HasPrefix(err.Error(), "checkout: git fetch: ") || strings.Contains(err.Error(), "back on") {
			t.Errorf("got %v", err)
		}
	})
}

// What a bundle unpacks to is what arrives, with names that are not UTF-8.
func TestUnpacked(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, tempDir(t))
	messy(t, w.source)
	c := capture(t, w.source)
	in := carry(t, c)
	dir := tempDir(t)
	m := &record.Manifest{Move: moveID, Git: c.Git, Dir: c.Dir, Entries: []record.ManifestEntry{{Name: "transcript.jsonl"}}}
	for name, from := range map[string]string{"staged.patch": c.Staged, "changes.patch": c.Changes} {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		put(t, dir, name, string(b), 0o600)
		m.Entries = append(m.Entries, record.ManifestEntry{Name: name})
	}
	for _, f := range in.Untracked {
		if f.Link == "" {
			b, err := os.ReadFile(filepath.Join(c.Top, f.Path))
			if err != nil {
				t.Fatal(err)
			}
			put(t, dir, EntryName(f), string(b), 0o600)
		}
		m.Entries = append(m.Entries, record.ManifestEntry{Name: EntryName(f), Size: f.Size, Mode: f.Mode, SHA256: f.SHA256, Link: f.Link})
	}
	got, err := Unpacked(dir, m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&Target{Clone: w.target, In: got}).Apply(ctx, &notes{}); err != nil {
		t.Fatal(err)
	}
	same(t, "the target", inner(t, w.target), inner(t, w.source))
	m.Entries = append(m.Entries, record.ManifestEntry{Name: `untracked/a%4`})
	if _, err := Unpacked(dir, m); err == nil {
		t.Error("a badly spelled name is taken")
	}
}

// A file that is not what the manifest says is not left there.
func TestSpoiledUntrackedFile(t *testing.T) {
	w := newWorld(t, tempDir(t))
	put(t, w.source, "un/file", "x", 0o644)
	in := carry(t, capture(t, w.source))
	in.Untracked[0].SHA256 = strings.Repeat("0", 64)
	was := view(t, w.target)
	_, err := (&Target{Clone: w.target, In: in}).Apply(context.Background(), &notes{})
	if err == nil || !strings.Contains(err.Error(), "un/file is not what the manifest says; the clone is back on main") {
		t.Errorf("got %v", err)
	}
	same(t, "the clone", view(t, w.target), was)
}
