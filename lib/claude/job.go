package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// The states of a background session's job.
const (
	JobBlocked = "blocked"
	JobStopped = "stopped"
)

// Job is what state.json of a background session says. Older versions wrote few
// of the fields.
type Job struct {
	State         string    `json:"state"`
	Detail        string    `json:"detail"`
	Needs         string    `json:"needs"`
	Session       string    `json:"sessionId"`
	ResumeSession string    `json:"resumeSessionId"`
	Name          string    `json:"name"`
	Cwd           string    `json:"cwd"`
	Worktree      string    `json:"worktreePath"`
	Transcript    string    `json:"linkScanPath"`
	Updated       time.Time `json:"updatedAt"` // when the file was written, where it does not say
}

// Jobs reads the jobs by their short names. A home without jobs has none; a job
// whose file can't be read is passed over.
func (h Home) Jobs() (map[string]Job, error) {
	dirs, err := os.ReadDir(filepath.Join(string(h), "jobs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Claude's jobs: %w", err)
	}
	list := map[string]Job{}
	for _, d := range dirs {
		if j, err := h.Job(d.Name()); err == nil {
			list[d.Name()] = j
		}
	}
	return list, nil
}

// Job reads one job.
func (h Home) Job(short string) (Job, error) {
	return ReadJob(filepath.Join(string(h), "jobs", short, "state.json"))
}

// ReadJob reads a state.json.
func ReadJob(path string) (Job, error) {
	j, written, err := readWhole[Job](path)
	if j.Updated.IsZero() {
		j.Updated = written
	}
	return j, err
}

// Worked reports whether Claude Code's service has a worker for a job: for some
// seconds after `claude stop` it still does. A service that does not run has none.
func (h Home) Worked(short string, t Table) bool {
	var roster struct {
		Supervisor int                        `json:"supervisorPid"`
		Workers    map[string]json.RawMessage `json:"workers"`
	}
	b, err := os.ReadFile(filepath.Join(string(h), "daemon", "roster.json"))
	if err != nil || json.Unmarshal(b, &roster) != nil {
		return false
	}
	if p, ok := t.Find(roster.Supervisor); !ok || p.Zombie {
		return false
	}
	_, ok := roster.Workers[short]
	return ok
}
