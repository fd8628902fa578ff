package revive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/claude/transcript"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// job is what state.json of a background session says. Older versions wrote
// few of the fields.
type job struct {
	State         string    `json:"state"`
	Detail        string    `json:"detail"`
	Needs         string    `json:"needs"`
	Session       string    `json:"sessionId"`
	ResumeSession string    `json:"resumeSessionId"`
	Name          string    `json:"name"`
	Cwd           string    `json:"cwd"`
	Worktree      string    `json:"worktreePath"`
	Transcript    string    `json:"linkScanPath"`
	Updated       time.Time `json:"updatedAt"`
}

// maxState bounds a state.json in bytes; real ones have under 4 KiB.
const maxState = 1 << 20

// rereads is how often a state.json is read that is not whole: several
// processes replace it.
const rereads = 3

// jobs reads the jobs of a Claude home by their short names. A home without
// jobs has none; a job whose file can't be read is passed over.
func jobs(h claude.Home) (map[string]job, error) {
	root := filepath.Join(string(h), "jobs")
	dirs, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Claude's jobs: %w", err)
	}
	list := map[string]job{}
	for _, d := range dirs {
		if j, err := readJob(filepath.Join(root, d.Name(), "state.json")); err == nil && d.IsDir() {
			list[d.Name()] = j
		}
	}
	return list, nil
}

func readJob(path string) (j job, err error) {
	for range rereads {
		if j, err = readState(path); err == nil || errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return j, err
}

func readState(path string) (job, error) {
	var j job
	f, err := os.Open(path)
	if err != nil {
		return j, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return j, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxState))
	if err != nil {
		return j, err
	}
	err = json.Unmarshal(b, &j)
	var typ *json.UnmarshalTypeError
	var tim *time.ParseError
	if errors.As(err, &typ) || errors.As(err, &tim) { // the others are read
		err = nil
	}
	if j.Updated.IsZero() {
		j.Updated = st.ModTime()
	}
	return j, err
}

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
func (r *Reviver) session(short string, j job, list []Agent, live []claude.Process, t claude.Table) Session {
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
func (r *Reviver) readTranscript(s *Session, j job) error {
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
func (r *Reviver) gather(list map[string]job, agents []Agent) ([]Session, error) {
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
			return nil, err
		}
		sessions = append(sessions, s)
	}
	return sessions, nil
}

// held tells that Claude Code's service still has a worker for a job; "" when it
// has none, or does not run.
func held(h claude.Home, short string, t claude.Table) string {
	var roster struct {
		Supervisor int                        `json:"supervisorPid"`
		Workers    map[string]json.RawMessage `json:"workers"`
	}
	b, err := os.ReadFile(filepath.Join(string(h), "daemon", "roster.json"))
	if err != nil || json.Unmarshal(b, &roster) != nil {
		return ""
	}
	if p, ok := t.Find(roster.Supervisor); !ok || p.Zombie {
		return ""
	}
	if _, ok := roster.Workers[short]; ok {
		return "Claude Code's service did not let go of it"
	}
	return ""
}
