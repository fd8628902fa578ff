package claude

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"time"
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

// tailSize is how much of a transcript's end is read for lines that stand
// there: a few short ones follow the last message.
const tailSize = 16 << 10

// ContinuedIn is the session that goes on where this one was put into the
// background (finding 4 of the captures in herdr: neither herdr nor the
// registry tells). ok is false when it was not, or was written to since, or
// when that was before began, the start of the process that runs the session
// now: then somebody took the old conversation up again (seen with 2.1.332).
func ContinuedIn(path string, began time.Time) (session string, ok bool) {
	for _, line := range tailLines(path) {
		var l struct {
			Type        string `json:"type"`
			Timestamp   any    `json:"timestamp"`
			ContinuedIn string `json:"continuedInSessionId"`
		}
		if json.Unmarshal(line, &l) != nil {
			continue
		}
		switch l.Type {
		case "continued-in":
			session, ok = l.ContinuedIn, l.ContinuedIn != ""
			if before(l.Timestamp, began) {
				session, ok = "", false
			}
		case "user", "assistant":
			session, ok = "", false
		}
	}
	return session, ok
}

// before reports whether a line's timestamp is earlier than t; one that is no
// time is not.
func before(timestamp any, t time.Time) bool {
	text, ok := timestamp.(string)
	at, err := time.Parse(time.RFC3339Nano, text)
	return ok && err == nil && at.Before(t)
}

// tailLines are the whole lines at the end of a file.
func tailLines(path string) [][]byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil
	}
	from := max(st.Size()-tailSize, 0)
	b := make([]byte, st.Size()-from)
	n, _ := f.ReadAt(b, from)
	lines := bytes.Split(b[:n], []byte("\n"))
	if from > 0 {
		lines = lines[1:] // the first is cut
	}
	return lines
}
