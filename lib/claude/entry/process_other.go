//go:build !linux

package entry

// Began knows here only whether the process is there, not when it began.
func Began(pid int) (start string, ok bool) { return "", exists(pid) }

// WatchEnd can't tell here: who waits looks every now and then.
func WatchEnd(int) (ended <-chan struct{}, stop func()) { return nil, func() {} }
