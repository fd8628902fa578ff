package tree

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// withRoom narrows which paths of a patch are taken back: not those whose
// deleted file has no place to return to, since somebody put a folder or a
// file there. Git would refuse the whole patch. free tells whether a path is
// free once those that go are gone.
func withRoom(list []section, ours func(string) bool, free func(path string, going map[string]bool) bool) func(string) bool {
	stays := map[string]bool{}
	for again := true; again; {
		again = false
		going := map[string]bool{}
		for _, s := range list {
			going[s.path] = going[s.path] || s.created && ours(s.path) && !stays[s.path]
		}
		for _, s := range list {
			if s.deleted && ours(s.path) && !stays[s.path] && !free(s.path, going) {
				stays[s.path], again = true, true
			}
		}
	}
	return func(name string) bool { return ours(name) && !stays[name] }
}

// above are the folders of a path, the nearest first.
func above(name string) []string {
	var dirs []string
	for d := path.Dir(name); d != "."; d = path.Dir(d) {
		dirs = append(dirs, d)
	}
	return dirs
}

// free reports whether a file can be made at a path of the work tree once some
// are gone: nothing but folders is above it, and nothing below.
func (u *undoing) free(name string, going map[string]bool) bool {
	for _, d := range above(name) {
		if u.holds(d) && !going[d] {
			return false
		}
	}
	at := filepath.Join(u.tree.top, name)
	if fi, err := os.Lstat(at); err != nil || !fi.IsDir() {
		return true
	}
	filled := map[string]bool{at: true} // folders that go with what is in them
	for other, goes := range going {
		if !goes || !strings.HasPrefix(other, name+"/") {
			continue
		}
		for _, d := range above(other) {
			filled[filepath.Join(u.tree.top, d)] = true
		}
	}
	err := filepath.WalkDir(at, func(found string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(u.tree.top, found)
		if err != nil || relErr != nil || d.IsDir() && !filled[found] || !d.IsDir() && !going[rel] {
			return fs.ErrExist
		}
		return nil
	})
	return err == nil
}

// freeIn is free for an index.
func freeIn(entries []entry) func(name string, going map[string]bool) bool {
	has, below := map[string]bool{}, map[string][]string{}
	for _, e := range entries {
		has[e.path] = true
		for _, d := range above(e.path) {
			below[d] = append(below[d], e.path)
		}
	}
	return func(name string, going map[string]bool) bool {
		for _, d := range above(name) {
			if has[d] && !going[d] {
				return false
			}
		}
		for _, other := range below[name] {
			if !going[other] {
				return false
			}
		}
		return true
	}
}
