package tree

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"sessionhub/lib/git"
	"sessionhub/lib/record"
)

// Incoming is what arrives: a manifest's facts, and files of a private folder
// that were verified against it.
type Incoming struct {
	Move string
	Git  record.ManifestGit
	Dir  string // of the session, relative to the top
	// Staged, Changes and Commits are paths of files, empty where the bundle
	// has none.
	Staged, Changes, Commits string
	Untracked                []File
	// Open reads an untracked file.
	Open func(File) (io.ReadCloser, error)
}

// Unpacked is what lies in the private folder dir that a bundle with this
// manifest was unpacked and verified into, each entry at its name.
func Unpacked(dir string, m *record.Manifest) (*Incoming, error) {
	dir, err := filepath.Abs(dir) // git runs elsewhere
	if err != nil {
		return nil, err
	}
	in := &Incoming{Move: m.Move, Git: m.Git}
	if in.Dir, err = git.Unquote(m.Dir); err != nil {
		return nil, fmt.Errorf("%s: %w", show(m.Dir), err)
	}
	for _, e := range m.Entries {
		switch e.Name {
		case "staged.patch":
			in.Staged = filepath.Join(dir, e.Name)
		case "changes.patch":
			in.Changes = filepath.Join(dir, e.Name)
		case "commits.bundle":
			in.Commits = filepath.Join(dir, e.Name)
		}
		if !strings.HasPrefix(e.Name, untrackedPrefix) {
			continue
		}
		name, err := entryPath(e.Name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", show(e.Name), err)
		}
		in.Untracked = append(in.Untracked, File{Path: name, Size: e.Size, Mode: e.Mode, Link: e.Link, SHA256: e.SHA256})
	}
	in.Open = func(f File) (io.ReadCloser, error) { return openFile(dir, EntryName(f)) }
	return in, nil
}

// patched are the sections of both patches.
type patched struct{ staged, changes []section }

func (in *Incoming) patched() (p patched, err error) {
	if p.staged, err = sections(in.Staged); err != nil {
		return p, err
	}
	p.changes, err = sections(in.Changes)
	return p, err
}

// created are the paths that the move brings into being.
func (in *Incoming) created(p patched) []string {
	var list []string
	for _, s := range append(p.staged[:len(p.staged):len(p.staged)], p.changes...) {
		if s.created {
			list = append(list, s.path)
		}
	}
	for _, f := range in.Untracked {
		list = append(list, f.Path)
	}
	return list
}

// check refuses what no honest source sends: a branch or path that leads
// elsewhere.
func (in *Incoming) check(ctx context.Context, r git.Repo, p patched) error {
	if err := record.CheckID("move", in.Move); err != nil {
		return err
	}
	const way = "the bundle is not one of shmove's: take it from its source again"
	name, err := r.Line(ctx, "check-ref-format", "--branch", in.Git.Branch)
	if err != nil || name != in.Git.Branch || strings.HasPrefix(name, "-") {
		return refuse(Hostile, way, "the branch is called %s", in.Git.Branch)
	}
	if len(in.Git.Head) < 40 || strings.Trim(in.Git.Head, "0123456789abcdef") != "" {
		return refuse(Hostile, way, "the commit is called %s", in.Git.Head)
	}
	if err := in.agree(ctx, r, p); err != nil {
		return err
	}
	list := in.created(p)
	for _, s := range append(p.staged[:len(p.staged):len(p.staged)], p.changes...) {
		list = append(list, s.path)
		if s.gitlink {
			return refuse(Hostile, way, "a patch changes the submodule %s", s.path)
		}
	}
	for _, quoted := range in.Git.IntentToAdd {
		name, err := git.Unquote(quoted)
		if err != nil {
			return refuse(Hostile, way, "a path is spelled %s", quoted)
		}
		list = append(list, name)
	}
	if in.Dir != "." {
		list = append(list, in.Dir)
	}
	for _, name := range list {
		if !inside(name) {
			return refuse(Hostile, way, "the path %s leads out of the work tree", name)
		}
	}
	for _, f := range in.Untracked {
		if fs.FileMode(f.Mode)&^fs.ModePerm != 0 {
			return refuse(Hostile, way, "%s has the mode %o", f.Path, f.Mode)
		}
	}
	return nil
}

// agree has Git say which paths it would touch: the same that were read here,
// or the patch has parts that one of both overlooks.
func (in *Incoming) agree(ctx context.Context, r git.Repo, p patched) error {
	for name, list := range map[string][]section{in.Staged: p.staged, in.Changes: p.changes} {
		if name == "" {
			continue
		}
		const way = "take the bundle from its source again"
		lines, err := r.Fields(ctx, "apply", "--numstat", "-z", name)
		if err != nil {
			return refuse(Hostile, way, "a patch is spoiled: %v", err)
		}
		want, seen := facts(list), 0
		for _, line := range lines {
			f := strings.SplitN(line, "\t", 3)
			if _, ours := want[f[len(f)-1]]; !ours {
				return refuse(Hostile, way, "a patch changes %s under another name", f[len(f)-1])
			}
			seen++
		}
		if seen != len(list) {
			return refuse(Hostile, way, "a patch names a path several times")
		}
	}
	return nil
}
