package herdrtest

import (
	"io"
	"net"
)

func netDial(socket string) (net.Conn, error) { return net.Dial("unix", socket) }

func readAll(r io.Reader) (string, error) {
	b, err := io.ReadAll(r)
	return string(b), err
}
