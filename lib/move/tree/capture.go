package tree

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sessionhub/lib/git"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// MaxUntracked is how large an untracked file may be to travel, unless asked
// otherwise: larger ones are rarely work, and often a build or a dump.
const MaxUntracked = 10 << 20

// Captured is what of a work tree travels.
type Captured struct {
	Top string // absolute, links resolved
	Dir string // of the session, relative to Top; "." for Top. A manifest has it quoted by git.Quote
	Git record.ManifestGit
	// Staged and Changes are the patch files (index against HEAD, work tree
	// against index), empty where there is nothing.
	Staged, Changes string
	Untracked       []File
	NotCarried      []record.NotCarried

	place    *place
	upstream upstream
	seen     [sha256.Size]byte
}

// File is an untracked file or symbolic link.
type File struct {
	Path   string // relative to the top, with slashes: bytes, maybe not UTF-8
	Size   int64
	Mode   uint32 // permission bits; 0 of a link
	Link   string // target of a link
	SHA256 string // hex; empty on the source, where the packer hashes what it reads
}

// Source reads work trees.
type Source struct {
	MaxUntracked int64 // bytes; 0: MaxUntracked
	// Read, when set, is called between the two looks that tell whether the
	// tree changed meanwhile.
	Read func()
}

// Capture reads the work tree around dir, and changes nothing in it: no file,
// no ref, not even the times in the index. Patch files go into the private
// folder into, which must be empty. It fails with a *Refusal when the tree is
// in a state that can't travel, and with ErrChanged when somebody worked in
// it meanwhile.
func (s Source) Capture(ctx context.Context, dir, into string) (*Captured, error) {
	into, err := filepath.Abs(into) // git runs elsewhere
	if err != nil {
		return nil, err
	}
	p, err := open(ctx, dir)
	if err != nil {
		return nil, err
	}
	c := &Captured{Top: p.top, Dir: p.prefix, place: p}
	if err := c.where(ctx); err != nil {
		return nil, err
	}
	index, err := p.copyIndex(ctx, filepath.Join(into, "index"))
	if err != nil {
		return nil, err
	}
	defer os.Remove(index.Index)
	st, err := readStatus(ctx, index, true)
	if err != nil {
		return nil, err
	}
	if c.seen, err = p.fingerprint(ctx, index.Index, st); err != nil {
		return nil, err
	}
	if err := c.refuse(ctx, index, st, into); err != nil {
		return nil, err
	}
	if err := c.patches(ctx, index, into); err != nil {
		return nil, err
	}
	if err := c.untracked(ctx, index, st, s.limit()); err != nil {
		return nil, err
	}
	if s.Read != nil {
		s.Read()
	}
	return c, c.Unchanged(ctx, into)
}

func (s Source) limit() int64 {
	if s.MaxUntracked > 0 {
		return s.MaxUntracked
	}
	return MaxUntracked
}

// where reads remote, branch and commit, or refuses.
func (c *Captured) where(ctx context.Context) error {
	p := c.place
	ref, commit, err := p.head(ctx)
	if err != nil {
		return err
	}
	branch, ok := strings.CutPrefix(ref, "refs/heads/")
	switch {
	case ref == "":
		return refuse(Detached, "git switch to a branch, or git switch -c NAME", "%s has no branch checked out", p.top)
	case !ok:
		return refuse(Detached, "git switch to a branch", "%s has %s checked out, which is no branch", p.top, ref)
	case commit == "":
		return refuse(Unborn, "commit once", "the branch %s has no commit yet", branch)
	}
	remote := p.config["remote.origin.url"]
	if remote == "" {
		return refuse(NoOrigin, "git remote add origin URL, and push", "%s has no remote origin, which the other machine would fetch from", p.top)
	}
	c.upstream = upstream{p.config["branch."+branch+".remote"], p.config["branch."+branch+".merge"]}
	c.Git = record.ManifestGit{Remote: text.Remote(remote), Branch: branch, Head: commit, Top: p.top}
	if c.upstream.remote == "origin" {
		c.Git.Upstream = strings.TrimPrefix(c.upstream.merge, "refs/heads/")
	}
	return nil
}

// refuse is everything in the state of the files that stands against a move.
func (c *Captured) refuse(ctx context.Context, index git.Repo, st *status, into string) error {
	if len(st.unmerged) > 0 {
		return refuse(Unmerged, "resolve it and git add it", "%s is not merged", st.unmerged[0])
	}
	if len(st.submodule) > 0 {
		return refuse(Submodule, "commit and push in there, commit its new state here, or take it back", "the submodule %s has changes of its own, which would not travel", st.submodule[0])
	}
	scratch, err := c.place.copyIndex(ctx, filepath.Join(into, "flags"))
	if err != nil {
		return err
	}
	defer os.Remove(scratch.Index)
	hidden, err := hiddenChanges(ctx, scratch)
	if err != nil {
		return err
	}
	if len(hidden) > 0 {
		return refuse(Hidden, "git update-index --no-assume-unchanged --no-skip-worktree shows it", "%s has changes that Git was told to overlook", hidden[0])
	}
	entries, err := readEntries(ctx, index)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, err := os.Lstat(filepath.Join(c.Top, e.path, ".git")); e.mode == gitlink && err == nil {
			c.Git.Submodules = append(c.Git.Submodules, git.Quote(e.path))
		}
	}
	names, err := filters(ctx, index, paths(entries), false)
	if err != nil {
		return err
	}
	for _, name := range names { // one without a driver does nothing
		if name == "lfs" || c.place.config.filter(name) {
			c.Git.Filters = append(c.Git.Filters, name)
		}
	}
	return c.place.checkFilters(c.Git.Filters)
}

// gitlink is the mode of a submodule.
const gitlink = "160000"

// patches writes the two patches. A path of `git add -N` whose file is gone
// stays out of them: there is nothing to delete on the other side.
func (c *Captured) patches(ctx context.Context, index git.Repo, into string) error {
	ita, err := intentToAdd(ctx, index, c.Git.Head)
	if err != nil {
		return err
	}
	slices.Sort(ita)
	for _, path := range ita {
		c.Git.IntentToAdd = append(c.Git.IntentToAdd, git.Quote(path))
	}
	if c.Staged, err = writeDiff(ctx, index, filepath.Join(into, "staged.patch"), nil, "--cached", "--ignore-submodules=none", c.Git.Head); err != nil {
		return err
	}
	if c.Changes, err = writeDiff(ctx, index, filepath.Join(into, "changes.patch"), ita, "--ignore-submodules=none"); err != nil {
		return err
	}
	staged, err := sections(c.Staged)
	if err != nil {
		return err
	}
	changes, err := sections(c.Changes)
	if err != nil {
		return err
	}
	var kept []string
	for _, s := range append(staged, changes...) {
		if s.gitlink {
			return refuse(Submodule, "commit it", "the submodule %s is staged with another commit", s.path)
		}
		if !s.deleted {
			kept = append(kept, s.path)
		}
	}
	if !slices.Contains(c.Git.Filters, "lfs") {
		return nil
	}
	// A patch holds LFS's pointer, and what it points to is pushed with a
	// commit only.
	for _, path := range kept {
		names, err := filters(ctx, index, []string{path}, false)
		if err != nil {
			return err
		}
		if slices.Contains(names, "lfs") {
			return refuse(Filter, "commit it", "%s is kept in Git LFS and has changes, which the other machine could not fetch", path)
		}
	}
	return nil
}

// writeDiff writes a patch, and says where: nowhere when it is empty.
func writeDiff(ctx context.Context, r git.Repo, path string, ita []string, args ...string) (string, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("write the patch: %w", err)
	}
	err = r.Pipe(ctx, nil, f, diff(args...)...)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	if len(ita) > 0 {
		err = rewrite(path, func(s section) bool { return !s.deleted || !slices.Contains(ita, s.path) })
		if err != nil {
			return "", err
		}
	}
	st, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("write the patch: %w", err)
	}
	if st.Size() == 0 {
		return "", os.Remove(path)
	}
	return path, nil
}

// rewrite leaves only some sections in a patch.
func rewrite(path string, keep func(section) bool) error {
	list, err := sections(path)
	if err != nil || !slices.ContainsFunc(list, func(s section) bool { return !keep(s) }) {
		return err
	}
	f, err := os.OpenFile(path+".part", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the patch: %w", err)
	}
	_, err = copySections(f, path, list, keep)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// Unchanged looks at the tree again: ErrChanged when it is not what Capture
// saw. scratch is a private folder. Untracked files that a packer reads after
// Capture are covered when it asks once more at the end.
func (c *Captured) Unchanged(ctx context.Context, scratch string) error {
	index, err := c.place.copyIndex(ctx, filepath.Join(scratch, "again"))
	if err != nil {
		return err
	}
	defer os.Remove(index.Index)
	st, err := readStatus(ctx, index, true)
	if err != nil {
		return err
	}
	now, err := c.place.fingerprint(ctx, index.Index, st)
	if err != nil {
		return err
	}
	if now != c.seen {
		return ErrChanged
	}
	return nil
}

// fingerprint is one value for HEAD, the index, and all files that differ
// from it.
func (p *place) fingerprint(ctx context.Context, index string, st *status) (sum [sha256.Size]byte, err error) {
	ref, commit, err := p.head(ctx)
	if err != nil {
		return sum, err
	}
	h := sha256.New()
	b, err := os.ReadFile(index)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return sum, fmt.Errorf("read the index: %w", err)
	}
	fmt.Fprintf(h, "%q %q %x %q\n", ref, commit, sha256.Sum256(b), st.raw)
	for _, path := range append(st.changed, st.untracked...) {
		fi, err := os.Lstat(filepath.Join(p.top, path))
		if err != nil {
			fmt.Fprintf(h, "%q gone\n", path)
			continue
		}
		fmt.Fprintf(h, "%q %v %d %d %d\n", path, fi.Mode(), fi.Size(), fi.ModTime().UnixNano(), inode(fi))
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}
