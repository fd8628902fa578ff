package mailbox

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"sessionhub/lib/lock"
	"sessionhub/lib/queue"
)

// seats is the folder of waiters/<Claude's process>: which of its waiters waits.
// Every turn's end begins another one, /clear and /resume for another session;
// who sat down last stays.
const seats = "waiters"

// seatWait bounds the wait for a seat's lock, held around one small write.
const seatWait = 2 * time.Second

// seat is a waiter's place at its Claude Code.
type seat struct {
	path string
	self string // what it wrote there
}

// sit takes the place of whoever sat there.
func (w *Waiter) sit() (*seat, error) {
	dir, err := w.Dir.Sub(seats)
	if err != nil {
		return nil, err
	}
	s := &seat{path: filepath.Join(dir, strconv.Itoa(w.Claude)), self: queue.NewStamp(w.Now()).ID + " " + strconv.Itoa(os.Getpid()) + "\n"}
	l, err := lock.Acquire(s.path, seatWait)
	if err != nil {
		return nil, err
	}
	defer l.Release()
	return s, l.Write(s.self) // in place: a watch of the file tells it
}

// mine reports whether nobody sat down since.
func (s *seat) mine() bool {
	b, err := os.ReadFile(s.path)
	return err == nil && string(b) == s.self
}

// leave removes the seat's file when it is still its own.
func (s *seat) leave() {
	l, err := lock.Try(s.path)
	if err != nil {
		return // somebody sits down
	}
	defer l.Release()
	if s.mine() {
		os.Remove(s.path) // else a sweep does
	}
}
