package herdrtest

import (
	"bytes"
	"context"
	"net"
	"slices"
	"time"
	"unicode/utf8"
)

const (
	firstLineLimit = 1<<20 + 1 // bytes with the newline that still pass
	firstLineTime  = 5 * time.Second
	writeTime      = 5 * time.Second
	codeHungUp     = "hung up" // of a wait whose client has gone: no answer
)

func (s *Server) accept(ln net.Listener) {
	defer s.wg.Done()
	run := s.run
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		s.wg.Add(1)
		go func() {
			defer s.wg.Done()
			c := &exchange{server: s, conn: conn.(*net.UnixConn), run: run}
			c.serve()
		}()
	}
}

// exchange is one connection: one request, one answer.
type exchange struct {
	server *Server
	conn   *net.UnixConn
	run    context.Context
	req    wireRequest
	hung   chan struct{}
}

func (c *exchange) serve() {
	defer c.conn.Close()
	stop := make(chan struct{})
	defer close(stop)
	go func() { // a server that ends drops its connections
		select {
		case <-c.run.Done():
			c.conn.Close()
		case <-stop:
		}
	}()
	line, good := c.firstLine()
	if !good {
		return
	}
	req, perr := parseRequest(line)
	c.req = req
	fault := c.server.takeFault(req.method)
	if fault == nil || fault.Kind != ResetAfterAnswer {
		c.conn.Read(make([]byte, 1)) // the newline
	}
	if fault != nil && fault.before(c) {
		return
	}
	if perr != nil {
		c.answer(nil, perr, fault)
		return
	}
	h, known := methods()[req.method]
	if !known || slices.Contains(c.server.cfg.Lacks, req.method) {
		c.answer(nil, c.server.unknownMethod(req.method), fault)
		return
	}
	if h.stream != nil {
		h.stream(c)
		return
	}
	result, err := c.server.handle(h, c)
	c.answer(result, err, fault)
}

func (s *Server) handle(h handler, c *exchange) (obj, *apiError) {
	if h.wait != nil {
		return h.wait(s, c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping && c.req.method != "ping" {
		return nil, fail("server_unavailable", "server is shutting down")
	}
	return h.run(s, c)
}

func (s *Server) unknownMethod(name string) *apiError {
	if s.cfg.Dialect.KeepsErrorIDs {
		return fail("unknown_method", "unknown method %s", name)
	}
	return malformed("unknown variant `%s`, expected one of `ping`, `server.stop`, …", name)
}

// firstLine reads the request as herdr does: one line in time, valid UTF-8, not
// blank, not too long; otherwise the connection ends without an answer. It reads
// not a byte more, so that the client sees a reset if it sent more.
func (c *exchange) firstLine() ([]byte, bool) {
	c.conn.SetReadDeadline(time.Now().Add(firstLineTime))
	defer c.conn.SetReadDeadline(time.Time{})
	raw, err := c.conn.SyscallConn()
	if err != nil {
		return nil, false
	}
	line, err := readLine(c.conn, raw, firstLineLimit)
	if err != nil || len(bytes.TrimSpace(line)) == 0 || !utf8.Valid(line) {
		return nil, false
	}
	return line, true
}

func (c *exchange) answer(result obj, err *apiError, fault *Fault) {
	if err != nil && err.code == codeHungUp {
		return
	}
	id := c.req.id
	if err != nil && err.code == "invalid_request" && !c.server.cfg.Dialect.KeepsErrorIDs {
		id = ""
	}
	line := answerLine(id, result, err)
	if fault != nil {
		line = fault.change(c, line)
	}
	if line == nil {
		return
	}
	if f := c.server.cfg.OnAnswer; f != nil {
		f(c.req.method, bytes.TrimSpace(line))
	}
	c.write(line)
}

// write gives each piece its own time, so that a long answer may take longer
// than a reader that does not read.
func (c *exchange) write(line []byte) error {
	for len(line) > 0 {
		piece := line[:min(len(line), 256<<10)]
		c.conn.SetWriteDeadline(time.Now().Add(writeTime))
		n, err := c.conn.Write(piece)
		if err != nil {
			return err
		}
		line = line[n:]
	}
	return nil
}

// hungUp returns a channel that is closed when the client says or does anything
// more on this connection: herdr ends waits and subscriptions then.
func (c *exchange) hungUp() <-chan struct{} {
	if c.hung != nil {
		return c.hung
	}
	c.hung = make(chan struct{})
	go func() {
		defer close(c.hung)
		c.conn.Read(make([]byte, 1))
	}()
	return c.hung
}
