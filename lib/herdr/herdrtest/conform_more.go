package herdrtest

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sessionhub/lib/herdr"
)

// looks: focusing turns done into idle; status subscriptions hear of it, hooks
// do not (finding 15).
func (x *suite) looks(t *testing.T) {
	w := x.workspace(t, "looks")
	pane := w.RootPane.PaneID
	dir := x.plugin(t, "[[events]]\non = \"pane.agent_status_changed\"\ncommand = [\"bin/rec\"]\n[[events]]\non = \"pane.focused\"\ncommand = [\"bin/rec\"]\n")
	sub, err := x.c.Subscribe(x.ctx, []herdr.Subscription{{Type: "pane.agent_status_changed", PaneID: pane}})
	x.try(t, err)
	defer sub.Close()
	for _, state := range []herdr.Status{"working", "idle"} {
		x.try(t, x.c.ReportAgent(x.ctx, herdr.AgentReport{PaneID: pane, Source: "s", Agent: "tool", State: state}))
	}
	for _, want := range []herdr.Status{"working", "done"} {
		if e := x.nextEvent(t, sub, herdr.EventAgentStatus, pane); e.Status != want {
			t.Errorf("%+v, want %s", e, want)
		}
	}
	_, err = x.c.FocusTab(x.ctx, w.Tab.TabID)
	x.try(t, err)
	if e := x.nextEvent(t, sub, herdr.EventAgentStatus, pane); e.Status != herdr.StatusIdle {
		t.Errorf("after a look %+v", e)
	}
	x.hook(t, dir, "pane.focused", pane)
	for _, r := range x.records(t, dir) {
		if strings.Contains(r["HERDR_PLUGIN_EVENT_JSON"], `"agent_status":"idle"`) {
			t.Errorf("a hook heard of a look: %s", r["HERDR_PLUGIN_EVENT_JSON"])
		}
	}
}

// ends: agents that end with their pane, killed from outside, and closed.
func (x *suite) ends(t *testing.T) {
	dir := x.plugin(t, "[[events]]\non = \"pane.agent_detected\"\ncommand = [\"bin/rec\"]\n[[events]]\non = \"pane.exited\"\ncommand = [\"bin/rec\"]\n"+
		"[[events]]\non = \"pane.closed\"\ncommand = [\"bin/rec\"]\n[[events]]\non = \"tab.closed\"\ncommand = [\"bin/rec\"]\n")
	w := x.workspace(t, "ends")
	for i, end := range []func(string){
		func(pane string) { x.typeLine(t, pane, "q") },
		func(pane string) {
			info, err := x.c.ProcessInfo(x.ctx, pane)
			x.try(t, err)
			syscall.Kill(info.ShellPID, syscall.SIGKILL)
		},
	} {
		tab, err := x.c.CreateTab(x.ctx, herdr.NewTab{WorkspaceID: w.Workspace.WorkspaceID})
		x.try(t, err)
		pane := tab.RootPane.PaneID
		x.shellReady(t, pane)
		x.typeLine(t, pane, []string{"exec claude", "claude"}[i])
		x.agentIs(t, pane, "claude", herdr.StatusIdle)
		end(pane)
		x.paneGone(t, pane)
		exited := x.hook(t, dir, "pane.exited", `"`+pane+`"`)
		if exited["HERDR_PANE_ID"] != pane || exited["HERDR_TAB_ID"] != tab.Tab.TabID {
			t.Errorf("surroundings of pane.exited: %v", exited.names())
		}
		x.eventually(t, "the release of "+pane, func() bool {
			for _, r := range x.records(t, dir) {
				if e := r.event(t); e.PaneID == pane && e.Released && e.Agent == "claude" {
					return true
				}
			}
			return false
		})
	}
	x.closedWithAgent(t, dir, w)
}

// closedWithAgent: closing says nothing of the agents inside.
func (x *suite) closedWithAgent(t *testing.T, dir string, w herdr.Created) {
	t.Helper()
	tab, err := x.c.CreateTab(x.ctx, herdr.NewTab{WorkspaceID: w.Workspace.WorkspaceID})
	x.try(t, err)
	pane := tab.RootPane.PaneID
	x.shellReady(t, pane)
	x.typeLine(t, pane, "claude")
	x.agentIs(t, pane, "claude", herdr.StatusIdle)
	x.try(t, x.c.CloseTab(x.ctx, tab.Tab.TabID))
	closed := x.hook(t, dir, "tab.closed", tab.Tab.TabID)
	if got := strings.Join(closed.names(), " "); strings.Contains(got, "HERDR_PANE_ID") || closed["HERDR_TAB_ID"] != tab.Tab.TabID {
		t.Errorf("surroundings of tab.closed: %s", got)
	}
	time.Sleep(x.Settle)
	for _, r := range x.records(t, dir) {
		if e := r.event(t); e.PaneID == pane && (e.Released || e.PaneGone()) {
			t.Errorf("closing a tab told %s", r["HERDR_PLUGIN_EVENT_JSON"])
		}
	}
}

// suspended: a stopped agent is released, and its session is lost for good
// (finding 16).
func (x *suite) suspended(t *testing.T) {
	pane := x.workspace(t, "suspended").RootPane.PaneID
	x.typeLine(t, pane, "claude")
	x.agentIs(t, pane, "claude", herdr.StatusIdle)
	x.try(t, x.c.ReportAgentSession(x.ctx, herdr.SessionReport{PaneID: pane, Source: "herdr:claude", Agent: "claude", SessionID: "0b5c", Seq: 1}))
	x.try(t, x.c.SendKeys(x.ctx, pane, "ctrl+z"))
	x.agentGone(t, pane)
	x.typeLine(t, pane, "fg")
	if a := x.agentIs(t, pane, "claude", herdr.StatusIdle); a.AgentSession != nil {
		t.Errorf("session %+v after a stop", a.AgentSession)
	}
}

// prompts: what a program that reads raw bytes gets. herdr changes nothing in a
// text, so that one with an end of the brackets in it gets out of them.
func (x *suite) prompts(t *testing.T) {
	pane := x.workspace(t, "prompts").RootPane.PaneID
	out := filepath.Join(x.Home, "typed")
	script := "#!/bin/sh\nstty raw -echo\nprintf '\\033]0;✳ Raw\\007❯ '\nprintf '%b' \"$1\"\ndd bs=1 count=$2 of=" + out + " 2>/dev/null\nstty sane\n"
	x.try(t, os.WriteFile(filepath.Join(x.Bin, "claude"), []byte(script), 0o755))
	defer os.WriteFile(filepath.Join(x.Bin, "claude"), standInClaude, 0o755)
	run := func(mode, want string, do func()) {
		t.Helper()
		os.Remove(out)
		x.typeLine(t, pane, "claude '"+mode+"' "+strconv.Itoa(len(want)))
		x.agentIs(t, pane, "claude", herdr.StatusIdle)
		do()
		x.agentGone(t, pane)
		if got, err := os.ReadFile(out); err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	const brackets = `\033[?2004h`
	for _, step := range []struct{ mode, text, want string }{
		{brackets, "one\ntwo\tthree", "\x1b[200~one\ntwo\tthree\x1b[201~\r"},
		{brackets, "a\x1b[31mred\rb\x1b[201~c\a", "\x1b[200~a\x1b[31mred\rb\x1b[201~c\a\x1b[201~\r"},
		{"", "one\ntwo", "one\ntwo\r"},
	} {
		run(step.mode, step.want, func() {
			_, err := x.c.PromptAgent(x.ctx, herdr.Prompt{Target: pane, Text: step.text})
			x.try(t, err)
		})
		run(step.mode, step.want, func() { x.try(t, x.c.SendInput(x.ctx, pane, step.text, "Enter")) })
	}
	run("", "\r\x1b\t\x1b[Z\x7f \x1b[A\x1b[B\x1bOP\x1b[15~aA\x18\x1bx\x03-\"\x1b[1;5A\x1b[1;2A\x1b\r\x00\x1b[27;5;13~é\x01", func() {
		x.try(t, x.c.SendKeys(x.ctx, pane, "enter", "esc", "tab", "shift+tab", "backspace", "space", "up", "down", "f1", "f5", "a",
			"A", "Ctrl+X", "alt+x", "C-c", "minus", "double_quote", "ctrl+up", "shift+up", "alt+enter", "ctrl+space", "ctrl+enter", "é", "ctrl+shift+a"))
	})
	run(`\033[?1h`, "\x1bOA\x1bOD\r", func() { x.try(t, x.c.SendKeys(x.ctx, pane, "up", "left", "enter")) })
}

// commandLimit: 32 commands at once for the whole server; more are dropped with
// a failed log entry, and actions are refused.
func (x *suite) commandLimit(t *testing.T) {
	stop := filepath.Join(x.Home, "stop")
	x.plugin(t, "[[actions]]\nid = \"waits\"\ntitle = \"Waits\"\ncommand = [\"sh\", \"-c\", \"while ! [ -e "+stop+" ]; do sleep 0.1; done\"]\n")
	for range maxCommands {
		_, err := x.c.InvokeAction(x.ctx, herdr.Invocation{ActionID: "waits"})
		x.try(t, err)
	}
	_, err := x.c.InvokeAction(x.ctx, herdr.Invocation{ActionID: "waits"})
	x.wantCode(t, err, "plugin_command_limit_reached")
	logs, err := x.c.PluginLogs(x.ctx, herdr.Logs{PluginID: "example.recorder", Limit: 200})
	x.try(t, err)
	running := 0
	for _, e := range logs {
		if e.Status == "running" {
			running++
		}
	}
	if running != maxCommands {
		t.Errorf("%d running, want %d", running, maxCommands)
	}
	x.try(t, os.WriteFile(stop, nil, 0o644))
	x.eventually(t, "room again", func() bool {
		_, err := x.c.InvokeAction(x.ctx, herdr.Invocation{ActionID: "waits"})
		return err == nil
	})
	x.eventually(t, "nothing running", func() bool {
		logs, err := x.c.PluginLogs(x.ctx, herdr.Logs{Limit: 200})
		x.try(t, err)
		for _, e := range logs {
			if e.Status == "running" {
				return false
			}
		}
		return true
	})
}

// failedResume: an agent that does not come up after a restart makes one
// pane.agent_detected without an agent, and its session stays (finding 45 of
// the captures with Claude). Startup hooks run at the restart.
func (x *suite) failedResume(t *testing.T) {
	dir := x.plugin(t, "[[startup]]\ncommand = [\"bin/rec\", \"startup\"]\n[[events]]\non = \"pane.agent_detected\"\ncommand = [\"bin/rec\"]\n")
	pane := x.workspace(t, "failed resume").RootPane.PaneID
	x.try(t, x.c.ReportAgentSession(x.ctx, herdr.SessionReport{PaneID: pane, Source: "herdr:claude", Agent: "claude", SessionID: "gone", Seq: 1}))
	x.try(t, os.Remove(filepath.Join(x.Bin, "claude")))
	defer os.WriteFile(filepath.Join(x.Bin, "claude"), standInClaude, 0o755)
	x.try(t, x.Restart(Stopped))
	x.eventually(t, "the restored pane", func() bool {
		p, err := x.c.Pane(x.ctx, pane)
		return err == nil && p.Agent == "claude" && p.AgentStatus == herdr.StatusIdle
	})
	startup := x.hook(t, dir, "startup", "")
	if startup["REC_ARGS"] != "startup" || startup["HERDR_PLUGIN_EVENT_JSON"] != "" || startup["HERDR_PLUGIN_CONTEXT_JSON"] == "" {
		t.Errorf("startup %v", startup)
	}
	if e := x.hook(t, dir, "pane.agent_detected", pane).event(t); e.Agent != "" || e.Released || !e.AgentGone() {
		t.Errorf("detected %+v", e)
	}
	p, err := x.c.Pane(x.ctx, pane)
	x.try(t, err)
	if p.Agent != "" || sessionOf(p) != "gone" {
		t.Errorf("after the failure %+v", p)
	}
}

// outlive: hooks live on when the server ends, but their output is a broken
// pipe (finding 29).
func (x *suite) outlive(t *testing.T) {
	dir := x.plugin(t, "[[actions]]\nid = \"outlives\"\ntitle = \"Outlives\"\n"+
		"command = [\"sh\", \"-c\", \"trap '' PIPE; touch begun; until [ -e go ]; do sleep 0.05; done; echo x 2>/dev/null || touch broken\"]\n")
	_, err := x.c.InvokeAction(x.ctx, herdr.Invocation{ActionID: "outlives"})
	x.try(t, err)
	exists := func(name string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
	}
	x.eventually(t, "the command's begin", exists("begun"))
	x.try(t, x.Restart(Stopped))
	x.try(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o644))
	x.eventually(t, "a broken pipe", exists("broken"))
	logs, err := x.c.PluginLogs(x.ctx, herdr.Logs{PluginID: "example.recorder"})
	x.try(t, err)
	if len(logs) != 0 {
		t.Errorf("the log of the last run: %+v", logs)
	}
}

// stop ends the server by its own method.
func (x *suite) stop(t *testing.T) {
	sub, err := x.c.Subscribe(x.ctx, []herdr.Subscription{{Type: "tab.renamed"}})
	x.try(t, err)
	defer sub.Close()
	x.try(t, x.c.StopServer(x.ctx))
	if _, err := sub.Next(x.ctx); !errors.Is(err, herdr.ErrUnreachable) {
		t.Errorf("subscription: %v, want its end", err)
	}
	x.eventually(t, "no socket", func() bool {
		var u *herdr.UnreachableError
		_, err := x.c.Ping(x.ctx)
		return errors.As(err, &u) && u.Cause == herdr.NoSocket
	})
}
