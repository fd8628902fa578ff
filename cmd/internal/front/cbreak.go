//go:build linux || darwin

package front

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Cbreak lets single keys of a terminal be read as they are pressed, without
// showing them. Unlike raw mode it leaves output and Ctrl-C as they are. restore
// takes it back.
func Cbreak(tty *os.File) (restore func(), err error) {
	fd := int(tty.Fd())
	old, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	now := *old
	now.Lflag &^= unix.ICANON | unix.ECHO
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setTermios, &now); err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	return func() { unix.IoctlSetTermios(fd, setTermios, old) }, nil // the terminal may be gone
}
