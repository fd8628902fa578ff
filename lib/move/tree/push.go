package tree

import (
	"context"
	"errors"
	"fmt"
	"os"

	"sessionhub/lib/git"
)

// upstream is what a branch follows: a remote, "." for this repository, and a
// ref there.
type upstream struct{ remote, merge string }

// Push brings the branch to origin, the remote that the target fetches from:
// with `push -u` when it follows nothing, to what it follows on origin when
// it is ahead, and without touching what it follows when that is elsewhere.
// It never forces, and the user's hooks run. What it did is said in short.
func (c *Captured) Push(ctx context.Context) (string, error) {
	r := c.place.Repo
	r.Hooks = true
	own := "refs/heads/" + c.Git.Branch
	push := func(args ...string) error {
		return r.Pipe(ctx, nil, nil, append([]string{"push", "--quiet", "--no-follow-tags"}, args...)...)
	}
	switch {
	case c.upstream.merge == "" || c.upstream.remote == "":
		return "pushed " + show(c.Git.Branch) + ", which now follows origin", push("-u", "origin", own+":"+own)
	case c.upstream.remote != "origin":
		return "pushed " + show(c.Git.Branch) + " to origin", push("origin", own+":"+own)
	}
	ahead, err := c.ahead(ctx)
	if err != nil || !ahead {
		return "nothing to push", err
	}
	return "pushed " + show(c.Git.Branch) + " to origin's " + show(c.Git.Upstream), push("origin", own+":"+c.upstream.merge)
}

// ahead reports whether the branch has commits that what it follows lacks, as
// far as this clone knows.
func (c *Captured) ahead(ctx context.Context) (bool, error) {
	ref, err := c.place.Line(ctx, "for-each-ref", "--format=%(upstream)", "refs/heads/"+c.Git.Branch)
	if err != nil {
		return false, err
	}
	if at, err := c.place.commit(ctx, ref); ref == "" || at == "" {
		return true, err // gone there, or never seen: the push will tell
	}
	n, err := c.place.Line(ctx, "rev-list", "--count", ref+".."+c.Git.Head)
	return n != "0", err
}

// Commits writes the commits that origin is not known to have as a Git bundle
// to path, for moves that bring no push about. false: it has them all, and
// nothing was written.
func (c *Captured) Commits(ctx context.Context, path string) (bool, error) {
	n, err := c.place.Line(ctx, "rev-list", "--count", c.Git.Head, "--not", "--remotes=origin")
	if err != nil || n == "0" {
		return false, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false, fmt.Errorf("write the commits: %w", err)
	}
	err = c.place.Pipe(ctx, nil, f, "bundle", "create", "--quiet", "-", "refs/heads/"+c.Git.Branch, "--not", "--remotes=origin")
	if err := errors.Join(err, f.Close()); err != nil {
		return false, err
	}
	head, err := git.Repo{Dir: c.Top}.Line(ctx, "bundle", "list-heads", path)
	if err != nil {
		return false, err
	}
	if want := c.Git.Head + " refs/heads/" + c.Git.Branch; head != want {
		return false, ErrChanged
	}
	return true, nil
}
