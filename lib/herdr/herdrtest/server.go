package herdrtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sessionhub/lib/herdr"
)

// Server is a running double of herdr.
type Server struct {
	cfg    Config
	socket string

	// mu is the app loop: one request at a time. pane.close holds it until the
	// pane's processes are dead, as in herdr.
	mu       sync.Mutex
	state    *state
	savedAt  time.Time
	ring     ring
	plugins  pluginHost
	notices  notices
	faults   []*Fault
	listener net.Listener
	stopping bool
	run      context.Context // ends with the server's present run
	endRun   context.CancelFunc
	wg       sync.WaitGroup
	terms    []*terminal // all that were ever started
}

// New starts a server. Close ends it.
func New(cfg Config) (*Server, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, socket: cfg.Socket}
	if s.socket == "" {
		s.socket = herdr.SessionSocket(cfg.Session, s.getenv)
	}
	s.plugins.server = s
	if err := s.Up(); err != nil {
		return nil, err
	}
	return s, nil
}

// Socket is the path of the server's socket.
func (s *Server) Socket() string { return s.socket }

// Home is the home directory of what the server runs.
func (s *Server) Home() string { return s.cfg.Home }

// Client returns a client of this server.
func (s *Server) Client() *herdr.Client { return &herdr.Client{Socket: s.socket} }

// Env is the environment of the server, which hooks and panes get, too.
func (s *Server) Env() []string { return append([]string(nil), s.cfg.Env...) }

func (s *Server) getenv(name string) string { return lookup(s.cfg.Env, name) }

func (s *Server) configDir() string {
	return filepath.Dir(herdr.SessionSocket("", s.getenv))
}

// Up starts the server's process life: first of all, or after Down.
func (s *Server) Up() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return errors.New("herdr server is already running")
	}
	ln, err := listen(s.socket)
	if err != nil {
		return err
	}
	s.listener, s.stopping = ln, false
	s.run, s.endRun = context.WithCancel(context.Background())
	s.ring.reset()
	s.plugins.reset()
	s.notices = notices{}
	s.state = newState(s)
	s.restore()
	s.wg.Add(2)
	go s.accept(ln)
	go s.watchPanes(s.run)
	s.after(s.cfg.Timings.Startup, s.plugins.runStartups)
	return nil
}

func listen(socket string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return nil, fmt.Errorf("herdrtest: %w", err)
	}
	if conn, err := net.Dial("unix", socket); err == nil {
		conn.Close()
		return nil, errors.New("herdr server is already running")
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("herdrtest: %w", err)
	}
	ln, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("herdrtest: %w", err)
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	return ln, os.Chmod(socket, 0o600)
}

// after calls f under the lock, unless this run of the server ends before.
func (s *Server) after(d time.Duration, f func()) {
	run := s.run
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		select {
		case <-run.Done():
			return
		case <-time.After(d):
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if run.Err() == nil {
			f()
		}
	}()
}

// End is how a server's process ends.
type End int

const (
	// Stopped: server.stop or SIGTERM. State is saved, panes are ended, the
	// socket file is removed.
	Stopped End = iota
	// Killed: SIGKILL. State is as last saved, the socket file stays, programs
	// that ignore SIGHUP live on.
	Killed
)

// Down ends the server's present run.
func (s *Server) Down(how End) {
	s.mu.Lock()
	if s.listener == nil {
		s.mu.Unlock()
		return
	}
	s.listener.Close()
	s.listener = nil
	s.endRun()
	if how == Stopped {
		s.save()
		os.Remove(s.socket)
	}
	s.plugins.dropOutputs()
	var ending sync.WaitGroup
	for _, p := range s.state.allPanes() {
		ending.Go(func() { s.endPane(p, how) })
	}
	ending.Wait()
	s.mu.Unlock()
	s.wg.Wait()
}

// Restart ends the server and starts it again: ids stay, terminal ids are new.
func (s *Server) Restart(how End) error {
	s.Down(how)
	return s.Up()
}

// Close ends the server for good, and every process it started in panes and as
// hooks: a herdr would leave running hooks alone.
func (s *Server) Close() {
	s.Down(Stopped)
	s.plugins.killAll()
	for _, t := range s.terms {
		select {
		case <-t.done:
		default:
			t.kill(0)
		}
	}
}

// Wait blocks until the server's run ends, as by server.stop.
func (s *Server) Wait() {
	s.mu.Lock()
	run := s.run
	s.mu.Unlock()
	<-run.Done()
	s.wg.Wait()
}

func (s *Server) endPane(p *pane, how End) {
	p.gone = true
	if p.term == nil {
		return
	}
	if how == Stopped {
		p.term.kill(s.cfg.Timings.Kill)
	}
	p.term.hangUp()
}

// stop is the method server.stop.
func (s *Server) stop() {
	s.stopping = true
	go func() {
		time.Sleep(s.cfg.Timings.Stop)
		s.Down(Stopped)
	}()
}

// homeLabel is how herdr names a folder.
func (s *Server) homeLabel(dir string) string {
	if dir == s.cfg.Home {
		return "~"
	}
	return strings.TrimSpace(filepath.Base(dir))
}
