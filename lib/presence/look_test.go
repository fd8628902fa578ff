package presence

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/herdr"
	"sessionhub/lib/herdr/herdrtest"
	"sessionhub/lib/record"
)

// server is a herdr, double or real.
type server interface {
	Client() *herdr.Client
	Home() string
}

func look(t *testing.T, s server) Verdict {
	t.Helper()
	v, _, err := Look(context.Background(), s.Client(), claude.Home(filepath.Join(s.Home(), ".claude")))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func untilSaid(t *testing.T, s server, what string, cond func(Verdict) bool) Verdict {
	t.Helper()
	var v Verdict
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if v = look(t, s); cond(v) {
			return v
		}
	}
	t.Fatalf("waited until %s; the last verdict: %s", what, say(v))
	return v
}

func one(state record.AgentState) func(Verdict) bool {
	return func(v Verdict) bool { return len(v.Sessions) == 1 && v.Sessions[0].AgentState == state }
}

// A stand-in Claude in a real terminal of the double, seen by real processes.
func TestLookFollowsAClaude(t *testing.T) {
	s := herdrtest.Start(t, herdrtest.WithPath(claudetest.Build(t)))
	ctx := context.Background()
	made, err := s.Client().CreateWorkspace(ctx, herdr.NewWorkspace{Cwd: s.Home()})
	if err != nil {
		t.Fatal(err)
	}
	pane := made.RootPane.PaneID
	typed := func(line string) {
		t.Helper()
		if err := s.Client().SendInput(ctx, pane, line, "Enter"); err != nil {
			t.Fatal(err)
		}
	}
	typed("claude")
	v := untilSaid(t, s, "it is idle", one(record.Idle))
	first := v.Sessions[0].Session
	typed("work 1s")
	untilSaid(t, s, "it works", one(record.Working))
	untilSaid(t, s, "it is at rest", func(v Verdict) bool { return one(record.Done)(v) || one(record.Idle)(v) })
	typed("ask")
	untilSaid(t, s, "it waits", one(record.Blocked))
	typed("1")
	typed("/branch") // herdr is not told (finding 2)
	untilSaid(t, s, "the branch's id is known", func(v Verdict) bool {
		return len(v.Sessions) == 1 && v.Sessions[0].Session != first
	})
	typed("/exit")
	v = untilSaid(t, s, "nobody is there", func(v Verdict) bool { return say(v) == "" })
	if !v.Panes[pane] {
		t.Errorf("the pane is gone, too: %v", v.Panes)
	}
}

// The stand-in's other ways: `claude -p`, a background shell, a dialog, /clear,
// and a conversation that is taken up again.
func TestLookFollowsEveryWay(t *testing.T) {
	s := herdrtest.Start(t, herdrtest.WithPath(claudetest.Build(t)))
	made, err := s.Client().CreateWorkspace(t.Context(), herdr.NewWorkspace{Cwd: s.Home()})
	if err != nil {
		t.Fatal(err)
	}
	typed := func(line string) {
		t.Helper()
		if err := s.Client().SendInput(t.Context(), made.RootPane.PaneID, line, "Enter"); err != nil {
			t.Fatal(err)
		}
	}
	typed("claude -p 1s; touch over")
	over := filepath.Join(s.Home(), "over")
	untilSaid(t, s, "claude -p is over", func(v Verdict) bool {
		if len(v.Sessions)+len(v.Outside) > 0 {
			t.Fatalf("claude -p was taken for a session: %s", say(v))
		}
		_, err := os.Stat(over)
		return err == nil
	})
	typed("claude")
	first := untilSaid(t, s, "it is idle", one(record.Idle)).Sessions[0].Session
	typed("hello")
	typed("bg 1s")
	untilSaid(t, s, "a background shell runs", func(v Verdict) bool { return one(record.Idle)(v) && v.Sessions[0].Background })
	untilSaid(t, s, "it has ended", func(v Verdict) bool { return len(v.Sessions) == 1 && !v.Sessions[0].Background })
	typed("dialog") // nobody is asked
	untilSaid(t, s, "a dialog is open", func(v Verdict) bool {
		return one(record.Idle)(v) && strings.Contains(strings.Join(v.Sessions[0].Why, " "), claude.WaitingDialog)
	})
	typed("x")
	typed("/clear")
	untilSaid(t, s, "/clear gave another id", func(v Verdict) bool {
		return len(v.Sessions) == 1 && v.Sessions[0].Session != first
	})
	typed("exit")
	untilSaid(t, s, "nobody is there", func(v Verdict) bool { return say(v) == "" })
	typed("claude --resume " + first)
	untilSaid(t, s, "the first session is there again", func(v Verdict) bool {
		return one(record.Idle)(v) && v.Sessions[0].Session == first
	})
	if err := s.Client().ClosePane(t.Context(), made.RootPane.PaneID); err != nil {
		t.Fatal(err)
	}
	untilSaid(t, s, "all is gone", func(v Verdict) bool { return say(v) == "" })
}

// A Claude with a home of its own is named by the registry there.
func TestLookFindsAnotherHome(t *testing.T) {
	if _, ok := claude.HomeOf(os.Getpid()); !ok {
		t.Logf("this system does not tell a process's home")
		return
	}
	s := herdrtest.Start(t, herdrtest.WithPath(claudetest.Build(t)))
	made, err := s.Client().CreateWorkspace(t.Context(), herdr.NewWorkspace{Cwd: s.Home()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Client().SendInput(t.Context(), made.RootPane.PaneID, "CLAUDE_CONFIG_DIR=$HOME/work FAKECLAUDE_SILENT=1 claude", "Enter"); err != nil {
		t.Fatal(err)
	}
	v := untilSaid(t, s, "it is idle", one(record.Idle))
	list, err := claude.Home(filepath.Join(s.Home(), "work")).Live(mustTable(t))
	if err != nil || len(list) != 1 || list[0].SessionID != v.Sessions[0].Session || len(v.Outside) != 0 {
		t.Errorf("%s, but the registry says %+v, %v", say(v), list, err)
	}
}

func mustTable(t *testing.T) claude.Table {
	table, err := claude.NewTable()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// Field report A16: a short stall of the multiplexer marked live sessions
// dead. A snapshot that fails is an error, not an empty inventory.
func TestA16AFailedSnapshotProvesNothing(t *testing.T) {
	s := herdrtest.Start(t)
	home := claude.Home(filepath.Join(s.Home(), ".claude"))
	for _, kind := range []herdrtest.FaultKind{herdrtest.Hang, herdrtest.CloseUnanswered, herdrtest.HalfLine, herdrtest.Garbage} {
		s.Inject(herdrtest.Fault{Kind: kind, Method: "session.snapshot"})
		c := &herdr.Client{Socket: s.Client().Socket, Timeout: 200 * time.Millisecond}
		if v, _, err := Look(context.Background(), c, home); err == nil {
			t.Errorf("fault %v: no error, verdict %s", kind, say(v))
		}
		s.ClearFaults()
	}
	s.Refuse()
	if _, _, err := Look(context.Background(), s.Client(), home); !errors.Is(err, herdr.ErrUnreachable) {
		t.Errorf("refused: %v", err)
	}
}

// Without a registry nothing is known of what runs outside: that is no empty
// list.
func TestOutsideWithoutARegistry(t *testing.T) {
	if list, err := Outside(claude.Home(t.TempDir())); !errors.Is(err, claude.ErrNoRegistry) {
		t.Errorf("%v, %v", list, err)
	}
}

// A registry that can't be read is an error as well: without it one session
// could be taken for another.
func TestAnUnreadableRegistryProvesNothing(t *testing.T) {
	s := herdrtest.Start(t)
	home := filepath.Join(s.Home(), ".claude")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "sessions"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Look(context.Background(), s.Client(), claude.Home(home)); err == nil {
		t.Error("no error")
	}
}
