package control

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/config"
	"sessionhub/lib/herdr"
	"sessionhub/lib/herdr/herdrtest"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/session"
	"sessionhub/lib/state"
)

const patience = 20 * time.Second

// machine is a herdr with a stand-in Claude, and a doer.
type machine struct {
	t    *testing.T
	s    *herdrtest.Server
	d    *Doer
	conf config.Config
	pane string
}

func newMachine(t *testing.T, opts ...herdrtest.Option) *machine {
	t.Helper()
	m := &machine{t: t, s: herdrtest.Start(t, append([]herdrtest.Option{herdrtest.WithPath(claudetest.Build(t))}, opts...)...)}
	m.conf.RemoteStart = true
	dir := state.Dir(filepath.Join(t.TempDir(), "state"))
	if err := dir.Ensure(); err != nil {
		t.Fatal(err)
	}
	timing := session.DefaultTiming()
	timing.Every, timing.Link, timing.Detect, timing.Ready = 10*time.Millisecond, 500*time.Millisecond, 3*time.Second, 3*time.Second
	m.d = &Doer{
		Dir: dir, Home: m.s.Home(), Who: "test", Now: time.Now,
		Config: func() (config.Config, error) { return m.conf, nil },
		Desk: &session.Desk{
			Dir: dir, Home: claude.Home(filepath.Join(m.s.Home(), ".claude")), Getenv: func(string) string { return "" },
			Sockets: func() []string { return []string{m.s.Client().Socket} },
			Client:  func(socket string) session.Herdr { return &herdr.Client{Socket: socket} },
			Now:     time.Now, Pause: session.Pause, Timing: timing,
		},
	}
	return m
}

func (m *machine) until(what string, cond func() bool) {
	m.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if cond() {
			return
		}
	}
	m.t.Fatalf("waited until %s", what)
}

func (m *machine) enters(line string) {
	m.t.Helper()
	if err := m.s.Client().SendInput(m.t.Context(), m.pane, line, "Enter"); err != nil {
		m.t.Fatal(err)
	}
}

// claude starts a Claude in a new pane.
func (m *machine) claude() (id string) {
	m.t.Helper()
	made, err := m.s.Client().CreateWorkspace(m.t.Context(), herdr.NewWorkspace{Cwd: m.s.Home()})
	if err != nil {
		m.t.Fatal(err)
	}
	m.pane = made.RootPane.PaneID
	before := m.registry()
	m.enters("claude")
	m.until("Claude runs", func() bool {
		for s := range m.registry() {
			if !before[s] {
				id = s
			}
		}
		return id != "" && m.d.Desk.Gate(m.t.Context(), id).Answer == session.Open
	})
	return id
}

// registry is the sessions that Claude's registry names.
func (m *machine) registry() map[string]bool {
	set := map[string]bool{}
	table, err := claude.NewTable()
	if err != nil {
		m.t.Fatal(err)
	}
	list, err := m.d.Desk.Home.Live(table)
	if err != nil && !errors.Is(err, claude.ErrNoRegistry) {
		m.t.Fatal(err)
	}
	for _, p := range list {
		set[p.SessionID] = true
	}
	return set
}

func newID() string { return queue.NewStamp(time.Now()).ID }

func (m *machine) claim(action record.Action, id string) record.Claim {
	return record.Claim{V: 1, ID: newID(), Action: action, Attempt: 1, ExpiresAt: record.At(time.Now().Add(time.Minute)),
		Session: &record.ClaimSession{Session: id, Status: record.StatusLive, Cwd: m.s.Home(), Title: "Fix the parser"}}
}

func (m *machine) message(id, text string) record.Claim {
	c := m.claim(record.ActionMessage, id)
	c.Text = text
	return c
}

func (m *machine) start(dir, prompt string) record.Claim {
	return record.Claim{V: 1, ID: newID(), Action: record.ActionStart, Attempt: 1, Start: &record.Start{Dir: dir, Prompt: prompt}}
}

func (m *machine) expect(c record.Claim, state record.RequestState, detail string) record.Result {
	m.t.Helper()
	r := m.d.Do(m.t.Context(), c)
	if r.State != state || !strings.Contains(r.Detail, detail) || r.ID != c.ID {
		m.t.Errorf("%s: %+v; want %s, %q", c.Action, r, state, detail)
	}
	if err := r.Validate(); err != nil {
		m.t.Error(err)
	}
	return r
}

func (m *machine) typed(text string) int {
	n := 0
	paths, err := filepath.Glob(filepath.Join(m.s.Home(), ".claude", "projects", "*", "*.jsonl"))
	if err != nil {
		m.t.Fatal(err)
	}
	quoted, _ := json.Marshal(text)
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			m.t.Fatal(err)
		}
		n += strings.Count(string(b), `"content":`+string(quoted))
	}
	return n
}

func TestMessages(t *testing.T) {
	m := newMachine(t)
	id := m.claude()
	m.expect(m.message(id, "hello"), record.RequestDelivered, "in pane "+m.pane)
	if n := m.typed("hello"); n != 1 {
		t.Errorf("it was typed %d times", n)
	}
	m.until("it is at rest", func() bool { return m.d.Desk.Gate(t.Context(), id).Answer == session.Open })
	m.enters("work 10m")
	m.until("it works", func() bool { return m.d.Desk.Gate(t.Context(), id).Reason == session.Working })
	m.expect(m.message(id, "later"), record.ResultBusy, "it is at work")
	m.expect(m.message(id, "/clear"), record.RequestRefused, "begins with /")
	m.expect(m.message(newID(), "x"), record.RequestRefused, "no pane runs it")
	late := m.message(id, "x")
	late.ExpiresAt = record.At(time.Now().Add(-time.Second))
	m.expect(late, record.RequestFailed, "too late")
	if n := m.typed("later") + m.typed("x"); n != 0 {
		t.Errorf("%d of them were typed", n)
	}
	files, err := filepath.Glob(filepath.Join(string(m.d.Dir), "requests", "*"))
	if err != nil || len(files) != 1 { // the delivered one, until the hub has it
		t.Errorf("entries %v, %v", files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || strings.Contains(string(b), "hello") {
			t.Errorf("the entry holds the text: %s, %v", b, err)
		}
	}
}

// A slash command is typed on purpose only, and its proof is its name.
func TestACommandOnPurpose(t *testing.T) {
	m := newMachine(t)
	id := m.claude()
	c := m.message(id, "/rename by-command")
	c.AsCommand = true
	m.expect(c, record.RequestDelivered, "")
	c = m.message(id, "/clear")
	c.AsCommand = true
	m.expect(c, record.RequestDelivered, "") // the session has left its pane
	c = m.message(id, "no command")
	c.AsCommand = true
	m.expect(c, record.RequestRefused, "one line that begins with /")
}

// A claim that comes again is not carried out again: it was typed, maybe, by
// whoever was killed; or its result is there, and only its answer was lost.
func TestAClaimThatComesAgain(t *testing.T) {
	m := newMachine(t)
	id := m.claude()
	c := m.message(id, "once")
	first := m.expect(c, record.RequestDelivered, "")
	c.Attempt = 2
	if again := m.d.Do(t.Context(), c); again != first {
		t.Errorf("%+v, want %+v", again, first)
	}
	if n := m.typed("once"); n != 1 {
		t.Errorf("it was typed %d times", n)
	}
	c = m.message(id, "never")
	if err := m.d.begin(c, "typed")(); err != nil {
		t.Fatal(err)
	}
	m.expect(c, record.RequestFailed, "unknown, typed maybe")
	c = m.message(id, "never")
	path, err := m.d.entryPath(c.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"id":"torn`), 0o600); err != nil {
		t.Fatal(err)
	}
	m.expect(c, record.RequestFailed, "unknown")
	if n := m.typed("never"); n != 0 {
		t.Errorf("it was typed %d times", n)
	}
	if list, err := m.d.Unposted(); err != nil || len(list) < 2 {
		t.Errorf("unposted %+v, %v", list, err)
	}
	if err := m.d.Settled(first.ID); err != nil {
		t.Error(err)
	}
}

// Two deeds on one session never overlap.
func TestASessionThatSomebodyActsOn(t *testing.T) {
	m := newMachine(t)
	id := m.claude()
	release, err := m.d.Desk.Lease(id, "shctl resume by hand")
	if err != nil {
		t.Fatal(err)
	}
	m.expect(m.message(id, "x"), record.ResultBusy, "shctl resume by hand")
	m.expect(m.claim(record.ActionResume, id), record.RequestFailed, "shctl resume by hand")
	release()
	m.expect(m.message(id, "x"), record.RequestDelivered, "")
}

func TestResume(t *testing.T) {
	m := newMachine(t, herdrtest.WithEnv("FAKECLAUDE_REMOTE=https://claude.ai/code/session_01"))
	id := m.claude()
	m.expect(m.message(id, "hello"), record.RequestDelivered, "")
	m.expect(m.claim(record.ActionResume, id), record.RequestFailed, "it runs already, in pane "+m.pane)
	m.enters("/exit")
	m.until("it is over", func() bool { return !m.registry()[id] })

	c := m.claim(record.ActionResume, id)
	c.Session.Cwd = "/nowhere/at/all"
	m.expect(c, record.RequestFailed, "its directory /nowhere/at/all is not there")
	c = m.claim(record.ActionResume, id)
	c.Session.Cwd = "relative"
	m.expect(c, record.RequestFailed, "is not there")
	m.expect(m.claim(record.ActionResume, newID()), record.RequestFailed, "no transcript")

	if r := m.expect(m.claim(record.ActionResume, id), record.RequestDone, ""); r.URL != "https://claude.ai/code/session_01" {
		t.Errorf("%+v", r)
	}
	list, err := m.s.Client().Workspaces(t.Context())
	if err != nil || list[len(list)-1].Label != "sessionhub: Fix the parser" || list[len(list)-1].Focused {
		t.Errorf("%+v, %v", list, err)
	}
	m.expect(m.claim(record.ActionResume, id), record.RequestFailed, "") // it runs, or was just resumed
}

// Field report A11: five resumes of one session at once start one.
func TestA11ParallelResumesStartOne(t *testing.T) {
	m := newMachine(t)
	id := m.claude()
	m.expect(m.message(id, "hello"), record.RequestDelivered, "")
	m.enters("/exit")
	m.until("it is over", func() bool { return !m.registry()[id] })
	var wg sync.WaitGroup
	results := make(chan record.Result, 5)
	for range 5 {
		wg.Go(func() { results <- m.d.Do(context.Background(), m.claim(record.ActionResume, id)) })
	}
	wg.Wait()
	close(results)
	n := 0
	for r := range results {
		if r.State == record.RequestDone {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d of them started one", n)
	}
	for _, s := range []string{m.expect(m.claim(record.ActionResume, id), record.RequestFailed, "").Detail} {
		if !strings.Contains(s, "runs already") && !strings.Contains(s, "just resumed") {
			t.Errorf("detail %q", s)
		}
	}
}

// A second request right after a resume never makes a second copy, whoever
// carries it out: the memory is a file.
func TestJustResumed(t *testing.T) {
	m := newMachine(t)
	const id = "01976f3e-7c1a-7c11-9d2e-0d9d0a6a1b11"
	if err := m.d.Desk.NoteResumed(id); err != nil {
		t.Fatal(err)
	}
	other := *m.d
	if r := other.Do(t.Context(), m.claim(record.ActionResume, id)); r.State != record.RequestFailed || r.Detail != "just resumed; try again in a moment" {
		t.Errorf("%+v", r)
	}
	m.d.Desk.Now = func() time.Time { return time.Now().Add(2*time.Minute + time.Second) }
	c := m.claim(record.ActionResume, id)
	m.expect(c, record.RequestFailed, "no transcript")
}

func TestRemoteControl(t *testing.T) {
	const url = "https://claude.ai/code/session_01"
	m := newMachine(t, herdrtest.WithEnv("FAKECLAUDE_REMOTE="+url))
	id := m.claude()
	m.enters("ask")
	m.until("it asks", func() bool { return m.d.Desk.Gate(t.Context(), id).Reason == session.Blocked })
	m.expect(m.claim(record.ActionRemoteControl, id), record.RequestFailed, "waiting on a prompt in the pane")
	m.enters("1")
	m.until("it is at rest", func() bool { return m.d.Desk.Gate(t.Context(), id).Answer == session.Open })
	if r := m.expect(m.claim(record.ActionRemoteControl, id), record.RequestDone, ""); r.URL != url {
		t.Errorf("%+v", r)
	}
	m.enters("/exit")
	m.until("it is over", func() bool { return !m.registry()[id] && m.d.Desk.Gate(t.Context(), id).Reason == session.Absent })
	m.expect(m.claim(record.ActionRemoteControl, id), record.RequestFailed, "looks live but pane not found")
	c := m.claim(record.ActionRemoteControl, id)
	c.Session.Status = record.StatusEnded
	if r := m.expect(c, record.RequestDone, ""); r.URL != url {
		t.Errorf("a session that is over is resumed: %+v", r)
	}
}

func TestRemoteControlWithoutAnAccount(t *testing.T) {
	m := newMachine(t)
	id := m.claude()
	m.expect(m.claim(record.ActionRemoteControl, id), record.RequestDone, "sent, link not seen")
}

func TestStart(t *testing.T) {
	m := newMachine(t)
	home := m.s.Home()
	app := filepath.Join(home, "Code", "a pp")
	if err := os.MkdirAll(app, 0o700); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(home, "way-out")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		outside: "outside the home", "~/way-out": "outside the home", "~/../..": "outside the home", "/": "outside the home",
		"~/nowhere": "no such directory", "~/file": "no directory", "Code": "no absolute path", "~other/x": "no absolute path",
	} {
		m.expect(m.start(dir, ""), record.RequestFailed, want)
	}
	m.expect(m.start("~/Code", "!rm -rf /\\"), record.RequestDone, "link not seen") // a message, made safe
	m.expect(m.start("~/Code", "/clear"), record.RequestFailed, "the first prompt: ")
	m.conf.RemoteStart = false
	m.expect(m.start("~/Code", ""), record.RequestFailed, "remote_start is off")
	m.conf.RemoteStart = true
	m.d.Config = func() (config.Config, error) { return config.Config{}, config.ErrInvalid }
	m.expect(m.start("~/Code", ""), record.RequestFailed, "configuration can't be read")
	m.d.Config = func() (config.Config, error) { return m.conf, nil }

	m.expect(m.start("~/Code/a pp", "begin with this"), record.RequestDone, "started in a new herdr workspace, link not seen")
	if n := m.typed("begin with this"); n != 1 {
		t.Errorf("the first prompt was typed %d times", n)
	}
	list, err := m.s.Client().Workspaces(t.Context())
	if err != nil || list[len(list)-1].Label != "sessionhub: new in a pp" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestStartInAnUntrustedFolder(t *testing.T) {
	m := newMachine(t)
	if err := os.WriteFile(filepath.Join(m.s.Home(), ".claude.json"), []byte(`{"projects":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	m.expect(m.start("~", "hello"), record.RequestDone, "the first prompt was not sent: Claude asks something")
	if n := m.typed("hello"); n != 0 {
		t.Errorf("it was typed %d times", n)
	}
}

func TestClaimsThatMakeNoSense(t *testing.T) {
	m := newMachine(t)
	for want, c := range map[string]record.Claim{
		`"v" is 9`:             {V: 9, ID: newID(), Action: record.ActionMessage},
		`"session" is missing`: {V: 1, ID: newID(), Action: record.ActionResume},
		`"start" is missing`:   {V: 1, ID: newID(), Action: record.ActionStart},
		"can't dance":          {V: 1, ID: newID(), Action: "dance", Session: &record.ClaimSession{Session: newID()}},
	} {
		r := m.d.Do(t.Context(), c)
		if r.State != record.RequestFailed || !strings.Contains(r.Detail, want) {
			t.Errorf("%+v; want %q", r, want)
		}
	}
}
