package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/herdr"
	"sessionhub/lib/herdr/herdrtest"
	"sessionhub/lib/state"
)

// patience bounds every wait of a test.
const patience = 20 * time.Second

// server is a herdr, double or real.
type server interface {
	Client() *herdr.Client
	Home() string
}

// room is a herdr with a stand-in Claude, and a desk at it.
type room struct {
	t    *testing.T
	s    server
	desk *Desk
	pane string
}

func newRoom(t *testing.T, opts ...herdrtest.Option) *room {
	t.Helper()
	return roomAt(t, herdrtest.Start(t, append([]herdrtest.Option{herdrtest.WithPath(claudetest.Build(t))}, opts...)...))
}

func roomAt(t *testing.T, s server) *room {
	t.Helper()
	r := &room{t: t, s: s}
	timing := DefaultTiming()
	timing.Every = 10 * time.Millisecond
	timing.Arrive = 5 * time.Second
	timing.Link = 3 * time.Second
	r.desk = &Desk{
		Dir: state.Dir(filepath.Join(t.TempDir(), "state")), Home: claude.Home(filepath.Join(s.Home(), ".claude")),
		Sockets: func() []string { return []string{s.Client().Socket} },
		Client:  func(socket string) Herdr { return &herdr.Client{Socket: socket} },
		Getenv:  func(string) string { return "" }, Now: time.Now, Pause: Pause, Timing: timing,
	}
	if err := r.desk.Dir.Ensure(); err != nil {
		t.Fatal(err)
	}
	r.pane = r.open()
	return r
}

func (r *room) open() string {
	r.t.Helper()
	made, err := r.s.Client().CreateWorkspace(r.t.Context(), herdr.NewWorkspace{Cwd: r.s.Home()})
	if err != nil {
		r.t.Fatal(err)
	}
	return made.RootPane.PaneID
}

// types is a person at the pane.
func (r *room) types(line string, keys ...string) {
	r.t.Helper()
	if err := r.s.Client().SendInput(r.t.Context(), r.pane, line, keys...); err != nil {
		r.t.Fatal(err)
	}
}

func (r *room) enters(line string) { r.t.Helper(); r.types(line, "Enter") }

func (r *room) until(what string, cond func() bool) {
	r.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if cond() {
			return
		}
	}
	s, _ := r.s.Client().Read(r.t.Context(), herdr.ReadParams{PaneID: r.pane, Source: herdr.ReadVisible})
	r.t.Fatalf("waited until %s; the screen:\n%s", what, strings.TrimSpace(s.Text))
}

// claude starts a Claude in the pane and gives its session.
func (r *room) claude() string {
	r.t.Helper()
	r.enters("claude")
	var id string
	r.until("Claude runs", func() bool {
		s, ok := r.desk.SessionIn(r.t.Context(), Launched{PaneID: r.pane, herdr: &herdr.Client{Socket: r.s.Client().Socket}})
		id = s.Session
		return ok
	})
	r.untilGate(id, Open, NoReason)
	return id
}

func (r *room) untilGate(session string, a Answer, reason Reason) {
	r.t.Helper()
	var g Gate
	r.until(fmt.Sprintf("the gate says %d, %d", a, reason), func() bool {
		g = r.desk.Gate(r.t.Context(), session)
		return g.Answer == a && g.Reason == reason
	})
	if (g.Why == "") != (a == Open) {
		r.t.Errorf("why: %q", g.Why)
	}
}

func noted() error { return nil }

func (r *room) say(session, text string) Said {
	r.t.Helper()
	s, err := r.desk.Say(r.t.Context(), session, text, noted)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// heard are the prompts that a session's transcript holds.
func (r *room) heard(session string) string {
	path, ok := r.desk.Home.Transcript(session)
	if !ok {
		return ""
	}
	b, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

func TestAMessageToAnIdleSession(t *testing.T) {
	r := newRoom(t)
	id := r.claude()
	if s := r.say(id, "hello from afar"); !s.Typed || !s.Seen || s.Gate.PaneID != r.pane {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(r.heard(id), `"hello from afar"`) {
		t.Error("the transcript lacks it")
	}
	r.untilGate(id, Open, NoReason)
	if s := r.say(id, "several\nlines\nthat are wrapped"); !s.Seen {
		t.Errorf("several lines: %+v", s)
	}
}

// Whatever a session does, nothing is typed into what is not its prompt.
func TestTheGate(t *testing.T) {
	r := newRoom(t)
	id := r.claude()

	t.Log("it works (27)")
	r.enters("work 10m")
	r.untilGate(id, Busy, Working)
	r.types("", "esc")
	r.untilGate(id, Open, NoReason)

	t.Log("a permission prompt waits (14)")
	r.enters("ask")
	r.untilGate(id, Busy, Blocked)
	r.types("", "esc")
	r.untilGate(id, Open, NoReason)

	t.Log("a dialog that herdr takes for idle is open (13, 29)")
	r.enters("/status")
	r.untilGate(id, Busy, Dialog)
	r.types("", "esc")
	r.untilGate(id, Open, NoReason)

	t.Log("a half-typed line (26)")
	r.types("half a sentence")
	r.untilGate(id, Busy, Draft)
	r.types("", "ctrl+u")
	r.untilGate(id, Open, NoReason)

	t.Log("a shell command, half typed (26)")
	r.types("!rm")
	r.untilGate(id, Busy, NotAPrompt)
	r.types("", "ctrl+u")
	r.untilGate(id, Open, NoReason)

	t.Log("only a background shell runs (12)")
	r.enters("bg 10m")
	r.until("it is idle with background work", func() bool {
		s, ok := r.desk.SessionIn(t.Context(), Launched{PaneID: r.pane, herdr: r.desk.Client(r.s.Client().Socket)})
		return ok && s.Background
	})
	r.untilGate(id, Open, NoReason)

	t.Log("it is suspended (41)")
	r.types("", "ctrl+z")
	r.untilGate(id, Busy, Unsure)
	r.enters("fg")
	r.untilGate(id, Open, NoReason)

	t.Log("/clear: the old id is gone, the new one is there (A17)")
	r.enters("/clear")
	r.untilGate(id, Refused, Absent)
	if g := r.desk.Gate(t.Context(), "01976f3e-7c1a-7c11-9d2e-0d9d0a6a1b11"); g.Reason != Absent {
		t.Errorf("a session that never was: %+v", g)
	}
}

// Finding 5: `claude -p` in a shell pane is an idle session to herdr, and what
// is typed there runs as a shell command.
func TestNothingIsTypedIntoAHeadlessRun(t *testing.T) {
	r := newRoom(t)
	r.enters("claude -p 8s")
	r.until("herdr takes it for Claude", func() bool {
		p, err := r.s.Client().Pane(t.Context(), r.pane)
		return err == nil && p.Agent == "claude" && p.AgentSession != nil
	})
	p, err := r.s.Client().Pane(t.Context(), r.pane)
	if err != nil {
		t.Fatal(err)
	}
	r.until("it is refused", func() bool {
		g := r.desk.Gate(t.Context(), p.AgentSession.Value)
		if g.Answer == Open {
			t.Fatalf("%+v", g)
		}
		return g.Answer == Refused
	})
}

// Finding 9: one session in two panes; neither is picked.
func TestASessionInTwoPanes(t *testing.T) {
	r := newRoom(t)
	id := r.claude()
	r.say(id, "so that there is something to resume")
	first := r.pane
	r.pane = r.open()
	r.enters("claude --resume " + id)
	r.untilGate(id, Refused, Twice)
	if s := r.say(id, "to whom?"); s.Typed {
		t.Errorf("%+v", s)
	}
	r.enters("/exit")
	r.pane = first
	r.untilGate(id, Open, NoReason)
}

// Finding 28: the trust question of a young Claude; Enter there means "No,
// exit".
func TestNothingAnswersTheTrustQuestion(t *testing.T) {
	r := newRoom(t)
	if err := os.WriteFile(filepath.Join(r.s.Home(), ".claude.json"), []byte(`{"projects":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r.enters("claude")
	r.until("it asks", func() bool {
		s, err := r.s.Client().Read(t.Context(), herdr.ReadParams{PaneID: r.pane, Source: herdr.ReadVisible})
		return err == nil && strings.Contains(s.Text, "trust this folder")
	})
	p, err := r.s.Client().Pane(t.Context(), r.pane)
	if err != nil {
		t.Fatal(err)
	}
	id := "01976f3e-7c1a-7c11-9d2e-0d9d0a6a1b11"
	if p.AgentSession != nil {
		id = p.AgentSession.Value
	}
	if g := r.desk.Gate(t.Context(), id); g.Answer == Open {
		t.Errorf("%+v", g)
	}
}

// A shell that Claude has just left takes nothing.
func TestNothingIsTypedIntoAShell(t *testing.T) {
	r := newRoom(t)
	id := r.claude()
	r.say(id, "hello")
	r.enters("/exit")
	began := time.Now()
	for time.Since(began) < time.Second { // through all that herdr shows meanwhile
		if s := r.say(id, "touch into-the-shell"); s.Typed && s.Seen {
			continue // it was still there
		}
	}
	r.untilGate(id, Refused, Absent)
	if _, err := os.Stat(filepath.Join(r.s.Home(), "into-the-shell")); err == nil {
		t.Error("a message ran as a shell command")
	}
}

// Finding 44: right after a restart herdr shows a restored pane as Claude, idle,
// with its session, while no process is there.
func TestARestoredPaneTakesNothing(t *testing.T) {
	s := herdrtest.Start(t, herdrtest.WithPath(claudetest.Build(t)))
	r := roomAt(t, s)
	id := r.claude()
	r.say(id, "hello")
	if err := s.Restart(herdrtest.Stopped); err != nil {
		t.Fatal(err)
	}
	seen := false
	r.until("it was resumed", func() bool {
		g := r.desk.Gate(t.Context(), id)
		if g.Answer != Open {
			seen = true
		}
		return g.Answer == Open
	})
	if !seen {
		t.Log("the restored pane was never seen without its process")
	}
	r.until("it takes a message", func() bool { // herdr is the last to know it
		s := r.say(id, "after the restart")
		if s.Typed && !s.Seen {
			t.Fatalf("%+v", s)
		}
		return s.Seen
	})
}

// Field report A22: a pane that is not named is never the focused one: every
// call of herdr names one.
func TestA22EveryCallNamesItsPane(t *testing.T) {
	r := newRoom(t)
	id := r.claude()
	other := r.open() // another pane has the focus
	if _, err := r.s.Client().FocusPane(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if s := r.say(id, "to the right one"); !s.Seen || s.Gate.PaneID != r.pane {
		t.Errorf("%+v", s)
	}
	shown, err := r.s.Client().Read(t.Context(), herdr.ReadParams{PaneID: other, Source: herdr.ReadVisible})
	if err != nil || strings.Contains(shown.Text, "to the right one") {
		t.Errorf("the focused pane got it: %v\n%s", err, shown.Text)
	}
}

// Field report A20: a half-typed draft was submitted, glued to the message.
func TestA20ADraftIsNeverSent(t *testing.T) {
	r := newRoom(t)
	id := r.claude()
	r.types("my own half sentence")
	r.untilGate(id, Busy, Draft)
	if s := r.say(id, "the message"); s.Typed || s.Gate.Reason != Draft {
		t.Errorf("%+v", s)
	}
	s, err := r.s.Client().Read(t.Context(), herdr.ReadParams{PaneID: r.pane, Source: herdr.ReadVisible})
	if err != nil || !strings.Contains(s.Text, "my own half sentence") || strings.Contains(s.Text, "the message") {
		t.Errorf("%v\n%s", err, s.Text)
	}
	if strings.Contains(r.heard(id), "half sentence") {
		t.Error("the draft was submitted")
	}
}

// Field reports A21 and A24: what is not seen to arrive is not said to have
// arrived, and not typed again.
func TestA21WhatDoesNotArriveIsSaidSo(t *testing.T) {
	r := newRoom(t)
	id := r.claude()
	r.desk.Timing.Arrive = 50 * time.Millisecond
	prompts := 0
	client := r.desk.Client
	r.desk.Client = func(socket string) Herdr { return swallowing{client(socket), &prompts} }
	if s := r.say(id, "swallowed"); !s.Typed || s.Seen || prompts != 1 {
		t.Errorf("%+v, typed %d times", s, prompts)
	}
}

// swallowing is a herdr whose prompts arrive nowhere.
type swallowing struct {
	Herdr
	prompts *int
}

func (s swallowing) PromptAgent(context.Context, herdr.Prompt) (herdr.Agent, error) {
	*s.prompts++
	return herdr.Agent{}, nil
}

// A deed that can't note its first step takes none.
func TestNothingIsTypedThatCannotBeNoted(t *testing.T) {
	r := newRoom(t)
	id := r.claude()
	full := fmt.Errorf("no space left on device")
	if _, err := r.desk.Say(t.Context(), id, "x", func() error { return full }); err == nil {
		t.Error("it was typed")
	}
	if strings.Contains(r.heard(id), `"x"`) {
		t.Error("it arrived")
	}
}

// Field reports A10 and A11: one acts on a session at a time.
func TestA10LeasesExclude(t *testing.T) {
	r := newRoom(t)
	const id = "01976f3e-7c1a-7c11-9d2e-0d9d0a6a1b11"
	release, err := r.desk.Lease(id, "shctl, process 1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.desk.Lease(id, "another"); err == nil || !strings.Contains(err.Error(), "shctl, process 1") {
		t.Errorf("%v", err)
	}
	if _, err := r.desk.Lease("../x", "another"); err == nil {
		t.Error("an id that is a path")
	}
	release()
	if release, err = r.desk.Lease(id, "another"); err != nil {
		t.Error(err)
	}
	release()
}

// A herdr that dies with a prompt leaves no doubt open: what arrived is said to
// have, what was not seen is unknown, and nothing is typed again.
func TestAHerdrThatDiesWithAPrompt(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault herdrtest.FaultKind
	}{{"its answer is cut", herdrtest.HalfLine}, {"it hangs up", herdrtest.CloseUnanswered}, {"it answers rubbish", herdrtest.Garbage}} {
		t.Run(c.name, func(t *testing.T) {
			s := herdrtest.Start(t, herdrtest.WithPath(claudetest.Build(t)))
			r := roomAt(t, s)
			r.desk.Timing.Arrive = time.Second
			id := r.claude()
			s.Inject(herdrtest.Fault{Kind: c.fault, Method: "agent.prompt", Times: 1})
			said := r.say(id, "only once")
			n := strings.Count(r.heard(id), `"content":"only once"`)
			if !said.Typed || said.Err == nil || n > 1 || said.Seen != (n == 1) {
				t.Errorf("%+v; it is there %d times", said, n)
			}
		})
	}
}

// While herdr does not answer, nothing is known, and nothing is typed (A16).
func TestAHerdrThatHangs(t *testing.T) {
	s := herdrtest.Start(t, herdrtest.WithPath(claudetest.Build(t)))
	r := roomAt(t, s)
	r.desk.Timing.Look, r.desk.Timing.Screen = 300*time.Millisecond, 300*time.Millisecond
	id := r.claude()
	for _, method := range []string{"session.snapshot", "pane.read", "pane.get"} {
		s.Inject(herdrtest.Fault{Kind: herdrtest.Hang, Method: method})
		if g := r.desk.Gate(t.Context(), id); g.Answer == Open {
			t.Errorf("while %s hangs: %+v", method, g)
		}
		s.ClearFaults()
	}
	r.untilGate(id, Open, NoReason)
}
