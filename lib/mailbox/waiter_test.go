package mailbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sessionhub/lib/claude/entry"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// patience bounds every wait of a test.
const patience = 20 * time.Second

// scene is a Claude Code, a process of its own with an entry in the registry,
// and its mailboxes.
type scene struct {
	t      *testing.T
	dir    state.Dir
	home   string
	claude *exec.Cmd
	now    func() time.Time

	mu   sync.Mutex
	logs []string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, dir: state.Dir(filepath.Join(t.TempDir(), "state")), home: t.TempDir(), now: time.Now}
	s.claude = exec.Command("sleep", "600")
	if err := errors.Join(s.claude.Start(), s.dir.Ensure(), os.Mkdir(filepath.Join(s.home, "sessions"), 0o700)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	s.is("S", entry.Idle)
	return s
}

func (s *scene) kill() {
	_ = s.claude.Process.Kill() // it may be over
	_ = s.claude.Wait()
}

// is writes the registry's entry in place, as Claude Code does.
func (s *scene) is(session, status string) {
	s.t.Helper()
	path := entry.Path(s.home, s.claude.Process.Pid)
	raw, err := json.Marshal(entry.Entry{PID: s.claude.Process.Pid, Session: session, Status: status, Version: "2.1.332"})
	if err == nil {
		err = os.WriteFile(path, raw, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) box(session string) Box { return Box{Dir: s.dir, Session: session} }

func newID() string { return queue.NewStamp(time.Now()).ID }

// put leaves a message and returns its id.
func (s *scene) put(session, text string) string {
	s.t.Helper()
	l := Letter{ID: newID(), Text: text, Sent: record.At(s.now()), From: "the hub hub.example", Until: record.At(s.now().Add(time.Hour))}
	if err := s.box(session).Put(l); err != nil {
		s.t.Fatal(err)
	}
	return l.ID
}

func (s *scene) log(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs = append(s.logs, err.Error())
}

// outcome is how a waiter ended.
type outcome struct {
	text  string
	given bool
	err   error
}

// running is a waiter that waits.
type running struct {
	t      *testing.T
	done   chan outcome
	cancel func()
}

func (s *scene) waiter(text *strings.Builder) *Waiter {
	return &Waiter{Dir: s.dir, Home: s.home, Claude: s.claude.Process.Pid, Now: s.now, Stderr: text, Log: s.log, Timing: DefaultTiming()}
}

// wait starts a waiter and returns when it holds the session's lock.
func (s *scene) wait(session string) *running {
	s.t.Helper()
	r := s.begin(session, func(*Waiter) {})
	s.until("it waits", func() bool {
		b, err := os.ReadFile(s.box(session).lock())
		held, herr := s.box(session).Waits()
		return err == nil && herr == nil && held && len(b) > 0
	})
	return r
}

func (s *scene) begin(session string, change func(*Waiter)) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: s.t, done: make(chan outcome, 1), cancel: cancel}
	var text strings.Builder
	w := s.waiter(&text)
	change(w)
	over := make(chan struct{})
	go func() {
		defer close(over)
		given, err := w.Run(ctx, session)
		r.done <- outcome{text.String(), given, err}
	}()
	s.t.Cleanup(func() {
		cancel()
		<-over
	})
	return r
}

// ends waits for the end of a waiter.
func (r *running) ends() outcome {
	r.t.Helper()
	select {
	case o := <-r.done:
		return o
	case <-time.After(patience):
		r.t.Fatal("the waiter did not end")
		return outcome{}
	}
}

// stays reports that a waiter did not end in a while that others need.
func (r *running) stays(while time.Duration) {
	r.t.Helper()
	select {
	case o := <-r.done:
		r.t.Fatalf("it ended: %+v", o)
	case <-time.After(while):
	}
}

func (s *scene) until(what string, cond func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if cond() {
			return
		}
	}
	s.t.Fatalf("waited until %s", what)
}

// given checks how a message ended that was printed.
func (s *scene) given(o outcome, session, id, text string) {
	s.t.Helper()
	if !o.given || o.err != nil || !strings.Contains(o.text, Begins(id)+"\n"+text+"\n"+Ends(id)) || strings.Count(o.text, Begins(id)) != 1 {
		s.t.Errorf("%+v; want %q once", o, text)
	}
	m, ok, err := s.box(session).Given(id)
	if !ok || err != nil || m.Claude != s.claude.Process.Pid || !m.Alive() {
		s.t.Errorf("mark %+v, %v, %v", m, ok, err)
	}
	if ok, err := s.box(session).Withdraw(id); ok || err != nil {
		s.t.Errorf("it was taken back after it was given: %v, %v", ok, err)
	}
	b, err := os.ReadFile(s.box(session).mark(id))
	if err != nil || strings.Contains(string(b), text) {
		s.t.Errorf("the mark holds the text: %s, %v", b, err)
	}
}

func TestAMessageIsGiven(t *testing.T) {
	s := newScene(t)
	r := s.wait("S")
	began := time.Now()
	id := s.put("S", "two\nlines: !ls, /clear & <b>é</b>")
	o := r.ends()
	t.Logf("given %s after it was left", time.Since(began).Round(time.Millisecond))
	s.given(o, "S", id, "two\nlines: !ls, /clear & <b>é</b>")
	for _, want := range []string{"the owner of this session", "through the hub hub.example", " UTC"} {
		if !strings.Contains(o.text, want) {
			t.Errorf("it does not say %q:\n%s", want, o.text)
		}
	}
	if held, err := s.box("S").Waits(); held || err != nil {
		t.Errorf("its lock is still held: %v, %v", held, err)
	}
	if left, err := filepath.Glob(filepath.Join(string(s.dir), seats, "*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestSeveralMessagesKeepTheirOrder(t *testing.T) {
	s := newScene(t)
	s.is("S", "busy")
	r := s.wait("S")
	first, second := s.put("S", "one"), s.put("S", "two")
	r.stays(100 * time.Millisecond)
	s.is("S", entry.Idle)
	o := r.ends()
	s.given(o, "S", first, "one")
	s.given(o, "S", second, "two")
	if strings.Index(o.text, Begins(first)) > strings.Index(o.text, Begins(second)) {
		t.Error("their order is another")
	}
}

// What Claude would keep in its memory stays in its file, and can be taken back.
func TestNothingIsGivenWhileClaudeWorks(t *testing.T) {
	for _, status := range []string{"busy", entry.Waiting, "", "anything"} {
		t.Run(status, func(t *testing.T) {
			s := newScene(t)
			r := s.wait("S")
			s.is("S", status)
			id := s.put("S", "later")
			r.stays(100 * time.Millisecond)
			if !s.box("S").Lies(id) {
				t.Fatal("it was taken")
			}
			if ok, err := s.box("S").Withdraw(id); !ok || err != nil {
				t.Fatal(ok, err)
			}
			s.is("S", entry.Idle)
			r.stays(100 * time.Millisecond)
			id = s.put("S", "now")
			s.given(r.ends(), "S", id, "now")
		})
	}
}

func TestAMessageWhoseTimeIsOver(t *testing.T) {
	s := newScene(t)
	s.is("S", "busy")
	ahead := time.Duration(0)
	var mu sync.Mutex
	s.now = func() time.Time { mu.Lock(); defer mu.Unlock(); return time.Now().Add(ahead) }
	r := s.wait("S")
	id := s.put("S", "too late")
	mu.Lock()
	ahead = time.Hour + time.Second
	mu.Unlock()
	s.is("S", entry.Idle)
	r.stays(200 * time.Millisecond)
	if !s.box("S").Lies(id) {
		t.Error("it was taken")
	}
	fresh := s.put("S", "in time")
	if o := r.ends(); strings.Contains(o.text, "too late") {
		t.Errorf("%+v", o)
	} else {
		s.given(o, "S", fresh, "in time")
	}
}

// A newer waiter of the same Claude Code takes the place of the older within a
// second, and what lies there is given by it.
func TestANewerWaiterTakesThePlace(t *testing.T) {
	s := newScene(t)
	first := s.wait("S")
	began := time.Now()
	second := s.begin("S", func(*Waiter) {})
	if o := first.ends(); o.given || o.err != nil {
		t.Fatalf("%+v", o)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("it left after %s", took)
	}
	id := s.put("S", "hello")
	s.given(second.ends(), "S", id, "hello")
}

// /clear and /resume give Claude another session: its waiter moves there.
func TestClearMovesTheWaiter(t *testing.T) {
	s := newScene(t)
	old := s.wait("S")
	lost := ""
	s.is("S", "busy")
	lost = s.put("S", "to the old one")
	s.is("T", entry.Idle)
	fresh := s.wait("T")
	if o := old.ends(); o.given || o.err != nil {
		t.Fatalf("%+v", o)
	}
	if ok, err := s.box("S").Withdraw(lost); !ok || err != nil {
		t.Errorf("it can't be taken back: %v, %v", ok, err)
	}
	id := s.put("T", "to the new one")
	s.given(fresh.ends(), "T", id, "to the new one")
}

// A hook of the session before, that the system began late, takes nobody's place.
func TestALateHookOfTheSessionBefore(t *testing.T) {
	s := newScene(t)
	s.is("T", entry.Idle)
	r := s.wait("T")
	late := s.begin("S", func(w *Waiter) { w.Timing.Named = 50 * time.Millisecond })
	if o := late.ends(); o.given || o.err != nil {
		t.Fatalf("%+v", o)
	}
	id := s.put("T", "hello")
	s.given(r.ends(), "T", id, "hello")
}

func TestTheWaiterEndsWithClaude(t *testing.T) {
	for name, end := range map[string]func(s *scene, r *running){
		"SIGKILL of Claude": func(s *scene, _ *running) { s.kill() },
		"SIGTERM":           func(_ *scene, r *running) { r.cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			r := s.wait("S")
			end(s, r)
			if o := r.ends(); o.given || o.err != nil {
				t.Errorf("%+v", o)
			}
			if held, err := s.box("S").Waits(); held || err != nil {
				t.Errorf("held %v, %v", held, err)
			}
			if left, err := filepath.Glob(filepath.Join(string(s.dir), seats, "*")); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
	s := newScene(t)
	s.kill()
	if o := s.begin("S", func(*Waiter) {}).ends(); o.err == nil || !strings.Contains(o.err.Error(), "CLAUDE_PID") {
		t.Errorf("of a Claude that is gone: %+v", o)
	}
	if o := newScene(t).begin("../S", func(*Waiter) {}).ends(); o.err == nil {
		t.Error("a path was taken for a session")
	}
}

// Without a registry nobody knows better than Claude's own queue.
func TestWithoutARegistry(t *testing.T) {
	s := newScene(t)
	if err := os.RemoveAll(filepath.Join(s.home, "sessions")); err != nil {
		t.Fatal(err)
	}
	r := s.wait("S")
	id := s.put("S", "hello")
	s.given(r.ends(), "S", id, "hello")
}

// Another user could have written what is not this user's alone: it is not given,
// and told once.
func TestOnlyPrivateFilesCount(t *testing.T) {
	s := newScene(t)
	if err := s.box("S").open(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil  func(path string) error
		reason string
	}{
		"a file for all":   {func(p string) error { return os.Chmod(p, 0o644) }, "mode"},
		"a folder for all": {func(p string) error { return os.Chmod(filepath.Dir(p), 0o755) }, "mode"},
		"their folder":     {func(p string) error { return os.Chmod(filepath.Dir(filepath.Dir(p)), 0o755) }, "mode"},
		"a link":           {func(p string) error { return errors.Join(os.Rename(p, p+".x"), os.Symlink(p+".x", p)) }, "symbolic links"},
		"no JSON":          {func(p string) error { return os.WriteFile(p, []byte("{torn"), 0o600) }, "makes no sense"},
		"another's": {func(p string) error {
			return errors.Join(os.WriteFile(p+".x", []byte(`{"v":1,"id":"x","session":"S","text":"t"}`), 0o600), os.Rename(p+".x", p))
		}, "another message's"},
		"an endless one":    {func(p string) error { return os.Truncate(p, maxLetter+1) }, "too long"},
		"a folder in place": {func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) }, "no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.is("S", "busy")
			r := s.wait("S")
			id := s.put("S", "forged")
			if err := c.spoil(s.box("S").letter(id)); err != nil {
				t.Fatal(err)
			}
			s.is("S", entry.Idle)
			s.until("it is told", func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return len(s.logs) > 0
			})
			r.stays(50 * time.Millisecond)
			r.cancel()
			if o := r.ends(); o.given || strings.Contains(o.text, "forged") {
				t.Errorf("%+v", o)
			}
			if log := fmt.Sprint(s.logs); !strings.Contains(log, c.reason) || strings.Contains(log, "forged") {
				t.Errorf("log %s; want %q", log, c.reason)
			}
		})
	}
}
