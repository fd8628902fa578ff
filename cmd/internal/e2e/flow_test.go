// Package e2e tests the whole path with the tools as processes: herdr, shq,
// shwatch, shhub, shctl.
package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/cmd/internal/world"
	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/herdr"
	"sessionhub/lib/record"
)

// herdrServer is a herdr, double or real, that a flow runs against.
type herdrServer interface {
	Restart(t *testing.T)
}

// newWorld builds the tools and a machine with a hub, and the stand-in Claude
// as the program claude.
func newWorld(t *testing.T) *world.World {
	t.Helper()
	root, err := os.MkdirTemp("", "sh") // short, for socket paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	bin := filepath.Join(root, "bin")
	for _, tool := range []string{"shq", "shwatch", "shctl", "shinstall", "shhub", "shmove"} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(bin, tool), "sessionhub/cmd/"+tool)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", tool, err, out)
		}
	}
	if err := claudetest.BuildTo(bin); err != nil {
		t.Fatal(err)
	}
	w, err := world.New(root, bin)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.StartHub(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(w.State(), "watcher.log"))
			bad, _ := os.ReadFile(filepath.Join(w.State(), "queue.bad.jsonl"))
			t.Logf("watcher.log:\n%s\nqueue.bad.jsonl:\n%s", log, bad)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// flow is one run of the main job.
type flow struct {
	t       *testing.T
	w       *world.World
	h       *herdr.Client
	server  herdrServer
	command string // what is typed to start Claude; default "claude"
}

func ctx(t *testing.T) context.Context {
	c, cancel := context.WithTimeout(t.Context(), world.Wait)
	t.Cleanup(cancel)
	return c
}

// openPane opens a workspace in the project and returns its pane.
func (f *flow) openPane() string {
	f.t.Helper()
	made, err := f.h.CreateWorkspace(ctx(f.t), herdr.NewWorkspace{Cwd: filepath.Join(f.w.Home, "Code", "app"), Label: "app"})
	if err != nil {
		f.t.Fatal(err)
	}
	return made.RootPane.PaneID
}

func (f *flow) typeLine(pane, line string) {
	f.t.Helper()
	if err := f.h.SendInput(ctx(f.t), pane, line, "Enter"); err != nil {
		f.t.Fatal(err)
	}
}

// startClaude starts Claude in a new pane and waits until the hub shows it.
func (f *flow) startClaude() (pane, session string) {
	f.t.Helper()
	pane = f.openPane()
	f.typeLine(pane, cmp.Or(f.command, "claude"))
	f.until("herdr detects Claude in "+pane, func() bool {
		p, err := f.h.Pane(ctx(f.t), pane)
		return err == nil && p.Agent == "claude"
	})
	detected := time.Now()
	f.until("the hub shows the session in "+pane, func() bool {
		for _, s := range f.sessions() {
			if s.Herdr != nil && s.Herdr.PaneID == pane && s.Status == record.StatusLive {
				session = s.Session
				return true
			}
		}
		return false
	})
	f.t.Logf("%s: in the hub %s after herdr detected it", pane, time.Since(detected).Round(time.Millisecond))
	return pane, session
}

func (f *flow) sessions() []record.Session {
	list, err := f.w.Sessions()
	if err != nil {
		f.t.Fatal(err)
	}
	return list
}

func (f *flow) until(what string, cond func() bool) {
	f.t.Helper()
	if err := world.Until(what, func() (bool, error) { return cond(), nil }); err != nil {
		list, _ := f.w.Tool("shctl", "status", "--json", "--all")
		snap, _ := f.w.Tool("shwatch", "snapshot", "--explain", "--herdr", f.w.Socket)
		waits, _ := f.w.Tool("shq", "cat")
		f.t.Fatalf("%v\nstatus: %s\nsnapshot: %s\nwaiting: %s", err, list, snap, waits)
	}
}

func (f *flow) untilState(session string, states ...record.AgentState) {
	f.t.Helper()
	f.until(fmt.Sprintf("%s is %v", session, states), func() bool {
		s, err := f.w.Session(session)
		if err != nil {
			return false
		}
		for _, st := range states {
			if s.Status == record.StatusLive && s.AgentState == st {
				return true
			}
		}
		return false
	})
}

func (f *flow) untilEnded(session string) record.Session {
	f.t.Helper()
	var last record.Session
	f.until(session+" has ended", func() bool {
		var err error
		last, err = f.w.Session(session)
		return err == nil && last.Status == record.StatusEnded
	})
	return last
}

// mainJob is what a person sees: a session comes, works, waits, changes its
// id, and goes; and nothing is lost while the hub is down.
func (f *flow) mainJob(server herdrServer) {
	t := f.t
	pane, session := f.startClaude()
	f.untilState(session, record.Idle)

	f.typeLine(pane, "work 1500ms")
	f.untilState(session, record.Working)
	f.untilState(session, record.Done, record.Idle)

	f.typeLine(pane, "ask")
	f.untilState(session, record.Blocked)
	inbox, err := f.w.Tool("shctl", "inbox")
	if err != nil || !strings.Contains(string(inbox), session) {
		t.Errorf("inbox: %s, %v", inbox, err)
	}
	f.typeLine(pane, "1")
	f.untilState(session, record.Done, record.Idle)

	// A background shell: herdr says working, Claude sits at its prompt.
	f.typeLine(pane, "bg 3s")
	f.until("it is idle with background work", func() bool {
		s, err := f.w.Session(session)
		return err == nil && s.AgentState == record.Idle && s.Background
	})

	f.typeLine(pane, "/clear")
	old := session
	f.until("the new session is in "+pane, func() bool {
		for _, s := range f.sessions() {
			if s.Herdr != nil && s.Herdr.PaneID == pane && s.Session != old && s.Status == record.StatusLive {
				session = s.Session
				return true
			}
		}
		return false
	})
	if ended := f.untilEnded(old); ended.EndedReason != "replaced" && ended.EndedReason != "vanished" {
		t.Errorf("the old session ended as %q", ended.EndedReason)
	}

	f.printed(session)

	// The hub is down while things happen.
	if err := f.w.KillHub(); err != nil {
		t.Fatal(err)
	}
	f.typeLine(pane, "ask")
	f.until("herdr says blocked", func() bool {
		p, err := f.h.Pane(ctx(t), pane)
		return err == nil && p.AgentStatus == herdr.StatusBlocked
	})
	if waits, err := f.w.Tool("shq", "cat"); err != nil {
		t.Error(err)
	} else {
		validate(t, "item", waits)
	}
	if err := f.w.StartHub(); err != nil {
		t.Fatal(err)
	}
	f.untilState(session, record.Blocked)
	f.typeLine(pane, "1")
	f.untilState(session, record.Done, record.Idle)

	f.typeLine(pane, "hello") // something to resume
	f.untilState(session, record.Done, record.Idle)
	f.restart(server, pane, session)
	f.end()
	f.books()
}

// restart restarts herdr: a session that had ended stays ended, a live one
// that is resumed is never lost.
func (f *flow) restart(server herdrServer, pane, session string) {
	gonePane, gone := f.startClaude()
	f.typeLine(gonePane, "/exit")
	f.untilEnded(gone)
	server.Restart(f.t)
	f.until("the session is back in "+pane, func() bool {
		if s, err := f.w.Session(gone); err != nil || s.Status != record.StatusEnded {
			f.t.Fatalf("the restart brought %s back: %+v, %v", gone, s, err)
		}
		s, err := f.w.Session(session)
		if err != nil || s.Status == record.StatusEnded {
			f.t.Fatalf("the restart lost %s: %+v, %v", session, s, err)
		}
		p, err := f.h.Pane(ctx(f.t), pane)
		return err == nil && p.Agent == "claude" && s.AgentState == record.Idle && s.Herdr != nil
	})
}

// end closes a pane, and a workspace, with a session in each.
func (f *flow) end() {
	pane, session := f.startClaude()
	if err := f.h.ClosePane(ctx(f.t), pane); err != nil {
		f.t.Fatal(err)
	}
	f.untilEnded(session)

	pane, session = f.startClaude()
	p, err := f.h.Pane(ctx(f.t), pane)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := f.h.CloseWorkspace(ctx(f.t), p.WorkspaceID); err != nil {
		f.t.Fatal(err)
	}
	f.untilEnded(session)
}

// books: every record was delivered or superseded, and every delivered one is
// recorded. Both sides are read one after the other, while a session's end may
// still be on its way.
func (f *flow) books() {
	var b world.Books
	f.until("the books agree", func() bool {
		var err error
		b, err = f.w.Books()
		return err == nil && b.Waiting() == 0 && b.Balance()
	})
	if b.SetAside != 0 || b.Delivered == 0 {
		f.t.Errorf("books: %+v", b)
	}
}
