package mailbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sessionhub/lib/claude/entry"
	"sessionhub/lib/lock"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// Sweep tidies all mailboxes: it takes back messages whose time is over, as the
// process that left them was killed, and removes what is older than keep, and
// mailboxes in which nothing lies and nobody waits. It may run beside everything
// else: who looks for a message that it took back finds that nobody has it.
func Sweep(dir state.Dir, now time.Time, keep time.Duration) error {
	entries, err := os.ReadDir(Folder(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("mailboxes: %w", err)
	}
	var errs []error
	for _, e := range entries {
		b := Box{Dir: dir, Session: e.Name()}
		if record.CheckID("session", b.Session) != nil || !e.IsDir() {
			continue
		}
		errs = append(errs, b.sweep(now, keep))
	}
	return errors.Join(append(errs, sweepSeats(dir))...)
}

func (b Box) sweep(now time.Time, keep time.Duration) error {
	ids, err := b.ids(b.path(), letterExt)
	if err != nil {
		return err
	}
	left := len(ids)
	for _, id := range ids {
		l, err := b.read(b.letter(id), id)
		if err == nil && now.Before(l.Until.Time) {
			continue
		}
		if ok, err := b.Withdraw(id); err != nil {
			return err
		} else if ok {
			left--
		}
	}
	kept, err := b.old(now, keep)
	if err != nil || left+kept > 0 {
		return err
	}
	return b.remove(now, keep)
}

// old removes what was taken long ago, and counts what was not.
func (b Box) old(now time.Time, keep time.Duration) (kept int, err error) {
	entries, err := os.ReadDir(b.path(takenDir))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("mailbox: %w", err)
	}
	for _, e := range entries {
		st, err := e.Info()
		if err == nil && now.Sub(st.ModTime()) < keep {
			kept++
			continue
		}
		if err := os.Remove(b.path(takenDir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return kept, fmt.Errorf("mailbox: %w", err)
		}
	}
	return kept, nil
}

// remove removes an empty mailbox that nobody used for long. A hook that begins
// in this moment sees that its lock's file is gone, and makes it anew.
func (b Box) remove(now time.Time, keep time.Duration) error {
	st, err := os.Stat(b.lock())
	if err == nil && now.Sub(st.ModTime()) < keep {
		return nil
	}
	l, err := lock.Try(b.lock())
	if errors.Is(err, lock.ErrBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	defer l.Release()
	for _, path := range []string{b.path(takenDir), b.lock(), b.path()} { // folders only when they are empty
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("mailbox: %w", err)
		}
	}
	return nil
}

// sweepSeats removes the seats of processes that are gone.
func sweepSeats(dir state.Dir) error {
	folder := filepath.Join(string(dir), seats)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("mailboxes: %w", err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(strings.TrimSpace(e.Name())); err == nil && entry.Runs(pid, "") {
			continue
		}
		if err := os.Remove(filepath.Join(folder, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("mailboxes: %w", err)
		}
	}
	return nil
}
