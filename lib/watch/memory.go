package watch

import (
	"slices"
	"time"

	"sessionhub/lib/runlog"
	"sessionhub/lib/state"
)

// memory is panes.json: which session ran in which pane, so that a pane that
// closed still tells whose session it ended, over a restart of the watcher
// too.
type memory struct {
	dir   state.Dir
	panes []pane
}

// pane is a pane that runs, or ran, a session.
type pane struct {
	Herdr       string    `json:"herdr"`
	PaneID      string    `json:"pane_id"`
	WorkspaceID string    `json:"workspace_id,omitempty"`
	Session     string    `json:"session"`
	ClosedAt    time.Time `json:"closed_at,omitzero"`
}

func loadMemory(dir state.Dir, log *runlog.Log) *memory {
	m := &memory{dir: dir}
	var f struct {
		Panes []pane `json:"panes"`
	}
	if err := state.ReadJSON(dir.Panes(), &f); err != nil {
		log.Failure("panes: %v; starting without them", err)
	}
	m.panes = f.Panes
	return m
}

// find is the session that a pane runs or ran last.
func (m *memory) find(socket, paneID string) (pane, bool) {
	for _, p := range m.panes {
		if p.Herdr == socket && p.PaneID == paneID {
			return p, true
		}
	}
	return pane{}, false
}

// note takes an inventory in: its sessions are where it says, panes that it
// lacks are closed, and those closed for longer than keep are forgotten. The
// file is written before anything is sent, when something changed.
func (m *memory) note(socket string, look Look, now time.Time, keep time.Duration) error {
	next := slices.Clone(m.panes)
	for _, l := range look.Live {
		for _, id := range append([]string{l.PaneID}, l.OtherPanes...) {
			next = put(next, pane{Herdr: socket, PaneID: id, WorkspaceID: l.WorkspaceID, Session: l.Session})
		}
	}
	for i := range next {
		p := &next[i]
		if p.Herdr == socket && !look.Panes[p.PaneID] && p.ClosedAt.IsZero() {
			p.ClosedAt = now.UTC()
		}
	}
	next = slices.DeleteFunc(next, func(p pane) bool {
		return !p.ClosedAt.IsZero() && (now.Sub(p.ClosedAt) > keep || now.Before(p.ClosedAt.Add(-keep)))
	})
	if slices.Equal(next, m.panes) {
		return nil
	}
	m.panes = next
	return state.ReplaceJSON(m.dir.Panes(), struct {
		Panes []pane `json:"panes"`
	}{next})
}

func put(panes []pane, p pane) []pane {
	for i := range panes {
		if panes[i].Herdr == p.Herdr && panes[i].PaneID == p.PaneID {
			panes[i] = p
			return panes
		}
	}
	return append(panes, p)
}
