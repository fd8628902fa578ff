package conversation

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// Archived is archive.json: what an archive holds, and where it was.
type Archived struct {
	Move       string      `json:"move"`
	Session    string      `json:"session"`
	Transcript string      `json:"transcript"` // where it was
	To         string      `json:"to"`         // the machine that it went to
	At         record.Time `json:"at"`
	// Top is the work tree that it worked in, and Left one value for the changes
	// that stayed there (tree.Captured.Sum).
	Top  string `json:"top,omitempty"`
	Left string `json:"left,omitempty"`
}

// ErrNoArchive says that a folder holds no archive.
var ErrNoArchive = errors.New("there is no archive")

// Read reads what an archive holds. The error is ErrNoArchive if there is none.
func Read(dir string) (Archived, error) {
	var a Archived
	if err := state.ReadJSON(filepath.Join(dir, archiveFile), &a); err != nil {
		return a, err
	}
	if record.CheckID("session", a.Session) != nil || a.Transcript == "" {
		return a, fmt.Errorf("%s: %w", dir, ErrNoArchive)
	}
	return a, nil
}

const (
	archiveFile = "archive.json"
	// KeepArchives is how long an archive is kept (the seed's 30 days).
	KeepArchives = 30 * 24 * time.Hour
)

// Archive moves a session's files into dir, so that it can't be resumed here as
// well. The transcript goes last: after a failure it is still in place, and the
// next try moves the rest. A session whose files are in dir already is archived.
func Archive(home claude.Home, a Archived, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// What an earlier try noted counts: the files are found by it.
	if err := state.ReadJSON(filepath.Join(dir, archiveFile), &a); err != nil {
		return err
	}
	if err := state.ReplaceJSON(filepath.Join(dir, archiveFile), a); err != nil {
		return err
	}
	f := at(home, a.Session, filepath.Dir(a.Transcript))
	for _, m := range f.moves(dir) {
		if err := shift(m.live, m.archived); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(m.archived), err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, TranscriptName)); err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	return nil
}

// HasArchived reports whether dir holds a whole archive: its transcript came last.
func HasArchived(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, TranscriptName))
	return err == nil
}

type shifting struct{ live, archived string }

// moves are what goes into an archive, the transcript last.
func (f Files) moves(dir string) []shifting {
	return []shifting{
		{f.Sidecar, filepath.Join(dir, SidecarName)},
		{f.History, filepath.Join(dir, HistoryName)},
		{f.Transcript, filepath.Join(dir, TranscriptName)},
	}
}

// Restore puts an archive's files back where they were, the transcript last, and
// removes the archive. It refuses where the session has a transcript again. After
// a crash or a failure it goes on where it was.
func Restore(home claude.Home, dir string) (Archived, error) {
	a, err := Read(dir)
	if err != nil {
		return a, err
	}
	f := at(home, a.Session, filepath.Dir(a.Transcript))
	if path, ok := home.Transcript(a.Session); ok && HasArchived(dir) && (path != f.Transcript || !contained(filepath.Join(dir, TranscriptName), path)) {
		return a, fmt.Errorf("this machine has a transcript of it already: %s", path)
	}
	if err := os.MkdirAll(filepath.Dir(f.Transcript), 0o700); err != nil {
		return a, err
	}
	for _, m := range f.moves(dir) {
		if err := shift(m.archived, m.live); err != nil {
			return a, fmt.Errorf("%s: %w", filepath.Base(m.archived), err)
		}
	}
	now := time.Now()
	if err := os.Chtimes(f.Transcript, now, now); err != nil { // old ones are deleted
		return a, err
	}
	if err := os.Remove(filepath.Join(dir, archiveFile)); err != nil {
		return a, err
	}
	os.Remove(dir) // if nothing else is in it
	return a, nil
}

// Archives lists the archives in a folder of them, the newest first.
func Archives(root string) ([]Archived, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Archived
	for _, e := range entries {
		if a, err := Read(filepath.Join(root, e.Name())); err == nil {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b Archived) int { return b.At.Compare(a.At.Time) })
	return list, nil
}

// Prune removes the archives in root that are older than KeepArchives and that
// may go.
func Prune(root string, now time.Time, may func(move string) bool) error {
	list, err := Archives(root)
	if err != nil {
		return err
	}
	for _, a := range list {
		if now.Sub(a.At.Time) > KeepArchives && record.CheckID("move", a.Move) == nil && may(a.Move) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(root, a.Move)))
		}
	}
	return err
}

// shift moves a file or a folder, also to another file system. What is missing
// was shifted before, and what is in both places was copied before a crash. What
// else is at to is not written over.
func shift(from, to string) error {
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(to); err == nil {
		if !contained(from, to) {
			return fmt.Errorf("%s is there already, and is another", to)
		}
		return os.RemoveAll(from)
	}
	err := os.Rename(from, to)
	if err == nil {
		return syncBoth(from, to)
	}
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	part := to + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := copyTree(from, part); err != nil {
		return err
	}
	if err := os.Rename(part, to); err != nil {
		return err
	}
	if err := syncBoth(from, to); err != nil {
		return err
	}
	return os.RemoveAll(from)
}

// contained reports whether nothing of a file or folder is missing at another
// place: each file is there, as it is or with more behind it, as Claude Code only
// ever appends.
func contained(from, to string) bool {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		other := to + strings.TrimPrefix(path, from)
		there, oerr := os.Lstat(other)
		switch {
		case err != nil || oerr != nil:
			return errors.Join(err, oerr)
		case d.Type() != there.Mode().Type():
			return fs.ErrExist
		case d.Type() == fs.ModeSymlink:
			a, aerr := os.Readlink(path)
			b, berr := os.Readlink(other)
			if aerr != nil || berr != nil || a != b {
				return fs.ErrExist
			}
		case d.Type().IsRegular() && !begins(other, path):
			return fs.ErrExist
		}
		return nil
	})
	return err == nil
}

// begins reports whether a file begins with what another one holds.
func begins(long, short string) bool {
	a, aerr := os.Open(long)
	b, berr := os.Open(short)
	if aerr != nil || berr != nil {
		return false
	}
	defer a.Close()
	defer b.Close()
	var pa, pb [64 << 10]byte
	for {
		n, err := b.Read(pb[:])
		if _, aerr := io.ReadFull(a, pa[:n]); aerr != nil || !bytes.Equal(pa[:n], pb[:n]) {
			return false
		}
		if err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

func syncBoth(from, to string) error {
	return errors.Join(state.SyncDir(filepath.Dir(from)), state.SyncDir(filepath.Dir(to)))
}

// copyTree copies a file, or a folder of them.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := to + strings.TrimPrefix(path, from)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o700)
		case d.Type().IsRegular():
			return copyFile(path, target, nil)
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		}
		return fmt.Errorf("%s is no file", path)
	})
}
