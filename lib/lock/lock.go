// Package lock takes file locks that the kernel gives back when their holder
// dies, so that a process id left in a file never blocks anybody (field
// report A35). Every wait has a limit: on a network file system, or behind a
// stopped process, a lock may never come (field report A36).
package lock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// ErrBusy is returned when somebody else holds the lock.
var ErrBusy = errors.New("held by another process")

// retryEvery is how often a waiting Acquire looks again. A holder keeps a
// queue lock for microseconds, so a short pause hands it on soon.
const retryEvery = 2 * time.Millisecond

// Lock is a held lock.
type Lock struct {
	f    *flock.Flock
	file os.FileInfo // what was locked
}

// Try takes the lock on path if it is free, and returns ErrBusy otherwise.
// The file is made if it is missing (0600); its folder is not.
func Try(path string) (*Lock, error) {
	f := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	ok, err := f.TryLock()
	return held(f, path, ok, err)
}

// Acquire takes the lock on path, waiting at most wait for it; after that it
// returns ErrBusy.
func Acquire(path string, wait time.Duration) (*Lock, error) {
	l, err := Try(path)
	if !errors.Is(err, ErrBusy) {
		return l, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	f := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	ok, err := f.TryLockContext(ctx, retryEvery)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return held(f, path, ok, err)
}

func held(f *flock.Flock, path string, ok bool, err error) (*Lock, error) {
	if err == nil && ok {
		file, err := os.Stat(path)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock: %w", err)
		}
		return &Lock{f: f, file: file}, nil
	}
	f.Close()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return nil, fmt.Errorf("lock %s: %w", path, ErrBusy)
}

// Held reports whether somebody holds the lock on path. It holds the lock
// itself for an instant when nobody does. A missing file is not held.
func Held(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("probe lock: %w", err)
	}
	f.Close()
	l, err := Try(path)
	if errors.Is(err, ErrBusy) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, l.Release()
}

// Stands reports whether the file at the lock's path is still the one that is
// locked. When its folder was removed, others can take a lock of that name.
func (l *Lock) Stands() bool {
	now, err := os.Stat(l.f.Path())
	return err == nil && os.SameFile(now, l.file)
}

// Write replaces the content of the locked file. It is a label for people,
// never what the lock rests on.
func (l *Lock) Write(content string) error {
	if err := os.WriteFile(l.f.Path(), []byte(content), 0o600); err != nil {
		return fmt.Errorf("label the lock: %w", err)
	}
	return nil
}

// Release gives the lock back. The file stays, as removing it would strand
// whoever has it open already.
func (l *Lock) Release() error {
	if err := l.f.Unlock(); err != nil {
		return fmt.Errorf("unlock %s: %w", l.f.Path(), err)
	}
	return nil
}
