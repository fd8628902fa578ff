// Package mailbox brings a person's messages to a session without a keystroke:
// a hook of the session waits for files, and wakes it with what they hold. Who
// leaves a message and who waits for it meet in the files alone, each step of
// which is one rename, so that a message is given once, or known not to be.
package mailbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sessionhub/lib/claude/entry"
	"sessionhub/lib/lock"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// Letter is messages/<session>/<request id>.json: a message that lies in a
// session's mailbox.
type Letter struct {
	V       int         `json:"v"`
	ID      string      `json:"id"` // of the request
	Session string      `json:"session"`
	Text    string      `json:"text"`
	Sent    record.Time `json:"sent"`
	From    string      `json:"from"` // what it came through, for the model
	// Until is when it stops to count: what nobody took until then is taken back
	// by whoever left it, or was taken back by its owner meanwhile.
	Until record.Time `json:"until"`
}

// Mark is messages/<session>/taken/<request id>.given: Claude Code was given the
// message, as far as its waiting hook can know. Whether it arrived only the
// transcript tells. It holds no text.
type Mark struct {
	V      int         `json:"v"`
	ID     string      `json:"id"`
	At     record.Time `json:"at"`
	Claude int         `json:"claude"`          // its process
	Began  string      `json:"began,omitempty"` // when that began, as the system tells
}

// Alive reports whether the Claude Code that was given it still runs.
func (m Mark) Alive() bool { return entry.Runs(m.Claude, m.Began) }

// Names of the folder and of what is in it.
const (
	folder    = "messages"
	takenDir  = "taken"
	lockName  = "waiter.lock"
	letterExt = ".json"
	markExt   = ".given"
	awayExt   = ".withdrawn"
)

// Folder is the path of all mailboxes of a state directory.
func Folder(dir state.Dir) string { return filepath.Join(string(dir), folder) }

// Box is the mailbox of one session.
type Box struct {
	Dir     state.Dir
	Session string
}

func (b Box) path(names ...string) string {
	return filepath.Join(append([]string{Folder(b.Dir), b.Session}, names...)...)
}

func (b Box) lock() string            { return b.path(lockName) }
func (b Box) letter(id string) string { return b.path(id + letterExt) }
func (b Box) taken(id string) string  { return b.path(takenDir, id+letterExt) }
func (b Box) mark(id string) string   { return b.path(takenDir, id+markExt) }

// check keeps what comes from elsewhere from naming other files.
func (b Box) check(id string) error {
	if err := record.CheckID("session", b.Session); err != nil {
		return err
	}
	return record.CheckID("id", id)
}

// open makes the mailbox's folders, or makes them private again.
func (b Box) open() error {
	if err := record.CheckID("session", b.Session); err != nil {
		return err
	}
	for _, names := range [][]string{{folder}, {folder, b.Session}, {folder, b.Session, takenDir}} {
		path, err := b.Dir.Sub(filepath.Join(names...))
		if err != nil {
			return err
		}
		if err := os.Chmod(path, 0o700); err != nil {
			return fmt.Errorf("mailbox: %w", err)
		}
	}
	return nil
}

// Known reports whether a hook of the session ever waited.
func (b Box) Known() bool {
	if record.CheckID("session", b.Session) != nil {
		return false
	}
	_, err := os.Lstat(b.lock())
	return err == nil
}

// Waits reports whether a hook of the session waits for messages.
func (b Box) Waits() (bool, error) {
	if err := record.CheckID("session", b.Session); err != nil {
		return false, err
	}
	return lock.Held(b.lock())
}

// Put leaves a message: whole, for this user alone. Only who holds the session's
// lease may, and only after Withdraw gave back an earlier try of it.
func (b Box) Put(l Letter) error {
	if err := b.check(l.ID); err != nil {
		return err
	}
	if err := b.open(); err != nil {
		return err
	}
	l.V, l.Session = record.Version, b.Session
	return state.ReplaceJSON(b.letter(l.ID), l)
}

// Lies reports whether a message lies there that nobody took yet.
func (b Box) Lies(id string) bool {
	if b.check(id) != nil {
		return false
	}
	_, err := os.Lstat(b.letter(id))
	return err == nil
}

// InHands reports whether a hook took a message and did not note yet that it gave
// it: it is about to, or was killed.
func (b Box) InHands(id string) bool {
	if b.check(id) != nil {
		return false
	}
	_, err := os.Lstat(b.taken(id))
	return err == nil
}

// Given is the mark of a message that Claude Code was given; ok is false when it
// was not, or not yet.
func (b Box) Given(id string) (m Mark, ok bool, err error) {
	if err := b.check(id); err != nil {
		return m, false, err
	}
	raw, err := os.ReadFile(b.mark(id))
	if errors.Is(err, fs.ErrNotExist) {
		return m, false, nil
	}
	if err != nil {
		return m, false, fmt.Errorf("mailbox: %w", err)
	}
	if json.Unmarshal(raw, &m) != nil { // it stands there: that is what counts
		m = Mark{ID: id}
	}
	return m, true, nil
}

// Withdraw takes a message back by a rename, so that no hook can take it. ok is
// true when it was not given and never will be; false when a hook has it in its
// hands, gave it, or none was there. What a hook took that was killed before it
// gave it comes back, too.
func (b Box) Withdraw(id string) (ok bool, err error) {
	if err := b.check(id); err != nil {
		return false, err
	}
	if ok, err := b.away(b.letter(id)); ok || err != nil {
		return ok, err
	}
	if !b.InHands(id) {
		return false, nil
	}
	l, err := lock.Try(b.lock())
	if errors.Is(err, lock.ErrBusy) {
		return false, nil // a hook is about to give it
	}
	if err != nil {
		return false, err
	}
	defer l.Release()
	if _, given, err := b.Given(id); given || err != nil {
		return false, err
	}
	return b.away(b.taken(id))
}

// away renames a file to where nobody looks, and removes it.
func (b Box) away(path string) (bool, error) {
	aside := path + awayExt
	err := os.Rename(path, aside)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = os.Remove(aside)
	}
	if err == nil {
		err = state.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return false, fmt.Errorf("take a message back: %w", err)
	}
	return true, nil
}

// Forget removes what is left of a message whose end was told.
func (b Box) Forget(id string) error {
	if err := b.check(id); err != nil {
		return err
	}
	var errs []error
	for _, path := range []string{b.letter(id), b.taken(id), b.mark(id)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("mailbox: %w", err))
		}
	}
	return errors.Join(errs...)
}

// ids lists the ids of the files of a folder with an ending.
func (b Box) ids(dir, ext string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("mailbox: %w", err)
	}
	var list []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ext); ok && record.CheckID("id", id) == nil {
			list = append(list, id)
		}
	}
	return list, nil
}
