package claudetest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/herdr"
	"sessionhub/lib/herdr/herdrtest"
)

// rig is a Claude, stand-in or real, in a pane of a herdr double.
type rig struct {
	t    *testing.T
	s    *herdrtest.Server
	h    *herdr.Client
	pane string
	home string
	app  string // where it runs
}

// waitLimit bounds each wait; the real one needs a second or two for a step.
const waitLimit = 20 * time.Second

func newRig(t *testing.T, bin string, env ...string) *rig {
	t.Helper()
	s := herdrtest.Start(t, herdrtest.WithPath(bin), herdrtest.WithEnv(env...))
	r := &rig{t: t, s: s, h: s.Client(), home: s.Home(), app: filepath.Join(s.Home(), "app")}
	if err := os.MkdirAll(r.app, 0o755); err != nil {
		t.Fatal(err)
	}
	made, err := r.h.CreateWorkspace(t.Context(), herdr.NewWorkspace{Cwd: r.app})
	if err != nil {
		t.Fatal(err)
	}
	r.pane = made.RootPane.PaneID
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen:\n%s", r.screen())
		}
	})
	return r
}

func (r *rig) claude() claude.Home { return claude.Home(filepath.Join(r.home, ".claude")) }

func (r *rig) screen() string {
	screen, err := r.h.Read(context.Background(), herdr.ReadParams{PaneID: r.pane, Source: herdr.ReadVisible})
	if err != nil {
		return err.Error()
	}
	return screen.Text
}

func (r *rig) until(what string, cond func() bool) {
	r.t.Helper()
	for end := time.Now().Add(waitLimit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if cond() {
			return
		}
	}
	r.t.Fatalf("waited until %s", what)
}

func (r *rig) shows(text string) {
	r.t.Helper()
	r.until("the screen shows "+text, func() bool { return strings.Contains(r.screen(), text) })
}

func (r *rig) keys(keys ...string) {
	r.t.Helper()
	if err := r.h.SendKeys(r.t.Context(), r.pane, keys...); err != nil {
		r.t.Fatal(err)
	}
}

// typed types a line, and Enter once it is shown: at once, the real one would
// take both for something pasted.
func (r *rig) typed(line string) {
	r.t.Helper()
	if err := r.h.SendText(r.t.Context(), r.pane, line); err != nil {
		r.t.Fatal(err)
	}
	shown := strings.TrimLeft(line, "! ") // a command's sign stands where the prompt's did
	r.shows(shown[:min(len(shown), 20)])
	r.keys("Enter")
}

// entry waits for the one entry of the registry to have a status, "" for none.
func (r *rig) entry(status string) claude.Process {
	r.t.Helper()
	var list []claude.Process
	r.until("the registry says "+status, func() bool {
		table, err := claude.NewTable()
		if err != nil {
			r.t.Fatal(err)
		}
		list, _ = r.claude().Live(table) // there may be no registry yet
		if status == "" {
			return len(list) == 0
		}
		return len(list) == 1 && list[0].Status == status
	})
	if status == "" {
		return claude.Process{}
	}
	return list[0]
}

// hooked has every event that the tests know append its input to a file.
func (r *rig) hooked() {
	r.t.Helper()
	hooks := map[string]any{}
	for _, event := range []string{"SessionStart", "UserPromptSubmit", "PermissionRequest", "Stop", "SessionEnd"} {
		hooks[event] = []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": `x=$(cat); printf '%s\n' "$x" >> "$HOME/hooks.jsonl"`}}}}
	}
	r.settings(map[string]any{"hooks": hooks})
}

func (r *rig) settings(v any) {
	r.t.Helper()
	if err := os.MkdirAll(string(r.claude()), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(string(r.claude()), "settings.json"), []byte(asJSON(v)), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// heard is what the hooks were told, one event a line: its name and the field
// that tells it apart; and the names of the fields of each kind.
func (r *rig) heard() (events []string, shapes map[string][]string) {
	r.t.Helper()
	shapes = map[string][]string{}
	b, err := os.ReadFile(filepath.Join(r.home, "hooks.jsonl"))
	if err != nil {
		r.t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			r.t.Fatalf("%v: %s", err, line)
		}
		name, _ := v["hook_event_name"].(string)
		for _, f := range []string{"source", "reason", "tool_name"} {
			if s, ok := v[f].(string); ok {
				name += " " + s
			}
		}
		events = append(events, name)
		var fields []string
		for f := range v {
			fields = append(fields, f)
		}
		slices.Sort(fields)
		shapes[name] = fields
	}
	return events, shapes
}

func (r *rig) transcript(session string) string {
	path, ok := r.claude().Transcript(session)
	if !ok {
		return ""
	}
	b, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

// again is how long a dialog may ignore a key: the real one does so when it has
// just been drawn.
const again = time.Second

// answer presses a key until the dialog is gone.
func (r *rig) answer(key string) {
	r.t.Helper()
	const dialog = "Do you want to proceed?"
	r.shows(dialog)
	var pressed time.Time
	r.until("the dialog is answered", func() bool {
		if !strings.Contains(r.screen(), dialog) {
			return true
		}
		if time.Since(pressed) > again {
			pressed = time.Now()
			r.keys(key)
		}
		return false
	})
}

// shell waits until the pane's shell reads what is typed.
func (r *rig) shell() {
	r.t.Helper()
	r.until("the shell is in front", func() bool {
		info, err := r.h.ProcessInfo(r.t.Context(), r.pane)
		return err == nil && info.ForegroundProcessGroupID == info.ShellPID
	})
}

// conform is what both Claudes do alike: it is run with either.
func conform(t *testing.T, r *rig) {
	r.hooked()
	r.typed("claude --permission-mode default")
	first := r.entry(claude.StatusIdle)
	if first.Entrypoint != claude.EntryCLI || first.Kind != claude.KindInteractive || first.PIDDomain != claude.PIDDomain() || first.Cwd != r.app {
		t.Errorf("the entry: %+v", first)
	}
	if _, ok := r.claude().Transcript(first.SessionID); ok {
		t.Error("there is a transcript before the first prompt")
	}
	r.typed("hello [[sleep 700]] [[say Hello to you.]]")
	r.entry(claude.StatusBusy)
	r.entry(claude.StatusIdle)
	r.shows("● Hello to you.")
	if path, _ := r.claude().Transcript(first.SessionID); filepath.Dir(path) != r.claude().Project(r.app) {
		t.Errorf("the transcript is %s", path)
	}

	const touch = `[[tool Bash {"command":"touch made-by-tool","description":"make a file"}]] [[say Over and done.]]`
	r.typed("one " + touch)
	if p := r.entry(claude.StatusWaiting); p.WaitingFor != "permission prompt" {
		t.Errorf("it waits for %q", p.WaitingFor)
	}
	r.until("its hook heard of it", func() bool { // before the refusal ends it
		events, _ := r.heard()
		return events[len(events)-1] == "PermissionRequest Bash"
	})
	r.answer("escape")
	r.entry(claude.StatusIdle)
	made := filepath.Join(r.app, "made-by-tool")
	if _, err := os.Stat(made); err == nil {
		t.Error("the tool ran, though it was refused")
	}
	r.typed("two " + touch)
	r.entry(claude.StatusWaiting)
	r.answer("1")
	r.entry(claude.StatusIdle)
	r.shows("● Over and done.")
	if _, err := os.Stat(made); err != nil {
		t.Errorf("the tool did not run: %v", err)
	}

	r.typed("/status")
	if p := r.entry(claude.StatusWaiting); p.WaitingFor != claude.WaitingDialog {
		t.Errorf("it waits for %q", p.WaitingFor)
	}
	r.keys("escape")
	r.entry(claude.StatusIdle)
	r.typed("/clear")
	r.until("another session runs", func() bool { return r.entry(claude.StatusIdle).SessionID != first.SessionID })
	r.typed("! touch by-hand")
	r.until("the command ran, and the model answered", func() bool {
		_, err := os.Stat(filepath.Join(r.app, "by-hand"))
		events, _ := r.heard()
		return err == nil && events[len(events)-1] == "Stop"
	})
	r.entry(claude.StatusIdle)
	r.typed("exit")
	r.entry("")
	r.shell()
	events, shapes := r.heard()
	want := []string{"SessionStart startup", "UserPromptSubmit", "Stop", "UserPromptSubmit", "PermissionRequest Bash", "UserPromptSubmit", "PermissionRequest Bash",
		"Stop", "SessionEnd clear", "SessionStart clear", "Stop", "SessionEnd prompt_input_exit"}
	if !slices.Equal(drop(events, "UserPromptSubmit"), drop(want, "UserPromptSubmit")) {
		t.Errorf("hooks heard\n%s", strings.Join(events, "\n"))
	}
	for event, fields := range map[string][]string{
		"SessionStart startup": {"session_id", "transcript_path", "cwd", "source", "model"},
		"UserPromptSubmit":     {"session_id", "transcript_path", "cwd", "prompt", "permission_mode", "prompt_id"},
		"PermissionRequest Bash": {"session_id", "transcript_path", "cwd", "tool_name", "tool_input", "permission_suggestions", "permission_mode",
			"prompt_id"},
		"Stop":                         {"session_id", "transcript_path", "cwd", "stop_hook_active", "last_assistant_message", "prompt_id"},
		"SessionEnd prompt_input_exit": {"session_id", "transcript_path", "cwd", "reason"},
	} {
		for _, f := range fields {
			if !slices.Contains(shapes[event], f) {
				t.Errorf("%s has no %s: %v", event, f, shapes[event])
			}
		}
	}
}

func drop(list []string, what string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == what })
}

func TestStandInConforms(t *testing.T) {
	t.Parallel()
	conform(t, newRig(t, Build(t)))
}

func TestStandInSaysItsVersion(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(filepath.Join(Build(t), "claude"), "--version").Output()
	if err != nil || string(out) != "2.1.332 (Claude Code)\n" {
		t.Errorf("%q, %v", out, err)
	}
}
