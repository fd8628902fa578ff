package herdrtest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sessionhub/lib/herdr"
)

func containsLine(text, want string) bool {
	for _, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == want {
			return true
		}
	}
	return false
}

// frames sends bytes that are no plain request.
func (x *suite) frames(t *testing.T) {
	old := strings.HasPrefix(x.Version, "0.8")
	for name, c := range map[string]struct{ send, want string }{
		"crlf":         {"{\"id\":\"1\",\"method\":\"ping\",\"params\":{}}\r\n", `"pong"`},
		"two requests": {"{\"id\":\"1\",\"method\":\"ping\",\"params\":{}}\n{\"id\":\"2\",\"method\":\"ping\",\"params\":{}}\n", `"pong"`},
		"blank line":   {"\n", ""},
		"no UTF-8":     {"{\"id\":\"\xff\",\"method\":\"ping\",\"params\":{}}\n", ""},
		"bad json":     {"{\"id\":\"1\",\"method\":\"ping\"\n", `"invalid_request"`},
		"id number":    {"{\"id\":1,\"method\":\"ping\",\"params\":{}}\n", `"invalid_request"`},
		"no params":    {"{\"id\":\"1\",\"method\":\"ping\"}\n", `"invalid_request"`},
		"null list":    {"{\"id\":\"1\",\"method\":\"pane.send_keys\",\"params\":{\"pane_id\":\"w1:p1\",\"keys\":null}}\n", `"invalid_request"`},
	} {
		got := string(raw(t, x.c.Socket, []byte(c.send)))
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if old && strings.Contains(got, "invalid_request") && !strings.Contains(got, `"id":""`) {
			t.Errorf("%s: %q has an id", name, got)
		}
	}
}

func raw(t *testing.T, socket string, b []byte) []byte {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	conn.Write(b)
	got, _ := io.ReadAll(conn)
	return bytes.TrimSpace(got)
}

// unsupported asks for a method that no version has.
func (x *suite) unsupported(t *testing.T) {
	_, err := callRaw(x.c, x.ctx, "pane.no_such_method")
	if !herdr.IsUnsupported(err) {
		t.Errorf("error %v, want unsupported", err)
	}
}

func (x *suite) workspaces(t *testing.T) {
	w := x.workspace(t, "one")
	if w.Workspace.Focused || w.Workspace.Label != "one" || w.RootPane.Cwd != filepath.Join(x.Home, "src/api") {
		t.Errorf("created %+v", w)
	}
	lost, err := x.c.CreateWorkspace(x.ctx, herdr.NewWorkspace{Cwd: "/no/such/folder", Label: "lost"})
	x.try(t, err)
	if lost.RootPane.Cwd != x.Home {
		t.Errorf("a missing folder starts in %q, want the home directory", lost.RootPane.Cwd)
	}
	x.try(t, x.c.CloseWorkspace(x.ctx, lost.Workspace.WorkspaceID))
	x.wantCode(t, x.c.CloseWorkspace(x.ctx, lost.Workspace.WorkspaceID), herdr.CodeWorkspaceNotFound)
	_, err = x.c.CreateWorkspace(x.ctx, herdr.NewWorkspace{Env: map[string]string{"A=B": "1"}})
	x.wantCode(t, err, "invalid_env")
	tab, err := x.c.CreateTab(x.ctx, herdr.NewTab{WorkspaceID: w.Workspace.WorkspaceID, Label: "logs"})
	x.try(t, err)
	if tab.Tab.Number != 2 || tab.RootPane.WorkspaceID != w.Workspace.WorkspaceID {
		t.Errorf("tab %+v", tab)
	}
	list, err := x.c.Workspaces(x.ctx)
	x.try(t, err)
	if len(list) != 2 || list[1].TabCount != 2 || list[1].Number != 2 {
		t.Errorf("workspaces %+v", list)
	}
	x.try(t, x.c.CloseTab(x.ctx, tab.Tab.TabID))
	x.wantCode(t, x.c.CloseTab(x.ctx, tab.Tab.TabID), herdr.CodeTabNotFound)
}

func (x *suite) panes(t *testing.T) {
	w := x.workspace(t, "panes")
	second, err := x.c.SplitPane(x.ctx, herdr.Split{TargetPaneID: w.RootPane.PaneID, Direction: "right"})
	x.try(t, err)
	third, err := x.c.SplitPane(x.ctx, herdr.Split{TargetPaneID: w.RootPane.PaneID, Direction: "down"})
	x.try(t, err)
	list, err := x.c.Panes(x.ctx, w.Workspace.WorkspaceID)
	x.try(t, err)
	var ids []string
	for _, p := range list {
		ids = append(ids, p.PaneID)
	}
	if want := []string{w.RootPane.PaneID, third.PaneID, second.PaneID}; strings.Join(ids, " ") != strings.Join(want, " ") {
		t.Errorf("panes %v, want the order of the layout %v", ids, want)
	}
	info, err := x.c.ProcessInfo(x.ctx, second.PaneID)
	x.try(t, err)
	if info.ShellPID == 0 || info.ForegroundProcessGroupID != info.ShellPID || len(info.ForegroundProcesses) != 1 {
		t.Errorf("an idle shell: %+v", info)
	}
	_, err = x.c.Pane(x.ctx, "w99:p9")
	x.wantCode(t, err, herdr.CodePaneNotFound)
	_, err = x.c.ProcessInfo(x.ctx, "w99:p9")
	x.wantCode(t, err, herdr.CodePaneNotFound)
	snap, err := x.c.Snapshot(x.ctx)
	x.try(t, err)
	if len(snap.Workspaces) != 2 || len(snap.Panes) != 4 || len(snap.Layouts) != 2 || snap.Version != x.Version {
		t.Errorf("snapshot %+v", snap)
	}
	moved, err := x.c.MovePane(x.ctx, herdr.Move{PaneID: second.PaneID, Destination: herdr.MoveDestination{Type: "new_workspace"}})
	x.try(t, err)
	if moved.Pane.PaneID == second.PaneID || moved.PreviousPaneID != second.PaneID {
		t.Errorf("moved %+v", moved)
	}
	alias, err := x.c.Pane(x.ctx, second.PaneID)
	x.try(t, err)
	if alias.PaneID != moved.Pane.PaneID || alias.TerminalID != second.TerminalID {
		t.Errorf("the old id gives %+v", alias)
	}
	x.try(t, x.c.ClosePane(x.ctx, moved.Pane.PaneID))
}

func (x *suite) input(t *testing.T) {
	pane := x.workspace(t, "input").RootPane.PaneID
	x.typeLine(t, pane, `echo "a$((1+1))b"`)
	x.screenHas(t, pane, "a2b")
	x.try(t, x.c.SendText(x.ctx, pane, "echo c$((2+2))"))
	x.try(t, x.c.SendKeys(x.ctx, pane, "enter"))
	x.screenHas(t, pane, "c4")
	x.wantCode(t, x.c.SendKeys(x.ctx, pane, "a", "nosuchkey"), herdr.CodeInvalidKey)
	x.wantCode(t, x.c.SendText(x.ctx, "w99:p9", "x"), herdr.CodePaneNotFound)
	low, err := x.c.Read(x.ctx, herdr.ReadParams{PaneID: pane, Source: herdr.ReadRecent, Lines: 2})
	x.try(t, err)
	if low.Text != "" {
		t.Errorf("the lowest 2 rows of a screen that is not full: %q", low.Text)
	}
	x.typeLine(t, pane, "sleep 30 | cat")
	info := x.inFront(t, pane, "sleep")
	if info.ForegroundProcessGroupID == info.ShellPID {
		t.Errorf("process info %+v", info)
	}
	x.try(t, x.c.SendKeys(x.ctx, pane, "ctrl+c"))
	x.eventually(t, "the shell in front", func() bool {
		info, err := x.c.ProcessInfo(x.ctx, pane)
		return err == nil && info.ForegroundProcessGroupID == info.ShellPID
	})
	x.typeLine(t, pane, "env > "+filepath.Join(x.Home, "pane.env"))
	x.eventually(t, "the environment", func() bool {
		b, err := os.ReadFile(filepath.Join(x.Home, "pane.env"))
		return err == nil && bytes.Contains(b, []byte("HERDR_PANE_ID="+pane+"\n")) &&
			bytes.Contains(b, []byte("HERDR_SOCKET_PATH="+x.c.Socket+"\n")) && bytes.Contains(b, []byte("HERDR_ENV=1\n"))
	})
}

// closing ends panes in every way.
func (x *suite) closing(t *testing.T) {
	w := x.workspace(t, "closing")
	stubborn, err := x.c.SplitPane(x.ctx, herdr.Split{TargetPaneID: w.RootPane.PaneID, Direction: "right"})
	x.try(t, err)
	x.shellReady(t, stubborn.PaneID)
	nap := fmt.Sprintf("333.%d", time.Now().UnixNano()) // tells our sleeper from others
	x.typeLine(t, stubborn.PaneID, `setsid sleep `+nap+` & sh -c 'trap "" HUP TERM; while :; do sleep 1; done'`)
	front := x.inFront(t, stubborn.PaneID, "sh")
	x.try(t, x.c.ClosePane(x.ctx, stubborn.PaneID))
	if err := syscall.Kill(front.ForegroundProcessGroupID, 0); err == nil && !zombie(front.ForegroundProcessGroupID) {
		t.Error("a process that ignores HUP and TERM outlives pane.close")
	}
	if pid := findSleeper(nap); pid == 0 {
		t.Error("a process with a session of its own did not outlive pane.close")
	} else {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	x.wantCode(t, x.c.ClosePane(x.ctx, stubborn.PaneID), herdr.CodePaneNotFound)
	x.typeLine(t, w.RootPane.PaneID, "exec true")
	x.paneGone(t, w.RootPane.PaneID)
	x.wantCode(t, x.c.CloseWorkspace(x.ctx, w.Workspace.WorkspaceID), herdr.CodeWorkspaceNotFound)
}

func zombie(pid int) bool { return len(processArgv(pid)) == 0 }

func findSleeper(nap string) int {
	for _, st := range everyProcess() {
		if argv := processArgv(st); len(argv) == 2 && argv[0] == "sleep" && argv[1] == nap {
			return st
		}
	}
	return 0
}

func (x *suite) metadata(t *testing.T) {
	w := x.workspace(t, "metadata")
	pane, three, none := w.RootPane.PaneID, " 3 ", ""
	tokens := func() string { return tokensOf(x, t, pane) }
	report := func(m herdr.PaneMetadata) error {
		m.PaneID, m.Source = pane, "example:tool"
		return x.c.ReportPaneMetadata(x.ctx, m)
	}
	x.try(t, report(herdr.PaneMetadata{Tokens: map[string]*string{"inbox": &three}, Seq: 2}))
	if got := tokens(); got != "inbox=3" {
		t.Errorf("tokens %q", got)
	}
	x.try(t, report(herdr.PaneMetadata{Tokens: map[string]*string{"inbox": &none}, Seq: 1}))
	if got := tokens(); got != "inbox=3" {
		t.Errorf("tokens after an old seq %q", got)
	}
	x.try(t, report(herdr.PaneMetadata{Tokens: map[string]*string{"inbox": nil}, Seq: 3}))
	if got := tokens(); got != "" {
		t.Errorf("tokens after clearing %q", got)
	}
	x.try(t, report(herdr.PaneMetadata{Tokens: map[string]*string{"soon": &three}, TTLMS: 50, Seq: 4}))
	x.eventually(t, "the end of a token", func() bool { return tokens() == "" })
	x.wantCode(t, report(herdr.PaneMetadata{Tokens: map[string]*string{"a b": &three}}), "invalid_metadata_token")
	x.wantCode(t, report(herdr.PaneMetadata{}), "invalid_metadata_request")
	x.try(t, x.c.ReportWorkspaceMetadata(x.ctx, herdr.WorkspaceMetadata{
		WorkspaceID: w.Workspace.WorkspaceID, Source: "example:tool", Tokens: map[string]*string{"pr": &three},
	}))
	list, err := x.c.Workspaces(x.ctx)
	x.try(t, err)
	if got := list[len(list)-1].Tokens["pr"]; got != "3" {
		t.Errorf("workspace token %q", got)
	}
}

func tokensOf(x *suite, t *testing.T, pane string) string {
	t.Helper()
	p, err := x.c.Pane(x.ctx, pane)
	x.try(t, err)
	var out []string
	for k, v := range p.Tokens {
		out = append(out, k+"="+v)
	}
	return strings.Join(out, " ")
}

func (x *suite) notifications(t *testing.T) {
	got, err := x.c.ShowNotification(x.ctx, herdr.Notification{Title: "Build done"})
	x.try(t, err)
	if got.Shown || got.Reason != herdr.NotificationDisabled {
		t.Errorf("fresh settings: %+v", got)
	}
	_, err = x.c.ShowNotification(x.ctx, herdr.Notification{Title: " \n "})
	x.wantCode(t, err, herdr.CodeInvalidParams)
}

func (x *suite) layout(t *testing.T) {
	w := x.workspace(t, "layout")
	_, err := x.c.ApplyLayout(x.ctx, herdr.ApplyParams{TabID: w.Tab.TabID, Root: herdr.LayoutNode{Type: "pane", Command: []string{"/nonexistent"}}})
	x.wantCode(t, err, herdr.CodeLayoutApplyFailed)
	got, err := x.c.ApplyLayout(x.ctx, herdr.ApplyParams{TabID: w.Tab.TabID, TabLabel: "job", Root: herdr.LayoutNode{
		Type: "pane", Command: []string{"sh", "-c", `echo "T=$TOKEN P=$HERDR_PANE_ID"; exec sleep 60`}, Label: "my job",
		Env: map[string]string{"TOKEN": "v", "HERDR_PANE_ID": "evil"}, Cwd: filepath.Join(x.Home, "src/web"),
	}})
	x.try(t, err)
	id := got.Root.PaneID
	if got.TabID == w.Tab.TabID || id == w.RootPane.PaneID || id == "" {
		t.Errorf("applied %+v", got)
	}
	x.screenHas(t, id, "T=v P="+id)
	info := x.inFront(t, id, "sleep")
	if info.ShellPID != info.ForegroundProcessGroupID {
		t.Errorf("process info %+v", info)
	}
	_, err = x.c.Pane(x.ctx, w.RootPane.PaneID)
	x.wantCode(t, err, herdr.CodePaneNotFound)
}
