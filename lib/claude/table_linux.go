package claude

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// procTable reads /proc as it is asked.
type procTable struct {
	domain string
	boot   time.Time // zero when it is not known
}

// NewTable returns the process table of this machine. An error says that it
// can't be read, which proves nothing of any process.
func NewTable() (Table, error) {
	t := procTable{domain: PIDDomain(), boot: bootTime()}
	if _, ok := t.Find(os.Getpid()); !ok {
		return nil, errors.New("read the process table: /proc does not show this process")
	}
	return t, nil
}

// PIDDomain is what Claude Code writes as pidDomain here: the machine and the
// process namespace; a part that can't be read is empty (read in the program,
// 2.1.332).
func PIDDomain() string {
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		id = nil
	}
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		ns = ""
	}
	return domainLinux + strings.TrimSpace(string(id)) + ":" + ns
}

func bootTime() time.Time {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}
	}
	var sec int64
	_, rest, ok := strings.Cut(string(b), "\nbtime ")
	if _, err := fmt.Sscan(rest, &sec); !ok || err != nil {
		return time.Time{}
	}
	return time.Unix(sec, 0)
}

// tick is the unit of start times in /proc. The kernel's is 100 a second on
// every architecture that Go and Claude Code run on.
const tick = 10 * time.Millisecond

// Find reads /proc/<pid>/stat. Its second field is the name in parentheses,
// which may hold anything, so fields are counted from the last one.
func (t procTable) Find(pid int) (OSProcess, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return OSProcess{}, false
	}
	p, ok := parseStat(string(b))
	if !ok {
		return OSProcess{}, false
	}
	p.PID = pid
	if ticks, err := strconv.ParseInt(p.Start, 10, 64); err == nil && !t.boot.IsZero() {
		p.Began = t.boot.Add(time.Duration(ticks) * tick)
	}
	return p, true
}

func parseStat(stat string) (OSProcess, bool) {
	end := strings.LastIndexByte(stat, ')')
	f := strings.Fields(stat[end+1:]) // from field 3, the state, on
	const state, parent, start = 0, 1, 19
	if end < 0 || len(f) <= start {
		return OSProcess{}, false
	}
	ppid, err := strconv.Atoi(f[parent])
	if err != nil {
		return OSProcess{}, false
	}
	return OSProcess{
		Parent: ppid, Start: f[start],
		Zombie: f[state] == "Z" || f[state] == "X", Stopped: f[state] == "T",
	}, true
}

// SameStart compares clock ticks since the boot.
func (procTable) SameStart(p OSProcess, procStart string) bool {
	return procStart == "" || p.Start == procStart
}

// SameDomain compares "linux:<machine id>:pid:[<namespace>]" and refuses
// entries of other systems. A form that is not known is believed.
func (t procTable) SameDomain(d string) bool {
	switch {
	case strings.HasPrefix(d, domainLinux):
		return d == t.domain
	case d == domainMac, strings.HasPrefix(d, domainWindows):
		return false
	}
	return true
}

// HomeOf is the folder that a running Claude Code uses, by the environment that
// it was started with. ok is false when that can't be read.
func HomeOf(pid int) (h Home, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || len(b) == 0 {
		return "", false
	}
	return fromEnviron(strings.Split(string(b), "\x00"))
}
