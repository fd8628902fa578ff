//go:build realherdr

package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"sessionhub/cmd/internal/world"
)

// real is a herdr that was built from its own source, headless.
type real struct {
	path string
	w    *world.World
	env  []string
	cmd  *exec.Cmd
	out  bytes.Buffer
}

// begin links the plugin and starts the server, which runs the startup hook.
func (r *real) begin(t *testing.T) {
	t.Helper()
	w := r.w
	if r.path = os.Getenv("HERDR"); r.path == "" {
		t.Fatal("HERDR names no herdr: use make test-herdr HERDR=/path/to/herdr")
	}
	dir := filepath.Join(w.Home, ".config", "herdr")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	conf := "onboarding = false\n[update]\nversion_check = false\nmanifest_check = false\n"
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	plugin, err := w.Plugin()
	if err != nil {
		t.Fatal(err)
	}
	link := exec.Command(r.path, "plugin", "link", plugin)
	link.Env = r.env
	if out, err := link.CombinedOutput(); err != nil {
		t.Fatalf("plugin link: %v\n%s", err, out)
	}
	r.start(t)
	t.Cleanup(func() { r.stop(t) })
}

func (r *real) start(t *testing.T) {
	t.Helper()
	r.cmd = exec.Command(r.path, "server")
	r.cmd.Env, r.cmd.Dir = r.env, r.w.Home
	r.cmd.Stderr = &r.out
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := world.Until("herdr answers", func() (bool, error) {
		_, err := r.w.Herdr().Ping(t.Context())
		return err == nil, nil
	}); err != nil {
		t.Fatalf("%v\n%s", err, r.out.Bytes())
	}
}

func (r *real) stop(t *testing.T) {
	if r.cmd == nil {
		return
	}
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	_ = r.cmd.Wait() // how it ends is its own affair
	r.cmd = nil
}

func (r *real) Restart(t *testing.T) {
	r.stop(t)
	r.start(t)
}

func TestRealHerdrMainJob(t *testing.T) {
	w := newWorld(t)
	r := &real{w: w, env: w.Env()}
	r.begin(t)
	(&flow{t: t, w: w, h: w.Herdr()}).mainJob(r)
}
