package herdrtest

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/herdr"
	"sessionhub/lib/herdr/herdrtest/schema"
)

// capturedHook is what a real server gave a hook: the names of its variables,
// the keys of its context and event.
type capturedHook struct {
	Hook        string
	Situation   string
	Env         []string
	Context     []string
	Source      string
	Correlation string
	Event       []string
}

func capturedHooks(t *testing.T) []capturedHook {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "hooks.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []capturedHook
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var h capturedHook
		if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
			t.Fatal(err)
		}
		list = append(list, h)
	}
	return list
}

// keyPaths lists the keys of an object and of those in it.
func keyPaths(v any, path string) []string {
	o, isObj := v.(obj)
	if !isObj {
		return []string{strings.TrimPrefix(path, ".")}
	}
	var out []string
	for k, x := range o {
		out = append(out, keyPaths(x, path+"."+k)...)
	}
	sort.Strings(out)
	return out
}

// fits compares a record with the capture.
func (h capturedHook) fits(r record) string {
	var context, event obj
	json.Unmarshal([]byte(r["HERDR_PLUGIN_CONTEXT_JSON"]), &context)
	json.Unmarshal([]byte(r["HERDR_PLUGIN_EVENT_JSON"]), &event)
	var names []string
	for _, n := range r.names() {
		if n != "HERDR_PLUGIN_CONTEXT_JSON" && n != "HERDR_PLUGIN_EVENT_JSON" {
			names = append(names, n)
		}
	}
	var keys []string
	for k := range context {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var paths []string
	if event != nil {
		paths = withoutTitle(keyPaths(event, ""))
	}
	switch {
	case !slices.Equal(names, h.Env):
		return "environment " + strings.Join(names, " ")
	case !slices.Equal(keys, h.Context):
		return "context " + strings.Join(keys, " ")
	case context["invocation_source"] != h.Source:
		return "source " + r["HERDR_PLUGIN_CONTEXT_JSON"]
	case h.Hook != "action" && context["correlation_id"] != h.Correlation:
		return "correlation " + r["HERDR_PLUGIN_CONTEXT_JSON"]
	case !slices.Equal(paths, withoutTitle(h.Event)):
		return "event " + strings.Join(paths, " ")
	}
	return ""
}

// withoutTitle drops what depends on the shell's prompt.
func withoutTitle(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return strings.Contains(p, "terminal_title") })
}

// TestHooksAsCaptured goes through the captured situations.
func TestHooksAsCaptured(t *testing.T) {
	bin := standIn(t)
	s, c := start(t, WithPath(bin))
	x := &suite{Target: Target{Client: c, Home: s.Home(), Bin: bin}, ctx: context.Background(), c: c}
	var manifest strings.Builder
	manifest.WriteString("[[startup]]\ncommand = [\"bin/rec\", \"startup\"]\n[[actions]]\nid = \"act\"\ntitle = \"Act\"\ncommand = [\"bin/rec\", \"action\"]\n" +
		"[[panes]]\nid = \"split\"\ntitle = \"The split\"\nplacement = \"split\"\ncommand = [\"./bin/rec\", \"split\", \"--pane\"]\n")
	for _, on := range []string{
		"workspace.created", "workspace.closed", "workspace.renamed", "workspace.focused", "tab.created", "tab.closed",
		"tab.focused", "pane.created", "pane.closed", "pane.focused", "pane.exited", "pane.agent_detected", "pane.agent_status_changed",
	} {
		manifest.WriteString("[[events]]\non = \"" + on + "\"\ncommand = [\"bin/rec\", \"hook\"]\n")
	}
	x.try(t, os.MkdirAll(filepath.Join(s.Home(), "src/api"), 0o755))
	front := x.workspace(t, "front")
	dir := x.plugin(t, manifest.String())
	scenes := scenesOf(x, t, s, front)
	checker, err := schema.New()
	x.try(t, err)
	for _, h := range capturedHooks(t) {
		scene, known := scenes[h.Situation]
		if !known {
			t.Errorf("%s: nobody plays it", h.Situation)
			continue
		}
		// Hooks of the last scene may still be writing.
		x.eventually(t, "no records", func() bool { return os.RemoveAll(filepath.Join(dir, "records")) == nil })
		scene()
		x.played(t, h, dir, checker)
	}
}

// played waits until a hook was run as captured.
func (x *suite) played(t *testing.T, h capturedHook, dir string, checker *schema.Checker) {
	t.Helper()
	last := "it was never run"
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for _, r := range x.records(t, dir) {
			if r["HERDR_PLUGIN_EVENT"] != h.Hook && !strings.HasPrefix(r["REC_ARGS"], strings.TrimPrefix(h.Hook, "pane-")) {
				continue
			}
			if last = h.fits(r); last != "" {
				continue
			}
			if e := r["HERDR_PLUGIN_EVENT_JSON"]; e != "" {
				x.try(t, checker.Event([]byte(e)))
			}
			return
		}
	}
	t.Errorf("%s: %s: %s", h.Hook, h.Situation, last)
}

// scenesOf plays the situations of the captures.
func scenesOf(x *suite, t *testing.T, s *Server, front herdr.Created) map[string]func() {
	ctx, c := x.ctx, x.c
	fresh := func() herdr.Created { return x.workspace(t, "scene") }
	report := func(pane, state string) {
		x.try(t, c.ReportAgent(ctx, herdr.AgentReport{PaneID: pane, Source: "example:tool", Agent: "mytool", State: herdr.Status(state)}))
	}
	claude := func(args string) string {
		pane := fresh().RootPane.PaneID
		x.typeLine(t, pane, "claude "+args)
		return pane
	}
	return map[string]func(){
		"workspace.create, unfocused": func() { fresh() },
		"workspace.create, focused": func() {
			_, err := c.CreateWorkspace(ctx, herdr.NewWorkspace{Cwd: s.Home(), Focus: true})
			x.try(t, err)
		},
		"tab.create": func() {
			_, err := c.CreateTab(ctx, herdr.NewTab{WorkspaceID: front.Workspace.WorkspaceID})
			x.try(t, err)
		},
		"pane.split": func() {
			_, err := c.SplitPane(ctx, herdr.Split{TargetPaneID: front.RootPane.PaneID, Direction: "down"})
			x.try(t, err)
		},
		"workspace.rename": func() {
			request(t, s.Socket(), []byte(`{"id":"1","method":"workspace.rename","params":{"workspace_id":"w1","label":"api"}}`))
		},
		"self-reported agent appears: working":                        func() { report(fresh().RootPane.PaneID, "working") },
		"claude (stand-in) typed into the shell of an unfocused pane": func() { claude("idle") },
		"stand-in shows a permission dialog":                          func() { claude("blocked") },
		"stand-in quits, shell stays": func() {
			pane := claude("idle")
			x.agentIs(t, pane, "claude", herdr.StatusIdle)
			x.typeLine(t, pane, "q")
		},
		"release it": func() {
			pane := fresh().RootPane.PaneID
			report(pane, "working")
			x.try(t, c.ReleaseAgent(ctx, herdr.Release{PaneID: pane, Source: "example:tool", Agent: "mytool"}))
		},
		"pane.close of a pane with an agent": func() {
			w := fresh()
			_, err := c.SplitPane(ctx, herdr.Split{TargetPaneID: w.RootPane.PaneID, Direction: "down"})
			x.try(t, err)
			report(w.RootPane.PaneID, "working")
			x.try(t, c.ClosePane(ctx, w.RootPane.PaneID))
		},
		"pane.close of the last pane of a workspace":   func() { x.try(t, c.ClosePane(ctx, fresh().RootPane.PaneID)) },
		"workspace.close: 2 tabs, one working agent":   func() { x.try(t, c.CloseWorkspace(ctx, fresh().Workspace.WorkspaceID)) },
		"tab.close: 2 panes, one with a blocked agent": func() { x.try(t, c.CloseTab(ctx, fresh().Tab.TabID)) },
		"plain shell exits (exec false typed)":         func() { x.typeLine(t, fresh().RootPane.PaneID, "exec false") },
		"plugin.action.invoke over the socket": func() {
			_, err := c.InvokeAction(ctx, herdr.Invocation{ActionID: "act"})
			x.try(t, err)
		},
		"server start with the plugin linked and panes to restore": func() { x.try(t, s.Restart(Stopped)) },
		"start of a named session: herdr --session other server": func() {
			other, err := New(Config{Home: s.Home(), Session: "other", Env: s.Env()})
			x.try(t, err)
			t.Cleanup(other.Close)
		},
		"plugin.pane.open split": func() {
			_, err := c.OpenPluginPane(ctx, herdr.OpenPane{PluginID: "example.recorder", Entrypoint: "split"})
			x.try(t, err)
		},
	}
}
