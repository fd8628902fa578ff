package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/cmd/internal/world"
	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/record"
)

// fleet is two machines with a clone each of one remote.
type fleet struct {
	t             *testing.T
	remote        string
	tower, laptop *flow
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	tower := doubleFlow(t)
	root, err := os.MkdirTemp("", "sh") // short, for socket paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	w, err := tower.w.Beside(root, "laptop")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	f := &fleet{t: t, remote: filepath.Join(root, "app.git"), tower: tower, laptop: flowIn(t, w, w.Env())}
	f.git(root, "init", "-q", "--bare", "-b", "main", f.remote)
	for _, m := range []*flow{f.tower, f.laptop} {
		claudetest.RealHome(t, m.w.Home, clone(m))
		f.git(filepath.Dir(clone(m)), "clone", "-q", f.remote, clone(m))
		if m == f.tower {
			f.write(m, "main.go", "package main\n")
			f.git(clone(m), "checkout", "-q", "-b", "main")
			f.git(clone(m), "add", ".")
			f.git(clone(m), "commit", "-q", "-m", "one")
			f.git(clone(m), "push", "-q", "-u", "origin", "main")
		}
	}
	for _, m := range []string{"tower", "laptop"} {
		tower.until(m+" has registered its key", func() bool {
			list, err := tower.w.Machines()
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range list {
				if k.Machine == m && k.Fingerprint != "" {
					return true
				}
			}
			return false
		})
	}
	return f
}

func clone(m *flow) string { return filepath.Join(m.w.Home, "Code", "app") }

func (f *fleet) git(dir string, args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (f *fleet) write(m *flow, name, content string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(clone(m), name), []byte(content), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// move moves a session as a person does, and gives how the move ended.
func (f *fleet) move(session, to string) record.Move {
	f.t.Helper()
	f.tower.until("the hub knows its repository", func() bool {
		for _, s := range f.tower.sessions() {
			if s.Session == session && s.Git != nil && s.Git.Remote != "" {
				return true
			}
		}
		return false
	})
	out, err := f.tower.w.Tool("shctl", "move", session, "--to", to, "--wait=80s", "--json")
	list, derr := world.Decode[record.Move](out)
	if derr != nil || len(list) != 1 {
		f.t.Fatalf("shctl move: %s, %v, %v", out, err, derr)
	}
	return list[0]
}

// shown waits until the hub shows a session as live on a machine.
func (f *fleet) shown(session, machine string) {
	f.t.Helper()
	f.tower.until("the hub shows it on "+machine, func() bool {
		for _, s := range f.tower.sessions() {
			if s.Session == session {
				return s.Machine == machine && s.Status == record.StatusLive && s.AgentState != record.Unknown
			}
		}
		return false
	})
}

// The whole way with the tools as processes: there, and back again.
func TestMoves(t *testing.T) {
	f := newFleet(t)
	_, session := f.tower.startClaude()
	f.tower.asked(record.RequestDelivered, "", "send", session, "remember 4711")
	f.write(f.tower, "main.go", "package main // changed\n")
	f.write(f.tower, "new.txt", "new\n")
	before := f.git(clone(f.tower), "status", "--porcelain=v2")

	began := time.Now()
	mv := f.move(session, "laptop")
	if mv.State != record.MoveDone {
		t.Fatalf("%+v", mv)
	}
	t.Logf("moved in %s: %s", time.Since(began).Round(time.Millisecond), mv.Detail)
	f.shown(session, "laptop")
	if got := f.git(clone(f.laptop), "status", "--porcelain=v2"); got != before {
		t.Errorf("the laptop's status is\n%s\nwant\n%s", got, before)
	}
	f.tower.asked(record.RequestDelivered, "", "send", session, "go on there")
	if !f.laptop.heard("remember 4711") || !f.laptop.heard("go on there") || f.tower.heard("4711") {
		t.Error("the conversation is not where it should be")
	}
	out, err := f.tower.w.Tool("shmove", "list")
	if err != nil || !strings.Contains(string(out), `"state":"archived"`) {
		t.Errorf("shmove list: %s %v", out, err)
	}

	// The tower's clone has the changes still, which give way.
	if mv = f.move(session, "tower"); mv.State != record.MoveDone {
		t.Fatalf("%+v", mv)
	}
	f.shown(session, "tower")
	f.tower.asked(record.RequestDelivered, "", "send", session, "and back")
}

// phase is what a machine's journal of a move says, "" without one.
func (f *fleet) phase(m *flow) string {
	files, err := filepath.Glob(filepath.Join(m.w.State(), "moves", "*.json"))
	if err != nil {
		f.t.Fatal(err)
	}
	for _, path := range files {
		var j struct {
			Phase string `json:"phase"`
		}
		if b, err := os.ReadFile(path); err == nil && json.Unmarshal(b, &j) == nil {
			return j.Phase
		}
	}
	return ""
}

// SIGKILL to everything of a machine in the middle of a move, by the system's
// own hand: it comes to one end, and the session is in one place.
func TestMovesSurviveAKill(t *testing.T) {
	for _, c := range []struct {
		phase string
		at    func(f *fleet) *flow
	}{
		{"end", func(f *fleet) *flow { return f.tower }},
		{"start", func(f *fleet) *flow { return f.laptop }},
	} {
		t.Run(c.phase, func(t *testing.T) {
			f := newFleet(t)
			_, session := f.tower.startClaude()
			f.tower.asked(record.RequestDelivered, "", "send", session, "remember 4711")
			m := c.at(f)
			killed := make(chan bool, 1)
			go func() {
				for end := time.Now().Add(world.Wait); time.Now().Before(end); time.Sleep(time.Millisecond) {
					if f.phase(m) == c.phase {
						_, err := exec.Command("pkill", "-KILL", "-f", filepath.Join(m.w.Bin, "shmove")).CombinedOutput()
						killed <- err == nil
						return
					}
				}
				killed <- false
			}()
			mv := f.move(session, "laptop")
			if !<-killed {
				t.Log("it was over before it could be killed")
			}
			switch mv.State {
			case record.MoveDone:
				f.shown(session, "laptop")
			case record.MoveFailed:
				f.shown(session, "tower")
			default:
				t.Fatalf("%+v", mv)
			}
			t.Logf("%s: %s %v", mv.State, mv.Detail, mv.Notes)
			if f.laptop.heard("4711") && f.tower.heard("4711") {
				t.Error("it can be resumed on both")
			}
		})
	}
}
