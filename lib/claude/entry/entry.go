// Package entry sees one process of Claude Code as a hook of it needs to: its
// entry in the registry, whether it runs, and when it ends. The package claude
// reads all of the registry, and links more than a hook should.
package entry

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Runs reports whether a process runs that began at start, as Began tells it;
// "" is not known, and any process of that id will do.
func Runs(pid int, start string) bool {
	if pid <= 0 {
		return false
	}
	now, ok := Began(pid)
	if !ok {
		return false
	}
	return start == "" || now == "" || now == start
}

// exists asks the system for a process; one that is another's exists, too.
func exists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || err == syscall.EPERM
}

// Entry is what matters to hooks of Claude Code's sessions/<pid>.json.
type Entry struct {
	PID     int    `json:"pid"`
	Session string `json:"sessionId"`
	Status  string `json:"status"`
	Version string `json:"version"`
	Parked  string `json:"parkedJobId,omitempty"` // the background job that its session went into
}

// Statuses of an entry, as the package claude has them.
const (
	Idle    = "idle"
	Waiting = "waiting"
	Shell   = "shell"
)

// maxEntry bounds an entry in bytes; real ones have under 2 KiB.
const maxEntry = 64 << 10

// Path is where the entry of a process stands.
func Path(home string, pid int) string {
	return filepath.Join(home, "sessions", strconv.Itoa(pid)+".json")
}

// Read reads the entry of a process. ok is false when there is none, or it is
// being written.
func Read(home string, pid int) (e Entry, ok bool) {
	path := Path(home, pid)
	st, err := os.Stat(path)
	if err != nil || st.Size() > maxEntry {
		return e, false
	}
	b, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(b, &e) != nil {
		return Entry{}, false
	}
	return e, e.PID == pid && e.Status != ""
}
