package herdrtest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/herdr"
	"sessionhub/lib/herdr/herdrtest/schema"
)

// start starts a server whose every line is checked against herdr's schema.
func start(t *testing.T, opts ...Option) (*Server, *herdr.Client) {
	t.Helper()
	checker, err := schema.New()
	if err != nil {
		t.Fatal(err)
	}
	check := func(c *Config) {
		c.OnAnswer = func(method string, line []byte) {
			if err := checker.Line(line); err != nil {
				t.Errorf("%s: %v", method, err)
			}
		}
	}
	s := Start(t, append([]Option{check}, opts...)...)
	return s, s.Client()
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// standIn puts a shell script that plays claude into a folder: a line w, i, b
// or q chooses working, idle, blocked or quitting.
func standIn(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("testdata", "stand-in-claude"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "claude"), script, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAgentByProcess(t *testing.T) {
	s, c := start(t, WithPath(standIn(t)))
	ctx := context.Background()
	if _, err := c.CreateWorkspace(ctx, herdr.NewWorkspace{Cwd: s.Home(), Label: "front"}); err != nil {
		t.Fatal(err)
	}
	w, err := c.CreateWorkspace(ctx, herdr.NewWorkspace{Cwd: s.Home(), Label: "api"})
	if err != nil {
		t.Fatal(err)
	}
	id := w.RootPane.PaneID
	if err := c.SendInput(ctx, id, "claude", "Enter"); err != nil {
		t.Fatal(err)
	}
	status := func() string {
		a, err := c.Agent(ctx, id)
		if err != nil {
			return err.Error()
		}
		return a.Pane.Agent + " " + string(a.AgentStatus)
	}
	for _, step := range []struct{ type_, want string }{
		{"", "claude idle"}, {"w", "claude working"}, {"b", "claude blocked"}, {"i", "claude done"},
	} {
		if step.type_ != "" {
			if err := c.SendInput(ctx, id, step.type_, "Enter"); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, step.want, func() bool { return status() == step.want })
	}
	info, err := c.ProcessInfo(ctx, id)
	if err != nil || len(info.ForegroundProcesses) != 1 || info.ForegroundProcesses[0].Name != "claude" {
		t.Errorf("process info %+v, %v", info, err)
	}
	if _, err := c.FocusTab(ctx, w.Tab.TabID); err != nil {
		t.Fatal(err)
	}
	if got := status(); got != "claude idle" {
		t.Errorf("after a look: %s", got)
	}
	if err := c.SendInput(ctx, id, "q", "Enter"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "agent gone", func() bool { return strings.Contains(status(), herdr.CodeAgentNotFound) })
	eventually(t, "status unknown", func() bool {
		p, err := c.Pane(ctx, id)
		return err == nil && p.AgentStatus == herdr.StatusUnknown
	})
}
