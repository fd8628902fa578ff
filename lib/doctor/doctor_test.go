package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/config"
	"sessionhub/lib/herdr"
	"sessionhub/lib/state"
)

func found(name string, s State) Check {
	return Check{Name: name, Look: func(context.Context, Known) Finding { return Finding{State: s, Why: "because"} }}
}

// One that fails, panics or hangs stops no other; one that needs another says so.
func TestRun(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	checks := []Check{
		found("good", Fine), found("bad", Broken), found("absent", NotSetUp),
		{Name: "panics", Look: func(context.Context, Known) Finding { panic("oops") }},
		{Name: "slow", Limit: time.Millisecond, Look: func(ctx context.Context, _ Known) Finding { <-ctx.Done(); return fine("it cleaned up") }},
		{Name: "rests on good", Needs: []string{"good"}, Look: found("", Fine).Look},
		{Name: "rests on bad", Needs: []string{"good", "bad"}, Look: func(context.Context, Known) Finding { t.Error("it was run"); return Finding{} }},
		{Name: "rests on that", Needs: []string{"rests on bad"}, Look: func(context.Context, Known) Finding { t.Error("it was run"); return Finding{} }},
		{Name: "rests on what is absent", Needs: []string{"absent"}, Look: func(context.Context, Known) Finding { t.Error("it was run"); return Finding{} }},
		{Name: "looks for itself", Look: func(_ context.Context, k Known) Finding {
			name, missing := k.unmet("good", "bad")
			return fine("%s %v", name, missing)
		}},
	}
	var told []string
	all, err := Run(t.Context(), checks, func(f Finding) { told = append(told, f.Check+": "+string(f.State)+": "+f.Why) })
	want := []string{
		"good: fine: because", "bad: broken: because", "absent: not_set_up: because", "panics: broken: the check itself failed: oops", "slow: fine: it cleaned up",
		"rests on good: fine: because", "rests on bad: untested: needs bad, which is broken", "rests on that: untested: needs rests on bad, which is untested",
		"rests on what is absent: untested: needs absent, which is not set up", "looks for itself: fine: bad true",
	}
	if err != nil || !slices.Equal(told, want) || len(all) != len(want) || Faults(all) != 2 {
		t.Errorf("%v, %d\n%s", err, Faults(all), strings.Join(told, "\n"))
	}
}

// An interrupted run ends after the clean-up of the check under way, says nothing
// of it, and runs no other.
func TestRunInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cleaned := false
	all, err := Run(ctx, []Check{
		found("good", Fine),
		{Name: "interrupted", Look: func(ctx context.Context, _ Known) Finding {
			cancel()
			<-ctx.Done()
			cleaned = true
			return broken("", "cut off")
		}},
		{Name: "next", Look: func(context.Context, Known) Finding { t.Error("it was run"); return Finding{} }},
	}, func(f Finding) {
		if f.Check != "good" {
			t.Errorf("told: %+v", f)
		}
	})
	if !errors.Is(err, context.Canceled) || len(all) != 1 || !cleaned {
		t.Errorf("%v, %+v, %v", err, all, cleaned)
	}
}

// The order of the checks gives each what it needs.
func TestChecksNeedWhatComesBefore(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range (&Doctor{}).Checks() {
		for _, n := range c.Needs {
			if !seen[n] {
				t.Errorf("%s needs %s, which does not come before it", c.Name, n)
			}
		}
		if seen[c.Name] || c.Look == nil {
			t.Errorf("%s", c.Name)
		}
		seen[c.Name] = true
	}
}

// A state directory that is not what it should be. A file system of another
// machine is told by an injected answer.
func TestStateDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	d := &Doctor{Dir: state.Dir(dir), FileSystem: FileSystem}
	look := func(want State, why string) {
		t.Helper()
		if f := d.state(t.Context(), nil); f.State != want || !strings.Contains(f.Why, why) {
			t.Errorf("%+v, want %s, %q", f, want, why)
		}
	}
	look(NotSetUp, "does not exist yet")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	look(Fine, dir)
	d.FileSystem = func(string) (string, bool, error) { return "nfs", true, nil }
	look(Broken, "lies on a network file system (nfs)")
	d.FileSystem = func(string) (string, bool, error) { return "", false, errors.ErrUnsupported }
	look(Fine, dir)
	d.FileSystem = func(string) (string, bool, error) { return "", false, os.ErrPermission }
	look(Broken, "permission denied")
	d.FileSystem = FileSystem
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	look(Broken, "others can get into")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	look(Broken, "is no directory")
}

// A directory of another user is told, also to root.
func TestStateDirectoryOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		if f := (&Doctor{Dir: "/", FileSystem: FileSystem}).state(t.Context(), nil); f.State != Broken || !strings.Contains(f.Why, "belongs to user id 0") {
			t.Errorf("%+v", f)
		}
		return
	}
	dir := t.TempDir()
	if err := os.Chown(dir, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if f := (&Doctor{Dir: state.Dir(dir), FileSystem: FileSystem}).state(t.Context(), nil); f.State != Broken || !strings.Contains(f.Why, "belongs to user id 12345") {
		t.Errorf("%+v", f)
	}
}

func TestFileSystemOfWhatIsNot(t *testing.T) {
	if _, _, err := FileSystem(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

func TestEnvironmentThroughOthersEyes(t *testing.T) {
	own := View{"you", EnvironOf([]string{"HOME=/h", "PATH=/bin"})}
	for name, c := range map[string]struct {
		daemons []View
		want    State
		why     string
	}{
		"the same":            {[]View{{"herdr's server", EnvironOf([]string{"PATH=/x", "HOME=/h"})}}, Fine, "herdr's server looks where you do"},
		"another spelling":    {[]View{{"herdr's server", EnvironOf([]string{"HOME=/h/", "XDG_STATE_HOME=/h/.local/state/"})}}, Fine, ""},
		"another state":       {[]View{{"the watcher", EnvironOf([]string{"HOME=/h", "SESSIONHUB_STATE_DIR=/s"})}}, Broken, "the watcher takes /s for the state directory, and you here /h/.local/state/sessionhub"},
		"another config":      {[]View{{"herdr's server", EnvironOf([]string{"HOME=/h", "XDG_CONFIG_HOME=/c"})}}, Broken, "/c/sessionhub/config.toml for config.toml"},
		"another Claude":      {[]View{{"herdr's server", EnvironOf([]string{"HOME=/h", "CLAUDE_CONFIG_DIR=/c"})}}, Broken, "/c for Claude Code's folder"},
		"no home":             {[]View{{"herdr's server", EnvironOf(nil)}}, Broken, "nowhere"},
		"hidden":              {[]View{{"herdr's server", nil}}, Untested, "the environment of herdr's server can't be read here"},
		"hidden and the same": {[]View{{"herdr's server", nil}, {"the watcher", own.Getenv}}, Fine, "the watcher"},
	} {
		d := &Doctor{Own: own, Daemons: c.daemons}
		if f := d.environment(t.Context(), nil); f.State != c.want || !strings.Contains(f.Why, c.why) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// A46: the programs are looked for on the daemons' PATH, absolute folders only.
func TestA46Path(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"claude", "git"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for path, want := range map[string]State{dir: Fine, "/nowhere:" + dir: Fine, ".": Broken, "": Broken, "/nowhere": Broken} {
		d := &Doctor{Daemons: []View{{"herdr's server", EnvironOf([]string{"PATH=" + path})}}}
		if f := d.path(t.Context(), nil); f.State != want {
			t.Errorf("%q: %+v", path, f)
		}
	}
	if f := (&Doctor{Daemons: []View{{"herdr's server", nil}}}).path(t.Context(), nil); f.State != Untested {
		t.Errorf("%+v", f)
	}
}

func TestIntegrationLine(t *testing.T) {
	for out, want := range map[string][2]string{
		"pi: not installed (/a)\nclaude: current (v8) (/h/x (y)/s.sh)\n": {"current (v8) (/h/x", "y)/s.sh"},
		"claude: current (v8) (/h/s.sh)\n":                               {"current (v8)", "/h/s.sh"},
		"claude: outdated (v1 < v8) (/h/s.sh)":                           {"outdated (v1 < v8)", "/h/s.sh"},
		"claude: something new\n":                                        {"something new", ""},
		"claude: \x1b[31mred (/p)":                                       {"red", "/p"},
		"codex: current (v1) (/p)\n":                                     {"", ""},
		"":                                                               {"", ""},
	} {
		if what, path := integrationLine(out); [2]string{what, path} != want {
			t.Errorf("%q: %q, %q", out, what, path)
		}
	}
}

func TestWishes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	for text, want := range map[string][2]State{
		"": {NotSetUp, NotSetUp}, "[ui.toast]\ndelivery = \"off\"": {NotSetUp, NotSetUp},
		"[ui.toast]\ndelivery = \"system\"\n[ui.sidebar.spaces]\nrows = [[\"workspace\"], [\"branch\", \"$inbox\"]]": {Fine, Fine},
		"[ui.sidebar.spaces]\nrows = [[{token=\"$inbox\", fg=\"#fff\"}, 1]]":                                         {NotSetUp, Fine},
		"[ui.sidebar.spaces]\nrows = [[\"$inbox_of_another\", {fg=\"$inbox\"}]]":                                     {NotSetUp, NotSetUp},
		"[ui": {Untested, Untested}, "[ui.sidebar.spaces]\nrows = 3": {Untested, Untested},
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d := &Doctor{HerdrConfig: path, SidebarLines: "x", Conf: config.Config{Notify: true, RemoteStart: true}}
		if n, i := d.notifications(t.Context(), nil), d.inboxCount(t.Context(), nil); n.State != want[0] || i.State != want[1] {
			t.Errorf("%q: %+v, %+v", text, n, i)
		}
		if f := d.remoteStart(t.Context(), nil); f.State != Fine {
			t.Errorf("%+v", f)
		}
		d.Conf = config.Config{}
		if n, r := d.notifications(t.Context(), nil), d.remoteStart(t.Context(), nil); n.State != NotSetUp || r.State != NotSetUp {
			t.Errorf("%+v, %+v", n, r)
		}
	}
	if f := (&Doctor{HerdrConfig: filepath.Join(t.TempDir(), "none")}).inboxCount(t.Context(), nil); f.State != NotSetUp {
		t.Errorf("%+v", f)
	}
}

// odd is a herdr that does what the double does not.
type odd struct {
	Herdr
	workspaces []herdr.Workspace
	logs       func() ([]herdr.LogEntry, error)
	create     func(ctx context.Context) error
	report     error
	closed     []string
	closeErr   error
}

func (o *odd) Workspaces(context.Context) ([]herdr.Workspace, error) { return o.workspaces, nil }
func (o *odd) PluginLogs(context.Context, herdr.Logs) ([]herdr.LogEntry, error) {
	return o.logs()
}
func (o *odd) CreateWorkspace(ctx context.Context, w herdr.NewWorkspace) (herdr.Created, error) {
	if err := o.create(ctx); err != nil {
		return herdr.Created{}, err
	}
	o.workspaces = append(o.workspaces, herdr.Workspace{WorkspaceID: "w9", Label: w.Label})
	return herdr.Created{}, nil
}
func (o *odd) ReportAgent(context.Context, herdr.AgentReport) error { return o.report }
func (o *odd) CloseWorkspace(_ context.Context, id string) error {
	o.closed = append(o.closed, id)
	if o.closeErr == nil {
		o.workspaces = slices.DeleteFunc(o.workspaces, func(w herdr.Workspace) bool { return w.WorkspaceID == id })
	}
	return o.closeErr
}

func newOdd(t *testing.T) (*odd, *Doctor) {
	now := time.Unix(1_700_000_000, 0)
	o := &odd{logs: func() ([]herdr.LogEntry, error) { return nil, nil }, create: func(context.Context) error { return nil }}
	d := &Doctor{Herdr: o, Dir: state.Dir(t.TempDir()), PID: 7, Alive: func(pid int) bool { return pid == 8 },
		Now: func() time.Time { return now }, Pause: func(context.Context, time.Duration) {}}
	return o, d
}

// Workspaces of doctors that were killed are closed, those of living ones and of
// people are not.
func TestEventSweepsWhatDeadDoctorsLeft(t *testing.T) {
	o, d := newOdd(t)
	o.workspaces = []herdr.Workspace{
		{WorkspaceID: "w1", Label: "sessionhub doctor 6"}, {WorkspaceID: "w2", Label: "sessionhub doctor 8"},
		{WorkspaceID: "w3", Label: "sessionhub doctor"}, {WorkspaceID: "w4", Label: "sessionhub doctor x"}, {WorkspaceID: "w5", Label: "mine"},
	}
	o.create = func(context.Context) error { return errors.New("no room") }
	if f := d.event(t.Context(), nil); f.State != Broken || f.Why != "no room" {
		t.Errorf("%+v", f)
	}
	if !slices.Equal(o.closed, []string{"w1"}) {
		t.Errorf("closed %q", o.closed)
	}
}

// The workspace is closed whatever goes wrong after it was made, and its making is
// not cut off by an interruption.
func TestEventClosesItsWorkspace(t *testing.T) {
	zero, one := 0, 1
	run := func(e herdr.LogEntry) func() ([]herdr.LogEntry, error) {
		n := 0
		return func() ([]herdr.LogEntry, error) {
			if n++; n == 1 {
				return nil, nil // before the event
			}
			e.LogID, e.PluginID, e.Command = "log-1", herdr.OwnPlugin, []string{"shq", "event"}
			return []herdr.LogEntry{e}, nil
		}
	}
	for name, c := range map[string]struct {
		logs  func() ([]herdr.LogEntry, error)
		err   error
		state State
		why   string
	}{
		"the report fails":     {func() ([]herdr.LogEntry, error) { return nil, nil }, errors.New("no such pane"), Broken, "no such pane"},
		"the hook fails":       {run(herdr.LogEntry{Event: "pane.agent_detected", Status: "failed", ExitCode: &one, Stderr: "bad\x1b[1m luck\n"}), nil, Broken, "shq event, which failed: bad luck"},
		"the hook was killed":  {run(herdr.LogEntry{Event: "pane.agent_status_changed", Status: "failed"}), nil, Broken, "it was killed"},
		"too many hooks":       {run(herdr.LogEntry{Event: "pane.agent_detected", Status: "failed", Error: "limit reached"}), nil, Broken, "limit reached"},
		"nothing arrives":      {run(herdr.LogEntry{Event: "pane.agent_detected", Status: "succeeded", ExitCode: &zero}), nil, Broken, "nothing of it arrived"},
		"silence of the log":   {func() ([]herdr.LogEntry, error) { return nil, nil }, nil, Broken, "herdr ran no hook"},
		"another event's hook": {run(herdr.LogEntry{Event: "tab.closed", Status: "succeeded", ExitCode: &zero}), nil, Broken, "herdr ran no hook"},
	} {
		t.Run(name, func(t *testing.T) {
			o, d := newOdd(t)
			o.logs, o.report = c.logs, c.err
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			looks := 0
			d.Pause = func(context.Context, time.Duration) { // the wait of seconds is over soon
				if looks++; looks > 20 {
					cancel()
				}
			}
			o.create = func(ctx context.Context) error {
				if ctx.Done() != nil {
					t.Error("it could be cut off")
				}
				return nil
			}
			if f := d.event(ctx, nil); f.State != c.state || !strings.Contains(f.Why, c.why) {
				t.Errorf("%+v", f)
			}
			if len(o.workspaces) != 0 {
				t.Errorf("left: %+v", o.workspaces)
			}
		})
	}
}

// A workspace that herdr does not close is told, even when all else is well.
func TestEventTellsWhatItCanNotClose(t *testing.T) {
	zero := 0
	o, d := newOdd(t)
	n := 0
	o.logs = func() ([]herdr.LogEntry, error) {
		if n++; n == 1 {
			return nil, nil
		}
		return []herdr.LogEntry{{LogID: "a", Event: "pane.agent_detected", Status: "succeeded", ExitCode: &zero, Command: []string{"shq", "event"}}}, nil
	}
	o.closeErr = errors.New("no")
	if f := d.event(t.Context(), nil); f.State != Broken || !strings.Contains(f.Why, `"sessionhub doctor 7" could not be closed: no`) {
		t.Errorf("%+v", f)
	}
}
