package claude

import (
	"os"
	"path/filepath"
)

// Transcript finds the transcript of a session in any project folder. ok is
// false when there is none yet: the file appears with the first prompt.
func (h Home) Transcript(session string) (path string, ok bool) {
	return h.TranscriptNear(session, "")
}

// TranscriptNear is Transcript for a session that runs in cwd ("" is unknown):
// of several files with one id, the one in that directory's folder is the one
// that Claude Code writes to.
func (h Home) TranscriptNear(session, cwd string) (path string, ok bool) {
	if session == "" || filepath.Base(session) != session || session == "." || session == ".." {
		return "", false
	}
	if cwd != "" {
		path := filepath.Join(h.Project(cwd), session+".jsonl")
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path, true
		}
	}
	dirs, err := os.ReadDir(filepath.Join(string(h), "projects"))
	if err != nil {
		return "", false
	}
	for _, d := range dirs {
		path := filepath.Join(string(h), "projects", d.Name(), session+".jsonl")
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path, true
		}
	}
	return "", false
}
