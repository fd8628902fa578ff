package herdrtest

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"

	"sessionhub/lib/herdr/herdrtest/screen"
)

// terminal is a process in a terminal of its own.
type terminal struct {
	cmd  *exec.Cmd
	pty  *os.File
	pid  int
	argv []string
	dir  string
	done chan struct{} // closed when the process is reaped

	mu  sync.Mutex
	scr *screen.Screen
}

type command struct {
	argv []string
	env  []string
	dir  string
	cols int
	rows int
}

func startTerminal(c command) (*terminal, error) {
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Env, cmd.Dir = c.env, c.dir
	if resolved, err := lookPath(c.argv[0], c.env, c.dir); err != nil {
		return nil, err
	} else {
		cmd.Path, cmd.Err = resolved, nil
	}
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(c.cols), Rows: uint16(c.rows)})
	if err != nil {
		return nil, err
	}
	t := &terminal{
		cmd: cmd, pty: f, pid: cmd.Process.Pid, argv: c.argv, dir: c.dir,
		done: make(chan struct{}), scr: screen.New(c.cols, c.rows),
	}
	t.scr.Reply = func(b []byte) { go t.pty.Write(b) }
	go t.read()
	go func() {
		cmd.Wait()
		close(t.done)
	}()
	return t, nil
}

func (t *terminal) read() {
	buf := make([]byte, 32<<10)
	for {
		n, err := t.pty.Read(buf)
		t.mu.Lock()
		t.scr.Write(buf[:n])
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// write types bytes. It must not be called with the server's lock held for
// more than a line or so: a program that does not read makes it block.
func (t *terminal) write(b []byte) error {
	t.pty.SetWriteDeadline(time.Now().Add(writeTime))
	_, err := t.pty.Write(b)
	return err
}

func (t *terminal) look(f func(*screen.Screen)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(t.scr)
}

// foreground returns the process group in front.
func (t *terminal) foreground() int {
	return foregroundGroup(t.pty)
}

// kill ends every process of the terminal's session: HUP, then TERM, then KILL.
// Processes with a session of their own live on.
func (t *terminal) kill(pause time.Duration) {
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGKILL} {
		for _, pid := range sessionProcesses(t.pid) {
			syscall.Kill(pid, sig)
			syscall.Kill(pid, syscall.SIGCONT)
		}
		if t.dead(pause) {
			return
		}
	}
	t.dead(time.Second)
}

func (t *terminal) dead(within time.Duration) bool {
	for end := time.Now().Add(within); ; time.Sleep(2 * time.Millisecond) {
		if len(sessionProcesses(t.pid)) == 0 {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// hangUp closes the terminal, which sends SIGHUP to what is left.
func (t *terminal) hangUp() { t.pty.Close() }
