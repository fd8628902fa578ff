package herdrtest

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func foregroundGroup(pty *os.File) int {
	group := 0
	if raw, err := pty.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { group, _ = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) })
	}
	return group
}

// procStat holds fields of /proc/PID/stat.
type procStat struct {
	pid, group, session int
	state               byte
}

func readStat(pid int) (procStat, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, false
	}
	i := bytes.LastIndexByte(b, ')')
	f := strings.Fields(string(b[i+1:]))
	if i < 0 || len(f) < 4 {
		return procStat{}, false
	}
	st := procStat{pid: pid, state: f[0][0]}
	st.group, _ = strconv.Atoi(f[2])
	st.session, _ = strconv.Atoi(f[3])
	return st, true
}

func allStats() []procStat {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []procStat
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if st, ok := readStat(pid); ok && st.state != 'Z' && st.state != 'X' {
			all = append(all, st)
		}
	}
	return all
}

func sessionProcesses(session int) []int {
	var pids []int
	for _, st := range allStats() {
		if st.session == session {
			pids = append(pids, st.pid)
		}
	}
	return pids
}

func groupProcesses(group int) []int {
	var pids []int
	for _, st := range allStats() {
		if st.group == group {
			pids = append(pids, st.pid)
		}
	}
	return pids
}

func processName(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSuffix(string(b), "\n")
}

func processArgv(pid int) []string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

func processCwd(pid int) string {
	dir, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return dir
}

func everyProcess() []int {
	var pids []int
	for _, st := range allStats() {
		pids = append(pids, st.pid)
	}
	return pids
}
