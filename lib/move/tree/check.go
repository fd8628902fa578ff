package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"sessionhub/lib/git"
)

// spareSpace is what stays free besides what the move writes: a full disk
// harms more than a move that is not made.
const spareSpace = 64 << 20

// Target is where a session's work tree is to go.
type Target struct {
	Clone string // a folder in the clone
	// Worktree, if set, is where a fresh work tree of the clone is made for
	// the session: for clones that are in use, or have changes.
	Worktree string
	In       *Incoming
	// Left is the Sum of what the session left in the clone when it went away.
	// Changes that are exactly these are no hindrance: they give way. Aside is set
	// by Check where they would.
	Left         string
	Aside        bool
	MaxUntracked int64 // bytes, as the Source that left had it; 0: MaxUntracked

	// Free tells the free space of a file system; nil: FreeSpace.
	Free func(path string) (uint64, error)

	begun bool // its private folder is there, and is its own
}

// Check says everything that stands against the move and can be known without
// changing anything. What only the source's commits can tell is asked again
// by Apply after it fetched them, still before the work tree is touched.
func (t *Target) Check(ctx context.Context) ([]*Refusal, error) {
	var found []*Refusal
	_, err := t.look(ctx, func(err error) error {
		var r *Refusal
		if errors.As(err, &r) {
			found = append(found, r)
			return nil
		}
		return err
	})
	return found, err
}

// site is a clone that was looked at.
type site struct {
	*place
	patched
	ref, commit string // of HEAD
	branchAt    string // commit of the local branch, empty without one
	tracked     map[string]bool
	aside       map[string]bool // untracked files that are put aside
	beside      string          // the way out that leaves the clone alone
}

// look goes through all checks. refused is told of each refusal, and ends the
// look by returning an error.
func (t *Target) look(ctx context.Context, refused func(error) error) (*site, error) {
	p, err := open(ctx, t.Clone)
	if err != nil { // nothing else can be asked
		return nil, refused(err)
	}
	s := &site{place: p}
	if s.patched, err = t.In.patched(); err != nil {
		return nil, refused(refuse(Hostile, "take the bundle from its source again", "%v", err))
	}
	if err := t.In.check(ctx, p.Repo, s.patched); err != nil {
		return nil, refused(err)
	}
	if s.ref, s.commit, err = p.head(ctx); err != nil {
		return nil, err
	}
	s.beside = besides(s.ref, t.branch())
	if s.branchAt, err = p.commit(ctx, t.branch()); err != nil {
		return nil, err
	}
	entries, err := readEntries(ctx, p.Repo)
	if err != nil {
		return nil, err
	}
	s.tracked = make(map[string]bool, len(entries))
	for _, e := range entries {
		s.tracked[e.path] = true
	}
	if err := t.findLeft(ctx, s); err != nil {
		return nil, err
	}
	for _, check := range []func(context.Context, *site) error{
		t.checkRemote, t.checkLeft, t.checkHead, t.checkClean, t.checkBranch, t.checkPaths, t.checkParts, t.checkWorktree, t.checkSpace, t.checkCommit,
	} {
		if err := check(ctx, s); err != nil {
			if err := refused(err); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func (t *Target) branch() string { return "refs/heads/" + t.In.Git.Branch }

func (t *Target) checkRemote(ctx context.Context, s *site) error {
	if s.config["remote.origin.url"] == "" {
		return refuse(NoOrigin, "git remote add origin URL", "%s has no remote origin", s.top)
	}
	if !hasRemote(ctx, s.top, t.In.Git.Remote) {
		return refuse(OtherRemote, "name the clone of the session's repository", "%s is a clone of something else than %s", s.top, t.In.Git.Remote)
	}
	return nil
}

// checkLeft: what an earlier try left is undone first, by its own journal.
func (t *Target) checkLeft(_ context.Context, s *site) error {
	dir := privateDir(s.common, t.In.Move)
	if _, err := os.Lstat(dir); err == nil && !t.begun {
		return refuse(Locked, "shmove undo --move "+t.In.Move, "%s is left from an earlier try", dir)
	}
	return nil
}

// privateDir is where a move keeps its patches in a Git directory.
func privateDir(common, move string) string {
	return filepath.Join(common, "sessionhub-moves", move)
}

func (t *Target) checkHead(ctx context.Context, s *site) error {
	if s.commit == "" {
		return refuse(Unborn, "git pull, or clone it anew", "%s has no commit yet", s.top)
	}
	if _, err := os.Lstat(filepath.Join(s.gitDir, "index.lock")); err == nil && t.Worktree == "" {
		return refuse(Locked, "wait for it, or remove index.lock there if none runs", "another git works in %s", s.top)
	}
	return nil
}

// checkClean: a work tree with changes of its own takes no others, and Git
// must not have been told to overlook some.
func (t *Target) checkClean(ctx context.Context, s *site) error {
	if t.Worktree != "" || t.Aside {
		return nil
	}
	st, err := readStatus(ctx, s.Repo, false)
	if err != nil {
		return err
	}
	if len(st.changed) > 0 {
		return refuse(Dirty, "commit it, take it back or put it away (git stash -u), or "+s.beside, "%s has uncommitted changes: %s", s.top, st.changed[0])
	}
	dir, err := os.MkdirTemp("", "shmove-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	scratch, err := s.copyIndex(ctx, filepath.Join(dir, "index"))
	if err != nil {
		return err
	}
	hidden, err := hiddenChanges(ctx, scratch)
	if err == nil && len(hidden) > 0 {
		return refuse(Hidden, "git update-index --no-assume-unchanged --no-skip-worktree shows it", "%s has changes in %s that Git was told to overlook", s.top, hidden[0])
	}
	return err
}

// checkBranch: the branch is not checked out elsewhere, and has no commit
// that the source lacks.
func (t *Target) checkBranch(ctx context.Context, s *site) error {
	at, err := s.Line(ctx, "for-each-ref", "--format=%(worktreepath)", t.branch())
	if err != nil {
		return err
	}
	if at != "" && (t.Worktree != "" || !sameFile(at, s.top)) {
		return refuse(Elsewhere, "git switch to another branch there", "the branch %s is checked out in %s", t.In.Git.Branch, at)
	}
	return t.checkForward(ctx, s)
}

func (t *Target) checkForward(ctx context.Context, s *site) error {
	head, err := s.place.commit(ctx, t.In.Git.Head)
	if head == "" || s.branchAt == "" || err != nil {
		return err
	}
	err = s.Pipe(ctx, nil, nil, "merge-base", "--is-ancestor", s.branchAt, head)
	if git.Exited(err, 1) {
		return refuse(Diverged, "push them and pull them on the source, or rename the branch here", "the branch %s has commits in %s that the source lacks", t.In.Git.Branch, s.top)
	}
	return err
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func (t *Target) checkPaths(ctx context.Context, s *site) error {
	if t.Worktree != "" {
		return nil
	}
	return s.inTheWay(ctx, t.In.created(s.patched))
}

// inTheWay refuses when something that Git does not track lies where one of
// these paths is to be.
func (s *site) inTheWay(ctx context.Context, list []string) error {
	free := map[string]bool{".": true}
	for _, name := range list {
		for d := path.Dir(name); !free[d]; d = path.Dir(d) {
			fi, err := os.Lstat(filepath.Join(s.top, d))
			if err == nil && !fi.IsDir() && !s.tracked[d] && !s.aside[d] {
				return s.lies(d)
			}
			free[d] = true
		}
		fi, err := os.Lstat(filepath.Join(s.top, name))
		if err != nil || s.tracked[name] || s.aside[name] {
			continue
		}
		if !fi.IsDir() {
			return s.lies(name)
		}
		inner, err := s.Fields(ctx, "ls-files", "-o", "-z", "--", name)
		if err != nil {
			return err
		}
		inner = slices.DeleteFunc(inner, func(name string) bool { return s.aside[name] })
		if len(inner) > 0 {
			return s.lies(inner[0])
		}
	}
	return nil
}

func (s *site) lies(name string) error {
	return refuse(InTheWay, "move it away, or "+s.beside, "%s lies in %s where the session brings a file", name, s.top)
}

// checkParts: filters work here, and submodules are checked out.
func (t *Target) checkParts(_ context.Context, s *site) error {
	if err := s.checkFilters(t.In.Git.Filters); err != nil {
		return err
	}
	for _, quoted := range t.In.Git.Submodules {
		name, err := git.Unquote(quoted)
		if err != nil || !inside(name) {
			return refuse(Hostile, "take the bundle from its source again", "a submodule is called %s", quoted)
		}
		if t.Worktree != "" {
			return refuse(Submodule, "let it land in the clone itself", "a new work tree would lack the submodule %s", name)
		}
		if _, err := os.Lstat(filepath.Join(s.top, name, ".git")); err != nil {
			return refuse(Submodule, "git submodule update --init", "the submodule %s is not checked out in %s", name, s.top)
		}
	}
	return nil
}

func (t *Target) checkWorktree(_ context.Context, s *site) error {
	if t.Worktree == "" {
		return nil
	}
	if !filepath.IsAbs(t.Worktree) {
		return refuse(InTheWay, "give it from the root", "the path of the new work tree, %s, is relative", t.Worktree)
	}
	if _, err := os.Lstat(t.Worktree); err == nil {
		return refuse(InTheWay, "name a path that does not exist", "%s is there already", t.Worktree)
	}
	return nil
}

// checkSpace: what is written once to the Git directory and once to the tree.
func (t *Target) checkSpace(_ context.Context, s *site) error {
	free := t.Free
	if free == nil {
		free = FreeSpace
	}
	need := uint64(spareSpace)
	for _, name := range []string{t.In.Staged, t.In.Changes, t.In.Commits} {
		if st, err := os.Stat(name); err == nil {
			need += 3 * uint64(st.Size())
		}
	}
	for _, f := range t.In.Untracked {
		need += uint64(f.Size)
	}
	at := s.top
	if t.Worktree != "" {
		at = existing(t.Worktree)
	}
	have, err := free(at)
	if err != nil {
		return err
	}
	if have < need {
		return &Refusal{NoSpace, "the disk of " + show(at) + " has too little space", fmt.Sprintf("make %d MiB free", (need-have)>>20+1)}
	}
	return nil
}

// existing is the nearest folder above a path that is there.
func existing(name string) string {
	for {
		if _, err := os.Stat(name); err == nil || filepath.Dir(name) == name {
			return name
		}
		name = filepath.Dir(name)
	}
}

// checkCommit is what can be said once the source's commit is here.
func (t *Target) checkCommit(ctx context.Context, s *site) error {
	head, err := s.place.commit(ctx, t.In.Git.Head)
	if err != nil || head == "" {
		return err
	}
	if t.Worktree == "" && head != s.commit {
		// Field report A42: a checkout replaces what is ignored without a
		// word.
		list, err := s.Fields(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=d", s.commit, head)
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(name string) bool { return s.tracked[name] })
		if err := s.inTheWay(ctx, list); err != nil {
			return err
		}
	}
	return t.checkTree(ctx, s, head)
}

// checkTree asks the commit itself where its submodules are to be and what
// its files pass through.
func (t *Target) checkTree(ctx context.Context, s *site, head string) error {
	dir, err := os.MkdirTemp("", "shmove-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	scratch := s.Repo
	scratch.Index = filepath.Join(dir, "index")
	if err := scratch.Pipe(ctx, nil, nil, "read-tree", head); err != nil {
		return err
	}
	entries, err := readEntries(ctx, scratch)
	if err != nil {
		return err
	}
	if t.Worktree == "" {
		if err := s.checkSubmodules(ctx, entries); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(entries, func(e entry) bool { return path.Base(e.path) == ".gitattributes" }) {
		return nil
	}
	names, err := filters(ctx, scratch, paths(entries), true)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n != "lfs" && !slices.Contains(t.In.Git.Filters, n) })
	return s.checkFilters(names)
}

// checkSubmodules: those that are checked out here must be where the branch
// has them, as a checkout leaves them alone (field report A44).
func (s *site) checkSubmodules(ctx context.Context, entries []entry) error {
	for _, e := range entries {
		dir := filepath.Join(s.top, e.path)
		if _, err := os.Lstat(filepath.Join(dir, ".git")); e.mode != gitlink || err != nil {
			continue
		}
		at, err := git.Repo{Dir: dir}.Line(ctx, "rev-parse", "-q", "--verify", "HEAD")
		if err != nil && !git.Exited(err, 1) {
			return err
		}
		if at != e.oid {
			return refuse(Submodule, "git -C "+show(e.path)+" fetch, then git -C "+show(e.path)+" checkout "+e.oid, "the submodule %s is not at the commit that the branch wants", e.path)
		}
	}
	return nil
}
