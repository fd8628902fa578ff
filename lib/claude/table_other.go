//go:build !linux

package claude

import (
	"os/exec"
	"strconv"
	"strings"
)

// psTable is one run of ps.
type psTable map[int]OSProcess

// NewTable returns the process table of this machine. When ps can't be run it
// is empty, and no process counts as alive.
func NewTable() Table {
	cmd := exec.Command("ps", "-axo", "pid=,ppid=,state=,lstart=")
	cmd.Env = append(cmd.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	t := psTable{}
	if err != nil {
		return t
	}
	for _, line := range strings.Split(string(out), "\n") {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		pid, err1 := strconv.Atoi(f[0])
		parent, err2 := strconv.Atoi(f[1])
		if err1 != nil || err2 != nil {
			continue
		}
		t[pid] = OSProcess{
			PID: pid, Parent: parent, Start: strings.Join(f[3:], " "),
			Zombie: strings.HasPrefix(f[2], "Z"), Stopped: strings.HasPrefix(f[2], "T"),
		}
	}
	return t
}

func (t psTable) Find(pid int) (OSProcess, bool) { p, ok := t[pid]; return p, ok }

// SameStart compares the date text. One of another form is believed, as
// nothing better is known.
func (psTable) SameStart(p OSProcess, procStart string) bool {
	want := strings.Fields(procStart)
	return len(want) != len(strings.Fields(p.Start)) || strings.Join(want, " ") == p.Start
}

// SameDomain refuses entries of Linux machines.
func (psTable) SameDomain(d string) bool { return !strings.HasPrefix(d, "linux:") }
