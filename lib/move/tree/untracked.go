package tree

import (
	"bytes"
	"context"
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
	"sessionhub/lib/record"
)

// Open opens an untracked file for reading, never through a link, and fails
// when it is no regular file any more.
func (c *Captured) Open(file File) (io.ReadCloser, error) { return openFile(c.Top, file.Path) }

func openFile(top, name string) (*os.File, error) {
	// Not to wait for a writer when a pipe took the file's place.
	f, err := os.OpenFile(filepath.Join(top, name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("untracked file: %w", err)
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("untracked file %s: %w", show(name), ErrChanged)
	}
	return f, nil
}

// untracked sorts what Git has not into what travels and what stays.
func (c *Captured) untracked(ctx context.Context, index git.Repo, st *status, limit int64) error {
	seen := map[string]string{}
	for _, name := range st.untracked {
		f, why, err := c.look(name, limit)
		if err != nil {
			return err
		}
		if why == "" {
			why = unfit(f)
		}
		// macOS takes both for one; a bundle must open there, too.
		if other, twice := seen[strings.ToLower(name)]; why == "" && twice {
			why = "differs from " + git.Quote(other) + " only in case"
		}
		if why != "" {
			c.stays(name, why)
			continue
		}
		seen[strings.ToLower(name)] = name
		c.Untracked = append(c.Untracked, f)
	}
	ignored, err := index.Fields(ctx, "ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z")
	if err != nil {
		return err
	}
	for _, name := range ignored {
		if why := secretName(name); why != "" && !strings.HasSuffix(name, "/") {
			c.stays(name, why+", and Git ignores it")
		}
	}
	if err := c.specials(ctx, index, st); err != nil {
		return err
	}
	slices.SortFunc(c.NotCarried, func(a, b record.NotCarried) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(c.Untracked, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

func (c *Captured) stays(name, why string) {
	c.NotCarried = append(c.NotCarried, record.NotCarried{Path: git.Quote(name), Why: why})
}

// look says what an untracked path is, or why it stays.
func (c *Captured) look(name string, limit int64) (f File, why string, err error) {
	if strings.HasSuffix(name, "/") {
		return f, "a repository of its own", nil
	}
	full := filepath.Join(c.Top, name)
	fi, err := os.Lstat(full)
	if err != nil {
		return f, "", fmt.Errorf("untracked file: %w", errors.Join(err, ErrChanged))
	}
	f = File{Path: name, Size: fi.Size(), Mode: uint32(fi.Mode().Perm())}
	if why := secretName(name); why != "" {
		return f, why, nil
	}
	if why := special(fi.Mode()); why != "" {
		return f, why, nil
	}
	if fi.Mode().Type() == fs.ModeSymlink {
		f.Size, f.Mode = 0, 0
		f.Link, err = os.Readlink(full)
		return f, "", err
	}
	if fi.Size() > limit {
		return f, "untracked and larger than " + size(limit), nil
	}
	file, err := openFile(c.Top, name)
	if errors.Is(err, fs.ErrPermission) {
		return f, "not readable", nil
	}
	if err != nil {
		return f, "", err
	}
	defer file.Close()
	var head bytes.Buffer
	if _, err := io.Copy(&head, io.LimitReader(file, secretHead)); err != nil {
		return f, "", fmt.Errorf("untracked file: %w", err)
	}
	return f, secretContent(name, head.Bytes()), nil
}

func size(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// special says what a path is that is neither file nor link nor folder.
func special(mode fs.FileMode) string {
	switch mode.Type() {
	case fs.ModeSocket:
		return "a socket"
	case fs.ModeNamedPipe:
		return "a pipe"
	case fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice:
		return "a device"
	case fs.ModeIrregular:
		return "not a file"
	}
	return ""
}

// specials names sockets, pipes and devices, which Git does not even list,
// beside the files that it has. Those that are ignored go without saying.
func (c *Captured) specials(ctx context.Context, index git.Repo, st *status) error {
	entries, err := readEntries(ctx, index)
	if err != nil {
		return err
	}
	folders := map[string]bool{".": true, c.Dir: true}
	for _, name := range append(paths(entries), st.untracked...) {
		for d := path.Dir(strings.TrimSuffix(name, "/")); !folders[d]; d = path.Dir(d) {
			folders[d] = true
		}
	}
	found := map[string]string{}
	for d := range folders {
		list, err := os.ReadDir(filepath.Join(c.Top, d))
		if err != nil {
			continue // deleted, or a file by now
		}
		for _, e := range list {
			if why := special(e.Type()); why != "" {
				found[path.Join(d, e.Name())] = why
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	var names []string
	for name := range found {
		names = append(names, name)
	}
	var out bytes.Buffer
	if err := index.Pipe(ctx, git.Join(names), &out, "check-ignore", "-z", "--stdin"); err != nil && !git.Exited(err, 1) {
		return err
	}
	for _, name := range git.Split(out.Bytes()) {
		delete(found, name)
	}
	for name, why := range found {
		c.stays(name, why)
	}
	return nil
}

// inode tells a file from another that took its place.
func inode(fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
