package tree

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"sessionhub/lib/git"
	"sessionhub/lib/record"
)

// A session that comes back finds what it left behind: its changes stay in the
// source's clone when it goes. Where the clone has exactly these still, they give
// way to what the session brings, which has grown out of them. Anything else that
// somebody changed refuses the move, as ever.

// Sum is one value for all that was captured: branch, commit, what is staged,
// changed and intended, and the untracked files that travel with their content.
func (c *Captured) Sum() (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q\n", c.Git.Branch, c.Git.Head, c.Git.IntentToAdd)
	for _, patch := range []string{c.Staged, c.Changes} {
		sum, err := sumOf(patch)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, sum)
	}
	files, err := c.written(func(_ int, f File) (string, error) { return c.copyTo(io.Discard, f) })
	if err != nil {
		return "", err
	}
	for i, f := range files {
		fmt.Fprintf(h, "%q %o %q %s\n", f.Path, c.Untracked[i].Mode, f.Link, f.SHA256)
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// sumOf is the SHA-256 of a patch, empty without one.
func sumOf(patch string) (string, error) {
	if patch == "" {
		return "", nil
	}
	return hashFile(patch)
}

// written are the untracked files as a journal has them. read reads the one of a
// number, and tells its SHA-256.
func (c *Captured) written(read func(n int, f File) (string, error)) ([]Written, error) {
	list := make([]Written, len(c.Untracked))
	for i, f := range c.Untracked {
		list[i] = Written{Path: git.Quote(f.Path), Link: git.Quote(f.Link)}
		if f.Link != "" {
			continue
		}
		var err error
		if list[i].SHA256, err = read(i, f); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// copyTo copies an untracked file, and tells its SHA-256.
func (c *Captured) copyTo(w io.Writer, f File) (string, error) {
	r, err := c.Open(f)
	if err != nil {
		return "", err
	}
	defer r.Close()
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(w, h), r)
	return fmt.Sprintf("%x", h.Sum(nil)), err
}

// leftBehind are the changes of the clone if they are what the session left
// there; else nil. into is an empty private folder for patches.
func (t *Target) leftBehind(ctx context.Context, into string) (*Captured, error) {
	if t.Left == "" || t.Worktree != "" {
		return nil, nil
	}
	c, err := Source{MaxUntracked: t.MaxUntracked}.Capture(ctx, t.Clone, into)
	var refused *Refusal
	if errors.As(err, &refused) || errors.Is(err, ErrChanged) {
		return nil, nil // it is in another state by that alone
	}
	if err != nil {
		return nil, err
	}
	sum, err := c.Sum()
	if err != nil || sum != t.Left || c.Staged == "" && c.Changes == "" && len(c.Untracked)+len(c.Git.IntentToAdd) == 0 {
		return nil, err
	}
	return c, nil
}

// findLeft notes in the site what would be put aside.
func (t *Target) findLeft(ctx context.Context, s *site) error {
	dir, err := os.MkdirTemp("", "shmove-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c, err := t.leftBehind(ctx, dir)
	t.Aside = c != nil
	if err != nil || c == nil {
		return err
	}
	s.aside = make(map[string]bool, len(c.Untracked))
	for _, f := range c.Untracked {
		s.aside[f.Path] = true
	}
	return nil
}

// putAside takes what the session left behind out of the clone. Copies of it stay
// in the private folder until the move is settled, or undone.
func (a *applying) putAside(ctx context.Context) error {
	dir := filepath.Join(a.steps.Private, "aside")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("put aside: %w", err)
	}
	c, err := a.leftBehind(ctx, dir)
	if err == nil && c == nil {
		err = ErrChanged
	}
	if err != nil {
		return fmt.Errorf("put aside: %w", err)
	}
	left := Steps{
		Move: a.steps.Move, Clone: a.steps.Clone, Common: a.steps.Common, Private: dir,
		HeadRef: a.steps.HeadRef, HeadCommit: a.steps.HeadCommit, Branch: c.Git.Branch, Head: c.Git.Head, IntentToAdd: c.Git.IntentToAdd,
	}
	for _, p := range []struct {
		to   *string
		path string
	}{{&left.Staged, c.Staged}, {&left.Changes, c.Changes}} {
		if *p.to, err = sumOf(p.path); err != nil {
			return fmt.Errorf("put aside: %w", err)
		}
	}
	if left.Files, err = c.written(func(n int, f File) (string, error) { return c.keep(f, filepath.Join(dir, strconv.Itoa(n))) }); err != nil {
		return fmt.Errorf("put aside: %w", err)
	}
	left.Folders = c.folders()
	if err := a.about(func(s *Steps) { s.Aside = &left }); err != nil {
		return err
	}
	u := undoing{steps: left, j: unsaved{}, clone: a.site.place, tree: a.site.place}
	if err := u.content(ctx); err != nil {
		return fmt.Errorf("put aside: %w", err)
	}
	if len(u.Kept) > 0 {
		return fmt.Errorf("put aside: %s: %w", u.Kept[0], ErrChanged)
	}
	return nil
}

// folders are those of the untracked files, parents before children.
func (c *Captured) folders() []string {
	var list []string
	for _, f := range c.Untracked {
		list = append(list, above(f.Path)...)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	for i, name := range list {
		list[i] = git.Quote(name)
	}
	return list
}

// keep copies an untracked file to a path, with its mode.
func (c *Captured) keep(f File, path string) (string, error) {
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	sum, err := c.copyTo(to, f)
	return sum, errors.Join(err, to.Chmod(os.FileMode(f.Mode)&os.ModePerm|0o400), to.Sync(), to.Close())
}

// putBack brings back what was put aside. After a crash half of it may be there:
// what is as it was left is taken out first, and then all of it comes.
func (u *undoing) putBack(ctx context.Context) error {
	left := u.steps.Aside
	if left == nil {
		return nil
	}
	ref, commit, err := u.clone.head(ctx)
	if err != nil {
		return err
	}
	if ref != left.HeadRef || commit != left.Head {
		return fmt.Errorf("the changes that were there lie in %s: the clone is not where they belong, on %s at %.12s", show(left.Private), show(left.Branch), left.Head)
	}
	out := undoing{steps: *left, j: unsaved{}, clone: u.clone, tree: u.clone}
	if err := out.content(ctx); err != nil {
		return err
	}
	if len(out.Kept) > 0 {
		return fmt.Errorf("the changes that were there lie in %s: something else is in the place of %s", show(left.Private), out.Kept[0])
	}
	in, err := left.incoming()
	if err != nil {
		return err
	}
	a := applying{Target: &Target{Clone: left.Clone, In: in}, j: unsaved{}, steps: Steps{Move: left.Move, Private: left.Private}, site: &site{place: u.clone}, tree: u.clone}
	if a.site.patched, err = in.patched(); err != nil {
		return err
	}
	if err := a.patch(ctx); err != nil {
		return err
	}
	_, err = a.files()
	return err
}

// incoming is what was put aside, as if it arrived.
func (s *Steps) incoming() (*Incoming, error) {
	in := &Incoming{Move: s.Move, Git: record.ManifestGit{Branch: s.Branch, Head: s.Head, IntentToAdd: s.IntentToAdd}, Dir: "."}
	if s.Staged != "" {
		in.Staged = filepath.Join(s.Private, "staged.patch")
	}
	if s.Changes != "" {
		in.Changes = filepath.Join(s.Private, "changes.patch")
	}
	kept := map[string]string{}
	for i, w := range s.Files {
		name, err := git.Unquote(w.Path)
		if err != nil {
			return nil, err
		}
		f := File{Path: name, SHA256: w.SHA256}
		if w.Link != "" {
			f.Link, err = git.Unquote(w.Link)
		} else {
			kept[name] = filepath.Join(s.Private, strconv.Itoa(i))
			var st os.FileInfo
			if st, err = os.Stat(kept[name]); err == nil {
				f.Size, f.Mode = st.Size(), uint32(st.Mode().Perm())
			}
		}
		if err != nil {
			return nil, err
		}
		in.Untracked = append(in.Untracked, f)
	}
	in.Open = func(f File) (io.ReadCloser, error) { return os.Open(kept[f.Path]) }
	return in, nil
}

// unsaved is the journal of what another one has already.
type unsaved struct{}

func (unsaved) Save(Steps) error { return nil }
