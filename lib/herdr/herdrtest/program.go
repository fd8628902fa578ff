package herdrtest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sessionhub/lib/herdr"
)

// Program is a real herdr that the variable HERDR names, headless, in a home of
// its own, beside the double with the same methods.
type Program struct {
	Env []string // of the server, and so of its panes

	t    testing.TB
	path string
	home string
	cmd  *exec.Cmd
	out  bytes.Buffer
}

// programWait bounds the start of a server.
const programWait = 20 * time.Second

// NewProgram makes a home for a real herdr, below root, whose path must be
// short. Start it when its home is ready; it ends with the test.
func NewProgram(t testing.TB, root string, env ...string) *Program {
	t.Helper()
	p := &Program{t: t, path: os.Getenv("HERDR"), home: filepath.Join(root, "home")}
	if p.path == "" {
		t.Fatal("HERDR names no herdr: use make test-herdr HERDR=/path/to/herdr")
	}
	conf := filepath.Join(p.home, ".config", "herdr")
	if err := os.MkdirAll(conf, 0o755); err != nil {
		t.Fatal(err)
	}
	const toml = "onboarding = false\n[update]\nversion_check = false\nmanifest_check = false\n"
	if err := os.WriteFile(filepath.Join(conf, "config.toml"), []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Env = append([]string{"HOME=" + p.home, "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/bash", "PATH=" + os.Getenv("PATH")}, env...)
	return p
}

// Home is the home directory of its panes.
func (p *Program) Home() string { return p.home }

// Client is a client of it.
func (p *Program) Client() *herdr.Client {
	return &herdr.Client{Socket: filepath.Join(p.home, ".config", "herdr", "herdr.sock")}
}

// Run runs herdr's command line in its home.
func (p *Program) Run(args ...string) {
	p.t.Helper()
	cmd := exec.Command(p.path, args...)
	cmd.Env = p.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("herdr %v: %v\n%s", args, err, out)
	}
}

// Start starts the server and waits until it answers.
func (p *Program) Start() {
	p.t.Helper()
	p.cmd = exec.Command(p.path, "server")
	p.cmd.Env, p.cmd.Dir, p.cmd.Stderr = p.Env, p.home, &p.out
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(p.Stop)
	for end := time.Now().Add(programWait); ; time.Sleep(10 * time.Millisecond) {
		if _, err := p.Client().Ping(p.t.Context()); err == nil {
			return
		} else if time.Now().After(end) {
			p.t.Fatalf("%v\n%s", err, p.out.Bytes())
		}
	}
}

// Stop ends the server; a second call does nothing.
func (p *Program) Stop() {
	if p.cmd == nil {
		return
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Error(err)
	}
	_ = p.cmd.Wait() // how it ends is its own affair
	p.cmd = nil
}
