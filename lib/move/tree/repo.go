package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sessionhub/lib/git"
)

// place is a work tree and what holds for moves on both ends.
type place struct {
	git.Repo          // at the top
	top      string   // absolute, links resolved
	gitDir   string   // of this work tree
	common   string   // of the repository; differs in linked work trees
	prefix   string   // of the folder asked for, "." for the top
	config   settings // what git config says
}

// open finds the work tree around dir, and refuses what can't be moved from
// or to whatever its files are.
func open(ctx context.Context, dir string) (*place, error) {
	p, shallow, err := locate(ctx, dir)
	if err != nil {
		return nil, err
	}
	if shallow {
		return nil, refuse(Shallow, "git fetch --unshallow", "%s has only the last commits of its history", p.top)
	}
	if p.config.on("core.sparsecheckout") {
		return nil, refuse(Sparse, "git sparse-checkout disable", "%s has only a part of its files checked out", p.top)
	}
	return p, p.underWay()
}

// locate finds the work tree around dir.
func locate(ctx context.Context, dir string) (p *place, shallow bool, err error) {
	r := git.Repo{Dir: dir}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, false, refuse(NoWorkTree, "a session is moved with its folder", "%s is no folder", dir)
	}
	kind, err := r.Line(ctx, "rev-parse", "--is-inside-work-tree", "--is-bare-repository", "--is-shallow-repository")
	if git.Exited(err, 128) && strings.Contains(err.Error(), "not a git repository") {
		return nil, false, refuse(NoWorkTree, "only what Git has travels: git init and a remote make one", "%s is not in a Git work tree", dir)
	}
	if err != nil {
		return nil, false, err
	}
	is := strings.Fields(kind)
	if len(is) != 3 {
		return nil, false, fmt.Errorf("git rev-parse: unexpected answer %q", kind)
	}
	if is[1] == "true" {
		return nil, false, refuse(Bare, "clone it, and work in the clone", "%s is a bare repository", dir)
	}
	if is[0] != "true" {
		return nil, false, refuse(NoWorkTree, "work in the tree beside it", "%s is inside a Git directory", dir)
	}
	p = &place{prefix: "."}
	for _, q := range []struct {
		to  *string
		arg string
	}{{&p.top, "--show-toplevel"}, {&p.gitDir, "--absolute-git-dir"}, {&p.common, "--git-common-dir"}, {&p.prefix, "--show-prefix"}} {
		if *q.to, err = r.Line(ctx, "rev-parse", q.arg); err != nil {
			return nil, false, err
		}
	}
	if !filepath.IsAbs(p.common) {
		p.common = filepath.Join(dir, p.common)
	}
	if p.prefix = strings.TrimSuffix(p.prefix, "/"); p.prefix == "" {
		p.prefix = "."
	}
	p.Repo = git.Repo{Dir: p.top}
	if p.config, err = readSettings(ctx, p.Repo); err != nil {
		return nil, false, err
	}
	return p, is[2] == "true", nil
}

// underWay refuses a tree in the middle of something that Git keeps notes of:
// these notes do not travel.
func (p *place) underWay() error {
	for _, u := range []struct{ file, what, way string }{
		{"rebase-merge", "a rebase", "git rebase --continue or --abort"},
		{"rebase-apply", "a rebase, or git am,", "git rebase (or am) --continue or --abort"},
		{"MERGE_HEAD", "a merge", "git merge --continue or --abort"},
		{"CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --continue or --abort"},
		{"REVERT_HEAD", "a revert", "git revert --continue or --abort"},
		{"sequencer", "a row of cherry-picks or reverts", "git cherry-pick (or revert) --continue or --abort"},
		{"BISECT_LOG", "a bisect", "git bisect reset"},
	} {
		if _, err := os.Lstat(filepath.Join(p.gitDir, u.file)); err == nil {
			return refuse(UnderWay, u.way, "%s is under way in %s", u.what, p.top)
		}
	}
	return nil
}

// head is where HEAD points: ref is empty when it is detached, commit before
// the first one.
func (p *place) head(ctx context.Context) (ref, commit string, err error) {
	ref, err = p.Line(ctx, "symbolic-ref", "-q", "HEAD")
	if err != nil && !git.Exited(err, 1) {
		return "", "", err
	}
	commit, err = p.commit(ctx, "HEAD")
	return ref, commit, err
}

// commit is the commit that a name stands for, empty if there is none.
func (p *place) commit(ctx context.Context, name string) (string, error) {
	c, err := p.Line(ctx, "rev-parse", "-q", "--verify", name+"^{commit}")
	if git.Exited(err, 1) || git.Exited(err, 128) {
		return "", nil
	}
	return c, err
}

// settings are the values of git config, the last one of each name.
type settings map[string]string

func readSettings(ctx context.Context, r git.Repo) (settings, error) {
	list, err := r.Fields(ctx, "config", "--list", "-z")
	if err != nil {
		return nil, err
	}
	s := settings{}
	for _, item := range list {
		name, value, ok := strings.Cut(item, "\n")
		if !ok {
			value = "true" // a name alone means that
		}
		s[name] = value
	}
	return s, nil
}

func (s settings) on(name string) bool {
	switch strings.ToLower(s[name]) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// filter reports whether a filter driver is set up.
func (s settings) filter(name string) bool {
	for _, part := range []string{"clean", "smudge", "process"} {
		if s["filter."+name+"."+part] != "" {
			return true
		}
	}
	return false
}

// filters are the names of the filters that tracked paths ask for in their
// attributes. cached reads the attributes from the index alone.
func filters(ctx context.Context, r git.Repo, paths []string, cached bool) ([]string, error) {
	args := []string{"check-attr", "-z", "--stdin", "filter"}
	if cached {
		args = []string{"check-attr", "--cached", "-z", "--stdin", "filter"}
	}
	var out bytes.Buffer
	if err := r.Pipe(ctx, git.Join(paths), &out, args...); err != nil {
		return nil, err
	}
	var names []string
	for i, f := range git.Split(out.Bytes()) {
		if i%3 == 2 && f != "unspecified" && f != "unset" && f != "set" && !slices.Contains(names, f) {
			names = append(names, f)
		}
	}
	slices.Sort(names)
	return names, nil
}

// checkFilters refuses when the files of a tree pass through a filter that
// does not work here (field report A43).
func (p *place) checkFilters(names []string) error {
	for _, name := range names {
		if name != "lfs" && !p.config.filter(name) {
			return refuse(Filter, "set up filter."+show(name)+" with git config as its project says", "files pass through the filter %s, which is not set up on this machine", name)
		}
		if name != "lfs" {
			continue
		}
		if _, err := exec.LookPath("git-lfs"); err != nil {
			return refuse(Filter, "install git-lfs, then git lfs install", "files are kept in Git LFS, and git-lfs is not on this machine")
		}
		if !p.config.filter(name) {
			return refuse(Filter, "git lfs install", "files are kept in Git LFS, which is not set up for this user")
		}
	}
	return nil
}

// copyIndex copies the index, with its time: Git takes what is not older than
// its index for changed maybe. A missing index stays missing.
func (p *place) copyIndex(ctx context.Context, to string) (git.Repo, error) {
	r := p.Repo
	r.Index = to
	from, err := p.Line(ctx, "rev-parse", "--git-path", "index")
	if err != nil {
		return r, err
	}
	if !filepath.IsAbs(from) {
		from = filepath.Join(p.top, from)
	}
	f, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("read the index: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return r, fmt.Errorf("read the index: %w", err)
	}
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return r, fmt.Errorf("copy the index: %w", err)
	}
	_, err = io.Copy(dst, f)
	if err := errors.Join(err, dst.Close(), os.Chtimes(to, st.ModTime(), st.ModTime())); err != nil {
		return r, fmt.Errorf("copy the index: %w", err)
	}
	return r, nil
}
