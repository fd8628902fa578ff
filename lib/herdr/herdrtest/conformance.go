package herdrtest

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sessionhub/lib/herdr"
)

// Target is a server that Conformance is run against: this package's, or a real
// herdr.
type Target struct {
	Name    string
	Client  *herdr.Client
	Home    string // the server's HOME; folders for panes are made below it
	Bin     string // a folder in front of the server's PATH; gets a stand-in claude
	Version string
	// Restart ends the server, politely or by SIGKILL, and starts it again.
	Restart func(how End) error
	// Settle is how long nothing more happens after something did.
	Settle time.Duration
}

//go:embed testdata/stand-in-claude
var standInClaude []byte

//go:embed testdata/recorder
var recorder []byte

// patience bounds each wait of the suite; a real herdr takes 4 s to call an
// agent idle.
const patience = 15 * time.Second

// Conformance runs what both a real herdr and the double must do. Where they
// differ, the double is wrong.
func Conformance(t *testing.T, target Target) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	x := &suite{Target: target, ctx: ctx, c: target.Client}
	x.prepare(t)
	for _, part := range []struct {
		name string
		run  func(*suite, *testing.T)
	}{
		{"Frames", (*suite).frames},
		{"Unsupported", (*suite).unsupported},
		{"Workspaces", (*suite).workspaces},
		{"Panes", (*suite).panes},
		{"Input", (*suite).input},
		{"Close", (*suite).closing},
		{"Metadata", (*suite).metadata},
		{"Reports", (*suite).reports},
		{"Sessions", (*suite).sessions},
		{"Detection", (*suite).detection},
		{"Start", (*suite).starting},
		{"Events", (*suite).events},
		{"History", (*suite).history},
		{"Notifications", (*suite).notifications},
		{"Layout", (*suite).layout},
		{"Plugins", (*suite).plugins},
		{"Manifests", (*suite).manifests},
		{"Hooks", (*suite).hooks},
		{"PluginCommands", (*suite).pluginCommands},
		{"PluginPanes", (*suite).pluginPanes},
		{"Screens", (*suite).screens},
		{"Order", (*suite).order},
		{"Looks", (*suite).looks},
		{"Ends", (*suite).ends},
		{"Suspended", (*suite).suspended},
		{"Prompts", (*suite).prompts},
		{"CommandLimit", (*suite).commandLimit},
		{"Restart", (*suite).restart},
		{"Outlive", (*suite).outlive},
		{"FailedResume", (*suite).failedResume},
		{"Stop", (*suite).stop},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(x, t) })
	}
}

type suite struct {
	Target
	ctx context.Context
	c   *herdr.Client
}

func (x *suite) prepare(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"src/api", "src/web"} {
		x.try(t, os.MkdirAll(filepath.Join(x.Home, dir), 0o755))
	}
	x.try(t, os.WriteFile(filepath.Join(x.Bin, "claude"), standInClaude, 0o755))
	pong, err := x.c.Ping(x.ctx)
	x.try(t, err)
	x.try(t, herdr.CheckVersion(pong.Version))
	if pong.Version != x.Version {
		t.Fatalf("version %q, want %q", pong.Version, x.Version)
	}
	// The first workspace takes the focus, so that those of the parts do not.
	_, err = x.c.CreateWorkspace(x.ctx, herdr.NewWorkspace{Cwd: x.Home, Label: "front"})
	x.try(t, err)
}

func (x *suite) try(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (x *suite) wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if !herdr.IsCode(err, code) {
		t.Errorf("error %v, want code %s", err, code)
	}
}

// eventually waits for a condition.
func (x *suite) eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// workspace makes a workspace for one part, and closes it with the part.
func (x *suite) workspace(t *testing.T, label string) herdr.Created {
	t.Helper()
	w, err := x.c.CreateWorkspace(x.ctx, herdr.NewWorkspace{Cwd: filepath.Join(x.Home, "src/api"), Label: label})
	x.try(t, err)
	t.Cleanup(func() { x.c.CloseWorkspace(x.ctx, w.Workspace.WorkspaceID) })
	x.shellReady(t, w.RootPane.PaneID)
	return w
}

// shellReady waits until a pane's shell is at its prompt.
func (x *suite) shellReady(t *testing.T, pane string) {
	t.Helper()
	x.eventually(t, "a prompt in "+pane, func() bool {
		s, err := x.c.Read(x.ctx, herdr.ReadParams{PaneID: pane, Source: herdr.ReadVisible})
		return err == nil && len(s.Text) > 1
	})
}

func (x *suite) typeLine(t *testing.T, pane, line string) {
	t.Helper()
	x.try(t, x.c.SendInput(x.ctx, pane, line, "Enter"))
}

// agentIs waits for an agent's label and status.
func (x *suite) agentIs(t *testing.T, pane, label string, status herdr.Status) herdr.Agent {
	t.Helper()
	var a herdr.Agent
	x.eventually(t, fmt.Sprintf("%s %s in %s", label, status, pane), func() bool {
		var err error
		a, err = x.c.Agent(x.ctx, pane)
		return err == nil && a.Pane.Agent == label && a.AgentStatus == status
	})
	return a
}

func (x *suite) agentGone(t *testing.T, pane string) {
	t.Helper()
	x.eventually(t, "no agent in "+pane, func() bool {
		_, err := x.c.Agent(x.ctx, pane)
		return herdr.IsCode(err, herdr.CodeAgentNotFound)
	})
}

func (x *suite) inFront(t *testing.T, pane, name string) herdr.ProcessInfo {
	t.Helper()
	var info herdr.ProcessInfo
	x.eventually(t, name+" in front of "+pane, func() bool {
		var err error
		info, err = x.c.ProcessInfo(x.ctx, pane)
		return err == nil && len(info.ForegroundProcesses) > 0 && info.ForegroundProcesses[0].Name == name
	})
	return info
}

func (x *suite) screenHas(t *testing.T, pane, text string) {
	t.Helper()
	x.eventually(t, fmt.Sprintf("%q on the screen of %s", text, pane), func() bool {
		s, err := x.c.Read(x.ctx, herdr.ReadParams{PaneID: pane, Source: herdr.ReadVisible})
		return err == nil && containsLine(s.Text, text)
	})
}

func (x *suite) paneGone(t *testing.T, pane string) {
	t.Helper()
	x.eventually(t, pane+" gone", func() bool {
		_, err := x.c.Pane(x.ctx, pane)
		return herdr.IsCode(err, herdr.CodePaneNotFound)
	})
}
