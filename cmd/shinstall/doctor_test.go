package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sessionhub/lib/doctor"
	"sessionhub/lib/hub/store"
	"sessionhub/lib/jsonl"
	"sessionhub/lib/queue"
	"sessionhub/lib/state"
)

// wishes are the checks that a healthy patient has not set up.
var wishes = []string{"service", "revive", "remote-answers", "notifications", "inbox-count"}

// wellExcept says what a finding's state should be when nothing is broken but
// what is named.
func (p *patient) wellExcept(found map[string]doctor.Finding, names ...string) {
	p.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(found)) {
		f := found[name]
		switch {
		case slices.Contains(names, name):
		case f.State == doctor.Broken:
			p.t.Errorf("%s is broken, too: %s", name, f.Why)
		case slices.Contains(wishes, name) && f.State != doctor.NotSetUp && f.State != doctor.Untested:
			p.t.Errorf("%s is %s: %s", name, f.State, f.Why)
		}
		if f.State == doctor.Broken && f.Fix == "" || f.Why == "" {
			p.t.Errorf("%s says too little: %+v", name, f)
		}
	}
}

// aged waits until the session is old enough for the doctor to judge it.
func (p *patient) aged() {
	p.hooked()
	began := time.Now()
	p.until("the session is some seconds old", func() bool { return time.Since(began) > 5500*time.Millisecond })
}

// A healthy machine: everything is fine, but for what is a matter of taste. And
// nothing is left of the examination.
func TestDoctorFindsAHealthyMachineFine(t *testing.T) {
	t.Parallel()
	p := admit(t, admission{})
	p.aged()
	before := p.traces()
	found, code := p.examine()
	if code != 0 {
		t.Errorf("exit status %d", code)
	}
	for name, f := range found {
		want := doctor.Fine
		if slices.Contains(wishes, name) {
			want = doctor.NotSetUp
		}
		if f.State != want {
			t.Errorf("%s is %s: %s", name, f.State, f.Why)
		}
	}
	if len(found) < 25 {
		t.Errorf("only %d checks", len(found))
	}
	p.leftNothing(before)
	for _, f := range []string{"watcher.log", "queue.bad.jsonl"} {
		if b, err := os.ReadFile(filepath.Join(p.state(), f)); err == nil && strings.Contains(string(b), "doctor") {
			t.Errorf("%s: %s", f, b)
		}
	}
}

// traces are what an examination could leave behind: files at home, workspaces in
// herdr, records in the queue, sessions at the hub.
func (p *patient) traces() map[string]string {
	p.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(p.home, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == p.state(), e.Type()&fs.ModeSocket != 0, p.others(path):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil // the state directory is the daemons'
		case e.Type().IsRegular():
			b, err := os.ReadFile(path)
			out[path] = fmt.Sprintf("%x", sha256.Sum256(b))
			return err
		}
		out[path] = e.Type().String()
		return nil
	})
	p.must(err)
	for i, w := range p.workspaces() {
		out["workspace "+strconv.Itoa(i)] = w
	}
	return out
}

// others reports whether a file is Claude Code's or herdr's own, which go on
// meanwhile.
func (p *patient) others(path string) bool {
	for _, own := range []string{".claude/sessions", ".claude/projects", ".local/state/herdr", ".config/herdr/session", ".config/herdr/plugins/"} {
		if strings.HasPrefix(path, p.home+"/"+own) {
			return true
		}
	}
	return false
}

func (p *patient) leftNothing(before map[string]string) {
	p.t.Helper()
	after := p.traces()
	for k := range after {
		if before[k] != after[k] {
			p.t.Errorf("%s was %q and is %q", k, before[k], after[k])
		}
	}
	for k := range before {
		if _, ok := after[k]; !ok {
			p.t.Errorf("%s is gone", k)
		}
	}
	q := &queue.Queue{Dir: state.Dir(p.state())}
	err := q.Lines(func(l jsonl.Line) error {
		if strings.Contains(string(l.Bytes), `"probe"`) {
			p.t.Errorf("in the queue: %s", l.Bytes)
		}
		return nil
	})
	p.must(err)
	sessions, err := p.hub.Store().Sessions(p.t.Context(), store.Filter{All: true}, time.Now())
	p.must(err)
	for _, s := range sessions {
		if s.Session != p.session {
			p.t.Errorf("the hub knows the session %s", s.Session)
		}
	}
}

// The doctor finds what is broken, names it, and blames nothing else; and whatever
// is broken, nothing of the examination stays.
func TestDoctorFindsFaults(t *testing.T) {
	t.Parallel()
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			p := admit(t, f.from)
			if f.do != nil {
				p.hooked()
				f.do(p)
			}
			var before map[string]string
			if !f.left {
				before = p.traces()
			}
			found, code := p.examine()
			want := f.state
			if want == "" {
				want = doctor.Broken
			}
			got := found[f.check]
			if got.State != want || !strings.Contains(got.Why, f.why) || !strings.Contains(got.Fix, f.fix) {
				t.Errorf("%+v, want %s because of %q, to do: %q", got, want, f.why, f.fix)
			}
			if (code == 1) != (want == doctor.Broken) {
				t.Errorf("exit status %d", code)
			}
			p.wellExcept(found, append(f.also, f.check)...)
			if !f.left {
				p.leftNothing(before)
			}
		})
	}
}

// slowHook lets the plugin's hook take so long that a doctor can be met at it.
func (p *patient) slowHook() {
	built, err := wholeTools()
	p.must(err)
	p.script("shq", `[ "$1" = event ] && sleep 3`+"\nexec "+filepath.Join(built, "shq")+` "$@"`)
}

func (p *patient) doctorShows() bool {
	return slices.ContainsFunc(p.workspaces(), func(label string) bool { return strings.HasPrefix(label, "sessionhub doctor ") })
}

// Interrupted at any check, the doctor leaves nothing behind.
func TestDoctorInterrupted(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"Ctrl-C": syscall.SIGINT, "ended": syscall.SIGTERM, "its terminal closed": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := admit(t, admission{})
			p.hooked()
			p.slowHook()
			before := p.traces()
			cmd := p.command("shinstall", "doctor")
			p.must(cmd.Start())
			p.until("the doctor's workspace is there", p.doctorShows)
			p.must(cmd.Process.Signal(sig))
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit status %d", code)
			}
			p.leftNothing(before)
		})
	}
	t.Run("while its probe waits", func(t *testing.T) {
		t.Parallel()
		p := admit(t, admission{})
		p.hooked()
		pid := p.watcherPID()
		p.must(syscall.Kill(pid, syscall.SIGSTOP))
		t.Cleanup(func() { p.must(syscall.Kill(pid, syscall.SIGCONT)) })
		before := p.traces()
		cmd := p.command("shinstall", "doctor")
		p.must(cmd.Start())
		p.until("the probe waits", func() bool {
			b, err := os.ReadFile(filepath.Join(p.state(), "queue.jsonl"))
			return err == nil && strings.Contains(string(b), `"probe"`)
		})
		p.must(cmd.Process.Signal(syscall.SIGINT))
		_ = cmd.Wait()
		p.leftNothing(before)
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		p := admit(t, admission{})
		p.hooked()
		p.slowHook()
		before := p.traces()
		cmd := p.command("shinstall", "doctor")
		p.must(cmd.Start())
		p.until("the doctor's workspace is there", p.doctorShows)
		p.must(cmd.Process.Kill())
		_ = cmd.Wait()
		if !p.doctorShows() {
			t.Error("a killed doctor left nothing: this test tests nothing")
		}
		p.examine() // the next one
		p.leftNothing(before)
	})
}
