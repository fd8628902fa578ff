//go:build realclaude && realherdr

package presence

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/herdr/herdrtest"
	"sessionhub/lib/record"
)

// startRealHerdr starts a herdr that HERDR names, with the real Claude Code and
// herdr's integration for it.
func startRealHerdr(t *testing.T) *herdrtest.Program {
	t.Helper()
	root, err := os.MkdirTemp("", "rh") // short, for socket paths
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(root, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(claudetest.RealBin(t), filepath.Join(bin, "claude")); err != nil {
		t.Fatal(err)
	}
	s := herdrtest.NewProgram(t, root, append(claudetest.RealEnv(claudetest.MessagesAPI(t)), "PATH="+bin+":"+os.Getenv("PATH"))...)
	t.Cleanup(func() {
		s.Stop()
		claudetest.End(t, filepath.Join(bin, "claude"), s.Home())
		os.RemoveAll(root)
	})
	claudetest.RealHome(t, s.Home(), s.Home())
	s.Run("integration", "install", "claude")
	s.Start()
	return s
}

// trail looks all the time and keeps each verdict that differs from the last.
type trail struct {
	stop, done chan struct{}
	said       []string
}

func (r *realRun) trail() *trail {
	tr := &trail{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(tr.done)
		for {
			select {
			case <-tr.stop:
				return
			case <-time.After(15 * time.Millisecond):
			}
			v, _, err := Look(r.t.Context(), r.s.Client(), r.claudeHome())
			if err != nil {
				continue // herdr is down; that proves nothing
			}
			if line := say(v); len(tr.said) == 0 || tr.said[len(tr.said)-1] != line {
				tr.said = append(tr.said, line)
			}
		}
	}()
	return tr
}

// end returns every verdict.
func (tr *trail) end() []string {
	close(tr.stop)
	<-tr.done
	return tr.said
}

// herdrSays waits for herdr's own session id of the pane.
func (r *realRun) herdrSays(id string) {
	r.t.Helper()
	untilSaid(r.t, r.s, "herdr says "+id, func(Verdict) bool {
		p, err := r.s.Client().Pane(r.t.Context(), r.pane)
		return err == nil && herdrSession(&p) == id
	})
}

// What a real herdr gets wrong about the ids of a real Claude (finding 2), and
// what it shows while one is suspended (findings 6 and 41).
func TestRealHerdrIDs(t *testing.T) {
	r := openPane(t, startRealHerdr(t))
	r.typed("claude")
	first := r.is(record.Idle, anyID)
	r.typed("hello [[sleep 1000]]")
	r.is(record.Working, anyID)
	r.is(record.Idle, anyID)
	r.herdrSays(first)
	tr := r.trail()
	r.typed("/branch")
	branch := r.is(record.Idle, first)
	r.typed("! claude -p --resume " + first + " nested")
	r.is(record.Working, anyID)
	r.is(record.Idle, anyID)
	r.herdrSays(first)
	for _, line := range tr.end() {
		if strings.Contains(line, "?") || !strings.HasPrefix(line, first+"@") && !strings.HasPrefix(line, branch+"@") {
			t.Errorf("a wrong verdict: %s", line)
		}
	}
	if id := r.is(record.Idle, anyID); id != branch {
		t.Errorf("herdr's nested id %s was believed", id)
	}

	r.keys("ctrl+z")
	suspended := func(v Verdict) bool {
		p, err := r.s.Client().Pane(t.Context(), r.pane)
		return err == nil && p.Agent == "" && say(v) == branch+"@"+r.pane+":unknown"
	}
	untilSaid(t, r.s, "it is suspended, and has the session", suspended)
	r.typed("fg")
	if id := r.is(record.Idle, anyID); id != branch {
		t.Errorf("after fg: %s", id)
	}

	// The same session in a second pane, silently (finding 9).
	second := openPane(t, r.s)
	second.typed("claude --resume " + branch)
	untilSaid(t, r.s, "it runs in both panes", func(v Verdict) bool {
		return len(v.Sessions) == 1 && v.Sessions[0].Session == branch && len(v.Sessions[0].OtherPanes) == 1
	})
	if err := r.s.Client().ClosePane(t.Context(), second.pane); err != nil {
		t.Fatal(err)
	}
	untilSaid(t, r.s, "it runs in one", func(v Verdict) bool { return len(v.Sessions) == 1 && len(v.Sessions[0].OtherPanes) == 0 })

	kill := look(t, r.s).Sessions[0].PID
	if err := syscall.Kill(kill, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	untilSaid(t, r.s, "the killed one is gone", func(v Verdict) bool { return say(v) == "" })
}

// After a restart herdr shows the session, idle, before any Claude is up
// (finding 44): until then it is unidentified, and never anything else.
func TestRealHerdrRestart(t *testing.T) {
	s := startRealHerdr(t)
	r := openPane(t, s)
	r.typed("claude")
	id := r.is(record.Idle, anyID)
	r.typed("hello [[sleep 1000]]")
	r.is(record.Working, anyID)
	r.is(record.Idle, anyID)
	r.herdrSays(id)
	s.Stop()
	tr := r.trail()
	s.Start()
	untilSaid(t, s, "it is back", func(v Verdict) bool {
		return len(v.Sessions) == 1 && v.Sessions[0].Session == id && v.Sessions[0].AgentState == record.Idle
	})
	said := tr.end()
	unidentified := "?" + r.pane
	if !strings.HasPrefix(said[0], unidentified) {
		t.Errorf("the first verdict after the restart: %s", said[0])
	}
	back := false
	for _, line := range said {
		live := strings.HasPrefix(line, id+"@"+r.pane)
		if !live && (back || !strings.HasPrefix(line, unidentified)) {
			t.Errorf("a wrong verdict: %s\nof %s", line, strings.Join(said, "\n"))
		}
		back = back || live
	}
}
