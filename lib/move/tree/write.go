package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sessionhub/lib/git"
)

var errLinked = errors.New("is not a folder of the work tree's own")

// files writes the untracked files, makes the session's directory if nothing
// in it travelled, and says where that is.
func (a *applying) files() (cwd string, err error) {
	root, err := os.OpenRoot(a.tree.top)
	if err != nil {
		return "", fmt.Errorf("unpack: %w", err)
	}
	defer root.Close()
	var dirs []string
	for _, f := range a.In.Untracked {
		dirs = append(dirs, path.Dir(f.Path))
	}
	if err := a.folders(root, dirs); err != nil {
		return "", err
	}
	if len(a.In.Untracked) > 0 {
		err := a.about(func(s *Steps) {
			for _, f := range a.In.Untracked {
				s.Files = append(s.Files, Written{git.Quote(f.Path), f.SHA256, git.Quote(f.Link)})
			}
		})
		if err != nil {
			return "", err
		}
	}
	for i, f := range a.In.Untracked {
		if err := a.file(root, f); err != nil {
			// What follows was not written, nor was this one: were it there,
			// it would be somebody else's.
			a.steps.Files = a.steps.Files[:i]
			return "", errors.Join(fmt.Errorf("unpack: %w", err), a.j.Save(a.steps))
		}
	}
	if err := a.folders(root, []string{a.In.Dir}); err != nil {
		return "", err
	}
	return a.cwd()
}

// cwd is the session's directory, which may be a link within the clone.
func (a *applying) cwd() (string, error) {
	dir := filepath.Join(a.tree.top, a.In.Dir)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("unpack: %w", err)
	}
	if real != a.tree.top && !strings.HasPrefix(real, a.tree.top+"/") {
		return "", fmt.Errorf("unpack: %s leaves the clone", show(dir))
	}
	if st, err := os.Stat(real); err != nil || !st.IsDir() {
		return "", fmt.Errorf("unpack: %s is no folder", show(dir))
	}
	return real, nil
}

// folders makes those that are missing, from the top.
func (a *applying) folders(root *os.Root, dirs []string) error {
	var missing []string
	for _, dir := range dirs {
		for d := dir; d != "." && !slices.Contains(missing, d); d = path.Dir(d) {
			_, err := root.Lstat(d)
			if err == nil {
				break
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("unpack: %s: %w", show(d), err)
			}
			missing = append(missing, d)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing) // parents first
	err := a.about(func(s *Steps) {
		for _, d := range missing {
			s.Folders = append(s.Folders, git.Quote(d))
		}
	})
	if err != nil {
		return err
	}
	for _, d := range missing {
		err := within(root, path.Dir(d), func(dir *os.Root) error { return dir.Mkdir(path.Base(d), 0o777) })
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
	}
	return nil
}

// within opens a folder of the tree, one part after the other, and never
// through a link: what was opened must be what was looked at.
func within(root *os.Root, dir string, do func(*os.Root) error) error {
	if dir == "." {
		return do(root)
	}
	first, rest, _ := strings.Cut(dir, "/")
	if rest == "" {
		rest = "."
	}
	fi, err := root.Lstat(first)
	if err != nil {
		return err
	}
	if fi.Mode().Type() == fs.ModeSymlink {
		return fmt.Errorf("%s %w", show(first), errLinked)
	}
	if !fi.IsDir() {
		return fmt.Errorf("%s: %w", show(first), syscall.ENOTDIR)
	}
	sub, err := root.OpenRoot(first)
	if err != nil {
		return err
	}
	defer sub.Close()
	got, err := sub.Stat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(fi, got) {
		return fmt.Errorf("%s %w", show(first), errLinked)
	}
	return within(sub, rest, do)
}

// partName is the name of a file while it is written.
func partName(move string) string { return ".sessionhub-" + move + ".part" }

// file writes one file or link, never over another.
func (a *applying) file(root *os.Root, f File) error {
	return within(root, path.Dir(f.Path), func(dir *os.Root) error {
		name := path.Base(f.Path)
		if _, err := dir.Lstat(name); err == nil {
			return fmt.Errorf("%s: %w", show(f.Path), fs.ErrExist)
		}
		if f.Link != "" {
			return dir.Symlink(f.Link, name)
		}
		part := partName(a.In.Move)
		if err := a.content(dir, part, f); err != nil {
			return errors.Join(err, dir.Remove(part))
		}
		// A link never replaces, which a rename would.
		err := dir.Link(part, name)
		if errors.Is(err, fs.ErrExist) {
			return errors.Join(fmt.Errorf("%s: %w", show(f.Path), err), dir.Remove(part))
		}
		if err == nil {
			return dir.Remove(part)
		}
		// Without hard links on this file system: a crash in here may leave a
		// part, which undoing then names.
		return errors.Join(a.content(dir, name, f), dir.Remove(part))
	})
}

// content writes a file that must not be there, and checks what came.
func (a *applying) content(dir *os.Root, name string, f File) error {
	src, err := a.In.Open(f)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := dir.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(dst, h), src)
	err = errors.Join(err, dst.Chmod(fs.FileMode(f.Mode)&fs.ModePerm), dst.Sync(), dst.Close())
	if err == nil && hex.EncodeToString(h.Sum(nil)) != f.SHA256 {
		err = fmt.Errorf("%s is not what the manifest says", show(f.Path))
	}
	return err
}
