package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"sessionhub/lib/git"
)

// rehearse applies the patches in a private folder that holds no more than
// the files they change, by the rules of this clone. A patch that does not
// fit here is found while the clone is untouched: one written by other line
// ends or filters than this machine's settings make.
func (a *applying) rehearse(ctx context.Context) error {
	want := facts(slices.Concat(a.site.staged, a.site.changes))
	if len(want) == 0 {
		return nil
	}
	dir := filepath.Join(a.steps.Private, "trial")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := git.Repo{Dir: dir, WorkTree: dir, GitDir: a.site.gitDir, Index: filepath.Join(a.steps.Private, "trial.index")}
	err := indexOf(ctx, r, a.In.Git.Head, func(name string) bool {
		_, ok := want[name]
		return ok || section{path: name}.attributes()
	})
	if err != nil {
		return err
	}
	if err := r.Pipe(ctx, nil, nil, "checkout-index", "--all", "--index"); err != nil {
		return err
	}
	if err := a.applyPatch(ctx, r, "staged.patch", a.site.staged, "--index"); err != nil {
		return fmt.Errorf("what is staged does not fit here: %w", err)
	}
	if err := a.compare(ctx, r, "staged files", nil, "--ignore-submodules=all"); err != nil {
		return err
	}
	if err := a.applyPatch(ctx, r, "changes.patch", a.site.changes); err != nil {
		return fmt.Errorf("the changes do not fit here: %w", err)
	}
	names, err := a.intended(func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
	if err != nil {
		return err
	}
	if err := addIntent(ctx, r, names); err != nil {
		return err
	}
	return a.compare(ctx, r, "changed files", a.site.changes, "--ignore-submodules=all")
}

// verify has Git describe the tree as the source described its own, and
// compares: modes and object names of every path.
func (a *applying) verify(ctx context.Context) error {
	if err := a.compare(ctx, a.tree.Repo, "index", a.site.staged, "--cached", "--ignore-submodules=none", a.In.Git.Head); err != nil {
		return err
	}
	return a.compare(ctx, a.tree.Repo, "work tree", a.site.changes, "--ignore-submodules=dirty")
}

func (a *applying) compare(ctx context.Context, r git.Repo, what string, list []section, args ...string) error {
	seen, err := sectionsOf(ctx, r, a.steps.Private, args...)
	if err != nil {
		return err
	}
	want, got := facts(list), facts(seen)
	for _, quoted := range a.In.Git.IntentToAdd {
		if name, err := git.Unquote(quoted); err == nil && want[name] == "" {
			delete(got, name) // its file is gone, on both sides
		}
	}
	for name := range got {
		if want[name] != got[name] {
			return fmt.Errorf("the %s would have another %s than on the source: do both machines' core.autocrlf, core.eol and filters agree?", what, show(name))
		}
		delete(want, name)
	}
	for name := range want {
		return fmt.Errorf("the %s would lack the source's change of %s", what, show(name))
	}
	return nil
}

// sectionsOf is a diff's sections, by way of a file in a private folder.
func sectionsOf(ctx context.Context, r git.Repo, private string, args ...string) ([]section, error) {
	name := filepath.Join(private, "now.patch")
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	name, err := writeDiff(ctx, r, name, nil, args...)
	if err != nil || name == "" {
		return nil, err
	}
	defer os.Remove(name)
	return sections(name)
}

// intended are the paths of `git add -N` for which there holds.
func (a *applying) intended(there func(string) bool) ([]string, error) {
	var list []string
	for _, quoted := range a.In.Git.IntentToAdd {
		name, err := git.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		if there(name) {
			list = append(list, name)
		}
	}
	return list, nil
}

// intend does `git add -N`. Paths whose file is gone on the source are marked
// by way of an empty file elsewhere.
func (a *applying) intend(ctx context.Context) error {
	lies := func(name string) bool {
		_, err := os.Lstat(filepath.Join(a.tree.top, name))
		return err == nil
	}
	here, err := a.intended(lies)
	if err != nil {
		return err
	}
	there, err := a.intended(func(name string) bool { return !lies(name) })
	if err != nil {
		return err
	}
	gone, err := os.MkdirTemp(a.steps.Private, "gone-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(gone)
	for _, name := range there {
		at := filepath.Join(gone, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, nil, 0o600)); err != nil {
			return err
		}
	}
	if err := addIntent(ctx, a.tree.Repo, here); err != nil {
		return err
	}
	return addIntent(ctx, git.Repo{Dir: gone, WorkTree: gone, GitDir: a.tree.gitDir}, there)
}

func addIntent(ctx context.Context, r git.Repo, list []string) error {
	if len(list) == 0 {
		return nil
	}
	return r.Pipe(ctx, git.Join(list), nil, "add", "--intent-to-add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul")
}
