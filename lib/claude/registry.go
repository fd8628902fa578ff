// Package claude reads what Claude Code keeps in its home: the registry of
// live sessions and the transcripts. It writes nothing there.
package claude

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sessionhub/lib/text"
)

// Kinds and entry points of processes in the registry.
const (
	KindInteractive = "interactive"
	KindBackground  = "bg"
	// EntryCLI is a person's session; `claude -p` has another, though its kind
	// is interactive as well (finding 3 of the captures in herdr).
	EntryCLI = "cli"
)

// Statuses of a process in the registry.
const (
	StatusIdle    = "idle"
	StatusBusy    = "busy"
	StatusWaiting = "waiting"
	StatusShell   = "shell" // at its prompt while a background shell runs

	WaitingDialog = "dialog open"
)

// Process is an entry of the registry, sessions/<pid>.json.
type Process struct {
	PID             int    `json:"pid"`
	SessionID       string `json:"sessionId"`
	Cwd             string `json:"cwd"`
	StartedAt       int64  `json:"startedAt"` // Unix time in ms
	ProcStart       string `json:"procStart"`
	PIDDomain       string `json:"pidDomain"`
	Version         string `json:"version"`
	Kind            string `json:"kind"`
	Entrypoint      string `json:"entrypoint"`
	Status          string `json:"status"`
	WaitingFor      string `json:"waitingFor"`
	Name            string `json:"name"`
	NameSource      string `json:"nameSource"`
	JobID           string `json:"jobId"`           // of a background session
	ParkedJobID     string `json:"parkedJobId"`     // of the background session that this process only shows
	BridgeSessionID string `json:"bridgeSessionId"` // while Remote Control is on
}

// Interactive reports whether a person sits at the process, as far as it says:
// it is no `claude -p` and no background worker.
func (p Process) Interactive() bool {
	return (p.Kind == "" || p.Kind == KindInteractive) && (p.Entrypoint == "" || p.Entrypoint == EntryCLI)
}

// nameDerived is the nameSource of a name that Claude Code made of the
// directory's, which says nothing that the directory does not.
const nameDerived = "derived"

// nameLimit bounds a session's name in characters.
const nameLimit = 200

// Title is the name that the session was given, by its person or by Claude
// Code; "" when it has only a derived one.
func (p Process) Title() string {
	if p.NameSource == nameDerived {
		return ""
	}
	return text.Cut(text.Line(p.Name), nameLimit)
}

// Began is when the process began, as its entry says; zero when it does not.
func (p Process) Began() time.Time {
	if p.StartedAt <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(p.StartedAt)
}

// Home is Claude Code's folder, ~/.claude.
type Home string

// Sessions is the folder of the registry.
func (h Home) Sessions() string { return filepath.Join(string(h), "sessions") }

// ErrNoRegistry says that there is no registry: this Claude Code is older than
// it, or never ran.
var ErrNoRegistry = errors.New("no registry of live Claude Code sessions")

// The forms of pidDomain, by the system that writes it (read in the program,
// 2.1.332): "linux:<machine id>:pid:[<namespace>]", "win32:<host>", and the
// bare name of another system.
const (
	domainLinux   = "linux:"
	domainWindows = "win32:"
	domainMac     = "darwin"
)

// Live reads the registry and keeps the processes that are alive: the process
// exists, is no zombie, began when the entry says, and belongs to this machine
// and process namespace. A killed Claude leaves its entry behind, and its
// process id may be another program's by now (field reports A13 and A35).
// Files that are no entries, or half written, are passed over.
func (h Home) Live(t Table) ([]Process, error) {
	files, err := os.ReadDir(h.Sessions())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoRegistry
	}
	if err != nil {
		return nil, fmt.Errorf("read Claude's registry: %w", err)
	}
	var list []Process
	for _, f := range files {
		stem, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok {
			continue
		}
		pid, err := strconv.Atoi(stem)
		if err != nil || pid <= 0 { // pid 0 is nobody (field report A59)
			continue
		}
		if _, ok := t.Find(pid); !ok {
			continue // left behind; there may be hundreds
		}
		p, _, err := readWhole[Process](filepath.Join(h.Sessions(), f.Name()))
		if err == nil && p.PID == pid && p.SessionID != "" && alive(p, t) {
			list = append(list, p)
		}
	}
	return list, nil
}

// startSlack is how much later than its entry says a process may have begun:
// what clocks are set by, and an entry's own delay.
const startSlack = time.Minute

func alive(p Process, t Table) bool {
	if !t.SameDomain(p.PIDDomain) {
		return false
	}
	o, ok := t.Find(p.PID)
	if !ok || o.Zombie {
		return false
	}
	if p.ProcStart == "" && !p.Began().IsZero() && !o.Began.IsZero() {
		return !o.Began.After(p.Began().Add(startSlack))
	}
	return t.SameStart(o, p.ProcStart)
}

// OSProcess is a process as the operating system shows it.
type OSProcess struct {
	PID     int
	Parent  int
	Start   string    // comparable with an entry's procStart
	Began   time.Time // the same as a time; zero when it is not known
	Zombie  bool
	Stopped bool // suspended, as by Ctrl-Z
}

// Table looks processes up. It is meant for one look: what it has read it may
// keep.
type Table interface {
	Find(pid int) (OSProcess, bool)
	// SameStart reports whether a process began when an entry says.
	SameStart(p OSProcess, procStart string) bool
	// SameDomain reports whether an entry is of this machine and process
	// namespace. An entry that does not say counts.
	SameDomain(pidDomain string) bool
}

// maxDepth bounds a walk up the process tree.
const maxDepth = 64

// Below reports whether a process is, or descends from, another.
func Below(t Table, pid, ancestor int) bool {
	for range maxDepth {
		if pid == ancestor {
			return true
		}
		p, ok := t.Find(pid)
		if !ok || p.Parent <= 1 {
			return false
		}
		pid = p.Parent
	}
	return false
}
