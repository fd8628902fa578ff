package herdrtest

import (
	"strings"
)

func (s *Server) findPane(id string) (*pane, *apiError) {
	if p := s.state.pane(id); p != nil {
		return p, nil
	}
	return nil, fail("pane_not_found", "pane %s not found", id)
}

func (s *Server) paneAnswer(p *pane) (obj, *apiError) {
	return obj{"type": "pane_info", "pane": s.paneInfo(p)}, nil
}

func (s *Server) listPanes(p listParams) (obj, *apiError) {
	list := []any{}
	var only *workspace
	if p.WorkspaceID != nil {
		w, err := s.findWorkspace(*p.WorkspaceID)
		if err != nil {
			return nil, err
		}
		only = w
	}
	for _, q := range s.state.allPanes() {
		if only == nil || q.tab.ws == only {
			list = append(list, s.paneInfo(q))
		}
	}
	return obj{"type": "pane_list", "panes": list}, nil
}

type paneParams struct {
	PaneID string `json:"pane_id" need:""`
}

func (s *Server) getPane(p paneParams) (obj, *apiError) {
	q, err := s.findPane(p.PaneID)
	if err != nil {
		return nil, err
	}
	return s.paneAnswer(q)
}

type currentParams struct {
	CallerPaneID *string `json:"caller_pane_id"`
}

func (s *Server) currentPane(p currentParams) (obj, *apiError) {
	q := s.state.focusedPane()
	if p.CallerPaneID != nil {
		q = s.state.pane(*p.CallerPaneID)
	}
	if q == nil {
		return nil, fail("pane_not_found", "pane not found")
	}
	return obj{"type": "pane_current", "pane": s.paneInfo(q)}, nil
}

func (s *Server) focusPane(p paneParams) (obj, *apiError) {
	q, err := s.findPane(p.PaneID)
	if err != nil {
		return nil, err
	}
	s.focus(q.tab, q)
	return s.paneAnswer(q)
}

type renamePaneParams struct {
	PaneID string  `json:"pane_id" need:""`
	Label  *string `json:"label"`
}

func (s *Server) renamePane(p renamePaneParams) (obj, *apiError) {
	q, err := s.findPane(p.PaneID)
	if err != nil {
		return nil, err
	}
	q.label = strings.TrimSpace(deref(p.Label))
	s.state.touch()
	return s.paneAnswer(q)
}

func (s *Server) paneLayout(p paneParams) (obj, *apiError) {
	q, err := s.findPane(p.PaneID)
	if err != nil {
		return nil, err
	}
	return obj{"type": "pane_layout", "layout": s.state.layoutOf(q.tab)}, nil
}

type splitParams struct {
	TargetPaneID *string           `json:"target_pane_id"`
	WorkspaceID  *string           `json:"workspace_id"`
	Direction    string            `json:"direction" need:"" enum:"right,down"`
	Ratio        *float64          `json:"ratio"`
	Cwd          *string           `json:"cwd"`
	Focus        bool              `json:"focus"`
	RightClick   string            `json:"right_click"`
	Env          map[string]string `json:"env"`
}

func (s *Server) splitPane(p splitParams) (obj, *apiError) {
	target := s.state.focusedPane()
	switch {
	case p.TargetPaneID != nil:
		q, err := s.findPane(*p.TargetPaneID)
		if err != nil {
			return nil, err
		}
		target = q
	case p.WorkspaceID != nil:
		target = nil
		if w := s.state.workspace(*p.WorkspaceID); w != nil {
			target = w.active.focused
		}
	}
	if target == nil {
		return nil, fail("pane_not_found", "pane not found")
	}
	if err := checkEnv(p.Env); err != nil {
		return nil, err
	}
	q, err := s.splitOff(target, splitParams{Direction: p.Direction, Ratio: p.Ratio, Cwd: p.Cwd, Env: p.Env}, nil)
	if err != nil {
		return nil, fail("pane_split_failed", "%v", err)
	}
	s.emitPane("pane.created", q, obj{"pane": s.paneInfo(q)})
	if p.Focus {
		s.focus(q.tab, q)
	}
	s.emitLayout(q.tab)
	return s.paneAnswer(q)
}

// splitOff makes a pane beside target; start starts its process, a shell by
// default.
func (s *Server) splitOff(target *pane, p splitParams, start func(*pane, *tab) error) (*pane, error) {
	t := target.tab
	cwd := p.Cwd
	if cwd == nil {
		dir, _ := target.cwds()
		cwd = &dir
	}
	q := s.state.newPane(t.ws)
	if start == nil {
		start = func(q *pane, t *tab) error { return s.startShell(q, t, s.startDir(cwd), p.Env) }
	}
	if err := start(q, t); err != nil {
		return nil, err
	}
	ratio := 0.5
	if p.Ratio != nil {
		ratio = min(max(*p.Ratio, 0.1), 0.9)
	}
	t.add(q)
	t.root = t.root.split(target, q, p.Direction, ratio)
	t.arrange()
	return q, nil
}

func (s *Server) closePane(p paneParams) (obj, *apiError) {
	q, err := s.findPane(p.PaneID)
	if err != nil {
		return nil, err
	}
	s.removePane(q)
	return ok()
}

// removePane closes a pane at somebody's wish: its processes are dead before
// anything else happens, and its agent is not reported as released.
func (s *Server) removePane(q *pane) {
	t, w := q.tab, q.tab.ws
	info, hadFocus := s.workspaceInfo(w), s.state.focusedPane() == q
	s.endPane(q, Stopped)
	tabGone, workspaceGone := s.state.remove(q)
	s.emit(event{kind: "pane.closed", ctx: hookContext{workspace: w.id, pane: q.id},
		data: obj{"pane_id": q.id, "workspace_id": w.id}})
	if workspaceGone {
		s.emitWorkspaceClosed(w, info)
	}
	s.refocus(hadFocus)
	if !tabGone {
		s.emitLayout(t)
	}
}

// exited is what happens when a pane's process ends by itself: no word of the
// tab and the workspace that may go with it.
func (s *Server) exited(q *pane) {
	if q.gone {
		return
	}
	t, hadFocus := q.tab, s.state.focusedPane() == q
	q.term.hangUp()
	if q.agent.detected != "" {
		s.releaseDetected(q)
		q.agent.vanish = nil
	}
	ctx := s.contextOf(t.ws, t, q)
	tabGone, _ := s.state.remove(q)
	s.emit(event{kind: "pane.exited", ctx: ctx, data: obj{"pane_id": q.id, "workspace_id": t.ws.id}})
	if !tabGone {
		s.emitLayout(t)
	}
	s.refocus(hadFocus)
}
