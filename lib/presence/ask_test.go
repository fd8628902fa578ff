package presence

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/herdr"
)

// answers is a herdr whose process_info does what the test says.
type answers struct {
	snap  herdr.Snapshot
	asked func(ctx context.Context, pane string) (herdr.ProcessInfo, error)
}

func (a *answers) Snapshot(context.Context) (herdr.Snapshot, error) { return a.snap, nil }

func (a *answers) ProcessInfo(ctx context.Context, pane string) (herdr.ProcessInfo, error) {
	return a.asked(ctx, pane)
}

func panes(n int, agent string) herdr.Snapshot {
	s := herdr.Snapshot{Version: herdr.MinVersion}
	for i := range n {
		s.Panes = append(s.Panes, herdr.Pane{PaneID: fmt.Sprintf("w1:p%d", i), Agent: agent, AgentStatus: herdr.StatusIdle})
	}
	return s
}

// A herdr that hangs for panes keeps a look no longer than its limits say, and
// the panes are unidentified: neither live nor ended.
func TestHungPanesAreUnidentified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		h := &answers{snap: panes(2*askAtOnce, agent), asked: func(ctx context.Context, _ string) (herdr.ProcessInfo, error) {
			n := now.Add(1)
			defer now.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			<-ctx.Done()
			return herdr.ProcessInfo{}, ctx.Err()
		}}
		start := time.Now()
		v, _, err := Look(t.Context(), h, claude.Home(t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 2*askWait {
			t.Errorf("took %s", took)
		}
		if most.Load() != askAtOnce {
			t.Errorf("%d calls at once, want %d", most.Load(), askAtOnce)
		}
		if len(v.Unidentified) != 2*askAtOnce || len(v.Sessions) != 0 || len(v.Panes) != 2*askAtOnce {
			t.Errorf("%s", say(v))
		}
	})
}

// One pane that can't be asked is a fact of that pane alone, told with its
// reason.
func TestAFailedProcessInfoIsAFactOfItsPane(t *testing.T) {
	h := &answers{snap: panes(2, agent), asked: func(_ context.Context, pane string) (herdr.ProcessInfo, error) {
		if pane == "w1:p0" {
			return herdr.ProcessInfo{}, &herdr.Error{Code: herdr.CodePaneNotFound, Message: "pane not found"}
		}
		return herdr.ProcessInfo{PaneID: pane, ShellPID: 9, ForegroundProcesses: []herdr.Process{{PID: 10, Name: "claude"}}}, nil
	}}
	h.snap.Panes[1].AgentSession = &herdr.AgentSession{Agent: "claude", Kind: "id", Value: "A"}
	v, _, err := Look(t.Context(), h, claude.Home(t.TempDir()))
	if err != nil || say(v) != "A@w1:p1:idle ?w1:p0" {
		t.Fatalf("%s, %v", say(v), err)
	}
	if why := strings.Join(v.Unidentified[0].Why, " "); !strings.Contains(why, herdr.CodePaneNotFound) {
		t.Errorf("why: %s", why)
	}
}

// Panes that show no Claude are not asked about while nobody is missing.
func TestShellsAreNotAskedAbout(t *testing.T) {
	h := &answers{snap: panes(5, ""), asked: func(context.Context, string) (herdr.ProcessInfo, error) {
		t.Error("a shell was asked about")
		return herdr.ProcessInfo{}, errors.New("no")
	}}
	if _, _, err := Look(t.Context(), h, claude.Home(t.TempDir())); err != nil {
		t.Fatal(err)
	}
}

func TestAnOldHerdrIsAnError(t *testing.T) {
	h := &answers{snap: herdr.Snapshot{Version: "0.7.9"}}
	if _, _, err := Look(t.Context(), h, claude.Home(t.TempDir())); err == nil {
		t.Error("no error")
	}
}
