//go:build realclaude

package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sessionhub/cmd/internal/world"
	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/doctor"
	"sessionhub/lib/herdr"
	"sessionhub/lib/install"
	"sessionhub/lib/record"
)

// newcomer is a machine of somebody who starts with sessionhub: a home with
// Claude Code and herdr, and nothing of ours.
type newcomer struct{ flow }

// newNewcomer makes the machine with a herdr at that path.
func newNewcomer(t *testing.T, herdrBin string) *newcomer {
	t.Helper()
	root, err := os.MkdirTemp("", "hu") // short, for socket paths
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	n := &newcomer{flow: flow{t: t, command: manualClaude + " --allowedTools mcp__sessionhub__set_title"}}
	n.w = &world.World{Root: root, Home: filepath.Join(root, "home"), Bin: filepath.Join(root, "home", ".local", "bin")}
	n.w.Socket = filepath.Join(n.w.Home, ".config", "herdr", "herdr.sock")
	n.w.More = append(claudetest.RealEnv(claudetest.MessagesAPI(t)), "HISTFILE=/dev/null", "PATH="+n.w.Bin+":"+filepath.Join(root, "bin")+":"+os.Getenv("PATH"))
	n.h = n.w.Herdr()
	app := filepath.Join(n.w.Home, "Code", "app")
	for _, dir := range []string{app, filepath.Join(root, "bin"), filepath.Join(n.w.Home, ".config", "herdr")} {
		n.must(os.MkdirAll(dir, 0o700))
	}
	claudetest.RealHome(t, n.w.Home, app)
	n.must(os.Symlink(claudetest.RealBin(t), filepath.Join(root, "bin", "claude")))
	n.must(os.Symlink(herdrBin, filepath.Join(root, "bin", "herdr")))
	conf := "onboarding = false\n[update]\nversion_check = false\nmanifest_check = false\n"
	n.must(os.WriteFile(filepath.Join(n.w.Home, ".config", "herdr", "config.toml"), []byte(conf), 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0") // a free port
	n.must(err)
	n.w.Addr = l.Addr().String()
	n.must(l.Close())
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(n.w.State(), "watcher.log"))
			t.Logf("watcher.log:\n%s", log)
			n.screens()
		}
	})
	return n
}

func (n *newcomer) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// background starts a program that ends with the test, or earlier.
func (n *newcomer) background(cmd *exec.Cmd) (end func()) {
	n.t.Helper()
	var out bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stderr = n.w.Env(), n.w.Home, &out
	n.must(cmd.Start())
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			n.t.Error(err)
		}
		_ = cmd.Wait() // how it ends is its own affair
		if n.t.Failed() {
			n.t.Logf("%s: %s", cmd.Args, out.Bytes())
		}
	}
	n.t.Cleanup(end)
	return end
}

// install runs make install, as the README says.
func (n *newcomer) install() {
	n.t.Helper()
	cmd := exec.Command("make", "-C", filepath.Join("..", "..", ".."), "install", "PREFIX="+filepath.Dir(n.w.Bin))
	if out, err := cmd.CombinedOutput(); err != nil {
		n.t.Fatalf("make install: %v\n%s", err, out)
	}
}

// hookUp runs shinstall and returns its steps.
func (n *newcomer) hookUp(args ...string) []install.Step {
	n.t.Helper()
	out, err := n.w.Tool("shinstall", args...)
	n.must(err)
	validate(n.t, "install-step", out)
	steps, err := world.Decode[install.Step](out)
	n.must(err)
	return steps
}

// traces are all files at home that the hooking up may touch: not those that
// Claude Code and herdr keep for themselves, nor the state directory and the
// database. Of Claude Code's own file it is the servers that count.
func (n *newcomer) traces() map[string]string {
	n.t.Helper()
	out := map[string]string{}
	n.must(filepath.WalkDir(n.w.Home, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(n.w.Home, path)
		if err != nil {
			return err
		}
		switch {
		case rel == ".claude.json":
			b, err := os.ReadFile(path)
			var v struct {
				Servers map[string]any `json:"mcpServers"`
			}
			if err == nil {
				err = json.Unmarshal(b, &v)
			}
			out[rel] = fmt.Sprint(len(v.Servers), " servers")
			return err
		case n.others(rel):
			if e.IsDir() && rel != ".claude" && rel != ".config/herdr" {
				return fs.SkipDir
			}
			return nil
		case e.Type().IsRegular():
			b, err := os.ReadFile(path)
			st, serr := e.Info()
			if err := errors.Join(err, serr); err != nil {
				return err
			}
			out[rel] = fmt.Sprintf("%v %x", st.Mode(), sha256.Sum256(b))
		case e.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			out[rel] = to
			return err
		}
		return nil
	}))
	return out
}

// others reports whether a file is somebody else's to change.
func (n *newcomer) others(rel string) bool {
	first := strings.Split(rel, "/")
	switch {
	case first[0] == ".claude":
		return len(first) < 2 || !strings.HasPrefix(first[1], "settings.json")
	case strings.HasPrefix(rel, ".config/herdr"):
		return rel != ".config/herdr/config.toml"
	}
	for _, dir := range []string{".cache", ".local/state", ".local/share/sessionhub/hub.db", ".config/sessionhub/move.", ".local/share/claude", ".local/share/applications", ".config/mimeapps.list", ".claude.json."} {
		if rel == dir || strings.HasPrefix(rel, dir+"/") || strings.HasSuffix(dir, ".") && strings.HasPrefix(rel, dir) {
			return true
		}
	}
	return strings.HasPrefix(rel, ".local/share/sessionhub/hub.db-")
}

// story is what a newcomer does: hook up, work, look, ask the doctor, and take it
// all away again.
func (n *newcomer) story() {
	t := n.t
	before := n.traces()
	steps := n.hookUp("hub", "plugin", "hooks", "mcp", "--listen", n.w.Addr)
	i := slices.IndexFunc(steps, func(s install.Step) bool { return s.Target == "hub" && s.Step == "service" })
	if i < 0 || steps[i].Command == "" { // there is no service manager here
		t.Fatalf("no command to run the hub: %+v", steps)
	}
	n.background(exec.Command("sh", "-c", "exec "+steps[i].Command))
	endHerdr := n.background(exec.Command(filepath.Join(n.w.Root, "bin", "herdr"), "server"))
	n.until("herdr answers", func() bool { _, err := n.h.Ping(ctx(t)); return err == nil })
	n.until("the watcher runs", func() bool {
		out, err := n.w.Tool("shwatch", "status")
		return err == nil && strings.Contains(string(out), `"running":true`)
	})
	for _, s := range n.hookUp("hub", "plugin", "hooks", "mcp", "--listen", n.w.Addr) {
		if s.Outcome != install.Unchanged && s.Outcome != install.Noted {
			t.Errorf("twice: %+v", s)
		}
	}

	began := time.Now()
	pane, session := n.startClaude()
	n.untilState(session, record.Idle)
	n.session(session, pane)
	session = n.clear(session, pane)
	n.until("the doctor can judge the session", func() bool { return time.Since(began) > 6*time.Second })
	n.doctor()

	n.typeLine(pane, "/exit")
	if s := n.untilEnded(session); s.EndedReason == "" {
		t.Errorf("%+v", s)
	}
	n.books()

	for _, s := range n.hookUp("hub", "plugin", "hooks", "mcp", "--remove") {
		if s.Outcome == install.Failed {
			t.Errorf("%+v", s)
		}
	}
	endHerdr()
	after := n.traces()
	for k := range after {
		if before[k] != after[k] {
			t.Errorf("%s was %q and is %q", k, before[k], after[k])
		}
	}
	for k := range before {
		if _, ok := after[k]; !ok {
			t.Errorf("%s is gone", k)
		}
	}
}

// session lets a session name itself by the MCP server, and answer.
func (n *newcomer) session(session, pane string) {
	n.typeLine(pane, `name yourself [[tool mcp__sessionhub__set_title {"title":"A named session"}]] [[say Named.]]`)
	n.until("the hub has title, first prompt and the end of the turn", func() bool {
		s, err := n.w.Session(session)
		return err == nil && s.Title == "A named session" && strings.HasPrefix(s.FirstPrompt, "name yourself") && (s.AgentState == record.Idle || s.AgentState == record.Done)
	})
	n.typeLine(pane, "and now wait [[sleep 1500]]")
	n.untilState(session, record.Working)
	n.untilState(session, record.Idle, record.Done)
	n.until("the hub has the last prompt", func() bool {
		s, err := n.w.Session(session)
		return err == nil && strings.HasPrefix(s.LastPrompt, "and now wait")
	})
	n.typeLine(pane, `make it [[tool Bash {"command":"touch made-by-tool","description":"make a file"}]] [[say Done.]]`)
	n.untilState(session, record.Blocked)
	n.must(n.h.SendKeys(ctx(n.t), pane, "escape"))
	n.untilState(session, record.Idle, record.Done)
	var states []record.AgentState
	s, err := n.w.Session(session)
	n.must(err)
	for _, e := range s.Events {
		if e.AgentState != "" {
			states = append(states, e.AgentState)
		}
	}
	for _, want := range []record.AgentState{record.Working, record.Blocked} {
		if !slices.Contains(states, want) {
			n.t.Errorf("states %q lack %s", states, want)
		}
	}
	out, err := n.w.Tool("shctl", "status")
	if err != nil || !strings.Contains(string(out), "A named session") {
		n.t.Errorf("status: %s, %v", out, err)
	}
}

// clear types /clear: another session runs in the same pane.
func (n *newcomer) clear(old, pane string) (session string) {
	n.typeLine(pane, "/clear")
	n.until("the new session is in "+pane, func() bool {
		for _, s := range n.sessions() {
			if s.Herdr != nil && s.Herdr.PaneID == pane && s.Session != old && s.Status == record.StatusLive {
				session = s.Session
				return true
			}
		}
		return false
	})
	n.untilEnded(old)
	return session
}

// doctor finds nothing broken and nothing that can't be tested.
func (n *newcomer) doctor() {
	out, err := n.w.Tool("shinstall", "doctor")
	if err != nil {
		n.t.Errorf("doctor: %v\n%s", err, out)
	}
	validate(n.t, "doctor-finding", out)
	list, err := world.Decode[doctor.Finding](out)
	n.must(err)
	for _, f := range list {
		if f.State != doctor.Fine && f.State != doctor.NotSetUp {
			n.t.Errorf("doctor: %+v", f)
		}
	}
	if len(list) < 25 {
		n.t.Errorf("doctor: %d findings", len(list))
	}
	workspaces, err := n.h.Workspaces(ctx(n.t))
	if err != nil || slices.ContainsFunc(workspaces, func(w herdr.Workspace) bool { return strings.Contains(w.Label, "doctor") }) {
		n.t.Errorf("workspaces: %+v, %v", workspaces, err)
	}
}

// The whole story with the double of herdr and the real Claude Code.
func TestRealClaudeHookUp(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "herdr")
	if out, err := exec.Command("go", "build", "-o", bin, "sessionhub/lib/herdr/herdrtest/cmd/fakeherdr").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n := newNewcomer(t, bin)
	n.install()
	n.story()
}
