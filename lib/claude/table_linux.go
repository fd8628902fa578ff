package claude

import (
	"os"
	"strconv"
	"strings"
)

// procTable reads /proc as it is asked.
type procTable struct{ domain string }

// NewTable returns the process table of this machine.
func NewTable() Table {
	id, err := os.ReadFile("/etc/machine-id")
	ns, nsErr := os.Readlink("/proc/self/ns/pid")
	if err != nil || nsErr != nil {
		return procTable{}
	}
	return procTable{domain: "linux:" + strings.TrimSpace(string(id)) + ":" + ns}
}

// Find reads /proc/<pid>/stat. Its second field is the name in parentheses,
// which may hold anything, so fields are counted from the last one.
func (procTable) Find(pid int) (OSProcess, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return OSProcess{}, false
	}
	_, rest, ok := cutLast(string(b), ")")
	f := strings.Fields(rest) // from field 3, the state, on
	const state, parent, start = 0, 1, 19
	if !ok || len(f) <= start {
		return OSProcess{}, false
	}
	ppid, err := strconv.Atoi(f[parent])
	if err != nil {
		return OSProcess{}, false
	}
	return OSProcess{
		PID: pid, Parent: ppid, Start: f[start],
		Zombie: f[state] == "Z" || f[state] == "X", Stopped: f[state] == "T",
	}, true
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// SameStart compares clock ticks since the boot.
func (procTable) SameStart(p OSProcess, procStart string) bool {
	return procStart == "" || p.Start == procStart
}

// SameDomain compares "linux:<machine id>:pid:[<namespace>]".
func (t procTable) SameDomain(d string) bool {
	return d == "" || t.domain == "" || !strings.HasPrefix(d, "linux:") || d == t.domain
}
