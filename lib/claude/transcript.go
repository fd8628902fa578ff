package claude

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// transcriptExt is how the name of a transcript ends; what is before it is the
// session's id.
const transcriptExt = ".jsonl"

// Transcript finds the transcript of a session in any project folder. ok is
// false when there is none yet: the file appears with the first prompt.
func (h Home) Transcript(session string) (path string, ok bool) {
	return h.TranscriptNear(session, "")
}

// TranscriptNear is Transcript for a session that runs in cwd ("" is unknown):
// of several files with one id, the one in that directory's folder is the one
// that Claude Code writes to. Of others, the one written to last.
func (h Home) TranscriptNear(session, cwd string) (path string, ok bool) {
	if session == "" || filepath.Base(session) != session || session == "." || session == ".." {
		return "", false
	}
	if cwd != "" {
		path := filepath.Join(h.Project(cwd), session+transcriptExt)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path, true
		}
	}
	var newest fs.FileInfo
	for _, dir := range h.projects() {
		file := filepath.Join(dir, session+transcriptExt)
		st, err := os.Stat(file)
		if err == nil && st.Mode().IsRegular() && (newest == nil || st.ModTime().After(newest.ModTime())) {
			path, newest = file, st
		}
	}
	return path, newest != nil
}

// projects are the project folders.
func (h Home) projects() []string {
	root := filepath.Join(string(h), "projects")
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil
	}
	dirs := make([]string, len(entries))
	for i, e := range entries {
		dirs[i] = filepath.Join(root, e.Name())
	}
	return dirs
}

// Transcribed are the ids, sorted, of the sessions that have a transcript and
// whose id begins with prefix.
func (h Home) Transcribed(prefix string) []string {
	ids := map[string]bool{}
	for _, dir := range h.projects() {
		files, err := os.ReadDir(dir)
		if err != nil {
			continue // not a folder, or gone
		}
		for _, f := range files {
			// Older versions keep subagents beside the sessions.
			id, ok := strings.CutSuffix(f.Name(), transcriptExt)
			if ok && id != "" && strings.HasPrefix(id, prefix) && !strings.HasPrefix(id, "agent-") {
				ids[id] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(ids))
}
