// Package state names the files of the state directory and replaces them
// safely. The directory is where the tools meet: contract §2 lists the files,
// who writes them and under which lock.
package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/renameio/v2"

	"sessionhub/lib/lock"
)

// Dir is the path of a state directory.
type Dir string

// Default is the state directory that the environment names:
// $SESSIONHUB_STATE_DIR, else $XDG_STATE_HOME/sessionhub, else
// ~/.local/state/sessionhub. It is absolute: what is started with a path in it
// may run elsewhere.
func Default(getenv func(string) string) (Dir, error) {
	if d := getenv("SESSIONHUB_STATE_DIR"); d != "" {
		abs, err := filepath.Abs(d)
		if err != nil {
			return "", fmt.Errorf("state directory: %w", err)
		}
		return Dir(abs), nil
	}
	if d := getenv("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return Dir(filepath.Join(d, "sessionhub")), nil
	}
	home := getenv("HOME")
	if home == "" {
		return "", errors.New("no state directory: neither SESSIONHUB_STATE_DIR nor HOME is set")
	}
	return Dir(filepath.Join(home, ".local", "state", "sessionhub")), nil
}

// Ensure makes the directory (0700) and checks that it is this user's. What
// another user left there would fail later, and less clearly.
func (d Dir) Ensure() error {
	st, err := os.Stat(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(string(d), 0o700); err != nil {
			return fmt.Errorf("make the state directory: %w", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	if !st.IsDir() {
		return fmt.Errorf("state directory %s is not a directory", d)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Geteuid() {
		return fmt.Errorf("state directory %s belongs to user id %d, not %d: change its owner, or set SESSIONHUB_STATE_DIR", d, sys.Uid, os.Geteuid())
	}
	return nil
}

// Sub makes a private folder (0700) in the directory and returns its path.
func (d Dir) Sub(name string) (string, error) {
	path := d.file(name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("make %s: %w", name, err)
	}
	return path, nil
}

func (d Dir) file(name string) string { return filepath.Join(string(d), name) }

// Queue is queue.jsonl, the records that wait to be taken.
func (d Dir) Queue() string { return d.file("queue.jsonl") }

// QueueLock is queue.lock, held around appends and the take-over only.
func (d Dir) QueueLock() string { return d.file("queue.lock") }

// Sending is queue.sending, the segments taken over.
func (d Dir) Sending() string { return d.file("queue.sending") }

// Spill is queue.spill, records that could not get the lock.
func (d Dir) Spill() string { return d.file("queue.spill") }

// Bad is queue.bad.jsonl, the lines set aside.
func (d Dir) Bad() string { return d.file("queue.bad.jsonl") }

// Counters is counters.json, the totals of the books.
func (d Dir) Counters() string { return d.file("counters.json") }

// Panes is panes.json, the panes known.
func (d Dir) Panes() string { return d.file("panes.json") }

// Digests is digests.json, how far each transcript was digested.
func (d Dir) Digests() string { return d.file("digests.json") }

// WatcherLock is watcher.lock, held for the life of a watcher.
func (d Dir) WatcherLock() string { return d.file("watcher.lock") }

// WatcherLog is watcher.log, the standard error of the watcher.
func (d Dir) WatcherLog() string { return d.file("watcher.log") }

// WatcherStatus is watcher.json, what the watcher says of itself.
func (d Dir) WatcherStatus() string { return d.file("watcher.json") }

// ReviveLog is revive.log, what shrevive says when cron or launchd runs it.
func (d Dir) ReviveLog() string { return d.file("revive.log") }

// Herdr is herdr.json, the herdr sockets learned from items.
func (d Dir) Herdr() string { return d.file("herdr.json") }

// Look is an empty file whose change asks the watcher to look at herdr.
func (d Dir) Look() string { return d.file("look") }

// HookSeen is the mark that a session's hooks of Claude Code run: what the
// last one was, and by its time when.
func (d Dir) HookSeen(session string) string { return filepath.Join(string(d), "hooks", session) }

// Instructions is instructions.json, the standing rules.
func (d Dir) Instructions() string { return d.file("instructions.json") }

// Keys is keys.json, the keys of other machines, pinned on first use.
func (d Dir) Keys() string { return d.file("keys.json") }

// KeysOffered is keys.offered.json, keys that were shown and are not trusted.
func (d Dir) KeysOffered() string { return d.file("keys.offered.json") }

// Lock is state.lock, held around a change of a file that more than one
// process rewrites.
func (d Dir) Lock() string { return d.file("state.lock") }

// LockWait bounds the wait for state.lock, which is only ever held around
// small local writes.
const LockWait = 2 * time.Second

// Locked runs f while it holds state.lock.
func (d Dir) Locked(f func() error) error {
	l, err := lock.Acquire(d.Lock(), LockWait)
	if err != nil {
		return err
	}
	defer l.Release()
	return f()
}

// Replace writes a file atomically and durably: a temporary file in the same
// folder, synced, renamed over the old one, and the folder synced. A crash
// leaves the old content or the new. The mode is 0600.
func Replace(path string, data []byte) error {
	if err := renameio.WriteFile(path, data, 0o600, renameio.IgnoreUmask()); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return SyncDir(filepath.Dir(path))
}

// ReplaceJSON is Replace with v as JSON and a newline.
func ReplaceJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return Replace(path, append(b, '\n'))
}

// ReadJSON reads a file into v. A missing or empty file leaves v as it is.
func ReadJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(b) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return nil
}

// SyncDir makes a rename, a new file or a removal in a folder durable.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // some file systems can't
		return fmt.Errorf("sync %s: %w", filepath.Base(path), err)
	}
	return nil
}
