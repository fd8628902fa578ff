package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"sessionhub/lib/state"
)

// ErrChanged means that somebody else changed a file between our reading and
// our writing it. Nothing was written.
var ErrChanged = errors.New("was changed by another program meanwhile: run this again")

// dirMode is the mode of folders that are made, as the XDG base directory
// specification has it.
const dirMode = 0o700

// File is a file as it should be.
type File struct {
	Path string      // not a link: Resolve follows it
	Old  []byte      // its content when it was read; nil when there was none
	New  []byte      // nil when there should be none
	Mode fs.FileMode // of a new file; an old one keeps its own
	Copy string      // the file that this is a copy of, for people

	Secret bool // its content is never shown
}

// Read reads a file; nil means that there is none.
func Read(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case b == nil:
		b = []byte{}
	}
	return b, nil
}

// Resolve follows a link, also one whose target is not there yet, so that the
// link stays when the file is replaced.
func Resolve(path string) (string, error) {
	for range 40 { // as the kernel allows
		to, err := os.Readlink(path)
		if err != nil { // no link, or nothing there
			return path, nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", fmt.Errorf("%s: %w", path, syscall.ELOOP)
}

// same reports whether there is nothing to do.
func (f File) same() bool {
	return (f.Old == nil) == (f.New == nil) && bytes.Equal(f.Old, f.New)
}

// Writable says why the file can't be replaced or made, before anything is.
func (f File) Writable() error {
	if f.Old != nil {
		if err := unix.Access(f.Path, unix.W_OK); err != nil {
			return &fs.PathError{Op: "write", Path: f.Path, Err: err}
		}
	}
	dir := filepath.Dir(f.Path)
	for { // the folder, or the first one above it that exists
		err := unix.Access(dir, unix.W_OK|unix.X_OK)
		if err == nil {
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) || f.Old != nil || dir == filepath.Dir(dir) {
			return &fs.PathError{Op: "write to", Path: dir, Err: err}
		}
		dir = filepath.Dir(dir)
	}
}

// apply replaces, makes or removes the file. A crash leaves the old one or
// the new: what it is replaced by is written beside it, synced, and renamed
// over it (field report A32).
func (f File) apply() error {
	if f.New == nil {
		if err := f.unmoved(); err != nil {
			return err
		}
		if err := os.Remove(f.Path); err != nil {
			return err
		}
		return state.SyncDir(filepath.Dir(f.Path))
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), dirMode); err != nil {
		return err
	}
	return f.replace()
}

func (f File) replace() error {
	p, err := renameio.NewPendingFile(f.Path, renameio.WithTempDir(filepath.Dir(f.Path)), renameio.WithStaticPermissions(f.mode()))
	if err != nil {
		return err
	}
	defer p.Cleanup()
	if err := f.keepOwner(p.File); err != nil {
		return err
	}
	if _, err := p.Write(f.New); err != nil {
		return err
	}
	if err := f.unmoved(); err != nil {
		return err
	}
	if err := p.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return state.SyncDir(filepath.Dir(f.Path))
}

func (f File) mode() fs.FileMode {
	if st, err := os.Stat(f.Path); err == nil {
		return st.Mode().Perm()
	}
	return f.Mode
}

// keepOwner gives the new file the old one's owner, which differs when root
// acts for somebody.
func (f File) keepOwner(to *os.File) error {
	st, err := os.Stat(f.Path)
	if err != nil {
		return nil // a new file is ours
	}
	old, ok := st.Sys().(*syscall.Stat_t)
	if !ok || int(old.Uid) == os.Geteuid() && int(old.Gid) == os.Getegid() {
		return nil
	}
	err = to.Chown(int(old.Uid), int(old.Gid))
	if err != nil && int(old.Uid) != os.Geteuid() {
		return fmt.Errorf("keep the owner of %s: %w", f.Path, err)
	}
	return nil // another group than one's own is not worth a failure
}

// unmoved says whether the file is still as it was read.
func (f File) unmoved() error {
	now, err := Read(f.Path)
	if err != nil {
		return err
	}
	if (now == nil) != (f.Old == nil) || !bytes.Equal(now, f.Old) {
		return fmt.Errorf("%s %w", f.Path, ErrChanged)
	}
	return nil
}
