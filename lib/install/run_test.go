package install

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// part is a target that fails when it is told to.
type part struct {
	name string
	fail error
	log  *[]string
}

func (p part) Name() string              { return p.name }
func (p part) Look(context.Context) Part { return Part{Part: p.name} }
func (p part) Install(_ context.Context, r *Run) error {
	*p.log = append(*p.log, "install "+p.name)
	return p.fail
}
func (p part) Remove(_ context.Context, r *Run) error {
	*p.log = append(*p.log, "remove "+p.name)
	return p.fail
}

func TestOneThatFailsKeepsNoOtherFromBeingDone(t *testing.T) {
	var log []string
	bad := errors.New("bad luck")
	var told []Step
	i := &Installer{Targets: []Target{part{"a", bad, &log}, part{"b", nil, &log}, part{"c", bad, &log}}, Report: func(s Step) { told = append(told, s) }}
	err := i.Install(t.Context())
	var left *Unfinished
	if !errors.As(err, &left) || !errors.Is(err, bad) || !slices.Equal(left.Targets(), []string{"a", "c"}) || err.Error() != "a: bad luck; c: bad luck" {
		t.Errorf("%v", err)
	}
	if err := i.Remove(t.Context()); !errors.As(err, &left) || !slices.Equal(left.Targets(), []string{"c", "a"}) {
		t.Errorf("%v", err)
	}
	if got := strings.Join(log, ", "); got != "install a, install b, install c, remove c, remove b, remove a" {
		t.Error(got)
	}
	if len(told) != 4 || told[0].OK || told[0].Outcome != Failed || told[0].Target != "a" || told[0].Detail != "bad luck" {
		t.Errorf("%+v", told)
	}
	i.Targets = i.Targets[1:2]
	if err := i.Install(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAsk(t *testing.T) {
	out, err := Ask(t.Context(), Command{Argv: []string{"/bin/sh", "-c", `echo "$A $PWD"; printf 'no\033[31m way\n\n' >&2; exit 3`}, Dir: "/", Env: []string{"A=b"}})
	if err != nil || out.Code != 3 || string(out.Stdout) != "b /\n" || out.Line() != "no way" {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := Ask(t.Context(), Command{Argv: []string{"/bin/sh", "-c", "exit 1"}}); err != nil || out.Line() != "exit 1" {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := Ask(t.Context(), Command{Argv: []string{"/no/such program"}}); err == nil || !strings.HasPrefix(err.Error(), "'/no/such program': ") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Ask(ctx, Command{Argv: []string{"/bin/sh", "-c", "sleep 60"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// fakeWatch is a watcher that says what it is told, one state after the other.
type fakeWatch struct {
	states []Watching
	stop   error
}

func (f *fakeWatch) Now() (Watching, error) {
	s := f.states[0]
	if len(f.states) > 1 {
		f.states = f.states[1:]
	}
	return s, nil
}

func (f *fakeWatch) Stop(context.Context) (bool, error) { return f.stop == nil, f.stop }

func newWatcher(t *testing.T, states ...Watching) *Watcher {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "shwatch"), "#!/bin/sh\necho shwatch 2.0.0 '(linux/amd64)'\n", 0o755)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "shwatch"), old, old); err != nil {
		t.Fatal(err)
	}
	return &Watcher{Tools: Tools(dir), Watch: &fakeWatch{states: states}, Socket: filepath.Join(dir, "none.sock")}
}

// An upgrade ends what runs of another version, and proves what came instead.
func TestA59HandOver(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name  string
		runs  Watching
		force bool
		want  []Outcome
	}{
		{"none runs", Watching{}, false, []Outcome{Noted}},
		{"the installed one", Watching{Running: true, PID: 7, Version: "2.0.0", Since: now}, false, []Outcome{Unchanged}},
		{"the installed one, after a new link", Watching{Running: true, PID: 7, Version: "2.0.0", Since: now}, true, []Outcome{Changed, Noted}},
		{"another version", Watching{Running: true, PID: 7, Version: "1.0.0", Since: now}, false, []Outcome{Changed, Noted}},
		{"older than the program", Watching{Running: true, PID: 7, Version: "2.0.0", Since: now.Add(-2 * time.Hour)}, false, []Outcome{Changed, Noted}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, s := recorder()
			if err := newWatcher(t, c.runs).HandOver(t.Context(), r, c.force, true); err != nil || !slices.Equal(s.outcomes(), c.want) {
				t.Errorf("%v\n%s", err, s.all())
			}
		})
	}
	w := newWatcher(t, Watching{Running: true, PID: 7, Version: "1.0.0"})
	w.Watch.(*fakeWatch).stop = errors.New("watcher 7 does not end")
	r, _ := recorder()
	if err := w.HandOver(t.Context(), r, false, true); err == nil || !strings.Contains(err.Error(), "watcher 7 does not end: end it by hand") {
		t.Errorf("%v", err)
	}
}

// A label of the old one, of process 0 or of another version is no proof.
func TestA59WhatTookOver(t *testing.T) {
	old := Watching{Running: true, PID: 7, Version: "2.0.0"}
	good := Watching{Running: true, PID: 8, Version: "2.0.0"}
	w := newWatcher(t, Watching{}, old, Watching{Running: true, Version: "2.0.0"}, Watching{Running: true, PID: 8, Version: "1.0.0"}, good)
	r, s := recorder()
	if err := w.start(t.Context(), r, "2.0.0", 7); err != nil || len(w.Watch.(*fakeWatch).states) != 1 || !strings.Contains(s.all(), "process 8 of version 2.0.0 runs") {
		t.Errorf("%v\n%s", err, s.all())
	}
	ctx, cancel := context.WithCancel(t.Context())
	w = newWatcher(t, old)
	w.Watch = cancelling{w.Watch, cancel}
	if err := w.start(ctx, r, "2.0.0", 7); err == nil || !strings.Contains(err.Error(), "no watcher of version 2.0.0 took over") {
		t.Errorf("%v", err)
	}
	for text, want := range map[string]string{"#!/bin/sh\necho other 1\n": "its answer is not shwatch's", "#!/bin/sh\nexit 1\n": "exit 1"} {
		w := newWatcher(t, Watching{})
		write(t, w.Tools.Path("shwatch"), text, 0o755)
		if err := w.HandOver(t.Context(), r, false, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}

// cancelling ends the wait when it is asked, in place of a clock.
type cancelling struct {
	Watch
	cancel func()
}

func (c cancelling) Now() (Watching, error) {
	c.cancel()
	return c.Watch.Now()
}
