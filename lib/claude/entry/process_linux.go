package entry

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Began is when a process began, in clock ticks since the boot; ok is false
// when it is gone, or a zombie. The second field of its stat is the name in
// parentheses, which may hold anything.
func Began(pid int) (start string, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		if _, perr := os.Stat("/proc/self/stat"); perr != nil {
			return "", exists(pid) // no /proc here
		}
		return "", false
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	const state, starttime = 0, 19
	if len(f) <= starttime || f[state][0] == 'Z' || f[state][0] == 'X' {
		return "", false
	}
	return string(f[starttime]), true
}

// WatchEnd closes a channel when a process ends, by its descriptor; nil when the
// kernel has none (before 5.3). Stop gives up.
func WatchEnd(pid int) (ended <-chan struct{}, stop func()) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, func() {}
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, func() {}
	}
	c := make(chan struct{})
	go func() {
		err := raw.Read(func(fd uintptr) bool {
			p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(p, 0)
			return err == nil && n > 0
		})
		if err == nil {
			close(c)
		}
	}()
	return c, func() { f.Close() }
}
