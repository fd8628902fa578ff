package install

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
)

// ledger is written.json beside what is installed: which files shinstall wrote
// that a person may change as well, so that --remove takes away those that are
// still as it wrote them, and no others. Of a file's content it holds the hash
// alone: some hold tokens.
type ledger struct {
	file File
	was  ledgerBody
	now  ledgerBody
}

type ledgerBody struct {
	Files map[string]written `json:"files"`
}

// written is a file as shinstall wrote it.
type written struct {
	By     string `json:"by"` // the target
	SHA256 string `json:"sha256"`
	// Block is what was put in front of a file that was there before; "" is a
	// file that is all ours. It holds no secret.
	Block string `json:"block,omitempty"`
	// Runs are the programs that it has others run, of a timer.
	Runs []string `json:"runs,omitempty"`
}

// ledgerName is the file's name in sessionhub's folder below XDG_DATA_HOME.
const ledgerName = "written.json"

func readLedger(data string) (*ledger, error) {
	l := &ledger{file: File{Path: filepath.Join(data, ledgerName), Mode: 0o600}}
	old, err := Read(l.file.Path)
	if err != nil {
		return nil, err
	}
	l.file.Old = old
	l.was.Files, l.now.Files = map[string]written{}, map[string]written{}
	if len(old) == 0 {
		return l, nil
	}
	for _, b := range []*ledgerBody{&l.was, &l.now} {
		if err := json.Unmarshal(old, b); err != nil {
			return nil, fmt.Errorf("%s: %w: remove it; shinstall then takes no file for its own", l.file.Path, err)
		}
	}
	return l, nil
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// note remembers a file that is about to be written.
func (l *ledger) note(f File, by, block string, runs ...string) {
	l.now.Files[f.Path] = written{By: by, SHA256: hashOf(f.New), Block: block, Runs: runs}
}

// forget drops a file.
func (l *ledger) forget(path string) { delete(l.now.Files, path) }

// of is what is known of a file that a target wrote.
func (l *ledger) of(path, by string) (w written, ok bool) {
	w, ok = l.was.Files[path]
	return w, ok && w.By == by
}

// wrote reports whether a target wrote anything.
func (l *ledger) wrote(by string) bool {
	for _, w := range l.was.Files {
		if w.By == by {
			return true
		}
	}
	return false
}

// asWritten reports whether a file is as shinstall wrote it, whichever target.
func (l *ledger) asWritten(path string, content []byte) bool {
	w, ok := l.was.Files[path]
	return ok && content != nil && w.SHA256 == hashOf(content)
}

// runs are the programs that a file has run, as far as it is as it was written.
func (l *ledger) runs(path string, content []byte) []string {
	if !l.asWritten(path, content) {
		return nil
	}
	return l.was.Files[path].Runs
}

// save writes the ledger if it changed; one that holds nothing is removed. It
// is no step of its own: a dry run leaves it alone.
func (l *ledger) save(r *Run) error {
	if r.DryRun {
		return nil
	}
	f := l.file
	if len(l.now.Files) > 0 {
		b, err := json.Marshal(l.now)
		if err != nil {
			return fmt.Errorf("write %s: %w", ledgerName, err)
		}
		f.New = append(b, '\n')
	}
	if f.same() {
		return nil
	}
	if err := r.apply(f); err != nil {
		return err
	}
	l.file.Old = f.New
	return nil
}
