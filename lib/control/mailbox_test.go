package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/claude/entry"
	"sessionhub/lib/herdr"
	"sessionhub/lib/herdr/herdrtest"
	"sessionhub/lib/install"
	"sessionhub/lib/mailbox"
	"sessionhub/lib/record"
	"sessionhub/lib/session"
	"sessionhub/lib/state"
)

// buildShq builds shq once for all tests.
var buildShq = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "shq")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "shq"), "sessionhub/cmd/shq")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return dir, nil
})

// newPost is a machine whose sessions have mailboxes.
func newPost(t *testing.T) *machine {
	t.Helper()
	dir := state.Dir(filepath.Join(t.TempDir(), "state"))
	t.Cleanup(func() { nobodyWaits(t, dir) })
	m := newMachine(t, herdrtest.WithEnv("SESSIONHUB_STATE_DIR="+string(dir)))
	m.d.Dir, m.d.Desk.Dir = dir, dir
	m.conf.ServerURL = "https://hub.example/x"
	if err := dir.Ensure(); err != nil {
		t.Fatal(err)
	}
	m.hooks()
	return m
}

// nobodyWaits waits until the hooks of all sessions are gone, which end with them:
// those that wait, and those that were about to.
func nobodyWaits(t *testing.T, dir state.Dir) {
	ours := []byte("SESSIONHUB_STATE_DIR=" + string(dir))
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		files, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil {
			t.Fatal(err)
		}
		left := slices.DeleteFunc(files, func(f string) bool {
			b, err := os.ReadFile(f)
			return err != nil || !slices.ContainsFunc(bytes.Split(b, []byte{0}), func(kv []byte) bool { return bytes.Equal(kv, ours) })
		})
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("hooks are left: %v", left)
		}
	}
}

// hooks enters the mailbox's hooks into Claude Code's settings.
func (m *machine) hooks() {
	m.t.Helper()
	bin, err := buildShq()
	if err != nil {
		m.t.Fatal(err)
	}
	hooks := map[string][]any{}
	for _, r := range install.HookRows() {
		if r.Hook == "mailbox" {
			hooks[r.Event] = append(hooks[r.Event], map[string]any{"hooks": []any{map[string]any{
				"type": "command", "command": filepath.Join(bin, "shq") + " hook mailbox", "timeout": r.Timeout, "async": true, "asyncRewake": true,
			}}})
		}
	}
	b, err := json.Marshal(map[string]any{"hooks": hooks})
	if err == nil {
		err = os.MkdirAll(filepath.Join(m.s.Home(), ".claude"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(m.s.Home(), ".claude", "settings.json"), b, 0o600)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// outside starts a Claude in a terminal that no herdr knows.
func (m *machine) outside(args ...string) (o *claudetest.Outside, id string) {
	m.t.Helper()
	env := []string{"HOME=" + m.s.Home(), "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "SESSIONHUB_STATE_DIR=" + string(m.d.Dir)}
	o = claudetest.StartOutside(m.t, filepath.Join(claudetest.Build(m.t), "claude"), m.s.Home(), env, args...)
	m.until("it is in the registry", func() bool { id = m.sessionOf(o); return id != "" })
	return o, id
}

func (m *machine) sessionOf(o *claudetest.Outside) string {
	e, _ := entry.Read(string(m.d.Desk.Home), o.PID())
	return e.Session
}

func (m *machine) status(o *claudetest.Outside, want string) {
	m.t.Helper()
	m.until("it is "+want, func() bool {
		e, ok := entry.Read(string(m.d.Desk.Home), o.PID())
		return ok && e.Status == want
	})
}

func (m *machine) box(id string) mailbox.Box { return mailbox.Box{Dir: m.d.Dir, Session: id} }

func (m *machine) waits(id string) {
	m.t.Helper()
	m.until("its hook waits", func() bool { waits, err := m.box(id).Waits(); return err == nil && waits })
}

// got counts how often a message stands in all transcripts as a prompt.
func (m *machine) got(id string) (n int) {
	paths, err := filepath.Glob(filepath.Join(m.s.Home(), ".claude", "projects", "*", "*.jsonl"))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			m.t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			if woke(line, id) {
				n++
			}
		}
	}
	return n
}

// clean: neither a message nor a trace of one is left, once the hub knows.
func (m *machine) clean(ids ...string) {
	m.t.Helper()
	for _, id := range ids {
		if err := m.d.Settled(id); err != nil {
			m.t.Error(err)
		}
	}
	left, err := filepath.Glob(filepath.Join(mailbox.Folder(m.d.Dir), "*", "*"))
	more, merr := filepath.Glob(filepath.Join(mailbox.Folder(m.d.Dir), "*", "taken", "*"))
	if err := errors.Join(err, merr); err != nil {
		m.t.Fatal(err)
	}
	for _, path := range append(left, more...) {
		if base := filepath.Base(path); base != "waiter.lock" && base != "taken" {
			m.t.Errorf("left behind: %s", path)
		}
	}
}

// A session outside herdr gets messages by its mailbox alone.
func TestMailboxOutsideHerdr(t *testing.T) {
	m := newPost(t)
	o, id := m.outside()
	m.waits(id)
	const text = "first line\n/exit <b>&</b> \x1b[31mred\x1b[0m \u202eturned\u202c é"
	c := m.message(id, text)
	c.AskedAt = record.At(time.Date(2026, 12, 1, 10, 20, 30, 0, time.UTC))
	began := time.Now()
	m.expect(c, record.RequestDelivered, "through its mailbox")
	t.Logf("delivered after %s", time.Since(began).Round(time.Millisecond))
	if n := m.got(c.ID); n != 1 {
		t.Errorf("it arrived %d times", n)
	}
	path, ok := m.d.Desk.Home.Transcript(id)
	b, err := os.ReadFile(path)
	if err != nil || !ok {
		t.Fatal(err)
	}
	for _, want := range []string{"the owner of this session", "2026-12-01 10:20:30 UTC", "the hub at hub.example", `first line\n/exit <b>&</b> red turned é`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the transcript does not hold %q", want)
		}
	}
	m.waits(id) // again, from the turn's end on
	second := m.message(id, "!ls \\")
	m.expect(second, record.RequestDelivered, "through its mailbox")
	m.clean(c.ID, second.ID)
	o.Keys("/exit\r")
	<-o.Gone()
	m.until("nobody waits", func() bool { waits, err := m.box(id).Waits(); return err == nil && !waits })
	m.expect(m.message(id, "x"), record.RequestRefused, "no pane runs it")
}

// The pane comes first; the mailbox when it is not free. What stands in the input
// line stays.
func TestThePaneComesFirst(t *testing.T) {
	m := newPost(t)
	id := m.claude()
	m.waits(id)
	m.expect(m.message(id, "hello"), record.RequestDelivered, "in pane "+m.pane)
	m.until("it is at rest", func() bool { return m.d.Desk.Gate(t.Context(), id).Answer == session.Open })
	if err := m.s.Client().SendText(t.Context(), m.pane, "half a sentence"); err != nil {
		t.Fatal(err)
	}
	m.until("it is drawn", func() bool { return m.d.Desk.Gate(t.Context(), id).Reason == session.Draft })
	c := m.message(id, "beside a draft")
	m.expect(c, record.RequestDelivered, "through its mailbox")
	m.until("it is at rest", func() bool { return m.d.Desk.Gate(t.Context(), id).Reason == session.Draft })
	screen, err := m.s.Client().Read(t.Context(), herdr.ReadParams{PaneID: m.pane, Source: herdr.ReadVisible})
	if err != nil || !strings.Contains(screen.Text[strings.LastIndex(screen.Text, "❯"):], "half a sentence") {
		t.Errorf("%v\n%s", err, screen.Text)
	}
	if n := m.got(c.ID); n != 1 || m.typed("half a sentence") != 0 {
		t.Errorf("it arrived %d times; the draft was sent %d times", n, m.typed("half a sentence"))
	}
	command := m.message(id, "/rename by-mailbox")
	command.AsCommand = true
	m.expect(command, record.ResultBusy, "text stands in its input line")
	m.enters("\x15")
	m.waits(id)
	m.until("the line is empty", func() bool { return m.d.Desk.Gate(t.Context(), id).Answer == session.Open })
	m.expect(m.message(id, "/what is this"), record.RequestDelivered, "through its mailbox") // it can't be typed
	m.until("it is at rest", func() bool { return m.d.Desk.Gate(t.Context(), id).Answer == session.Open })
	m.enters("\x15")
}

// A message to a session that works arrives when its turn ends.
func TestMailboxOfASessionThatWorks(t *testing.T) {
	m := newPost(t)
	o, id := m.outside()
	m.waits(id)
	o.Keys("work 2s\r")
	m.status(o, "busy")
	c := m.message(id, "after that")
	began := time.Now()
	m.expect(c, record.RequestDelivered, "through its mailbox")
	if took := time.Since(began); took < time.Second {
		t.Errorf("it was given after %s, into the turn", took)
	}
	m.clean(c.ID)
}

// fast is a clock that runs faster than the real one.
func (m *machine) fast(times int) {
	began := time.Now()
	clock := func() time.Time { return began.Add(time.Duration(times) * time.Since(began)) }
	m.d.Now, m.d.Desk.Now = clock, clock
}

// It is taken back after a while, so that its owner can take it back, too; it is
// neither reported as failed nor given twice.
func TestMailboxOfASessionThatWorksForLong(t *testing.T) {
	m := newPost(t)
	o, id := m.outside()
	m.waits(id)
	o.Keys("work 10m\r")
	m.status(o, "busy")
	m.fast(20)
	c := m.message(id, "later")
	c.ExpiresAt = record.At(time.Now().Add(time.Hour))
	m.expect(c, record.ResultBusy, "its mailbox gives it when it is at its prompt")
	m.clean() // nothing lies there now
	o.Keys("\x1b")
	m.status(o, "idle")
	m.waits(id)
	c.Attempt++
	m.expect(c, record.RequestDelivered, "through its mailbox")
	c.Attempt++
	m.expect(c, record.RequestDelivered, "through its mailbox") // its answer was lost
	if n := m.got(c.ID); n != 1 {
		t.Errorf("it arrived %d times", n)
	}
	m.clean(c.ID)
}

// A poll that ends takes the message back before it goes.
func TestMailboxWhenThePollEnds(t *testing.T) {
	m := newPost(t)
	o, id := m.outside()
	m.waits(id)
	o.Keys("work 10m\r")
	m.status(o, "busy")
	ctx, cancel := context.WithCancel(t.Context())
	c := m.message(id, "later")
	done := make(chan record.Result, 1)
	go func() { done <- m.d.Do(ctx, c) }()
	m.until("it lies there", func() bool { return m.box(id).Lies(c.ID) })
	cancel()
	if r := <-done; r.State != record.ResultBusy {
		t.Errorf("%+v", r)
	}
	m.clean()
}

// A session that ends before it took its message: it is withdrawn, and told.
func TestMailboxOfASessionThatEnds(t *testing.T) {
	m := newPost(t)
	for name, end := range map[string]func(o *claudetest.Outside){
		"SIGKILL": func(o *claudetest.Outside) { o.Kill() },
		"/exit":   func(o *claudetest.Outside) { o.Keys("/exit\r"); <-o.Gone() },
		"/clear":  func(o *claudetest.Outside) { o.Keys("\x1b"); m.status(o, "idle") },
	} {
		t.Run(name, func(t *testing.T) {
			o, id := m.outside()
			m.waits(id)
			o.Keys("work 10m\r")
			m.status(o, "busy")
			c := m.message(id, "to nobody")
			if name == "/clear" { // it is at its prompt then, and would take it before
				o.Keys("/clear\r")
			}
			done := make(chan record.Result, 1)
			go func() { done <- m.d.Do(t.Context(), c) }()
			m.until("it lies there", func() bool { return m.box(id).Lies(c.ID) })
			end(o)
			r := <-done
			n := m.got(c.ID)
			switch {
			case name == "/clear" && r.State == record.RequestDelivered && n == 1: // between the two
			case r.State != record.RequestRefused || !strings.Contains(r.Detail, "it ended before it took the message") || n != 0:
				t.Errorf("%+v; it arrived %d times", r, n)
			}
			m.clean(c.ID)
		})
	}
}

// A session without such a hook, outside herdr: busy, as it may have one later.
func TestNoMailbox(t *testing.T) {
	m := newMachine(t)
	_, id := m.outside()
	m.expect(m.message(id, "x"), record.ResultBusy, "no hook of it waits for messages")
}

// What Claude Code was given and did not take up is told, and not given again.
func TestGivenAndNotSeen(t *testing.T) {
	m := newPost(t)
	o, id := m.outside()
	m.waits(id)
	began, _ := entry.Began(o.PID())
	c := m.message(id, "given before")
	mark := func(pid int, began string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(mailbox.Folder(m.d.Dir), id, "taken"), 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(mailbox.Folder(m.d.Dir), id, "taken", c.ID+".given")
		if err := state.ReplaceJSON(path, mailbox.Mark{V: 1, ID: c.ID, At: record.At(time.Now()), Claude: pid, Began: began}); err != nil {
			t.Fatal(err)
		}
	}
	m.fast(20)
	c.ExpiresAt = record.At(time.Now().Add(time.Hour))
	mark(o.PID(), began)
	m.expect(c, record.RequestFailed, "given to Claude Code, not seen to arrive")
	m.clean(c.ID)
	mark(o.PID(), began+"0")
	m.expect(c, record.RequestFailed, "which ended before it took it up")
	m.clean(c.ID)
	if n := m.got(c.ID); n != 0 {
		t.Errorf("it was given %d times", n)
	}
}

// A hook that was killed with a message in its hands gave nothing.
func TestAKilledHook(t *testing.T) {
	m := newPost(t)
	o, id := m.outside()
	m.waits(id)
	b, err := os.ReadFile(filepath.Join(mailbox.Folder(m.d.Dir), id, "waiter.lock"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(b), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(pid)
	if err != nil || p.Kill() != nil {
		t.Fatal(err)
	}
	c := m.message(id, "once")
	if err := m.box(id).Put(mailbox.Letter{ID: c.ID, Text: "once", Until: record.At(time.Now().Add(time.Hour))}); err != nil {
		t.Fatal(err)
	}
	at := func(names ...string) string {
		return filepath.Join(append([]string{mailbox.Folder(m.d.Dir), id}, names...)...)
	}
	if err := os.Rename(at(c.ID+".json"), at("taken", c.ID+".json")); err != nil {
		t.Fatal(err)
	}
	m.expect(c, record.ResultBusy, "no hook of it waits")
	m.clean()
	o.Keys("hello\r")
	m.waits(id)
	m.expect(c, record.RequestDelivered, "through its mailbox")
	if n := m.got(c.ID); n != 1 {
		t.Errorf("it arrived %d times", n)
	}
}
