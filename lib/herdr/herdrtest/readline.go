package herdrtest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

var errLineTooLong = errors.New("line too long")

// readLine reads up to the first newline and leaves the newline, and what comes
// after it, in the socket. Bytes that stay there make the kernel reset the
// connection on close, as with herdr, which reads byte by byte.
func readLine(conn *net.UnixConn, raw syscall.RawConn, limit int) ([]byte, error) {
	var line []byte
	buf := make([]byte, 64<<10)
	for {
		var n int
		var perr error
		err := raw.Read(func(fd uintptr) bool {
			n, _, perr = unix.Recvfrom(int(fd), buf, unix.MSG_PEEK)
			return !errors.Is(perr, unix.EAGAIN)
		})
		if err != nil {
			return nil, err
		}
		if perr != nil {
			return nil, perr
		}
		if n <= 0 {
			return nil, io.EOF
		}
		take, whole := n, false
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			take, whole = i, true
		}
		if len(line)+take+1 > limit {
			return nil, errLineTooLong
		}
		if _, err := io.ReadFull(conn, buf[:take]); err != nil {
			return nil, err
		}
		line = append(line, buf[:take]...)
		if whole {
			return line, nil
		}
	}
}
