package presence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/herdr"
)

const (
	// askAtOnce bounds the calls of process_info under way. herdr answers each
	// on a connection of its own.
	askAtOnce = 8
	// askWait bounds one of them; one call in a hundred takes 0.1 s (finding 2
	// of the protocol captures).
	askWait = 2 * time.Second
	// maxPanes bounds the panes that are searched for a process that no agent
	// pane shows.
	maxPanes = 64
)

// Herdr is what Look needs of a herdr client.
type Herdr interface {
	Snapshot(ctx context.Context) (herdr.Snapshot, error)
	ProcessInfo(ctx context.Context, paneID string) (herdr.ProcessInfo, error)
}

// Look gathers the witnesses of one herdr server and decides. A snapshot that
// fails is an error and proves nothing (field report A16); a process_info that
// fails is a fact of its pane.
func Look(ctx context.Context, h Herdr, home claude.Home) (Verdict, herdr.Snapshot, error) {
	snap, err := h.Snapshot(ctx)
	if err != nil {
		return Verdict{}, snap, fmt.Errorf("look at herdr: %w", err)
	}
	if err := herdr.CheckVersion(snap.Version); err != nil {
		return Verdict{}, snap, err
	}
	w := Witnesses{Panes: snap.Panes, Processes: map[string]herdr.ProcessInfo{}, Failed: map[string]error{}}
	if err := w.readRegistry(home); err != nil {
		return Verdict{}, snap, err
	}
	var agents, others []string
	for _, p := range snap.Panes {
		if p.Agent == agent || p.AgentSession != nil && p.AgentSession.Agent == agent {
			agents = append(agents, p.PaneID)
		} else {
			others = append(others, p.PaneID)
		}
	}
	w.ask(ctx, h, agents)
	w.readOtherHomes(home)
	// A Claude that herdr does not show, such as one that was suspended, is
	// looked for in the other panes, if there is one.
	if v := Decide(w); len(v.Outside) > 0 && len(others) > 0 {
		w.ask(ctx, h, others[:min(len(others), maxPanes)])
	}
	return Decide(w), snap, nil
}

// Outside lists the people's live sessions by the registry alone. Without one it
// is claude.ErrNoRegistry: there may be sessions, and nothing tells of them.
func Outside(home claude.Home) ([]Session, error) {
	var w Witnesses
	if err := w.readRegistry(home); err != nil {
		return nil, err
	}
	if !w.HasRegistry {
		return nil, claude.ErrNoRegistry
	}
	return Decide(w).Outside, nil
}

// readRegistry reads the registry. An unreadable one, or process table, is an
// error: without it a session could be taken for another, or for dead.
func (w *Witnesses) readRegistry(home claude.Home) error {
	table, err := claude.NewTable()
	if err != nil {
		return err
	}
	w.Table = table
	list, err := home.Live(table)
	if errors.Is(err, claude.ErrNoRegistry) {
		return nil
	}
	if err != nil {
		return err
	}
	w.Registry, w.HasRegistry = list, true
	return nil
}

// readOtherHomes reads the registries of Claudes in the panes that use another
// home, as with CLAUDE_CONFIG_DIR; an unreadable one names nobody.
func (w *Witnesses) readOtherHomes(home claude.Home) {
	known := map[claude.Home]bool{home: true}
	for _, info := range w.Processes {
		for _, p := range info.ForegroundProcesses {
			other, ok := claude.HomeOf(p.PID)
			if !ok || known[other] || w.registered(p.PID) {
				continue
			}
			known[other] = true
			list, err := other.Live(w.Table)
			if err == nil {
				w.Registry = append(w.Registry, list...)
			}
		}
	}
}

func (w *Witnesses) registered(pid int) bool {
	return slices.ContainsFunc(w.Registry, func(p claude.Process) bool { return p.PID == pid })
}

// ask calls process_info for panes side by side.
func (w *Witnesses) ask(ctx context.Context, h Herdr, panes []string) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, askAtOnce)
	for _, id := range panes {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, askWait)
			defer cancel()
			info, err := h.ProcessInfo(ctx, id)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				w.Failed[id] = err
				return
			}
			w.Processes[id] = info
		})
	}
	wg.Wait()
}
