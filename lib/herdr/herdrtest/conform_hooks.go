package herdrtest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sessionhub/lib/herdr"
)

// hooks runs a plugin that hooks what sessionhub hooks.
func (x *suite) hooks(t *testing.T) {
	var manifest strings.Builder
	for _, on := range []string{"pane.created", "pane.agent_detected", "pane.agent_status_changed", "pane.closed", "pane.exited", "pane.moved", "tab.closed", "workspace.closed"} {
		fmt.Fprintf(&manifest, "[[events]]\non = %q\ncommand = [\"bin/rec\", \"hook\", %q]\n", on, on)
	}
	dir := x.plugin(t, manifest.String())
	w := x.workspace(t, "hooks")
	pane := w.RootPane.PaneID
	created := x.hook(t, dir, "pane.created", pane)
	x.surroundings(t, dir, created, w)
	if e := created.event(t); e.PaneID != pane || e.Pane == nil {
		t.Errorf("created %+v", e)
	}
	x.try(t, x.c.ReportAgent(x.ctx, herdr.AgentReport{PaneID: pane, Source: "example:tool", Agent: "mytool", State: "working"}))
	if e := x.hook(t, dir, "pane.agent_detected", "mytool").event(t); e.AgentGone() || e.Agent != "mytool" || e.PaneID != pane {
		t.Errorf("detected %+v", e)
	}
	if e := x.hook(t, dir, "pane.agent_status_changed", "working").event(t); e.Status != herdr.StatusWorking || e.Agent != "mytool" {
		t.Errorf("status %+v", e)
	}
	x.try(t, x.c.ReleaseAgent(x.ctx, herdr.Release{PaneID: pane, Source: "example:tool", Agent: "mytool"}))
	if e := x.hook(t, dir, "pane.agent_detected", `"released":true`).event(t); !e.AgentGone() || e.Agent != "mytool" {
		t.Errorf("released %+v", e)
	}
	x.typeLine(t, pane, "claude blocked")
	if e := x.hook(t, dir, "pane.agent_detected", `"agent":"claude"`).event(t); e.AgentGone() {
		t.Errorf("claude detected %+v", e)
	}
	if e := x.hook(t, dir, "pane.agent_status_changed", `"blocked"`).event(t); e.Agent != "claude" {
		t.Errorf("claude blocked %+v", e)
	}
	x.typeLine(t, pane, "q")
	if e := x.hook(t, dir, "pane.agent_detected", `"final_status":"done"`).event(t); !e.AgentGone() || e.Agent != "claude" {
		t.Errorf("claude gone %+v", e)
	}
	if e := x.hook(t, dir, "pane.agent_status_changed", `"done"`).event(t); e.Agent != "claude" {
		t.Errorf("the status of one that has gone %+v", e)
	}
	x.try(t, x.c.ClosePane(x.ctx, pane))
	closed := x.hook(t, dir, "pane.closed", pane)
	if got := closed.names(); slices.Contains(got, "HERDR_TAB_ID") || closed["HERDR_PANE_ID"] != pane {
		t.Errorf("environment of pane.closed %v", got)
	}
	if e := x.hook(t, dir, "workspace.closed", w.Workspace.WorkspaceID).event(t); e.WorkspaceID != w.Workspace.WorkspaceID {
		t.Errorf("workspace closed %+v", e)
	}
}

// surroundings checks what a hook is given.
func (x *suite) surroundings(t *testing.T, dir string, r record, w herdr.Created) {
	t.Helper()
	want := []string{
		"HERDR_BIN_PATH", "HERDR_ENV", "HERDR_PANE_ID", "HERDR_PLUGIN_CONFIG_DIR", "HERDR_PLUGIN_CONTEXT_JSON",
		"HERDR_PLUGIN_EVENT", "HERDR_PLUGIN_EVENT_JSON", "HERDR_PLUGIN_ID", "HERDR_PLUGIN_ROOT", "HERDR_PLUGIN_STATE_DIR",
		"HERDR_SOCKET_PATH", "HERDR_TAB_ID", "HERDR_WORKSPACE_ID",
	}
	if got := r.names(); !slices.Equal(got, want) {
		t.Errorf("environment %v, want %v", got, want)
	}
	for k, want := range map[string]string{
		"HERDR_ENV": "1", "HERDR_PLUGIN_ID": "example.recorder", "HERDR_PLUGIN_ROOT": dir, "HERDR_SOCKET_PATH": x.c.Socket,
		"HERDR_PANE_ID": w.RootPane.PaneID, "HERDR_TAB_ID": w.Tab.TabID, "HERDR_WORKSPACE_ID": w.Workspace.WorkspaceID,
		"REC_CWD": dir, "REC_ARGS": "hook pane.created", "REC_ARGV0": filepath.Join(dir, "bin/rec"), "HOME": x.Home,
	} {
		if r[k] != want {
			t.Errorf("%s is %q, want %q", k, r[k], want)
		}
	}
	var context obj
	x.try(t, json.Unmarshal([]byte(r["HERDR_PLUGIN_CONTEXT_JSON"]), &context))
	for k, want := range map[string]any{
		"workspace_id": w.Workspace.WorkspaceID, "workspace_label": "hooks", "focused_pane_id": w.RootPane.PaneID,
		"invocation_source": "api", "correlation_id": "pane.created", "focused_pane_status": "unknown",
	} {
		if context[k] != want {
			t.Errorf("context %s is %v, want %v", k, context[k], want)
		}
	}
}
