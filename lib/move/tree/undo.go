package tree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sessionhub/lib/git"
)

// Undone is what came of taking a move back.
type Undone struct {
	On   string   // the branch that the clone is on now, or its commit
	Kept []string // what somebody changed since, and stays as it is
}

// String ends the detail of a failed move.
func (u Undone) String() string {
	s := "the clone is back on " + u.On
	if len(u.Kept) > 0 {
		s += "; changed since, and kept: " + strings.Join(u.Kept, ", ")
	}
	return s
}

// Undo takes back what the journal says of a move, and nothing else: files
// that it wrote and nobody changed since, folders that it made and that are
// empty, what its patches did to paths that are still as they left them, the
// branch by compare-and-swap, HEAD by a checkout that overwrites nothing. What
// changed since stays and is named. It works after a crash at any step, and
// again after it was broken off itself.
func Undo(ctx context.Context, s Steps, j Journal) (Undone, error) {
	u := &undoing{steps: s, j: j}
	if s.Over || s.Clone == "" {
		return u.Undone, nil
	}
	clone, _, err := locate(ctx, s.Clone)
	if err != nil {
		return u.Undone, err
	}
	u.clone, u.tree = clone, clone
	if s.Worktree != "" {
		if _, err := os.Lstat(filepath.Join(s.Worktree, ".git")); err != nil {
			u.tree = nil // never came to be, or is gone
		} else if u.tree, _, err = locate(ctx, s.Worktree); err != nil {
			return u.Undone, err
		}
	}
	if err := u.run(ctx); err != nil {
		return u.Undone, err
	}
	return u.Undone, j.Save(u.steps)
}

// Settle ends a move that succeeded: what undoing it would need is removed.
func Settle(s Steps, j Journal) error {
	if err := dropPrivate(s); err != nil {
		return err
	}
	s.Over = true
	return j.Save(s)
}

// dropPrivate removes the patches. Only a folder at the place that Apply uses
// is removed, whatever a journal says.
func dropPrivate(s Steps) error {
	if s.Private == "" || s.Private != privateDir(s.Common, s.Move) || s.Move == "" || strings.Contains(s.Move, "/") {
		return nil
	}
	if err := os.RemoveAll(s.Private); err != nil {
		return fmt.Errorf("remove the patches: %w", err)
	}
	os.Remove(filepath.Dir(s.Private)) // fails while another move's are there
	return nil
}

type undoing struct {
	Undone
	steps       Steps
	j           Journal
	clone, tree *place
}

func (u *undoing) keep(what string) {
	if !slices.Contains(u.Kept, what) {
		u.Kept = append(u.Kept, what)
	}
}

func (u *undoing) run(ctx context.Context) error {
	if u.tree != nil {
		if err := u.content(ctx); err != nil {
			return err
		}
	}
	undoHead := u.head
	if u.steps.Worktree != "" {
		undoHead = u.worktree
	}
	if err := undoHead(ctx); err != nil {
		return err
	}
	if err := u.tracking(ctx); err != nil {
		return err
	}
	if err := u.putBack(ctx); err != nil {
		return err
	}
	if u.steps.Aside != nil { // noted before its files go
		u.steps.Aside = nil
		if err := u.j.Save(u.steps); err != nil {
			return err
		}
	}
	if err := dropPrivate(u.steps); err != nil {
		return err
	}
	u.steps.Over = true
	ref, commit, err := u.clone.head(ctx)
	u.On = show(strings.TrimPrefix(ref, "refs/heads/"))
	if ref == "" {
		u.On = fmt.Sprintf("%.12s", commit)
	}
	return err
}

// content takes files and patches back, in the reverse order.
func (u *undoing) content(ctx context.Context) error {
	root, err := os.OpenRoot(u.tree.top)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range u.steps.Files {
		if err := u.file(ctx, root, f); err != nil {
			return err
		}
	}
	// Where a patch took a file away, an untracked one's folder may be.
	u.folders(root)
	if err := u.patches(ctx); err != nil {
		return err
	}
	u.folders(root)
	u.steps.Files, u.steps.Folders, u.steps.IntentToAdd, u.steps.Staged, u.steps.Changes = nil, nil, nil, "", ""
	return u.j.Save(u.steps)
}

// folders removes those that the move made and that are empty, from below.
func (u *undoing) folders(root *os.Root) {
	for _, quoted := range slices.Backward(u.steps.Folders) {
		if name, err := git.Unquote(quoted); err == nil && inside(name) {
			rmdir(root, name)
		}
	}
}

// rmdir removes a folder that is empty; one that is not stays.
func rmdir(root *os.Root, name string) {
	_ = within(root, path.Dir(name), func(dir *os.Root) error {
		if fi, err := dir.Lstat(path.Base(name)); err != nil || !fi.IsDir() {
			return err
		}
		return dir.Remove(path.Base(name))
	})
}

// file removes one that is as the move wrote it. One that is as the commit has it
// was taken back already, and the patch that deletes it, too.
func (u *undoing) file(ctx context.Context, root *os.Root, f Written) error {
	name, err := git.Unquote(f.Path)
	if err != nil || !inside(name) {
		return fmt.Errorf("the journal names a file %s", show(f.Path))
	}
	err = within(root, path.Dir(name), func(dir *os.Root) error {
		_ = dir.Remove(partName(u.steps.Move))
		base := path.Base(name)
		fi, err := dir.Lstat(base)
		if err != nil {
			return err
		}
		same, err := isWritten(dir, base, fi, f)
		if err != nil {
			return err
		}
		if !same {
			back, err := u.committed(ctx, name)
			if err == nil && !back {
				u.keep(show(name))
			}
			return err
		}
		return dir.Remove(base)
	})
	if errors.Is(err, errLinked) {
		u.keep(show(name))
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) { // gone, either way
		return fmt.Errorf("%s: %w", show(name), err)
	}
	return nil
}

// committed reports whether a file is as the commit has it.
func (u *undoing) committed(ctx context.Context, name string) (bool, error) {
	r, err := u.stood(ctx, "file.index", nil, []section{{path: name}})
	if err != nil {
		return false, err
	}
	same, err := u.like(ctx, r)
	return err == nil && same(name), err
}

func isWritten(dir *os.Root, name string, fi fs.FileInfo, f Written) (bool, error) {
	if f.Link != "" {
		if fi.Mode().Type() != fs.ModeSymlink {
			return false, nil
		}
		link, err := dir.Readlink(name)
		return git.Quote(link) == f.Link, err
	}
	if !fi.Mode().IsRegular() {
		return false, nil
	}
	file, err := dir.Open(name)
	if errors.Is(err, fs.ErrPermission) && fi.Mode().Perm()&0o400 == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	h := sha256.New()
	_, err = io.Copy(h, file)
	return hex.EncodeToString(h.Sum(nil)) == f.SHA256, err
}

// patches takes back what the patches did, path by path: a path that is not as
// they left it stays. What each path was to become is in the patch; what it is,
// Git says in a diff against an index that holds what the patch stood on.
func (u *undoing) patches(ctx context.Context) error {
	if u.steps.Staged == "" && u.steps.Changes == "" && len(u.steps.IntentToAdd) == 0 {
		return nil
	}
	_, commit, err := u.tree.head(ctx)
	if err != nil {
		return err
	}
	if commit != u.steps.Head {
		u.keep("the changes, on which somebody committed or switched")
		return nil
	}
	if err := u.reverseTree(ctx); err != nil {
		return err
	}
	if err := u.dropIntent(ctx); err != nil {
		return err
	}
	return u.reverseIndex(ctx)
}

// dropIntent takes the marks of `git add -N` away that are only marks still.
func (u *undoing) dropIntent(ctx context.Context) error {
	if len(u.steps.IntentToAdd) == 0 {
		return nil
	}
	now, err := intentToAdd(ctx, u.tree.Repo, u.steps.Head)
	if err != nil {
		return err
	}
	now = slices.DeleteFunc(now, func(name string) bool { return !slices.Contains(u.steps.IntentToAdd, git.Quote(name)) })
	if len(now) == 0 {
		return nil
	}
	return u.tree.Pipe(ctx, git.Join(now), nil, "update-index", "--force-remove", "-z", "--stdin")
}
