//go:build !linux

package herdrtest

import (
	"os"
	"os/exec"
	"path/filepath"
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

// ps asks ps for one column of the processes where another column has a value.
func ps(key string, value int) []int {
	out, err := exec.Command("ps", "-ax", "-o", "pid=,"+key+"=,stat=").Output()
	if err != nil {
		return nil
	}
	var pids []int
	for _, line := range strings.Split(string(out), "\n") {
		f := strings.Fields(line)
		if len(f) < 3 || f[1] != strconv.Itoa(value) || strings.HasPrefix(f[2], "Z") {
			continue
		}
		if pid, err := strconv.Atoi(f[0]); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// sessionProcesses knows only the session leader's own group here.
func sessionProcesses(session int) []int { return ps("pgid", session) }

func groupProcesses(group int) []int { return ps("pgid", group) }

func processName(pid int) string {
	argv := processArgv(pid)
	if len(argv) == 0 {
		return ""
	}
	return filepath.Base(argv[0])
}

func processArgv(pid int) []string {
	out, _ := exec.Command("ps", "-p", strconv.Itoa(pid), "-o", "args=").Output()
	return strings.Fields(string(out))
}

func processCwd(int) string { return "" }

func everyProcess() []int {
	out, _ := exec.Command("ps", "-ax", "-o", "pid=").Output()
	var pids []int
	for _, f := range strings.Fields(string(out)) {
		if pid, err := strconv.Atoi(f); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
