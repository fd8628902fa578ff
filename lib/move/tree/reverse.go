package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sessionhub/lib/git"
)

// reverseTree takes the changes back from the files of the work tree: first
// those against the index that the source had, then those against its commit.
// A file that is not as a patch left it stays.
func (u *undoing) reverseTree(ctx context.Context) error {
	staged, err := u.kept(u.steps.Staged, "staged.patch")
	if err != nil {
		return err
	}
	changes, err := u.kept(u.steps.Changes, "changes.patch")
	if err != nil {
		return err
	}
	before, err := u.stood(ctx, "head.index", nil, append(staged, changes...))
	if err != nil {
		return err
	}
	between, err := u.stood(ctx, "staged.index", staged, append(staged, changes...))
	if err != nil {
		return err
	}
	now, err := u.changed(ctx, between, changes)
	if err != nil {
		return err
	}
	want := facts(changes)
	if err := u.reverse(ctx, "changes.patch", changes, u.free, func(name string) bool { return now[name] == want[name] }); err != nil {
		return err
	}
	isStaged, err := u.like(ctx, between)
	if err != nil {
		return err
	}
	isBefore, err := u.like(ctx, before)
	if err != nil {
		return err
	}
	if err := u.reverse(ctx, "staged.patch", staged, u.free, func(name string) bool { return isStaged(name) && !isBefore(name) }); err != nil {
		return err
	}
	if isBefore, err = u.like(ctx, before); err != nil {
		return err
	}
	for _, s := range append(staged, changes...) {
		if !isBefore(s.path) {
			u.keep(show(s.path))
		}
	}
	return nil
}

// kept are the sections of a patch that was, or was about to be, applied.
func (u *undoing) kept(sum, name string) ([]section, error) {
	if sum == "" {
		return nil, nil
	}
	name = filepath.Join(u.steps.Private, name)
	if now, err := hashFile(name); err != nil || now != sum {
		return nil, errors.Join(fmt.Errorf("%s is not the patch that was applied", show(name)), err)
	}
	return sections(name)
}

// stood is an index of what the commit has at the paths of the patches, with
// the staged patch applied if there is one.
func (u *undoing) stood(ctx context.Context, name string, staged, all []section) (git.Repo, error) {
	r := u.tree.Repo
	r.Index = filepath.Join(u.steps.Private, name)
	for _, old := range []string{r.Index, r.Index + ".lock"} {
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	want := facts(all)
	err := indexOf(ctx, r, u.steps.Head, func(name string) bool { _, ok := want[name]; return ok })
	if err != nil || staged == nil {
		return r, err
	}
	return r, r.Pipe(ctx, nil, nil, "apply", "--binary", "--cached", filepath.Join(u.steps.Private, "staged.patch"))
}

// indexOf fills an index with some of a commit's paths.
func indexOf(ctx context.Context, r git.Repo, commit string, want func(string) bool) error {
	list, err := r.Fields(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(line string) bool {
		_, name, _ := strings.Cut(line, "\t")
		return !want(name)
	})
	if err := r.Pipe(ctx, nil, nil, "read-tree", "--empty"); err != nil {
		return err
	}
	return r.Pipe(ctx, git.Join(list), nil, "update-index", "-z", "--index-info")
}

// changed is how the files of the work tree differ from an index. Paths that
// a patch created are not in that index; an empty one, in which they are
// intended, tells of them. (In another one a file would push out those of a
// folder that it replaced.)
func (u *undoing) changed(ctx context.Context, r git.Repo, patch []section) (map[string]string, error) {
	list, err := sectionsOf(ctx, r, u.steps.Private, "--ignore-submodules=all")
	if err != nil {
		return nil, err
	}
	now := facts(list)
	deleted := map[string]bool{}
	for _, s := range patch {
		deleted[s.path] = deleted[s.path] || s.deleted
	}
	var names []string
	for _, s := range patch {
		if s.created && !deleted[s.path] && u.holds(s.path) {
			names = append(names, s.path)
		}
	}
	if len(names) == 0 {
		return now, nil
	}
	r.Index = filepath.Join(u.steps.Private, "new.index")
	if err := r.Pipe(ctx, nil, nil, "read-tree", "--empty"); err != nil {
		return nil, err
	}
	if err := addIntent(ctx, r, names); err != nil {
		return nil, err
	}
	seen, err := sectionsOf(ctx, r, u.steps.Private, "--ignore-submodules=all")
	for _, s := range seen {
		now[s.path] = s.facts
	}
	return now, err
}

// holds reports whether the tree has a file or link at a path.
func (u *undoing) holds(name string) bool {
	fi, err := os.Lstat(filepath.Join(u.tree.top, name))
	return err == nil && !fi.IsDir()
}

// like tells of a path whether the work tree has there what an index has.
func (u *undoing) like(ctx context.Context, r git.Repo) (func(name string) bool, error) {
	list, err := sectionsOf(ctx, r, u.steps.Private, "--ignore-submodules=all")
	if err != nil {
		return nil, err
	}
	entries, err := readEntries(ctx, r)
	if err != nil {
		return nil, err
	}
	differs, has := facts(list), map[string]bool{}
	for _, e := range entries {
		has[e.path] = true
	}
	return func(name string) bool {
		_, other := differs[name]
		return has[name] && !other || !has[name] && !u.holds(name)
	}, nil
}

// reverse takes back those sections of a patch whose path is as it left it,
// and free for what was there.
func (u *undoing) reverse(ctx context.Context, name string, list []section, free func(path string, going map[string]bool) bool, asLeft func(string) bool, args ...string) error {
	ours := withRoom(list, asLeft, free)
	// Attributes go last: they say what the other files were written by.
	for _, attributes := range []bool{false, true} {
		part := filepath.Join(u.steps.Private, "back.patch")
		n, err := writePart(part, filepath.Join(u.steps.Private, name), list, func(s section) bool { return s.attributes() == attributes && ours(s.path) })
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if err := u.tree.Pipe(ctx, nil, nil, append(append([]string{"apply", "-R", "--binary"}, args...), part)...); err != nil {
			return err
		}
	}
	return nil
}

// writePart writes some sections of a patch to a file, over an earlier one.
func writePart(to, from string, list []section, keep func(section) bool) (int, error) {
	if !slices.ContainsFunc(list, keep) {
		return 0, nil
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := copySections(f, from, list, keep)
	return n, errors.Join(err, f.Close())
}

// reverseIndex takes back what was staged, where it is as it was staged.
func (u *undoing) reverseIndex(ctx context.Context) error {
	staged, err := u.kept(u.steps.Staged, "staged.patch")
	if err != nil || staged == nil {
		return err
	}
	list, err := sectionsOf(ctx, u.tree.Repo, u.steps.Private, "--cached", "--ignore-submodules=all", u.steps.Head)
	if err != nil {
		return err
	}
	now, want := facts(list), facts(staged)
	entries, err := readEntries(ctx, u.tree.Repo)
	if err != nil {
		return err
	}
	asLeft := func(name string) bool { return now[name] == want[name] }
	if err := u.reverse(ctx, "staged.patch", staged, freeIn(entries), asLeft, "--cached"); err != nil {
		return err
	}
	if list, err = sectionsOf(ctx, u.tree.Repo, u.steps.Private, "--cached", "--ignore-submodules=all", u.steps.Head); err != nil {
		return err
	}
	now = facts(list)
	for _, s := range staged {
		if now[s.path] != "" {
			u.keep("what is staged of " + show(s.path))
		}
	}
	return nil
}
