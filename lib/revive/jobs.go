package revive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"sessionhub/lib/claude"
	"sessionhub/lib/claude/transcript"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// Agent is an entry of `claude agents --json`.
type Agent struct {
	ID      string `json:"id"` // of a background session: its job's short name
	PID     int    `json:"pid"`
	Session string `json:"sessionId"`
	Cwd     string `json:"cwd"`
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	State   string `json:"state"`
}

// nameLimit bounds a session's name in characters.
const nameLimit = 200

// session puts together what a job's files, Claude Code's list and the
// registry say of it.
func (r *Reviver) session(short string, j claude.Job, list []Agent, live []claude.Process, t claude.Table) Session {
	s := Session{
		ID: j.Session, Short: short, Name: j.Name, Cwd: j.Cwd, State: j.State, Detail: j.Detail, Needs: j.Needs, Updated: j.Updated, Unlisted: true,
	}
	if s.ID == "" {
		s.ID = j.ResumeSession
	}
	for _, a := range list {
		if a.ID != short {
			continue
		}
		s.Unlisted = false
		s.ID, s.Name, s.Cwd = first(s.ID, a.Session), first(s.Name, a.Name), first(s.Cwd, a.Cwd)
		if p, ok := t.Find(a.PID); a.PID > 0 && ok && !p.Zombie {
			s.PIDs = append(s.PIDs, a.PID)
		}
	}
	if record.CheckID("session", s.ID) != nil {
		s.ID = ""
	}
	s.Name = text.Cut(text.Line(s.Name), nameLimit)
	for _, p := range live {
		switch {
		case p.ParkedJobID == short:
			s.Attended = fmt.Sprintf("a person has it open (process %d)", p.PID)
		case p.SessionID != s.ID || s.ID == "":
		case p.Interactive():
			s.Attended = fmt.Sprintf("it runs in a terminal (process %d), where Claude Code goes on by itself", p.PID)
		case !slices.Contains(s.PIDs, p.PID):
			s.PIDs = append(s.PIDs, p.PID)
		}
	}
	s.DirGone = gone(s.Cwd) || j.Worktree != "" && gone(j.Worktree)
	return s
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// gone tells that a directory does not exist. One that can't be looked at may
// exist.
func gone(dir string) bool {
	if dir == "" {
		return true
	}
	st, err := os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) || err == nil && !st.IsDir()
}

// readTranscript adds what the transcript tells: it is the surer witness, as
// state.json is rewritten by several processes and loses its text.
func (r *Reviver) readTranscript(s *Session, j claude.Job) error {
	path := j.Transcript
	if _, err := os.Stat(path); path == "" || err != nil {
		found, ok := r.Home.TranscriptNear(s.ID, s.Cwd)
		if !ok {
			return nil
		}
		path = found
	}
	e, ok, err := transcript.LastError(path)
	if err != nil {
		return err
	}
	if ok && !e.At.IsZero() {
		s.Error = &e
	}
	s.Progress, err = transcript.LastReply(path)
	s.Spoke = ok || !s.Progress.IsZero()
	return err
}

// gather puts the sessions of all jobs together.
func (r *Reviver) gather(list map[string]claude.Job, agents []Agent) ([]Session, error) {
	t, err := r.Table()
	if err != nil {
		return nil, err
	}
	live, err := r.Home.Live(t)
	if err != nil && !errors.Is(err, claude.ErrNoRegistry) {
		return nil, err
	}
	var sessions []Session
	for short, j := range list {
		s := r.session(short, j, agents, live, t)
		if err := r.readTranscript(&s, j); err != nil {
			s.Unread = text.Cut(text.Line(err.Error()), 200)
		}
		sessions = append(sessions, s)
	}
	return sessions, nil
}
