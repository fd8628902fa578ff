package herdrtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sessionhub/lib/herdr"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	s, c := start(t, WithPath(bin))
	Conformance(t, Target{
		Name: "double 0.8.2", Client: c, Home: s.Home(), Bin: bin, Version: "0.8.2", Restart: s.Restart, Settle: 100 * time.Millisecond,
	})
}

func TestConformance093(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	s, c := start(t, WithPath(bin), WithDialect(Herdr093()))
	Conformance(t, Target{
		Name: "double 0.9.3", Client: c, Home: s.Home(), Bin: bin, Version: "0.9.3", Restart: s.Restart, Settle: 100 * time.Millisecond,
	})
}

// TestConformanceReal runs the suite against the herdr that the environment
// variable HERDR names. Where there is none, it says so.
func TestConformanceReal(t *testing.T) {
	program := os.Getenv("HERDR")
	if program == "" {
		t.Log("HERDR names no real herdr: the suite was run against the double only")
		return
	}
	root, err := os.MkdirTemp("", "herdr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	r := &realHerdr{t: t, program: program, home: filepath.Join(root, "home"), bin: filepath.Join(root, "bin")}
	r.prepare()
	r.start()
	t.Cleanup(func() { r.end(Stopped) })
	Conformance(t, Target{
		Name: "real herdr", Client: &herdr.Client{Socket: r.socket()}, Home: r.home, Bin: r.bin,
		Version: r.version(), Restart: r.restart, Settle: time.Second,
	})
}

// realHerdr is a real server with a home directory of its own.
type realHerdr struct {
	t         *testing.T
	program   string
	home, bin string
	cmd       *exec.Cmd
}

func (r *realHerdr) socket() string { return filepath.Join(r.home, ".config/herdr/herdr.sock") }

func (r *realHerdr) env() []string {
	return []string{
		"HOME=" + r.home, "XDG_CONFIG_HOME=" + filepath.Join(r.home, ".config"), "XDG_STATE_HOME=" + filepath.Join(r.home, ".local/state"),
		"PATH=" + r.bin + ":/usr/local/bin:/usr/bin:/bin", "SHELL=/bin/bash", "TERM=xterm-256color", "LANG=C.UTF-8",
	}
}

func (r *realHerdr) prepare() {
	config := "onboarding = false\n[update]\nversion_check = false\nmanifest_check = false\n"
	for _, dir := range []string{r.home, r.bin, filepath.Join(r.home, ".config/herdr"), filepath.Join(r.home, ".local/state")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(r.home, ".config/herdr/config.toml"), []byte(config), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *realHerdr) version() string {
	out, err := exec.Command(r.program, "--version").Output()
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "herdr ")
}

func (r *realHerdr) start() error {
	cmd := exec.Command(r.program, "server")
	cmd.Env, cmd.Dir = r.env(), r.home
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.cmd = cmd
	c := &herdr.Client{Socket: r.socket()}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if _, err := c.Snapshot(r.t.Context()); err == nil {
			return nil
		}
		if time.Now().After(end) {
			return errors.New("herdr did not start")
		}
	}
}

func (r *realHerdr) end(how End) {
	if r.cmd == nil {
		return
	}
	sig := syscall.SIGTERM
	if how == Killed {
		sig = syscall.SIGKILL
	}
	r.cmd.Process.Signal(sig)
	r.cmd.Wait()
	r.cmd = nil
}

func (r *realHerdr) restart(how End) error {
	r.end(how)
	return r.start()
}
