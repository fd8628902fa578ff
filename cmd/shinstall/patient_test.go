package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sessionhub/cmd/internal/world"
	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/doctor"
	"sessionhub/lib/herdr"
	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/install"
)

// wholeTools builds the tools, the stand-ins for herdr and Claude Code, and an
// older watcher, once for all tests.
var wholeTools = sync.OnceValues(func() (dir string, err error) {
	dir = os.Getenv(toolsEnv)
	for _, b := range []struct{ version, out, pkgs string }{
		{"1.0.0", dir + "/", "sessionhub/cmd/shq sessionhub/cmd/shq-mcp sessionhub/cmd/shwatch sessionhub/cmd/shctl sessionhub/cmd/shinstall sessionhub/cmd/shhub sessionhub/cmd/shrevive"},
		{"0.9.0", filepath.Join(dir, "shwatch-old"), "sessionhub/cmd/shwatch"},
		{"", filepath.Join(dir, "herdr"), "sessionhub/lib/herdr/herdrtest/cmd/fakeherdr"},
	} {
		args := append([]string{"build", "-ldflags", "-X sessionhub/cmd/internal/front.version=" + b.version, "-o", b.out}, strings.Fields(b.pkgs)...)
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("build: %w\n%s", err, out)
		}
	}
	return dir, claudetest.BuildTo(dir)
})

// patient is a machine on which everything is hooked up, with a live session in a
// pane, as processes: what the doctor sees.
type patient struct {
	t    *testing.T
	hub  *hubtest.Hub
	root string
	home string
	bin  string
	env  []string

	server  *exec.Cmd
	session string // the live one
	claude  int    // its process
}

// managers are the programs of a machine without a service manager, and with cron.
var managers = map[string]string{
	"systemctl": "exit 1", "launchctl": "exit 1",
	"crontab": `f="${0%/*}/crontab.txt"
case $1 in
-l) [ -e "$f" ] && exec cat "$f"; echo no crontab for me >&2; exit 1 ;;
-r) exec rm "$f" ;;
esac
exec cp "$1" "$f"`,
}

// admission is what a patient may have from the start.
type admission struct {
	bin        string           // folder of the tools below the root; default "bin"
	clock      func() time.Time // of the hub
	oldWatcher bool
	serverEnv  []string // more for herdr's server; ROOT in it is the patient's folder
}

func admit(t *testing.T, a admission) *patient {
	t.Helper()
	built, err := wholeTools()
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.MkdirTemp("", "dr") // short, for socket paths
	if err != nil {
		t.Fatal(err)
	}
	if a.bin == "" {
		a.bin = "bin"
	}
	if a.clock == nil {
		a.clock = time.Now
	}
	p := &patient{t: t, root: root, home: filepath.Join(root, "h"), bin: filepath.Join(root, a.bin), hub: hubtest.StartAt(t, a.clock)}
	t.Cleanup(func() { // what ends may still write
		if err := world.Until("nothing is left", func() (bool, error) { return os.RemoveAll(root) == nil, nil }); err != nil {
			t.Error(err)
		}
	})
	p.env = []string{"HOME=" + p.home, "PATH=" + p.bin + ":/usr/local/bin:/usr/bin:/bin", "SHELL=/bin/sh", "TERM=xterm-256color", "LANG=C.UTF-8",
		"FAKEHERDR_TIMINGS=short", "HISTFILE=/dev/null"}
	for _, dir := range []string{p.bin, p.config(), filepath.Join(p.home, ".claude"), filepath.Join(p.home, "app")} {
		p.must(os.MkdirAll(dir, 0o700))
	}
	for _, name := range []string{"shq", "shq-mcp", "shwatch", "shctl", "shinstall", "shhub", "shrevive", "herdr", "claude"} {
		p.must(os.Symlink(filepath.Join(built, name), filepath.Join(p.bin, name)))
	}
	for name, text := range managers { // the machine's own are not to be asked
		p.must(os.WriteFile(filepath.Join(p.bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	for name, text := range map[string]string{
		"config.toml": "server_url = \"" + p.hub.URL + "\"\nmachine = \"tower\"\n", "token": p.hub.MachineToken + "\n", "user-token": p.hub.UserToken + "\n",
	} {
		p.write(filepath.Join(p.config(), name), text)
	}
	p.write(filepath.Join(p.home, ".claude.json"), `{"projects":{"`+filepath.Join(p.home, "app")+`":{"hasTrustDialogAccepted":true}}}`)
	p.tool("herdr", "integration", "install", "claude")
	p.tool("shinstall", "plugin", "hooks", "mcp")
	old := time.Now().Add(-time.Minute) // the hooks are older than the session, whatever the clocks' grain
	for _, path := range []string{p.settings(), p.settings() + install.BackupSuffix} {
		p.must(os.Chtimes(path, old, old))
	}
	if a.oldWatcher {
		p.replace("shwatch", filepath.Join(built, "shwatch-old"))
	}
	p.start(a.serverEnv)
	if a.oldWatcher {
		p.until("the old watcher runs", func() bool { return strings.Contains(p.tool("shwatch", "status"), `"version":"0.9.0"`) })
		p.replace("shwatch", filepath.Join(built, "shwatch"))
	}
	p.startSession()
	return p
}

func (p *patient) config() string { return filepath.Join(p.home, ".config", "sessionhub") }
func (p *patient) state() string  { return filepath.Join(p.home, ".local", "state", "sessionhub") }
func (p *patient) socket() string { return filepath.Join(p.home, ".config", "herdr", "herdr.sock") }
func (p *patient) settings() string {
	return filepath.Join(p.home, ".claude", "settings.json")
}
func (p *patient) client() *herdr.Client { return &herdr.Client{Socket: p.socket()} }

func (p *patient) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *patient) write(path, text string) {
	p.t.Helper()
	p.must(os.WriteFile(path, []byte(text), 0o600))
}

func (p *patient) read(path string) string {
	p.t.Helper()
	b, err := os.ReadFile(path)
	p.must(err)
	return string(b)
}

// replace puts another program in the place of a tool.
func (p *patient) replace(name, target string) {
	p.t.Helper()
	p.must(os.Remove(filepath.Join(p.bin, name)))
	p.must(os.Symlink(target, filepath.Join(p.bin, name)))
}

// script puts a shell script in the place of a tool.
func (p *patient) script(name, text string) {
	p.t.Helper()
	p.must(os.Remove(filepath.Join(p.bin, name)))
	p.must(os.WriteFile(filepath.Join(p.bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
}

func (p *patient) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), filepath.Join(p.bin, name), args...)
	cmd.Env, cmd.Dir = p.env, p.home
	return cmd
}

func (p *patient) tool(name string, args ...string) string {
	p.t.Helper()
	out, err := p.command(name, args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (p *patient) until(what string, cond func() bool) {
	p.t.Helper()
	if err := world.Until(what, func() (bool, error) { return cond(), nil }); err != nil {
		log, _ := os.ReadFile(filepath.Join(p.state(), "watcher.log"))
		p.t.Fatalf("%v\nwatcher.log:\n%s", err, log)
	}
}

// start starts herdr's server, which starts the watcher.
func (p *patient) start(env []string) {
	p.t.Helper()
	p.server = exec.Command(filepath.Join(p.bin, "herdr"), "server")
	p.server.Env, p.server.Dir = slices.Clone(p.env), p.home
	for _, kv := range env {
		p.server.Env = append(p.server.Env, strings.ReplaceAll(kv, "ROOT", p.root))
	}
	p.must(p.server.Start())
	p.t.Cleanup(p.stop)
	p.until("herdr answers", func() bool { _, err := p.client().Ping(p.t.Context()); return err == nil })
	dir := filepath.Join(p.state(), "watcher.json")
	if len(env) > 0 {
		return // it may be elsewhere
	}
	p.until("the watcher's heartbeat reached the hub", func() bool {
		b, err := os.ReadFile(dir)
		return err == nil && bytes.Contains(b, []byte("last_good"))
	})
}

// stop ends what runs.
func (p *patient) stop() {
	if p.server == nil {
		return
	}
	p.server.Process.Signal(syscall.SIGTERM)
	_ = p.server.Wait() // how it ends is its own affair
	if p.claude > 0 {   // its last hook may start a watcher once more
		p.until("the session has ended", func() bool { return !alive(p.claude) })
	}
	p.stopWatcher()
	p.server = nil
}

// stopWatcher ends the watcher that herdr's server had started.
func (p *patient) stopWatcher() {
	built, err := wholeTools()
	p.must(err)
	cmd := exec.Command(filepath.Join(built, "shwatch"), "stop")
	cmd.Env = p.server.Env // the watcher has it, too
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Errorf("stop the watcher: %v: %s", err, out)
	}
}

// startSession starts Claude Code in a pane and waits until its hook has run.
func (p *patient) startSession() {
	p.t.Helper()
	made, err := p.client().CreateWorkspace(p.t.Context(), herdr.NewWorkspace{Cwd: filepath.Join(p.home, "app"), Label: "app"})
	p.must(err)
	p.must(p.client().SendInput(p.t.Context(), made.RootPane.PaneID, filepath.Join(p.bin, "claude"), "Enter"))
	p.until("the session runs", func() bool {
		list, err := os.ReadDir(filepath.Join(p.home, ".claude", "sessions"))
		if err != nil || len(list) != 1 {
			return false
		}
		b, err := os.ReadFile(filepath.Join(p.home, ".claude", "sessions", list[0].Name()))
		var e struct {
			PID       int    `json:"pid"`
			SessionID string `json:"sessionId"`
		}
		if err != nil || json.Unmarshal(b, &e) != nil {
			return false
		}
		p.session, p.claude = e.SessionID, e.PID
		return true
	})
}

// hooked waits until the session's first hook left its mark, and the session is
// as old as the doctor wants it.
func (p *patient) hooked() {
	p.until("its hook ran", func() bool {
		_, err := os.Stat(filepath.Join(p.state(), "hooks", p.session))
		return err == nil
	})
}

// examine runs the doctor and returns what it found by check.
func (p *patient) examine() (found map[string]doctor.Finding, code int) {
	p.t.Helper()
	cmd := p.command("shinstall", "doctor", "--json")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	if errs.Len() > 0 {
		p.t.Errorf("standard error: %s", errs.Bytes())
	}
	list, err := world.Decode[doctor.Finding](out)
	if err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	p.valid(out)
	found = map[string]doctor.Finding{}
	for _, f := range list {
		found[f.Check] = f
	}
	return found, cmd.ProcessState.ExitCode()
}

// workspaces are the labels of what herdr shows.
func (p *patient) workspaces() []string {
	p.t.Helper()
	list, err := p.client().Workspaces(p.t.Context())
	p.must(err)
	var labels []string
	for _, w := range list {
		labels = append(labels, w.Label)
	}
	return labels
}

// valid holds what the doctor prints against its schema.
func (p *patient) valid(lines []byte) {
	p.t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "docs", "schema", "doctor-finding.json"))
	p.must(err)
	for line := range bytes.Lines(lines) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			p.t.Errorf("%v\n%s", err, line)
		}
	}
}
