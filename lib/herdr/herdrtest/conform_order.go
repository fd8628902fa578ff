package herdrtest

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sessionhub/lib/herdr"
)

//go:embed testdata/screens/*.txt
var screens embed.FS

// screens shows what a real Claude drew, and asks what herdr makes of it.
func (x *suite) screens(t *testing.T) {
	pane := x.workspace(t, "screens").RootPane.PaneID
	script := "#!/bin/sh\nprintf '\\033]0;✳ Screen\\007\\033[2J\\033[H'\ncat \"$1\"\nread -r line\n"
	x.try(t, os.WriteFile(filepath.Join(x.Bin, "claude"), []byte(script), 0o755))
	defer os.WriteFile(filepath.Join(x.Bin, "claude"), standInClaude, 0o755)
	for name, want := range map[string]herdr.Status{
		"exit-background-work": herdr.StatusBlocked, "herdr-permission": herdr.StatusBlocked, "herdr-question": herdr.StatusBlocked,
		"herdr-trust-dialog": herdr.StatusBlocked, "remote-control-no-account": herdr.StatusIdle, "slash-menu-remote-control": herdr.StatusIdle,
	} {
		b, err := screens.ReadFile("testdata/screens/" + name + ".txt")
		x.try(t, err)
		file := filepath.Join(x.Home, name)
		x.try(t, os.WriteFile(file, b, 0o644))
		x.typeLine(t, pane, "clear; claude "+file)
		x.agentIs(t, pane, "claude", want)
		x.typeLine(t, pane, "")
		x.agentGone(t, pane)
	}
}

// order compares which events herdr makes of a call, in the order in which it
// starts their hooks.
func (x *suite) order(t *testing.T) {
	var manifest strings.Builder
	for _, on := range []string{
		"workspace.created", "workspace.closed", "workspace.renamed", "workspace.focused", "tab.created", "tab.closed", "tab.renamed",
		"tab.focused", "pane.created", "pane.closed", "pane.focused", "pane.moved", "pane.exited", "pane.agent_detected", "pane.agent_status_changed",
	} {
		fmt.Fprintf(&manifest, "[[events]]\non = %q\ncommand = [\"true\"]\n", on)
	}
	manifest.WriteString("[[panes]]\nid = \"board\"\ntitle = \"Board\"\ncommand = [\"sleep\", \"600\"]\n")
	x.plugin(t, manifest.String())
	var w, other herdr.Created
	var pane, board herdr.Pane
	var applied herdr.AppliedLayout
	var err error
	report := func(state herdr.Status) error {
		return x.c.ReportAgent(x.ctx, herdr.AgentReport{PaneID: w.RootPane.PaneID, Source: "s", Agent: "tool", State: state})
	}
	for _, step := range []struct {
		name string
		run  func() error
		want string
	}{
		{"workspace.create", func() error { w, err = x.c.CreateWorkspace(x.ctx, herdr.NewWorkspace{}); return err },
			"workspace.created tab.created pane.created"},
		{"workspace.create, focused", func() error { other, err = x.c.CreateWorkspace(x.ctx, herdr.NewWorkspace{Focus: true}); return err },
			"workspace.created tab.created pane.created workspace.focused tab.focused pane.focused"},
		{"pane.split", func() error {
			pane, err = x.c.SplitPane(x.ctx, herdr.Split{TargetPaneID: w.RootPane.PaneID, Direction: "down"})
			return err
		}, "pane.created"},
		{"report, new agent", func() error { return report("working") }, "pane.agent_detected pane.agent_status_changed"},
		{"report, same agent", func() error { return report("blocked") }, "pane.agent_status_changed"},
		{"report, no change", func() error { return report("blocked") }, ""},
		{"release", func() error {
			return x.c.ReleaseAgent(x.ctx, herdr.Release{PaneID: w.RootPane.PaneID, Source: "s", Agent: "tool"})
		}, "pane.agent_detected pane.agent_status_changed"},
		{"session report", func() error {
			return x.c.ReportAgentSession(x.ctx, herdr.SessionReport{PaneID: w.RootPane.PaneID, Source: "herdr:claude", Agent: "codex", SessionID: "x"})
		}, ""},
		{"pane.close", func() error { return x.c.ClosePane(x.ctx, pane.PaneID) }, "pane.closed"},
		{"tab.create, focused", func() error {
			_, err = x.c.CreateTab(x.ctx, herdr.NewTab{WorkspaceID: w.Workspace.WorkspaceID, Focus: true})
			return err
		}, "tab.created pane.created workspace.focused tab.focused pane.focused"},
		{"layout.apply in place of a tab", func() error {
			applied, err = x.c.ApplyLayout(x.ctx, herdr.ApplyParams{TabID: w.Tab.TabID, Root: herdr.LayoutNode{Type: "pane", Command: []string{"sleep", "600"}}})
			return err
		}, "tab.closed tab.created pane.created"},
		{"layout.apply, one more tab", func() error {
			_, err = x.c.ApplyLayout(x.ctx, herdr.ApplyParams{WorkspaceID: w.Workspace.WorkspaceID, Root: herdr.LayoutNode{Type: "pane", Command: []string{"sleep", "600"}}})
			return err
		}, "tab.created pane.created"},
		{"tab.close", func() error { return x.c.CloseTab(x.ctx, applied.TabID) }, "tab.closed"},
		{"plugin pane, overlay", func() error {
			board, err = x.c.OpenPluginPane(x.ctx, herdr.OpenPane{PluginID: "example.recorder", Entrypoint: "board"})
			return err
		}, "pane.created workspace.focused tab.focused pane.focused"},
		{"its end", func() error { return x.c.ClosePane(x.ctx, board.PaneID) }, "pane.closed workspace.focused tab.focused pane.focused"},
		{"pane.close, last of a workspace", func() error { return x.c.ClosePane(x.ctx, other.RootPane.PaneID) }, "pane.closed workspace.closed"},
		{"workspace.close", func() error { return x.c.CloseWorkspace(x.ctx, w.Workspace.WorkspaceID) }, "workspace.closed workspace.focused tab.focused pane.focused"},
	} {
		before := x.lastLog(t)
		x.try(t, step.run())
		if got := x.eventsAfter(t, before); got != step.want {
			t.Errorf("%s: %q, want %q", step.name, got, step.want)
		}
	}
}

func (x *suite) lastLog(t *testing.T) string {
	t.Helper()
	logs, err := x.c.PluginLogs(x.ctx, herdr.Logs{Limit: 200})
	x.try(t, err)
	if len(logs) == 0 {
		return ""
	}
	return logs[len(logs)-1].LogID
}

// eventsAfter lists the events since a log entry. herdr makes them before it
// answers the call.
func (x *suite) eventsAfter(t *testing.T, logID string) string {
	t.Helper()
	logs, err := x.c.PluginLogs(x.ctx, herdr.Logs{Limit: 200})
	x.try(t, err)
	var out []string
	for _, e := range logs {
		if e.LogID == logID {
			out = nil
			continue
		}
		out = append(out, e.Event)
	}
	return strings.Join(out, " ")
}
