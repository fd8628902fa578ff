package claudetest

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// Outside is a Claude Code, the stand-in or the real one, in a terminal of its
// own that no herdr knows.
type Outside struct {
	t    testing.TB
	cmd  *exec.Cmd
	tty  *os.File
	gone chan struct{}

	mu    sync.Mutex
	shown []byte
}

// StartOutside starts bin in dir. It is killed at the test's end, if it lives then.
func StartOutside(t testing.TB, bin, dir string, env []string, args ...string) *Outside {
	t.Helper()
	o := &Outside{t: t, cmd: exec.Command(bin, args...), gone: make(chan struct{})}
	o.cmd.Dir, o.cmd.Env = dir, env
	tty, err := pty.StartWithSize(o.cmd, &pty.Winsize{Cols: 100, Rows: 30})
	if err != nil {
		t.Fatal(err)
	}
	o.tty = tty
	go o.read()
	go func() {
		_ = o.cmd.Wait() // how it ends is the test's affair
		close(o.gone)
	}()
	t.Cleanup(func() {
		o.Kill()
		if t.Failed() {
			o.mu.Lock()
			defer o.mu.Unlock()
			t.Logf("its terminal showed:\n%q", o.shown[max(0, len(o.shown)-2000):])
		}
	})
	return o
}

// read keeps the terminal from filling up.
func (o *Outside) read() {
	buf := make([]byte, 16<<10)
	for {
		n, err := o.tty.Read(buf)
		o.mu.Lock()
		o.shown = append(o.shown, buf[:n]...)
		o.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// PID is its process.
func (o *Outside) PID() int { return o.cmd.Process.Pid }

// Keys sends keys to its terminal as they are. One that is gone takes none.
func (o *Outside) Keys(keys string) {
	o.t.Helper()
	if _, err := io.WriteString(o.tty, keys); err != nil && !errors.Is(err, syscall.EIO) && !errors.Is(err, os.ErrClosed) {
		o.t.Fatal(err)
	}
}

// Kill ends it by SIGKILL, as a crash does, and waits until it is gone.
func (o *Outside) Kill() {
	_ = o.cmd.Process.Kill() // it may be over
	<-o.gone
	o.tty.Close()
}

// Gone is closed when it has ended.
func (o *Outside) Gone() <-chan struct{} { return o.gone }
