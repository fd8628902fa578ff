package spawn_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/spawn"
)

// A pane that is split off has a shell, and so the person's own start-up files.
// A slow one is waited for; one that asks is named, and nothing is left of it.
func TestAShellThatIsNotReady(t *testing.T) {
	start := func(t *testing.T, rc string) (*place, error) {
		p := newPlace(t, "herdr")
		if err := os.WriteFile(filepath.Join(p.home, ".bashrc"), []byte(rc), 0o600); err != nil {
			t.Fatal(err)
		}
		p.Timing.Start = 4 * time.Second
		first := p.spec("first", "sleep", "300")
		first.Layout = spawn.LayoutSplit
		p.start(first)
		s := p.spec("second", "sleep", "300")
		s.Layout = spawn.LayoutSplit
		_, err := p.Start(t.Context(), s)
		return p, err
	}
	stop := func(p *place, names ...string) {
		for _, name := range names {
			if err := p.Stop(p.t.Context(), "s1", name, true); err != nil {
				p.t.Error(err)
			}
		}
		p.clean()
	}
	t.Run("slow", func(t *testing.T) {
		p, err := start(t, "sleep 1\n")
		if err != nil {
			t.Fatal(err)
		}
		stop(p, "first", "second")
	})
	t.Run("asking", func(t *testing.T) {
		p, err := start(t, "read -n 1000 -p 'Update the shell now? ' answer; read -p 'Really? ' answer; read -p 'Sure? ' answer\n")
		if err == nil || !strings.Contains(err.Error(), "did not start in 4s; its pane shows") || !strings.Contains(err.Error(), "?") {
			t.Errorf("%v", err)
		}
		if err := p.Stop(t.Context(), "s1", "second", true); !errors.Is(err, spawn.ErrUnknown) {
			t.Errorf("the pane of the failed start is still there: %v", err)
		}
		stop(p, "first")
	})
}

// What a crash left behind is swept, and what is being started is not.
func TestSweep(t *testing.T) {
	p := newPlace(t, "tmux")
	dir := filepath.Join(string(p.Dir), "spawn")
	old, fresh := filepath.Join(dir, "launch-old"), filepath.Join(dir, "launch-fresh")
	for _, d := range []string{old, fresh} {
		if err := errors.Join(os.MkdirAll(d, 0o700), os.WriteFile(filepath.Join(d, "launch.json"), []byte("{}"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	p.start(p.spec("a1", "sleep", "300"))
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Error("the old one is still there")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error("the fresh one is gone")
	}
	if err := errors.Join(os.RemoveAll(fresh), p.Stop(t.Context(), "s1", "a1", true)); err != nil {
		t.Error(err)
	}
	p.clean()
}

// A server that dies at its start is told early, with what it said itself.
func TestAServerThatDiesAtItsStart(t *testing.T) {
	p := newPlace(t, "herdr")
	bin := filepath.Join(p.root, "bin")
	script := "#!/bin/sh\ncase \"$*\" in --version) echo herdr 0.8.2;; *server) echo 'the disk is full' >&2; exit 3;; esac\n"
	if err := errors.Join(os.Mkdir(bin, 0o700), os.WriteFile(filepath.Join(bin, "herdr"), []byte(script), 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	began := time.Now()
	_, err := p.Start(t.Context(), p.spec("a1", "sleep", "300"))
	if err == nil || !strings.Contains(err.Error(), "ended at once: the disk is full") {
		t.Error(err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("it took %s to be told", d)
	}
}

// Field report A48: a herdr that lacks what is needed, or is not there, is told
// before anything is tried.
func TestA48TheVersionIsProbed(t *testing.T) {
	p := newPlace(t, "herdr")
	for version, want := range map[string]string{"herdr 0.7.4": "0.8.0", "herdr 0.8.0": "", "herdr 0.9.3": "", "nonsense": "not supported"} {
		bin := t.TempDir()
		if err := os.WriteFile(filepath.Join(bin, "herdr"), []byte("#!/bin/sh\necho "+version+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", bin+":/usr/bin:/bin")
		for _, a := range p.Available(t.Context()) {
			if a.Runtime == "herdr" && (a.Available != (want == "") || !strings.Contains(a.Why, want)) {
				t.Errorf("%s: %+v", version, a)
			}
		}
	}
	t.Setenv("PATH", "/nonexistent")
	if _, err := p.Start(t.Context(), spawn.Spec{Space: "s1", Name: "a1", Cwd: p.work, Command: []string{"/bin/sleep", "300"}}); !errors.Is(err, spawn.ErrRuntime) ||
		!strings.Contains(err.Error(), "herdr is not there") || !strings.Contains(err.Error(), "tmux is not there") {
		t.Errorf("%v", err)
	}
}
