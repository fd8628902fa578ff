package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// newRevive is a Revive at home, with tools, Claude Code and a systemctl that
// agrees to everything.
func newRevive(t *testing.T, env map[string]string) *Revive {
	t.Helper()
	root := t.TempDir()
	home := filepath.Join(root, "home")
	for _, dir := range []string{"home", "bin", "claude", "manager"} {
		mkdir(t, filepath.Join(root, dir))
	}
	write(t, filepath.Join(root, "bin", "shrevive"), "#!/bin/sh\necho nothing to resume\n", 0o755)
	write(t, filepath.Join(root, "claude", "claude"), "#!/bin/sh\necho 1\n", 0o755)
	for _, name := range []string{"systemctl", "loginctl"} {
		write(t, filepath.Join(root, "manager", name), "#!/bin/sh\necho yes\n", 0o755)
	}
	getenv := func(key string) string {
		if v, ok := env[key]; ok {
			return strings.ReplaceAll(v, "ROOT", root)
		}
		return map[string]string{"HOME": home, "PATH": filepath.Join(root, "claude") + ":" + filepath.Join(root, "manager")}[key]
	}
	return &Revive{
		Tools: Tools(filepath.Join(root, "bin")), Home: filepath.Join(home, ".claude"), Data: filepath.Join(home, ".local", "share", "sessionhub"), Getenv: getenv,
		Manager: func(ctx context.Context, k Kind) (Manager, string) { return FindManager(ctx, k, getenv) },
	}
}

func (v *Revive) root() string { return filepath.Dir(string(v.Tools)) }

// What the timer runs is named by absolute paths, with links as they are; of the
// caller's environment only what says where things are is kept.
func TestReviveJob(t *testing.T) {
	path := "PATH=ROOT/bin:ROOT/claude:/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"
	argv := []string{"ROOT/bin/shrevive", "--claude-bin", "ROOT/claude/claude"}
	for _, c := range []struct {
		name string
		env  map[string]string
		home string
		argv []string
		want []string
	}{
		{name: "nothing special", env: map[string]string{"WATCHDOG_MAX_PER_RUN": "1", "SESSIONHUB_MAX_PER_DAY": "2", "CLAUDECODE": "1"}, want: []string{path}},
		{name: "the defaults, said aloud", env: map[string]string{
			"SESSIONHUB_STATE_DIR": "ROOT/home/.local/state/sessionhub", "XDG_CONFIG_HOME": "ROOT/home/.config", "XDG_STATE_HOME": "ROOT/home/.local/state",
		}, want: []string{path}},
		{name: "XDG", env: map[string]string{"XDG_STATE_HOME": "ROOT/s", "XDG_CONFIG_HOME": "ROOT/c"},
			want: []string{path, "SESSIONHUB_STATE_DIR=ROOT/s/sessionhub", "SESSIONHUB_CONFIG=ROOT/c/sessionhub/config.toml"}},
		{name: "ours", env: map[string]string{"SESSIONHUB_STATE_DIR": "ROOT/s", "SESSIONHUB_CONFIG": "ROOT/c.toml", "XDG_STATE_HOME": "ROOT/x"},
			want: []string{path, "SESSIONHUB_STATE_DIR=ROOT/s", "SESSIONHUB_CONFIG=ROOT/c.toml"}},
		{name: "another Claude home", home: "ROOT/other/", argv: append(slices.Clone(argv), "--claude-home", "ROOT/other"), want: []string{path}},
		{name: "Node", env: map[string]string{"PATH": "relative:ROOT/claude:ROOT/node"}, want: []string{"PATH=ROOT/bin:ROOT/claude:ROOT/node:/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newRevive(t, c.env)
			here := func(list []string) (out []string) {
				for _, s := range list {
					out = append(out, strings.ReplaceAll(s, "ROOT", v.root()))
				}
				return out
			}
			mkdir(t, filepath.Join(v.root(), "node"))
			write(t, filepath.Join(v.root(), "node", "node"), "", 0o755)
			if c.home != "" {
				v.Home = strings.ReplaceAll(c.home, "ROOT", v.root())
			}
			if c.argv == nil {
				c.argv = argv
			}
			j, err := v.job()
			if err != nil || !slices.Equal(j.Argv, here(c.argv)) || !slices.Equal(j.Env, here(c.want)) {
				t.Errorf("%v\n%q\n%q", err, j.Argv, j.Env)
			}
		})
	}
}

// A30: Claude Code is named by the link that lasts, and one that does not last is
// told.
func TestA30ReviveNamesClaudeByItsLink(t *testing.T) {
	v := newRevive(t, nil)
	link, real := filepath.Join(v.root(), "claude", "claude"), filepath.Join(v.root(), "claude-2.1.332")
	if err := os.Rename(link, real); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if j, err := v.job(); err != nil || j.runs()[1] != link {
		t.Errorf("%v, %q", err, j.runs())
	}
	r, s := recorder()
	r.DryRun, v.Claude = true, real
	if err := v.Install(t.Context(), r); err != nil || !strings.Contains(s.all(), real+" goes away with the next upgrade: name a lasting path with --claude") {
		t.Errorf("%v\n%s", err, s.all())
	}
}

// What is missing, or no file takes, is said before anything is written.
func TestReviveRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(t *testing.T, v *Revive)
		is   error
		want string
	}{
		"no shrevive":  {func(t *testing.T, v *Revive) { v.Tools = Tools(v.root()) }, ErrTools, "shrevive does not exist"},
		"no claude":    {func(t *testing.T, v *Revive) { v.Claude = filepath.Join(v.root(), "none") }, ErrProgram, "--claude: "},
		"a line break": {func(t *testing.T, v *Revive) { v.Home = "/a\nExecStart=/bin/evil" }, nil, "characters that no settings file takes"},
		"a broken ledger": {func(t *testing.T, v *Revive) {
			mkdir(t, v.Data)
			write(t, filepath.Join(v.Data, ledgerName), "{", 0o600)
		}, nil, ledgerName},
	} {
		t.Run(name, func(t *testing.T) {
			v := newRevive(t, nil)
			c.do(t, v)
			r, s := recorder()
			err := v.Install(t.Context(), r)
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\n%s", err, s.all())
			}
			if _, err := os.Stat(unitDir(v.Getenv)); err == nil {
				t.Error("something was written")
			}
		})
	}
}

// A disk that is full leaves nothing half done that the next run would not mend.
func TestReviveOnAFullDisk(t *testing.T) {
	v := newRevive(t, nil)
	for _, full := range []string{ledgerName, "sessionhub-revive.timer", "sessionhub-revive.service"} {
		r, s := recorder()
		r.fault = func(path string) error {
			if filepath.Base(path) == full {
				return &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
			}
			return nil
		}
		if err := v.Install(t.Context(), r); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v\n%s", full, err, s.all())
		}
	}
	r, s := recorder()
	if err := v.Install(t.Context(), r); err != nil || strings.Contains(s.all(), "is not as shinstall wrote it") {
		t.Errorf("%v\n%s", err, s.all())
	}
	if p := v.Look(t.Context()); p.State != Stale || p.Detail != "the last pass failed" { // this systemctl agrees to that, too
		t.Errorf("%+v", p)
	}
	r, _ = recorder()
	if err := v.Remove(t.Context(), r); err != nil {
		t.Error(err)
	}
	if list, err := filepath.Glob(filepath.Join(unitDir(v.Getenv), "*")); err != nil || len(list) > 0 {
		t.Errorf("left: %q", list)
	}
}

// Folders that can't be written are named, and nothing is started.
func TestReviveWithoutRights(t *testing.T) {
	if asNobody(t) {
		return
	}
	v := newRevive(t, nil)
	home := v.Getenv("HOME")
	conf := filepath.Join(home, ".config")
	mkdir(t, conf)
	if err := os.Chmod(conf, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(conf, 0o755)
	r, s := recorder()
	err := v.Install(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "write to "+conf+": permission denied") || strings.Contains(s.all(), "changed") {
		t.Errorf("%v\n%s", err, s.all())
	}
	r, s = recorder()
	r.DryRun = true
	if err := v.Install(t.Context(), r); err != nil || !strings.Contains(s.all(), "OnCalendar") {
		t.Errorf("%v\n%s", err, s.all())
	}
}

// What a timer's file names is looked at as it is now: one that a person changed is
// theirs, and its programs are not known.
func TestReviveLook(t *testing.T) {
	v := newRevive(t, nil)
	systemctl := filepath.Join(v.root(), "manager", "systemctl")
	write(t, systemctl, "#!/bin/sh\n[ \"$2\" != is-failed ]\n", 0o755)
	if p := v.Look(t.Context()); p.State != Missing || p.Do != "shinstall revive" {
		t.Errorf("%+v", p)
	}
	r, s := recorder()
	if err := v.Install(t.Context(), r); err != nil {
		t.Fatalf("%v\n%s", err, s.all())
	}
	p := v.Look(t.Context())
	if f := p.Facts.(ReviveFacts); p.State != Ready || !slices.Equal(f.Runs, []string{v.Tools.Path("shrevive"), filepath.Join(v.root(), "claude", "claude")}) {
		t.Errorf("%+v", p)
	}
	if err := os.Chmod(filepath.Join(v.root(), "claude", "claude"), 0o644); err != nil {
		t.Fatal(err)
	}
	if p := v.Look(t.Context()); p.State != Stale || !strings.HasSuffix(p.Detail, "/claude/claude is not a program") {
		t.Errorf("%+v", p)
	}
	unit := filepath.Join(unitDir(v.Getenv), "sessionhub-revive.service")
	b, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	write(t, unit, string(b)+"# mine\n", 0o644)
	if p := v.Look(t.Context()); p.State != Ready {
		t.Errorf("%+v", p)
	}
	write(t, systemctl, "#!/bin/sh\n[ \"$2\" != is-active ]\n", 0o755)
	if p := v.Look(t.Context()); p.State != Stale || p.Detail != "it is not scheduled as it should be" {
		t.Errorf("%+v", p)
	}
}
