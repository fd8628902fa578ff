package tree

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"sessionhub/lib/git"
)

func (u *undoing) branch() string { return "refs/heads/" + u.steps.Branch }

// head brings the clone's HEAD and the moved branch back.
func (u *undoing) head(ctx context.Context) error {
	if !u.steps.Switched {
		return u.moveBack(ctx)
	}
	ref, commit, err := u.tree.head(ctx)
	if err != nil {
		return err
	}
	ours := ref == u.branch() || ref == "" && (commit == u.steps.Head || commit == u.steps.HeadCommit)
	if !ours { // back already, or somebody went elsewhere
		return u.moveBack(ctx)
	}
	if ref == u.branch() && commit != u.steps.Head && commit != u.steps.HeadCommit {
		u.keep("the branch " + show(u.steps.Branch) + ", which has other commits now")
		return nil
	}
	if u.steps.HeadRef == u.branch() {
		if commit != u.steps.HeadCommit {
			if err := u.checkout(ctx, "--detach", u.steps.HeadCommit); err != nil {
				return err
			}
		}
		if err := u.moveBack(ctx); err != nil {
			return err
		}
		return u.checkout(ctx, u.steps.Branch, "--")
	}
	if branch, ok := strings.CutPrefix(u.steps.HeadRef, "refs/heads/"); ok {
		err = u.checkout(ctx, branch, "--")
	} else if ref != "" || commit != u.steps.HeadCommit {
		err = u.checkout(ctx, "--detach", u.steps.HeadCommit)
	}
	if err != nil {
		return err
	}
	return u.moveBack(ctx)
}

// checkout overwrites nothing: Git refuses where changes are in the way.
func (u *undoing) checkout(ctx context.Context, args ...string) error {
	return u.tree.Pipe(ctx, nil, nil, append([]string{"checkout", "--quiet", "--no-guess", "--no-overwrite-ignore"}, args...)...)
}

// moveBack puts the branch where it was, unless it moved on since.
func (u *undoing) moveBack(ctx context.Context) error {
	if !u.steps.BranchMoved {
		return nil
	}
	now, err := u.clone.commit(ctx, u.branch())
	if err != nil || now == u.steps.BranchWas {
		return err
	}
	at, err := u.clone.Line(ctx, "for-each-ref", "--format=%(worktreepath)", u.branch())
	if err != nil {
		return err
	}
	if at != "" {
		u.keep("the branch " + show(u.steps.Branch) + ", which is checked out in " + show(at))
		return nil
	}
	if now == u.steps.Head {
		err = updateRef(ctx, u.clone.Repo, u.branch(), u.steps.BranchWas, u.steps.Head)
		if err == nil {
			return nil
		}
		if now, _ = u.clone.commit(ctx, u.branch()); now == u.steps.Head {
			return err // it did not move: something else is wrong
		}
	}
	u.keep("the branch " + show(u.steps.Branch) + ", which has other commits now")
	return nil
}

// tracking takes away what a branch that the move made was told to follow.
func (u *undoing) tracking(ctx context.Context) error {
	if u.steps.Tracks == "" {
		return nil
	}
	if at, err := u.clone.commit(ctx, u.branch()); err != nil || at != "" {
		return err // the branch was kept
	}
	key := "branch." + u.steps.Branch
	for name, value := range map[string]string{key + ".remote": "origin", key + ".merge": u.steps.Tracks} {
		now, err := u.clone.Line(ctx, "config", "--local", "--get", name)
		if git.Exited(err, 1) || err == nil && now != value {
			continue
		}
		if err != nil {
			return err
		}
		if err := u.clone.Pipe(ctx, nil, nil, "config", "--local", "--unset", name); err != nil {
			return err
		}
	}
	return nil
}

// worktree removes the work tree that was made for the move, if nothing of
// somebody else's is in it.
func (u *undoing) worktree(ctx context.Context) error {
	if u.tree != nil {
		gone, err := u.dropTree(ctx)
		if err != nil || !gone {
			return err
		}
	}
	for i := len(u.steps.Parents) - 1; i >= 0; i-- {
		if fi, err := os.Lstat(u.steps.Parents[i]); err == nil && fi.IsDir() {
			os.Remove(u.steps.Parents[i]) // only when empty
		}
	}
	return u.moveBack(ctx)
}

func (u *undoing) dropTree(ctx context.Context) (gone bool, err error) {
	ref, commit, err := u.tree.head(ctx)
	if err != nil {
		return false, err
	}
	st, err := readStatus(ctx, u.tree.Repo, true)
	if err != nil {
		return false, err
	}
	ignored, err := u.tree.Fields(ctx, "ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z")
	if err != nil {
		return false, err
	}
	if commit != u.steps.Head || ref != "" && ref != u.branch() || len(st.changed)+len(st.untracked)+len(ignored) > 0 {
		for _, name := range append(append(st.changed, st.untracked...), ignored...) {
			u.keep(show(filepath.Join(u.steps.Worktree, name)))
		}
		u.keep("the work tree " + show(u.steps.Worktree))
		return false, nil
	}
	return true, u.clone.Pipe(ctx, nil, nil, "worktree", "remove", u.steps.Worktree)
}
