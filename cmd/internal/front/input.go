package front

import (
	"context"
	"errors"
	"io"
)

// errInterrupted is what reading Input ends with when its context does.
var errInterrupted = errors.New("interrupted")

// Input is standard input for a verb that reads all of it: reading ends with the
// context, as with Ctrl-C at a terminal where nothing is typed. A read of a
// terminal or a pipe does not end by itself then.
func (c *Call) Input(ctx context.Context) io.Reader { return &input{ctx: ctx, from: c.Stdin} }

type input struct {
	ctx  context.Context
	from io.Reader
	buf  []byte
}

// maxRead bounds one read in bytes.
const maxRead = 64 << 10

func (i *input) Read(p []byte) (int, error) {
	if i.ctx.Err() != nil {
		return 0, errInterrupted
	}
	if i.buf == nil {
		i.buf = make([]byte, maxRead)
	}
	type got struct {
		n   int
		err error
	}
	read := make(chan got, 1)
	buf := i.buf[:min(len(p), maxRead)]
	go func() {
		n, err := i.from.Read(buf)
		read <- got{n, err}
	}()
	select {
	case g := <-read:
		return copy(p, buf[:g.n]), g.err
	case <-i.ctx.Done(): // the read goes on into what nobody looks at any more
		return 0, errInterrupted
	}
}
