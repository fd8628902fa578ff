package hook

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/herdr"
	"sessionhub/lib/herdr/herdrtest"
	"sessionhub/lib/lock"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

func TestFromEvent(t *testing.T) {
	stamp := queue.NewStamp(time.Now())
	for _, c := range []struct {
		name string
		e    herdr.Event
		want string // kind of the item, and what else is asked for
	}{
		{"detected", herdr.Event{Name: herdr.EventAgentDetected, PaneID: "w1:p1", Agent: "claude"}, "upsert"},
		{"19: released names the one that left", herdr.Event{Name: herdr.EventAgentDetected, PaneID: "w1:p1", Agent: "claude", Released: true}, "look"},
		{"19: a failed restore names nobody", herdr.Event{Name: herdr.EventAgentDetected, PaneID: "w1:p1"}, "look"},
		{"another agent", herdr.Event{Name: herdr.EventAgentDetected, PaneID: "w1:p1", Agent: "codex"}, ""},
		{"another agent left", herdr.Event{Name: herdr.EventAgentDetected, PaneID: "w1:p1", Agent: "codex", Released: true}, ""},
		{"working", herdr.Event{Name: herdr.EventAgentStatus, PaneID: "w1:p1", Agent: "claude", Status: "working"}, "state"},
		{"blocked", herdr.Event{Name: herdr.EventAgentStatus, PaneID: "w1:p1", Agent: "claude", Status: "blocked"}, "state blocked"},
		{"a status of the future", herdr.Event{Name: herdr.EventAgentStatus, PaneID: "w1:p1", Agent: "claude", Status: "dreaming"}, "state"},
		{"a pane without an agent", herdr.Event{Name: herdr.EventAgentStatus, PaneID: "w1:p1", Status: "unknown"}, "look"},
		{"closed", herdr.Event{Name: herdr.EventPaneClosed, PaneID: "w1:p1"}, "closed"},
		{"exited", herdr.Event{Name: herdr.EventPaneExited, PaneID: "w1:p1"}, "closed"},
		{"22: a workspace says nothing of its panes", herdr.Event{Name: herdr.EventWorkspaceClosed, WorkspaceID: "w1"}, "look"},
		{"moved", herdr.Event{Name: herdr.EventPaneMoved, PaneID: "w2:p1"}, "look"},
		{"an event of the future", herdr.Event{Name: "pane_danced", PaneID: "w1:p1"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := FromEvent(stamp, "/h.sock", c.e)
			if err != nil {
				t.Fatal(err)
			}
			var words []string
			for _, it := range out.Items {
				words = append(words, string(it.Kind))
			}
			if out.Look {
				words = append(words, "look")
			}
			if out.Blocked {
				words = append(words, "blocked")
			}
			if got := strings.Join(words, " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if _, err := FromEvent(stamp, "/h.sock", herdr.Event{Name: herdr.EventPaneClosed, PaneID: "../x\n"}); err == nil {
		t.Error("a pane id that is none passed")
	}
}

// Every answer of notification.show: what its user wanted so, or nobody could
// see, is no error; a refusal is.
func TestNotifyBlocked(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name, toasts string
		again        bool
		fails        bool
	}{
		{"disabled", "off", false, false},
		{"shown", "herdr", false, false},
		{"no client in front", "terminal", false, false},
		{"busy", "herdr", true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := herdrtest.Start(t, herdrtest.WithToasts(c.toasts))
			made, err := s.Client().CreateWorkspace(ctx, herdr.NewWorkspace{Cwd: s.Home()})
			if err != nil {
				t.Fatal(err)
			}
			notify := func() error { return NotifyBlocked(ctx, s.Client(), made.RootPane.PaneID, "tower") }
			err = notify()
			if c.again {
				if err != nil {
					t.Fatal(err)
				}
				err = notify()
			}
			if (err != nil) != c.fails {
				t.Errorf("got %v", err)
			}
		})
	}
	if err := NotifyBlocked(ctx, refused{}, "w1:p1", "tower"); err == nil || !strings.Contains(err.Error(), "rate_limited") {
		t.Errorf("rate limited: %v", err)
	}
	if err := NotifyBlocked(ctx, &herdr.Client{Socket: "/nowhere.sock"}, "w1:p1", "tower"); !errors.Is(err, herdr.ErrUnreachable) {
		t.Errorf("no herdr: %v", err)
	}
}

// refused is a herdr that limits the rate, which the double shows only when
// toasts are the terminal's.
type refused struct{}

func (refused) Pane(context.Context, string) (herdr.Pane, error) { return herdr.Pane{}, nil }
func (refused) ShowNotification(_ context.Context, n herdr.Notification) (herdr.Shown, error) {
	if n.Title != "Blocked: Claude" || n.Sound != "request" || n.Body != "tower" {
		return herdr.Shown{}, errors.New("another notification was asked for")
	}
	return herdr.Shown{Reason: herdr.NotificationRateLimited}, nil
}

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(k string) string { return m[k] }
}

// Field report A46: a service's PATH lacks the user's folders, so tools are
// not found. The watcher is started by its path, with whatever PATH there is;
// and it keeps none of the hook's descriptors, or herdr would count the hook
// as running for ever.
func TestA46TheWatcherIsStartedByItsPath(t *testing.T) {
	home := t.TempDir()
	started := filepath.Join(home, "started")
	program := filepath.Join(home, "a dir", "shwatch")
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\nls -l /proc/$$/fd > "+started+".tmp; echo \"$@ $SESSIONHUB_SERVER_URL\" >> "+started+".tmp; mv "+started+".tmp "+started+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "/usr/bin:/bin")
	t.Setenv("SESSIONHUB_SERVER_URL", "http://from.a.shell")
	h := &EventHook{Now: time.Now, Watcher: program, Getenv: env("HOME", home, "HERDR_SOCKET_PATH", "/h.sock",
		"HERDR_PLUGIN_EVENT_JSON", `{"event":"pane_closed","data":{"type":"pane_closed","pane_id":"w1:p1"}}`)}
	h.Run(context.Background())
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(started)
		if err == nil {
			if strings.Contains(string(b), "pipe:") || !strings.Contains(string(b), "run \n") || strings.Contains(string(b), "from.a.shell") {
				t.Errorf("the watcher's descriptors and arguments:\n%s", b)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatal("the watcher was not started")
		}
	}
}

func TestAWatcherThatRunsIsLeftAlone(t *testing.T) {
	dir := state.Dir(t.TempDir())
	l, err := lock.Try(dir.WatcherLock())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if err := EnsureWatcher(dir, "/nonexistent/shwatch"); err != nil {
		t.Errorf("it was to be started all the same: %v", err)
	}
}

// What goes wrong in a hook is a line in watcher.log, and the rest is done.
func TestAHookThatCannotStartTheWatcherQueuesAllTheSame(t *testing.T) {
	home := t.TempDir()
	h := &EventHook{Now: time.Now, Watcher: "/nonexistent/shwatch", Getenv: env("HOME", home, "HERDR_SOCKET_PATH", "/h.sock",
		"HERDR_PLUGIN_EVENT_JSON", `{"event":"pane_agent_status_changed","data":{"pane_id":"w1:p1","agent_status":"blocked","agent":"claude"}}`)}
	h.Run(context.Background())
	dir := state.Dir(filepath.Join(home, ".local", "state", "sessionhub"))
	s, err := (&queue.Queue{Dir: dir}).Stat()
	if err != nil || s.Queued != 1 {
		t.Errorf("queue %+v, %v", s, err)
	}
	log, err := os.ReadFile(dir.WatcherLog())
	if err != nil || strings.Count(string(log), "\n") != 1 || !strings.Contains(string(log), "/nonexistent/shwatch") || !strings.Contains(string(log), "notification") {
		t.Errorf("watcher.log: %q, %v", log, err)
	}
}

func TestHooksHeedTheConfigFileAlone(t *testing.T) {
	get := Getenv(env("SESSIONHUB_SERVER_URL", "x", "SESSIONHUB_CONFIG", "/c", "HOME", "/h"))
	if get("SESSIONHUB_SERVER_URL") != "" || get("SESSIONHUB_CONFIG") != "/c" || get("HOME") != "/h" {
		t.Error("a hook heeds its host's environment")
	}
}

// The events as a real herdr gave them to its hooks.
func TestCapturedEvents(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`{"event":"pane_agent_detected","data":{"agent":"claude","pane_id":"w1:p1","type":"pane_agent_detected","workspace_id":"w1"}}`, "upsert"},
		{`{"event":"pane_agent_status_changed","data":{"agent":"claude","agent_status":"blocked","pane_id":"w1:p1","type":"pane_agent_status_changed","workspace_id":"w1"}}`, "state"},
		{`{"event":"pane_exited","data":{"pane_id":"w2:p1","type":"pane_exited","workspace_id":"w2"}}`, "closed"},
	} {
		e, err := herdr.ParseEvent([]byte(c.raw))
		if err != nil {
			t.Fatal(err)
		}
		out, err := FromEvent(queue.NewStamp(time.Now()), "/h.sock", e)
		if err != nil || len(out.Items) != 1 || out.Items[0].Kind != record.Kind(c.want) {
			t.Errorf("%s: %+v, %v", c.raw, out, err)
		}
	}
}

func TestBeside(t *testing.T) {
	got, err := Beside("shwatch")
	if err != nil || !filepath.IsAbs(got) || filepath.Base(got) != "shwatch" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := exec.LookPath(got); err == nil {
		t.Errorf("%s exists beside the test", got)
	}
}
