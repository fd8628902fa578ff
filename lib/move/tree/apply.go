package tree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sessionhub/lib/git"
)

// undoWait bounds taking back: a checkout and a few commands, on a disk that
// may be the reason.
const undoWait = 5 * time.Minute

// Applied is a work tree that has the session's files.
type Applied struct {
	Top   string // of the work tree
	Cwd   string // the session's directory there, links resolved
	Steps Steps
}

// Failed is a move that did not reach the work tree. What it had changed is
// taken back, or Undo says why not.
type Failed struct {
	Step  string // "check clone", "checkout" or "apply"
	Err   error
	Back  Undone
	Undid error
}

func (f *Failed) Error() string {
	s := f.Step + ": " + f.Err.Error()
	if f.Undid != nil {
		return s + "; putting the clone back failed: " + f.Undid.Error()
	}
	if f.Step != "apply" {
		return s
	}
	return s + "; " + f.Back.String()
}

// Unwrap is the cause.
func (f *Failed) Unwrap() error { return f.Err }

// Apply fetches the source's commits, checks out its branch in the clone, and
// brings in its changes and untracked files. Nothing of the clone's own is
// overwritten: it must be clean, and what is in the way refuses the move. On
// an error, which is a *Failed, it has been taken back already. Steps of
// others in the clone meanwhile are found by compare-and-swap where Git
// allows, and by looking again elsewhere.
func (t *Target) Apply(ctx context.Context, j Journal) (*Applied, error) {
	a := &applying{Target: t, j: j, step: "check clone"}
	cwd, err := a.run(ctx)
	if err == nil {
		return &Applied{Top: a.tree.top, Cwd: cwd, Steps: a.steps}, nil
	}
	f := &Failed{Step: a.step, Err: err}
	if a.step != "check clone" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWait)
		defer cancel()
		f.Back, f.Undid = Undo(ctx, a.steps, j)
	}
	return nil, f
}

type applying struct {
	*Target
	j     Journal
	steps Steps
	step  string
	site  *site
	tree  *place // where the files go
}

// about writes down a change that is about to be made.
func (a *applying) about(note func(*Steps)) error {
	note(&a.steps)
	if err := a.j.Save(a.steps); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

func (a *applying) run(ctx context.Context) (cwd string, err error) {
	stop := func(err error) error { return err }
	if a.site, err = a.look(ctx, stop); err != nil {
		return "", err
	}
	a.steps = Steps{Move: a.In.Move, Clone: a.site.top, Common: a.site.common, HeadRef: a.site.ref, HeadCommit: a.site.commit, Branch: a.In.Git.Branch, Head: a.In.Git.Head}
	a.step = "checkout"
	if err := a.commits(ctx); err != nil {
		return "", err
	}
	// Now that the commits are here: all of it once more, before any change.
	if a.site, err = a.look(ctx, stop); err != nil {
		return "", err
	}
	a.steps.HeadRef, a.steps.HeadCommit, a.steps.BranchWas = a.site.ref, a.site.commit, a.site.branchAt
	if err := a.private(); err != nil {
		return "", err
	}
	if a.Aside {
		if err := a.putAside(ctx); err != nil {
			return "", err
		}
		clean := *a.Target
		clean.Left, clean.begun = "", true
		a.Target = &clean
		if a.site, err = a.look(ctx, stop); err != nil {
			return "", err
		}
	}
	if err := a.rehearse(ctx); err != nil {
		return "", err
	}
	if err := a.checkout(ctx); err != nil {
		return "", err
	}
	a.step = "apply"
	if err := a.patch(ctx); err != nil {
		return "", err
	}
	if cwd, err = a.files(); err != nil {
		return "", err
	}
	return cwd, a.verify(ctx)
}

// commits brings the source's commits here: from the bundle when it came with
// them, else from origin. Tags and pruning are left to the user's own fetch.
func (a *applying) commits(ctx context.Context) error {
	fetch := func(args ...string) error {
		return a.site.Pipe(ctx, nil, nil, append([]string{"fetch", "--quiet", "--no-tags", "--no-prune", "--no-recurse-submodules"}, args...)...)
	}
	bundled := func() error { return fetch("--refmap=", a.In.Commits, a.branch()) }
	if a.In.Commits == "" || bundled() != nil {
		if err := fetch("origin"); err != nil {
			return err
		}
		if a.In.Commits != "" {
			if err := bundled(); err != nil {
				return err
			}
		}
	}
	head, err := a.site.place.commit(ctx, a.In.Git.Head)
	if err != nil || head != "" {
		return err
	}
	if from := a.follows(); a.In.Commits == "" { // a clone of single branches
		if err := fetch("origin", "refs/heads/"+from); err != nil {
			return err
		}
	}
	if head, err = a.site.place.commit(ctx, a.In.Git.Head); err == nil && head == "" {
		err = fmt.Errorf("the commit %.12s of %s is not at origin: push it from the source", a.In.Git.Head, show(a.In.Git.Branch))
	}
	return err
}

// follows is the branch of origin that goes with the session's.
func (a *applying) follows() string {
	if a.In.Git.Upstream != "" {
		return a.In.Git.Upstream
	}
	return a.In.Git.Branch
}

// private makes the folder in the Git directory that keeps the patches until
// the move is settled: undoing needs them.
func (a *applying) private() error {
	dir := privateDir(a.steps.Common, a.In.Move)
	if err := a.about(func(s *Steps) { s.Private = dir }); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep the patches: %w", err)
	}
	for name, from := range map[string]string{"staged.patch": a.In.Staged, "changes.patch": a.In.Changes} {
		if from == "" {
			continue
		}
		if err := copyFile(filepath.Join(dir, name), from); err != nil {
			return fmt.Errorf("keep the patches: %w", err)
		}
	}
	return nil
}

func copyFile(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Sync(), dst.Close())
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// checkout moves the branch to the source's commit and checks it out, in the
// clone or in a new work tree.
func (a *applying) checkout(ctx context.Context) error {
	p, head := a.site.place, a.In.Git.Head
	if a.Worktree != "" {
		var err error
		if p, err = a.newTree(ctx); err != nil {
			return err
		}
	} else if a.site.commit != head || a.site.ref != a.branch() {
		if err := a.about(func(s *Steps) { s.Switched = true }); err != nil {
			return err
		}
		if a.site.commit != head {
			if err := p.Pipe(ctx, nil, nil, "checkout", "--quiet", "--no-overwrite-ignore", "--detach", head); err != nil {
				return err
			}
		}
	}
	a.tree = p
	if a.site.branchAt != head {
		if err := a.about(func(s *Steps) { s.BranchMoved = true }); err != nil {
			return err
		}
		if err := updateRef(ctx, p.Repo, a.branch(), head, a.site.branchAt); err != nil {
			return err
		}
	}
	if ref, _, err := p.head(ctx); err != nil || ref != a.branch() {
		if err := errors.Join(err, p.Pipe(ctx, nil, nil, "checkout", "--quiet", "--no-guess", "--no-overwrite-ignore", a.In.Git.Branch, "--")); err != nil {
			return err
		}
	}
	return a.track(ctx)
}

// updateRef is compare-and-swap; was is empty for a ref that must not exist,
// to is empty to delete it.
func updateRef(ctx context.Context, r git.Repo, ref, to, was string) error {
	if to == "" {
		return r.Pipe(ctx, nil, nil, "update-ref", "-d", ref, was)
	}
	if was == "" {
		was = strings.Repeat("0", len(to))
	}
	return r.Pipe(ctx, nil, nil, "update-ref", "-m", "sessionhub: a session moves", ref, to, was)
}

// newTree makes a work tree for the session.
func (a *applying) newTree(ctx context.Context) (*place, error) {
	var parents []string
	for d := filepath.Dir(a.Worktree); ; d = filepath.Dir(d) {
		if _, err := os.Lstat(d); err == nil || filepath.Dir(d) == d {
			break
		}
		parents = append([]string{d}, parents...)
	}
	if err := a.about(func(s *Steps) { s.Worktree, s.Parents = a.Worktree, parents }); err != nil {
		return nil, err
	}
	if err := a.site.Pipe(ctx, nil, nil, "worktree", "add", "--quiet", "--detach", a.Worktree, a.In.Git.Head); err != nil {
		return nil, err
	}
	p, _, err := locate(ctx, a.Worktree)
	return p, err
}

// track has a new branch follow origin's, as `git checkout` would.
func (a *applying) track(ctx context.Context) error {
	from := a.follows()
	key := "branch." + a.In.Git.Branch
	if a.site.branchAt != "" || a.site.config[key+".merge"] != "" || a.site.config[key+".remote"] != "" {
		return nil
	}
	there, err := a.tree.commit(ctx, "refs/remotes/origin/"+from)
	if err != nil || there == "" {
		return err
	}
	if err := a.about(func(s *Steps) { s.Tracks = "refs/heads/" + from }); err != nil {
		return err
	}
	if err := a.tree.Pipe(ctx, nil, nil, "config", key+".remote", "origin"); err != nil {
		return err
	}
	return a.tree.Pipe(ctx, nil, nil, "config", key+".merge", a.steps.Tracks)
}

// patch applies both patches, and marks what is to be added later.
func (a *applying) patch(ctx context.Context) error {
	// git apply takes a file whose time differs from the index for changed.
	if err := a.tree.Pipe(ctx, nil, nil, "update-index", "-q", "--refresh"); err != nil && !git.Exited(err, 1) {
		return err
	}
	for _, p := range []struct {
		name string
		list []section
		note func(s *Steps, sum string)
		args []string
	}{
		{"staged.patch", a.site.staged, func(s *Steps, sum string) { s.Staged = sum }, []string{"--index"}},
		{"changes.patch", a.site.changes, func(s *Steps, sum string) { s.Changes = sum }, nil},
	} {
		if len(p.list) == 0 {
			continue
		}
		sum, err := hashFile(filepath.Join(a.steps.Private, p.name))
		if err != nil {
			return fmt.Errorf("patch: %w", err)
		}
		if err := a.about(func(s *Steps) { p.note(s, sum) }); err != nil {
			return err
		}
		if err := a.applyPatch(ctx, a.tree.Repo, p.name, p.list, p.args...); err != nil {
			return err
		}
	}
	if len(a.In.Git.IntentToAdd) == 0 {
		return nil
	}
	if err := a.about(func(s *Steps) { s.IntentToAdd = a.In.Git.IntentToAdd }); err != nil {
		return err
	}
	return a.intend(ctx)
}

// applyPatch applies what a patch says of attributes before the rest: by them
// Git decides how it writes other files, and it reads them once.
func (a *applying) applyPatch(ctx context.Context, r git.Repo, name string, list []section, args ...string) error {
	for _, attributes := range []bool{true, false} {
		part := filepath.Join(a.steps.Private, "part.patch")
		n, err := writePart(part, filepath.Join(a.steps.Private, name), list, func(s section) bool { return s.attributes() == attributes })
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if err := r.Pipe(ctx, nil, nil, append(append([]string{"apply", "--binary"}, args...), part)...); err != nil {
			return err
		}
	}
	return nil
}
