// Package conversation knows the files of one Claude Code session: the
// transcript, the folder beside it with subagents' transcripts and large tool
// results, and the file history that rewinding needs. It lists them for a
// bundle, writes them into another home with the paths of that place, and
// archives them where the session has gone.
//
// What is not taken along is left out on purpose: the registry, the background
// service's files and shell snapshots belong to a machine.
package conversation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sessionhub/lib/claude"
	"sessionhub/lib/record"
)

// The names of a conversation's files, in a bundle and in an archive.
const (
	TranscriptName = "transcript.jsonl"
	SidecarName    = "sidecar"
	HistoryName    = "file-history"
)

// Files are a session's files on this machine.
type Files struct {
	Session    string
	Transcript string // the file
	Sidecar    string // the folder beside it, which may be missing
	History    string // the folder of rewind's copies, which may be missing
}

// ErrNone says that this machine has no transcript of the session.
var ErrNone = errors.New("this machine has no transcript of it: Claude writes one with the first prompt")

// Find finds the files of a session that runs, or ran, in cwd.
func Find(home claude.Home, session, cwd string) (Files, error) {
	path, ok := home.TranscriptNear(session, cwd)
	if !ok {
		return Files{}, ErrNone
	}
	return at(home, session, filepath.Dir(path)), nil
}

// at are the files of a session in a project folder.
func at(home claude.Home, session, project string) Files {
	return Files{
		Session:    session,
		Transcript: filepath.Join(project, session+".jsonl"),
		Sidecar:    filepath.Join(project, session),
		History:    filepath.Join(string(home), "file-history", session),
	}
}

// Entry is one file of a conversation, under its name in a bundle.
type Entry struct {
	Name string
	Path string
	Size int64
	Mode fs.FileMode // permission bits
}

// Entries lists the files in a bundle's order, and what is not carried: what is
// no regular file.
func (f Files) Entries() ([]Entry, []record.NotCarried, error) {
	st, err := os.Stat(f.Transcript)
	if err != nil {
		return nil, nil, fmt.Errorf("transcript: %w", err)
	}
	list := []Entry{{Name: TranscriptName, Path: f.Transcript, Size: st.Size(), Mode: st.Mode().Perm()}}
	var left []record.NotCarried
	for _, dir := range []struct{ name, path string }{{SidecarName, f.Sidecar}, {HistoryName, f.History}} {
		err := filepath.WalkDir(dir.path, func(path string, d fs.DirEntry, err error) error {
			if path == dir.path && errors.Is(err, fs.ErrNotExist) {
				return filepath.SkipAll
			}
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(dir.path, path)
			if err != nil {
				return err
			}
			name := dir.name + "/" + filepath.ToSlash(rel)
			st, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) { // while the session runs, files come and go
				return nil
			}
			if err != nil {
				return err
			}
			if !st.Mode().IsRegular() {
				left = append(left, record.NotCarried{Path: name, Why: "no regular file"})
				return nil
			}
			list = append(list, Entry{Name: name, Path: path, Size: st.Size(), Mode: st.Mode().Perm()})
			return nil
		})
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", dir.name, err)
		}
	}
	return list, left, nil
}

// Absent says with an error that the home knows the session already: a second
// copy in another folder makes Claude Code find neither, and files of one must
// not be mixed with those of the other.
func Absent(home claude.Home, session string) error {
	if path, ok := home.Transcript(session); ok {
		return fmt.Errorf("this machine has a transcript of it already: %s: move that away first, if it is of no use any more", path)
	}
	folders, err := filepath.Glob(filepath.Join(escape(string(home)), "projects", "*", session))
	if err != nil {
		return err
	}
	for _, path := range append(folders, filepath.Join(string(home), "file-history", session)) {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("this machine has files of it already: %s", path)
		}
	}
	return nil
}

// escape makes a path match only itself in a pattern.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
