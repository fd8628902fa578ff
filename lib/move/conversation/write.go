package conversation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"sessionhub/lib/claude"
	"sessionhub/lib/state"
)

// Written is a conversation that was, or is about to be, written here: what a
// journal holds of it.
type Written struct {
	Session    string `json:"session"`
	Transcript string `json:"transcript"`
	// Begun says that files are written from here on: all of them are ours.
	Begun bool `json:"begun,omitempty"`
	// SHA256 is the transcript's as it was written, "" while it is not there.
	// One that has another by now was gone on with, and is not ours to remove.
	SHA256 string `json:"sha256,omitempty"`
}

// Plan names where the conversation of a session would go that is to run in
// dir, an absolute path without links. Nothing is written.
func Plan(home claude.Home, session, dir string) Written {
	return Written{Session: session, Transcript: at(home, session, home.Project(dir)).Transcript}
}

func (w Written) files(home claude.Home) Files {
	return at(home, w.Session, filepath.Dir(w.Transcript))
}

// Write puts the conversation that lies unpacked in from, under the names of a
// bundle, into its place. dir is where the session is to run; old are the places
// that its lines name. The transcript comes last and whole: without it there is
// nothing to resume. note is called before the first file, and again before the
// transcript: it keeps w, so that Remove can take back what a crash left. Files
// get the time of now, as Claude Code deletes what is old.
func (w *Written) Write(home claude.Home, from, dir string, old Places, note func() error) error {
	if err := Absent(home, w.Session); err != nil {
		return err
	}
	w.Begun = true
	if err := note(); err != nil {
		return err
	}
	f := w.files(home)
	old.NewSidecar = f.Sidecar
	swaps := old.swaps()
	for _, part := range []struct{ name, to string }{{SidecarName, f.Sidecar}, {HistoryName, f.History}} {
		if err := w.writeFolder(filepath.Join(from, part.name), part.to, swaps); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(f.Transcript), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.Transcript), "."+w.Session+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	sum, err := w.writeTranscript(tmp, filepath.Join(from, TranscriptName), dir, swaps)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	w.SHA256 = sum
	if err := note(); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), f.Transcript); err != nil { // never over another
		return fmt.Errorf("transcript: %w", err)
	}
	return state.SyncDir(filepath.Dir(f.Transcript))
}

// writeTranscript writes the transcript and the line by which Claude Code's
// list knows that the session lives in another directory now.
func (w *Written) writeTranscript(to *os.File, from, dir string, swaps []swap) (sum string, err error) {
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	hash := sha256.New()
	last := &lastByte{}
	out := io.MultiWriter(to, hash, last)
	if err := rewrite(out, in, swaps); err != nil {
		return "", err
	}
	line, err := json.Marshal(struct {
		Type      string `json:"type"`
		Session   string `json:"sessionId"`
		Relocated string `json:"relocatedCwd"`
	}{"relocated", w.Session, dir})
	if err != nil {
		return "", err
	}
	if last.b != '\n' { // a cut last line stays what it is
		line = append([]byte("\n"), line...)
	}
	if _, err := out.Write(append(line, '\n')); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), to.Sync()
}

// lastByte remembers the last byte that was written.
type lastByte struct{ b byte }

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.b = p[len(p)-1]
	}
	return len(p), nil
}

// writeFolder copies a folder of regular files. Those with lines are rewritten.
func (w *Written) writeFolder(from, to string, swaps []swap) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if path == from && errors.Is(err, fs.ErrNotExist) {
			return filepath.SkipAll
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		var s []swap
		if filepath.Ext(path) == ".jsonl" {
			s = swaps
		}
		return copyFile(path, target, s)
	})
}

func copyFile(from, to string, swaps []swap) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = rewrite(out, in, swaps)
	return errors.Join(err, out.Sync(), out.Close())
}

// Untouched reports whether the transcript is as it was written, or not there
// yet: nobody went on with the session.
func (w Written) Untouched() (bool, error) {
	f, err := os.Open(w.Transcript)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return false, err
	}
	return hex.EncodeToString(hash.Sum(nil)) == w.SHA256, nil
}

// ErrGoneOn says that the session was gone on with here, so its files stay.
var ErrGoneOn = errors.New("its transcript has changed since, and stays")

// Remove takes back what Write wrote: the transcript first. One that changed
// since stays, with everything, and ErrGoneOn. Removing twice is no error.
func (w Written) Remove(home claude.Home) error {
	if !w.Begun {
		return nil
	}
	same, err := w.Untouched()
	if err != nil {
		return err
	}
	if !same {
		return ErrGoneOn
	}
	f := w.files(home)
	if err := os.Remove(f.Transcript); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, dir := range []string{f.Sidecar, f.History} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	// A crash may have left an unfinished transcript under another name.
	left, err := filepath.Glob(filepath.Join(escape(filepath.Dir(f.Transcript)), "."+w.Session+".*"))
	if err != nil {
		return err
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	os.Remove(filepath.Dir(f.Transcript)) // if nothing else is in it
	return nil
}
