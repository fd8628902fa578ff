package claude

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// psTable is one run of ps, for systems without /proc.
type psTable map[int]OSProcess

// ps is the run of ps whose lines parsePS reads. Claude Code writes an entry's
// procStart with the same two variables on macOS (read in the program,
// 2.1.332): in another zone each live session would look like a dead one's.
func ps(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "ps", "-axo", "pid=,ppid=,state=,lstart=")
	cmd.Env = append(cmd.Environ(), "LC_ALL=C", "TZ=UTC")
	return cmd
}

// lstart is the form of ps's start time, in UTC, once its blanks are single.
const lstart = "Mon Jan 2 15:04:05 2006"

// parsePS reads ps's lines; what is none is passed over.
func parsePS(out string) psTable {
	t := psTable{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		pid, err1 := strconv.Atoi(f[0])
		parent, err2 := strconv.Atoi(f[1])
		if err1 != nil || err2 != nil {
			continue
		}
		start := strings.Join(f[3:], " ")
		began, err := time.Parse(lstart, start)
		if err != nil {
			began = time.Time{} // unknown
		}
		t[pid] = OSProcess{
			PID: pid, Parent: parent, Start: start, Began: began,
			Zombie: strings.HasPrefix(f[2], "Z"), Stopped: strings.HasPrefix(f[2], "T"),
		}
	}
	return t
}

// Find looks a process up in the one run of ps.
func (t psTable) Find(pid int) (OSProcess, bool) { p, ok := t[pid]; return p, ok }

// SameStart compares the date text. One of another form is believed, as
// nothing better is known.
func (psTable) SameStart(p OSProcess, procStart string) bool {
	want := strings.Fields(procStart)
	return len(want) != len(strings.Fields(p.Start)) || strings.Join(want, " ") == p.Start
}

// SameDomain refuses entries of Linux and of Windows machines.
func (psTable) SameDomain(d string) bool {
	return !strings.HasPrefix(d, domainLinux) && !strings.HasPrefix(d, domainWindows)
}
