package herdrtest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/herdr"
)

// callRaw calls a method that the client has no function for.
func callRaw(c *herdr.Client, ctx context.Context, method string) (obj, error) {
	line, err := exchangeLine(c.Socket, method)
	if err != nil {
		return nil, err
	}
	if e, _ := line["error"].(obj); e != nil {
		code, _ := e["code"].(string)
		message, _ := e["message"].(string)
		return nil, &herdr.Error{Method: method, Code: code, Message: message}
	}
	return line, ctx.Err()
}

func (x *suite) reports(t *testing.T) {
	pane := x.workspace(t, "reports").RootPane.PaneID
	report := func(state herdr.Status, seq uint64) {
		t.Helper()
		x.try(t, x.c.ReportAgent(x.ctx, herdr.AgentReport{PaneID: pane, Source: "example:tool", Agent: "mytool", State: state, Seq: seq}))
	}
	status := func() string {
		a, err := x.c.Agent(x.ctx, pane)
		if err != nil {
			return err.Error()
		}
		return a.Pane.Agent + " " + string(a.AgentStatus)
	}
	for _, step := range []struct {
		state herdr.Status
		seq   uint64
		want  string
	}{
		{"idle", 1, "mytool idle"}, {"working", 2, "mytool working"}, {"blocked", 2, "mytool working"},
		{"blocked", 0, "mytool working"}, {"blocked", 3, "mytool blocked"}, {"idle", 4, "mytool done"},
	} {
		report(step.state, step.seq)
		if got := status(); got != step.want {
			t.Errorf("after %s, %d: %s, want %s", step.state, step.seq, got, step.want)
		}
	}
	_, err := x.c.PromptAgent(x.ctx, herdr.Prompt{Target: pane, Text: "hello"})
	x.wantCode(t, err, herdr.CodeAgentNotReady)
	release := herdr.Release{PaneID: pane, Source: "example:tool", Agent: "mytool"}
	x.try(t, x.c.ReleaseAgent(x.ctx, release))
	if got := status(); got != "mytool done" {
		t.Errorf("after a release without seq: %s", got)
	}
	release.Seq = 5
	x.try(t, x.c.ReleaseAgent(x.ctx, release))
	if got := status(); !strings.Contains(got, herdr.CodeAgentNotFound) {
		t.Errorf("after a release: %s", got)
	}
	x.wantCode(t, x.c.ReportAgent(x.ctx, herdr.AgentReport{PaneID: pane, Source: "a", Agent: " ", State: "idle"}), "invalid_agent")
}

// sessions are those of agents: who may set, replace and clear them.
func (x *suite) sessions(t *testing.T) {
	pane := x.workspace(t, "sessions").RootPane.PaneID
	seq := uint64(0)
	for _, step := range []struct{ source, agent, id, start, want string }{
		{"example:tool", "claude", "aaa", "startup", ""},
		{"herdr:claude", "codex", "aaa", "startup", ""},
		{"herdr:claude", "claude", "aaa", "startup", "aaa"},
		{"herdr:claude", "claude", "bbb", "startup", "aaa"},
		{"herdr:claude", "claude", "ccc", "fork", "aaa"},
		{"herdr:claude", "claude", "ddd", "clear", "ddd"},
		{"herdr:claude", "claude", "eee", "resume", "eee"},
		{"herdr:claude", "claude", "", "clear", "eee"},
	} {
		seq++
		x.try(t, x.c.ReportAgentSession(x.ctx, herdr.SessionReport{
			PaneID: pane, Source: step.source, Agent: step.agent, SessionID: step.id, StartSource: step.start, Seq: seq,
		}))
		p, err := x.c.Pane(x.ctx, pane)
		x.try(t, err)
		if got := sessionOf(p); got != step.want {
			t.Errorf("after %v: session %q", step, got)
		}
		if p.Agent != "" || p.AgentStatus != herdr.StatusUnknown {
			t.Errorf("after %v: %+v", step, p)
		}
	}
}

func sessionOf(p herdr.Pane) string {
	if p.AgentSession == nil {
		return ""
	}
	return p.AgentSession.Value
}

// detection follows a stand-in claude that somebody typed.
func (x *suite) detection(t *testing.T) {
	w := x.workspace(t, "detection")
	pane := w.RootPane.PaneID
	x.typeLine(t, pane, "claude")
	a := x.agentIs(t, pane, "claude", herdr.StatusIdle)
	if a.InteractiveReady || a.LaunchPending {
		t.Errorf("an agent typed by hand: %+v", a)
	}
	x.inFront(t, pane, "claude")
	x.try(t, x.c.ReportAgentSession(x.ctx, herdr.SessionReport{PaneID: pane, Source: "herdr:claude", Agent: "claude", SessionID: "0b5c", StartSource: "startup", Seq: 1}))
	x.try(t, x.c.ReportAgent(x.ctx, herdr.AgentReport{PaneID: pane, Source: "example:tool", Agent: "claude", State: "blocked", Seq: 1}))
	for _, step := range []struct {
		line string
		want herdr.Status
	}{{"w", herdr.StatusWorking}, {"b", herdr.StatusBlocked}, {"w", herdr.StatusWorking}, {"i", herdr.StatusDone}} {
		x.typeLine(t, pane, step.line)
		x.eventually(t, "the title is seen", func() bool { // a moment after the status
			p, err := x.c.Pane(x.ctx, pane)
			return err == nil && p.TerminalTitleStripped != ""
		})
		a = x.agentIs(t, pane, "claude", step.want)
		if a.TerminalTitleStripped != "Fix tests" || sessionOf(a.Pane) != "0b5c" {
			t.Errorf("%s: %+v", step.line, a)
		}
		if step.want == herdr.StatusBlocked {
			_, err := x.c.PromptAgent(x.ctx, herdr.Prompt{Target: pane, Text: "hello"})
			x.wantCode(t, err, herdr.CodeAgentBlocked)
		}
	}
	_, err := x.c.FocusTab(x.ctx, w.Tab.TabID)
	x.try(t, err)
	x.agentIs(t, pane, "claude", herdr.StatusIdle)
	x.typeLine(t, pane, "q")
	x.agentGone(t, pane)
	x.eventually(t, "status unknown, no session", func() bool {
		p, err := x.c.Pane(x.ctx, pane)
		return err == nil && p.AgentStatus == herdr.StatusUnknown && p.AgentSession == nil && p.Agent == ""
	})
}

// starting lets herdr start the stand-in, and prompts it.
func (x *suite) starting(t *testing.T) {
	pane := x.workspace(t, "starting").RootPane.PaneID
	_, err := x.c.StartAgent(x.ctx, herdr.Start{Name: "Bad Name", Kind: "claude", PaneID: pane})
	x.wantCode(t, err, "invalid_agent_name")
	_, err = x.c.StartAgent(x.ctx, herdr.Start{Name: "fixer", Kind: "nosuch", PaneID: pane})
	x.wantCode(t, err, "unsupported_agent_kind")
	got, err := x.c.StartAgent(x.ctx, herdr.Start{Name: "fixer", Kind: "claude", PaneID: pane, Args: []string{"idle", `it's "x" $HOME;`}})
	x.try(t, err)
	if !got.Agent.LaunchPending || !slices.Equal(got.Argv, []string{"claude", "idle", `it's "x" $HOME;`}) {
		t.Errorf("started %+v", got)
	}
	_, err = x.c.PromptAgent(x.ctx, herdr.Prompt{Target: "fixer", Text: "too early"})
	x.wantCode(t, err, herdr.CodeAgentNotReady)
	_, err = x.c.StartAgent(x.ctx, herdr.Start{Name: "other", Kind: "claude", PaneID: pane})
	x.wantCode(t, err, herdr.CodeAgentPaneBusy)
	x.eventually(t, "interactive_ready", func() bool {
		a, err := x.c.Agent(x.ctx, "fixer")
		return err == nil && a.InteractiveReady && !a.LaunchPending && a.AgentStatus == herdr.StatusIdle
	})
	info := x.inFront(t, pane, "claude")
	if argv := info.ForegroundProcesses[0].Argv; argv[len(argv)-1] != `it's "x" $HOME;` {
		t.Errorf("argv %q", argv)
	}
	_, err = x.c.PromptAgent(x.ctx, herdr.Prompt{Target: "fixer", Text: "hello there"})
	x.try(t, err)
	x.screenHas(t, pane, "got: hello there")
	_, err = x.c.PromptAgent(x.ctx, herdr.Prompt{Target: pane, Text: ""})
	x.wantCode(t, err, herdr.CodeEmptyAgentPrompt)
	_, err = x.c.PromptAgent(x.ctx, herdr.Prompt{Target: "nobody", Text: "x"})
	x.wantCode(t, err, herdr.CodeAgentNotFound)
	x.typeLine(t, pane, "q")
	x.agentGone(t, pane)
	got, err = x.c.StartAgent(x.ctx, herdr.Start{Name: "lost", Kind: "kilo", PaneID: pane, TimeoutMS: 3100})
	x.try(t, err)
	if a, err := x.c.Agent(x.ctx, "lost"); err != nil || !a.LaunchPending || a.Pane.Agent != "" {
		t.Errorf("an agent that is not installed: %+v, %v", a, err)
	}
	x.agentGone(t, "lost")
}

// history is what herdr up to 0.8.2 sends first: one line for each entry of the
// list and step, in the order of the list (findings 20 and 21).
func (x *suite) history(t *testing.T) {
	if !strings.HasPrefix(x.Version, "0.8") {
		t.Log("only up to 0.8.2")
		return
	}
	for range 2 {
		x.try(t, x.c.ClosePane(x.ctx, x.workspace(t, "history").RootPane.PaneID))
	}
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	s, err := x.c.Subscribe(x.ctx, []herdr.Subscription{{Type: "workspace.closed"}, {Type: "pane.closed"}, {Type: "pane.created"}, {Type: "pane.closed"}})
	x.try(t, err)
	defer s.Close()
	var names []string
	for range 8 {
		e, err := s.Next(ctx)
		x.try(t, err)
		names = append(names, e.Name)
	}
	step := "workspace_closed pane_closed pane_created pane_closed"
	if got := strings.Join(names, " "); got != step+" "+step {
		t.Errorf("history %q", got)
	}
}

// events listens to a pane that is created, gets an agent, and is closed.
func (x *suite) events(t *testing.T) {
	pane := x.workspace(t, "events").RootPane.PaneID
	_, err := x.c.Subscribe(x.ctx, []herdr.Subscription{{Type: "pane.agent_status_changed", PaneID: "w99:p9"}})
	x.wantCode(t, err, herdr.CodePaneNotFound)
	s, err := x.c.Subscribe(x.ctx, []herdr.Subscription{
		{Type: "pane.agent_status_changed", PaneID: pane}, {Type: "pane.agent_detected"}, {Type: "pane.exited"},
		{Type: "pane.closed"}, {Type: "workspace.closed"},
	})
	x.try(t, err)
	defer s.Close()
	x.try(t, x.c.ReportAgent(x.ctx, herdr.AgentReport{PaneID: pane, Source: "example:tool", Agent: "mytool", State: "blocked"}))
	next := func(name string) herdr.Event { t.Helper(); return x.nextEvent(t, s, name, pane) }
	if e := next(herdr.EventAgentStatus); e.Status != herdr.StatusBlocked || e.Agent != "mytool" {
		t.Errorf("status %+v", e)
	}
	if e := next(herdr.EventAgentDetected); e.Agent != "mytool" || e.AgentGone() {
		t.Errorf("detected %+v", e)
	}
	x.try(t, x.c.ReleaseAgent(x.ctx, herdr.Release{PaneID: pane, Source: "example:tool", Agent: "mytool"}))
	if e := next(herdr.EventAgentStatus); e.Status != herdr.StatusUnknown {
		t.Errorf("status after a release %+v", e)
	}
	if e := next(herdr.EventAgentDetected); !e.Released || e.Agent != "mytool" || e.FinalStatus != herdr.StatusUnknown || !e.AgentGone() {
		t.Errorf("release %+v", e)
	}
	x.try(t, x.c.ClosePane(x.ctx, pane))
	if e := next(herdr.EventPaneClosed); !e.PaneGone() {
		t.Errorf("closed %+v", e)
	}
	other := x.workspace(t, "events, too").RootPane.PaneID
	x.typeLine(t, other, "exec true")
	if e := x.nextEvent(t, s, herdr.EventPaneExited, other); !e.PaneGone() {
		t.Errorf("exited %+v", e)
	}
}

// nextEvent waits for an event of a pane, and skips the history that herdr 0.8
// sends first.
func (x *suite) nextEvent(t *testing.T, s *herdr.Stream, name, pane string) herdr.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, 2*patience)
	defer cancel()
	for {
		e, err := s.Next(ctx)
		if err != nil {
			t.Fatalf("waiting for %s of %s: %v", name, pane, err)
		}
		if e.Name == name && e.PaneID == pane {
			return e
		}
	}
}

// restart ends the server and looks at what is left.
func (x *suite) restart(t *testing.T) {
	w := x.workspace(t, "restart")
	pane := w.RootPane.PaneID
	plain, err := x.c.SplitPane(x.ctx, herdr.Split{TargetPaneID: pane, Direction: "right"})
	x.try(t, err)
	x.typeLine(t, pane, "claude")
	x.agentIs(t, pane, "claude", herdr.StatusIdle)
	x.try(t, x.c.ReportAgentSession(x.ctx, herdr.SessionReport{PaneID: pane, Source: "herdr:claude", Agent: "claude", SessionID: "0b5c-7777", StartSource: "startup", Seq: 1}))
	before, err := x.c.Snapshot(x.ctx)
	x.try(t, err)
	identity, err := herdr.SocketIdentity(x.c.Socket)
	x.try(t, err)
	x.try(t, x.Restart(Stopped))
	if again, err := herdr.SocketIdentity(x.c.Socket); err != nil || again == identity {
		t.Errorf("identity of the new socket %v, %v, was %v", again, err, identity)
	}
	x.resumed(t, pane)
	after, err := x.c.Snapshot(x.ctx)
	x.try(t, err)
	if len(before.Panes) != len(after.Panes) {
		t.Fatalf("%d panes before, %d after", len(before.Panes), len(after.Panes))
	}
	for i, p := range before.Panes {
		q := after.Panes[i]
		if p.PaneID != q.PaneID || p.TerminalID == q.TerminalID || p.TabID != q.TabID {
			t.Errorf("pane %+v became %+v", p, q)
		}
	}
	x.shellReady(t, plain.PaneID)
	x.agentIs(t, pane, "claude", herdr.StatusIdle)
	info := x.inFront(t, pane, "claude")
	if argv := strings.Join(info.ForegroundProcesses[0].Argv, " "); !strings.HasSuffix(argv, "--resume 0b5c-7777") {
		t.Errorf("resumed by %q", argv)
	}
	x.typeLine(t, pane, "q")
	x.agentGone(t, pane)
}

// resumed checks the moment in which a restored agent has no process yet.
func (x *suite) resumed(t *testing.T, pane string) {
	t.Helper()
	var p herdr.Pane
	x.eventually(t, "the restored pane", func() bool {
		var err error
		p, err = x.c.Pane(x.ctx, pane)
		return err == nil
	})
	if p.Agent != "claude" || p.AgentStatus != herdr.StatusIdle || sessionOf(p) != "0b5c-7777" {
		t.Errorf("restored pane %+v", p)
	}
	_, err := x.c.ProcessInfo(x.ctx, pane)
	x.wantCode(t, err, herdr.CodePaneNotFound)
	_, err = x.c.PromptAgent(x.ctx, herdr.Prompt{Target: pane, Text: "hello"})
	x.wantCode(t, err, herdr.CodeAgentNotFound)
	time.Sleep(x.Settle)
}
