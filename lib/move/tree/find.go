package tree

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sessionhub/lib/git"
)

// cloneDepth is how many folders below a root a clone may lie.
const cloneDepth = 4

// maxFolders bounds a search: a root may be a whole disk by mistake.
const maxFolders = 200_000

type clone struct{ path, below string } // below: relative to its root

// FindClone finds the clone of a remote below the roots, at most 4 folders
// down. Of several, it is the one that lies below its root as the source's
// work tree lies on the source, whatever the case; else it is refused, naming
// them. Linked work trees are not clones, and inside one nothing is looked
// for.
func FindClone(ctx context.Context, roots []string, remote, sourceTop string) (string, error) {
	var found []clone
	for _, root := range roots {
		left := maxFolders
		walk(root, ".", 0, &left, func(c clone) {
			same := func(o clone) bool { return o.path == c.path }
			if ctx.Err() == nil && !slices.ContainsFunc(found, same) && hasRemote(ctx, c.path, remote) {
				found = append(found, c)
			}
		})
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", refuse(NoClone, "clone it there, or name its folder in move_roots", "no clone of %s below %s", git.WithoutUsers(remote), strings.Join(roots, ", "))
	}
	like := found
	if len(found) > 1 {
		like = alike(found, sourceTop)
	}
	if len(like) == 1 {
		return like[0].path, nil
	}
	var names []string
	for _, c := range found {
		names = append(names, show(c.path))
	}
	way := "leave one of them, or move one to where it lies on the source: " + show(sourceTop)
	return "", &Refusal{SeveralClone, "several clones of " + show(git.WithoutUsers(remote)) + ": " + strings.Join(names, ", "), way}
}

// alike are the clones whose path below their root ends the source's path;
// those with the longest such path, when there are several lengths.
func alike(found []clone, sourceTop string) []clone {
	var like []clone
	source := "/" + strings.ToLower(strings.Trim(filepath.ToSlash(sourceTop), "/"))
	for _, c := range found {
		below := "/" + strings.ToLower(filepath.ToSlash(c.below))
		if c.below == "." || !strings.HasSuffix(source, below) {
			continue
		}
		switch {
		case len(like) == 0 || len(c.below) > len(like[0].below):
			like = []clone{c}
		case len(c.below) == len(like[0].below):
			like = append(like, c)
		}
	}
	return like
}

// walk calls visit for each repository below a root. Links are not followed:
// what they lead to is found where it lies, or not meant.
func walk(root, below string, depth int, left *int, visit func(clone)) {
	dir := filepath.Join(root, below)
	if *left--; *left < 0 {
		return
	}
	if isClone(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			visit(clone{real, below})
		}
		if depth > 0 { // a root may be a repository itself, and holds others all the same
			return
		}
	}
	if depth == cloneDepth {
		return
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		if e.IsDir() && e.Name() != ".git" && e.Name() != "node_modules" {
			walk(root, filepath.Join(below, e.Name()), depth+1, left, visit)
		}
	}
}

// isClone reports whether a folder is a repository's own work tree. A linked
// one and a submodule have a .git file; so has one whose Git directory was
// put elsewhere, which has no commondir.
func isClone(dir string) bool {
	at := filepath.Join(dir, ".git")
	st, err := os.Stat(at)
	if err != nil {
		return false
	}
	if st.IsDir() {
		_, err := os.Stat(filepath.Join(at, "HEAD"))
		return err == nil
	}
	b, err := os.ReadFile(at)
	to, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
	if err != nil || !ok {
		return false
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	_, err = os.Stat(filepath.Join(to, "commondir"))
	return os.IsNotExist(err)
}

// hasRemote reports whether origin is that remote, as written or as the
// user's url.*.insteadOf makes it.
func hasRemote(ctx context.Context, dir, remote string) bool {
	r := git.Repo{Dir: dir}
	raw, err := r.Line(ctx, "config", "--get", "remote.origin.url")
	if err != nil {
		return false
	}
	if git.SameRemote(raw, remote) {
		return true
	}
	real, err := r.Line(ctx, "remote", "get-url", "origin")
	return err == nil && git.SameRemote(real, remote)
}
