package tree

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sessionhub/lib/git"
)

// status is what `git status` says of a tree.
type status struct {
	raw       []byte
	changed   []string // tracked paths that differ somewhere
	unmerged  []string
	submodule []string // with changes or commits of their own
	untracked []string // a folder that is a repository ends with a slash
}

// readStatus asks for untracked files one by one and for all that differs in
// submodules, or for neither: submodules are then their own affair.
func readStatus(ctx context.Context, r git.Repo, all bool) (*status, error) {
	untracked, submodules := "--untracked-files=no", "--ignore-submodules=all"
	if all {
		untracked, submodules = "--untracked-files=all", "--ignore-submodules=none"
	}
	out, err := r.Out(ctx, "status", "--porcelain=v2", "-z", untracked, submodules, "--ignored=no", "--no-renames", "--no-ahead-behind")
	if err != nil {
		return nil, err
	}
	s := &status{raw: out}
	for _, line := range git.Split(out) {
		if err := s.add(line); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *status) add(line string) error {
	kind, rest, _ := strings.Cut(line, " ")
	fields := map[string]int{"1": 8, "u": 10, "?": 1}[kind]
	list := strings.SplitN(rest, " ", max(fields, 1))
	if fields == 0 || len(list) != fields {
		return fmt.Errorf("git status: unexpected line %s", show(line))
	}
	path := list[fields-1]
	switch kind {
	case "?":
		s.untracked = append(s.untracked, path)
		return nil
	case "u":
		s.unmerged = append(s.unmerged, path)
	}
	s.changed = append(s.changed, path)
	if strings.HasPrefix(list[1], "S") && list[1] != "S..." {
		s.submodule = append(s.submodule, path)
	}
	return nil
}

// entry is a path of the index.
type entry struct {
	path, mode, oid string
}

func readEntries(ctx context.Context, r git.Repo) ([]entry, error) {
	list, err := r.Fields(ctx, "ls-files", "-s", "-z")
	if err != nil {
		return nil, err
	}
	entries := make([]entry, 0, len(list))
	for _, line := range list {
		facts, path, ok := strings.Cut(line, "\t")
		f := strings.Fields(facts)
		if !ok || len(f) != 3 {
			return nil, errors.New("git ls-files: unexpected answer")
		}
		entries = append(entries, entry{path, f[0], f[1]})
	}
	return entries, nil
}

func paths(list []entry) []string {
	p := make([]string, len(list))
	for i, e := range list {
		p[i] = e.path
	}
	return p
}

// intentToAdd are the paths of `git add -N`. Git tells of them only by taking
// them for there or for not there, as it is asked.
func intentToAdd(ctx context.Context, r git.Repo, commit string) ([]string, error) {
	var seen [2]map[string]string
	for i, arg := range []string{"--ita-visible-in-index", "--ita-invisible-in-index"} {
		list, err := r.Fields(ctx, "diff", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--ignore-submodules=none", "-O/dev/null", arg, commit)
		if err != nil {
			return nil, err
		}
		seen[i] = map[string]string{}
		for j := 0; j+1 < len(list); j += 2 {
			seen[i][list[j+1]] = list[j]
		}
	}
	var ita []string
	for path, visible := range seen[0] {
		if seen[1][path] != visible {
			ita = append(ita, path)
		}
	}
	for path := range seen[1] {
		if _, ok := seen[0][path]; !ok {
			ita = append(ita, path)
		}
	}
	return ita, nil
}

// hiddenChanges are paths that Git was told to overlook (assume-unchanged,
// skip-worktree) and that differ all the same. index is a scratch copy of the
// index, which is changed by this.
func hiddenChanges(ctx context.Context, scratch git.Repo) ([]string, error) {
	list, err := scratch.Fields(ctx, "ls-files", "-v", "-z")
	if err != nil {
		return nil, err
	}
	var flagged []string
	for _, line := range list {
		if tag, path, _ := strings.Cut(line, " "); tag == "S" || tag != strings.ToUpper(tag) {
			flagged = append(flagged, path)
		}
	}
	if len(flagged) == 0 {
		return nil, nil
	}
	for _, flag := range []string{"--no-assume-unchanged", "--no-skip-worktree"} {
		if err := scratch.Pipe(ctx, git.Join(flagged), nil, "update-index", "-z", flag, "--stdin"); err != nil {
			return nil, err
		}
	}
	now, err := readStatus(ctx, scratch, false)
	if err != nil {
		return nil, err
	}
	changed := map[string]bool{}
	for _, path := range now.changed {
		changed[path] = true
	}
	var hidden []string
	for _, path := range flagged {
		if changed[path] {
			hidden = append(hidden, path)
		}
	}
	return hidden, nil
}
