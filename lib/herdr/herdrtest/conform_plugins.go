package herdrtest

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/herdr"
)

func exchangeLine(socket, method string) (obj, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprintf(conn, "{\"id\":\"1\",\"method\":%q,\"params\":{}}\n", method); err != nil {
		return nil, err
	}
	var o obj
	return o, json.NewDecoder(conn).Decode(&o)
}

const manifestHead = `id = "example.recorder"
name = "Recorder"
version = "0.1.0"
min_herdr_version = "0.8.0"
platforms = ["linux", "macos"]
`

// plugin writes a plugin and links it for one part.
func (x *suite) plugin(t *testing.T, manifest string) string {
	t.Helper()
	dir, err := os.MkdirTemp(x.Home, "plug")
	x.try(t, err)
	x.try(t, os.MkdirAll(filepath.Join(dir, "bin"), 0o755))
	x.try(t, os.WriteFile(filepath.Join(dir, "bin", "rec"), recorder, 0o755))
	x.try(t, os.WriteFile(filepath.Join(dir, "herdr-plugin.toml"), []byte(manifestHead+manifest), 0o644))
	p, err := x.c.LinkPlugin(x.ctx, herdr.Link{Path: dir, Enabled: true})
	x.try(t, err)
	t.Cleanup(func() { x.c.UnlinkPlugin(x.ctx, p.PluginID) })
	if p.PluginID != "example.recorder" || !p.Enabled || p.PluginRoot != dir {
		t.Fatalf("linked %+v", p)
	}
	return dir
}

func (x *suite) plugins(t *testing.T) {
	_, err := x.c.LinkPlugin(x.ctx, herdr.Link{Path: "/no/such/plugin", Enabled: true})
	x.wantCode(t, err, "plugin_manifest_not_found")
	dir := x.plugin(t, "[[events]]\non = \"pane.nosuch\"\ncommand = [\"bin/rec\"]\n")
	list, err := x.c.Plugins(x.ctx, "example.recorder")
	x.try(t, err)
	if len(list) != 1 || len(list[0].Warnings) != 1 || list[0].ManifestPath != filepath.Join(dir, "herdr-plugin.toml") {
		t.Errorf("plugins %+v", list)
	}
	p, err := x.c.DisablePlugin(x.ctx, "example.recorder")
	x.try(t, err)
	if p.Enabled {
		t.Error("still enabled")
	}
	p, err = x.c.LinkPlugin(x.ctx, herdr.Link{Path: dir, Enabled: false})
	x.try(t, err)
	if p.Enabled {
		t.Error("enabled by linking")
	}
	_, err = x.c.EnablePlugin(x.ctx, "example.recorder")
	x.try(t, err)
	_, err = x.c.EnablePlugin(x.ctx, "nosuch")
	x.wantCode(t, err, herdr.CodePluginNotFound)
	removed, err := x.c.UnlinkPlugin(x.ctx, "example.recorder")
	if err != nil || !removed {
		t.Errorf("unlink: %v, %v", removed, err)
	}
	removed, err = x.c.UnlinkPlugin(x.ctx, "example.recorder")
	if err != nil || removed {
		t.Errorf("unlink again: %v, %v", removed, err)
	}
}

// record is how a hook was run.
type record map[string]string

func (x *suite) records(t *testing.T, dir string) []record {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "records", "*"))
	x.try(t, err)
	sort.Strings(names)
	var list []record
	for _, name := range names {
		if strings.HasSuffix(name, ".tmp") {
			continue
		}
		b, err := os.ReadFile(name)
		x.try(t, err)
		r := record{}
		for _, kv := range strings.Split(string(b), "\x00") {
			k, v, _ := strings.Cut(kv, "=")
			r[k] = v
		}
		list = append(list, r)
	}
	return list
}

// hook waits for the hook of an event whose JSON has a text.
func (x *suite) hook(t *testing.T, dir, event, text string) record {
	t.Helper()
	var found record
	x.eventually(t, "hook "+event+" "+text, func() bool {
		for _, r := range x.records(t, dir) {
			if r["HERDR_PLUGIN_EVENT"] == event && strings.Contains(r["HERDR_PLUGIN_EVENT_JSON"], text) {
				found = r
				return true
			}
		}
		return false
	})
	return found
}

func (r record) event(t *testing.T) herdr.Event {
	t.Helper()
	e, err := herdr.ParseEvent([]byte(r["HERDR_PLUGIN_EVENT_JSON"]))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (r record) names() []string {
	var names []string
	for k := range r {
		if strings.HasPrefix(k, "HERDR_") {
			names = append(names, k)
		}
	}
	sort.Strings(names)
	return names
}

// pluginCommands looks at the log of commands.
func (x *suite) pluginCommands(t *testing.T) {
	x.plugin(t, `
[[actions]]
id = "fails"
title = "Fails"
command = ["sh", "-c", "echo out; echo err >&2; exit 3"]
[[actions]]
id = "missing"
title = "Missing"
command = ["bin/nosuch"]
[[actions]]
id = "lingers"
title = "Leaves a child that holds stderr"
command = ["sh", "-c", "sleep 2 >/dev/null </dev/null & exit 0"]
[[actions]]
id = "detaches"
title = "Leaves a child that holds nothing"
command = ["sh", "-c", "sleep 2 >/dev/null 2>&1 </dev/null & exit 0"]
[[actions]]
id = "loud"
title = "Loud"
command = ["sh", "-c", "head -c 70000 /dev/zero | tr '\\0' a"]
`)
	invoke := func(id string) string {
		t.Helper()
		e, err := x.c.InvokeAction(x.ctx, herdr.Invocation{PluginID: "example.recorder", ActionID: id})
		x.try(t, err)
		return e.LogID
	}
	lingers, detaches := invoke("lingers"), invoke("detaches")
	failed := x.finished(t, invoke("fails"))
	if failed.Status != "failed" || failed.ExitCode == nil || *failed.ExitCode != 3 || failed.Stdout != "out\n" || failed.Stderr != "err\n" {
		t.Errorf("log of a failure %+v", failed)
	}
	if e := x.finished(t, detaches); e.Status != "succeeded" {
		t.Errorf("log of a command that detached its child %+v", e)
	}
	if e := x.entry(t, lingers); e.Status != "running" {
		t.Errorf("log of a command whose child holds stderr %+v", e)
	}
	if e := x.finished(t, invoke("loud")); !strings.HasSuffix(e.Stdout, "\n[herdr truncated plugin output after 65536 bytes]") {
		t.Errorf("loud output ends in %q", e.Stdout[max(0, len(e.Stdout)-80):])
	}
	if e := x.finished(t, lingers); e.Status != "succeeded" {
		t.Errorf("log after the child's end %+v", e)
	}
	_, err := x.c.InvokeAction(x.ctx, herdr.Invocation{PluginID: "example.recorder", ActionID: "nosuch"})
	x.wantCode(t, err, "plugin_action_not_found")
	e, err := x.c.InvokeAction(x.ctx, herdr.Invocation{ActionID: "missing"})
	if err == nil {
		if e = x.finished(t, e.LogID); e.Status != "failed" || e.Error == "" || e.ExitCode != nil {
			t.Errorf("log of a missing program %+v", e)
		}
	}
}

func (x *suite) entry(t *testing.T, logID string) herdr.LogEntry {
	t.Helper()
	logs, err := x.c.PluginLogs(x.ctx, herdr.Logs{Limit: 200})
	x.try(t, err)
	for _, e := range logs {
		if e.LogID == logID {
			return e
		}
	}
	t.Fatalf("no log entry %s", logID)
	return herdr.LogEntry{}
}

func (x *suite) finished(t *testing.T, logID string) herdr.LogEntry {
	t.Helper()
	x.eventually(t, logID+" finished", func() bool { return x.entry(t, logID).Status != "running" })
	return x.entry(t, logID)
}

func (x *suite) pluginPanes(t *testing.T) {
	dir := x.plugin(t, `
[[panes]]
id = "side"
title = "Side"
placement = "split"
command = ["./bin/rec", "side", "--pane"]
[[panes]]
id = "board"
title = "Board"
command = ["./bin/rec", "board", "--pane"]
`)
	target := x.workspace(t, "plugin panes").RootPane.PaneID
	side, err := x.c.OpenPluginPane(x.ctx, herdr.OpenPane{
		PluginID: "example.recorder", Entrypoint: "side", TargetPaneID: target, Direction: "down",
		Env: map[string]string{"CALLER": "v", "HERDR_PANE_ID": "evil"},
	})
	x.try(t, err)
	if side.Label != "Side" || side.Focused || side.Cwd != dir {
		t.Errorf("opened %+v", side)
	}
	x.screenHas(t, side.PaneID, "recorded side --pane")
	r := x.records(t, dir)[0]
	if r["HERDR_PANE_ID"] != side.PaneID || r["CALLER"] != "v" || r["HERDR_PLUGIN_ENTRYPOINT_ID"] != "side" || r["PWD"] != dir {
		t.Errorf("environment %v", r)
	}
	var context obj
	x.try(t, json.Unmarshal([]byte(r["HERDR_PLUGIN_CONTEXT_JSON"]), &context))
	if context["focused_pane_id"] != target {
		t.Errorf("context %v, want that of %s", context, target)
	}
	_, err = x.c.OpenPluginPane(x.ctx, herdr.OpenPane{PluginID: "example.recorder", Entrypoint: "nosuch"})
	x.wantCode(t, err, "plugin_pane_not_found")
	_, err = x.c.OpenPluginPane(x.ctx, herdr.OpenPane{PluginID: "example.recorder", Entrypoint: "board", TargetPaneID: target})
	x.wantCode(t, err, herdr.CodeInvalidParams)
	board, err := x.c.OpenPluginPane(x.ctx, herdr.OpenPane{PluginID: "example.recorder", Entrypoint: "board"})
	x.try(t, err)
	if !board.Focused {
		t.Errorf("an overlay without the focus: %+v", board)
	}
	x.screenHas(t, board.PaneID, "recorded board --pane")
	x.try(t, x.c.SendKeys(x.ctx, board.PaneID, "enter"))
	x.paneGone(t, board.PaneID)
}
