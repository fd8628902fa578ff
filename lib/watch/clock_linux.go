package watch

import (
	"errors"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// watchClock calls set whenever the wall clock was set, which Linux also says
// after a sleep, without waking up for it in between: a timer in the far future
// that is cancelled then (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET). close
// ends it. ok is false when the kernel has no such timer.
func watchClock(set func()) (close func(), ok bool) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return func() {}, false
	}
	f := os.NewFile(uintptr(fd), "timerfd")
	if err := arm(fd); err != nil {
		f.Close()
		return func() {}, false
	}
	go func() { // ends when f is closed
		var b [8]byte
		for {
			_, err := f.Read(b[:])
			if !errors.Is(err, syscall.ECANCELED) {
				return
			}
			set()
			if arm(fd) != nil {
				return
			}
		}
	}()
	return func() { f.Close() }, true
}

func arm(fd int) error {
	never := unix.ItimerSpec{Value: unix.Timespec{Sec: math.MaxInt32}}
	return unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &never, nil)
}
