package ask

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
	now, ok := began(pid)
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

// entry is what matters of Claude Code's sessions/<pid>.json. The package claude
// reads all of it, and links more than a hook should.
type entry struct {
	PID     int    `json:"pid"`
	Session string `json:"sessionId"`
	Status  string `json:"status"`
	Version string `json:"version"`
}

const statusWaiting = "waiting"

// maxEntry bounds an entry in bytes; real ones have under 2 KiB.
const maxEntry = 64 << 10

func entryPath(home string, pid int) string {
	return filepath.Join(home, "sessions", strconv.Itoa(pid)+".json")
}

// readEntry reads the entry of a process. ok is false when there is none, or it
// is being written.
func readEntry(home string, pid int) (e entry, ok bool) {
	path := entryPath(home, pid)
	st, err := os.Stat(path)
	if err != nil || st.Size() > maxEntry {
		return e, false
	}
	b, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(b, &e) != nil {
		return entry{}, false
	}
	return e, e.PID == pid && e.Status != ""
}
