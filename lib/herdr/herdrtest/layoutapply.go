package herdrtest

import "encoding/json"

type applyParams struct {
	TabID       *string         `json:"tab_id"`
	WorkspaceID *string         `json:"workspace_id"`
	TabLabel    *string         `json:"tab_label"`
	Focus       bool            `json:"focus"`
	Root        json.RawMessage `json:"root" need:""`
}

type layoutNode struct {
	Type      string            `json:"type" need:"" enum:"pane,split"`
	Command   *[]string         `json:"command"`
	Env       map[string]string `json:"env"`
	Cwd       *string           `json:"cwd"`
	Label     *string           `json:"label"`
	Direction string            `json:"direction" enum:"right,down"`
	Ratio     float64           `json:"ratio"`
	First     json.RawMessage   `json:"first"`
	Second    json.RawMessage   `json:"second"`
}

// applyLayout makes a tab whose panes run commands of their own. Nothing of the
// old tab is touched unless all of them started.
func (s *Server) applyLayout(p applyParams) (obj, *apiError) {
	w, old, err := s.applyTarget(p)
	if err != nil {
		return nil, err
	}
	t := s.state.addTab(w, p.TabLabel)
	root, err := s.buildNode(t, p.Root)
	if err != nil {
		for _, q := range t.panes {
			s.endPane(q, Stopped)
		}
		s.state.removeTab(t)
		return nil, err
	}
	t.root = root
	if old != nil {
		s.replaceTab(old, t)
	}
	s.emitTab("tab.created", t)
	for _, q := range t.panes {
		s.emitPane("pane.created", q, obj{"pane": s.paneInfo(q)})
	}
	if p.Focus {
		s.focus(t, t.focused)
	}
	s.emitLayout(t)
	return obj{"type": "layout_apply", "layout": s.describeLayout(t)}, nil
}

func (s *Server) applyTarget(p applyParams) (*workspace, *tab, *apiError) {
	switch {
	case p.TabID != nil:
		t, err := s.findTab(*p.TabID)
		if err != nil {
			return nil, nil, err
		}
		return t.ws, t, nil
	case p.WorkspaceID != nil:
		w, err := s.findWorkspace(*p.WorkspaceID)
		return w, nil, err
	case s.state.focused != nil:
		return s.state.focused, nil, nil
	}
	return nil, nil, fail("workspace_not_found", "no active workspace")
}

// replaceTab closes the old tab and puts the new one where it was.
func (s *Server) replaceTab(old, t *tab) {
	w := old.ws
	s.endPanes(old)
	var tabs []*tab
	for _, x := range w.tabs {
		switch x {
		case old:
			tabs = append(tabs, t)
		case t:
		default:
			tabs = append(tabs, x)
		}
	}
	w.tabs = tabs
	if w.active == old {
		w.active = t
	}
	if t.label == nil {
		t.label = old.label
	}
	s.emit(event{kind: "tab.closed", ctx: hookContext{workspace: w.id, tab: old.id},
		data: obj{"tab_id": old.id, "workspace_id": w.id}})
}

func (s *Server) buildNode(t *tab, raw json.RawMessage) (*node, *apiError) {
	var n layoutNode
	if err := decode(raw, &n); err != nil {
		return nil, err
	}
	if n.Type == "pane" {
		return s.buildPane(t, n)
	}
	if n.First == nil || n.Second == nil || n.Direction == "" {
		return nil, malformed("missing field `first`")
	}
	first, err := s.buildNode(t, n.First)
	if err != nil {
		return nil, err
	}
	second, err := s.buildNode(t, n.Second)
	if err != nil {
		return nil, err
	}
	if n.Ratio <= 0 || n.Ratio >= 1 {
		n.Ratio = 0.5
	}
	return &node{direction: n.Direction, ratio: n.Ratio, first: first, second: second}, nil
}

func (s *Server) buildPane(t *tab, n layoutNode) (*node, *apiError) {
	if err := checkEnv(n.Env); err != nil {
		return nil, err
	}
	argv := []string{s.cfg.Shell}
	if n.Command != nil {
		if argv = *n.Command; len(argv) == 0 {
			return nil, fail("invalid_layout", "pane command must not be empty")
		}
	}
	q := s.state.newPane(t.ws)
	q.label = deref(n.Label)
	if n.Command != nil {
		q.command = argv
	}
	dir := s.startDir(n.Cwd)
	if err := s.startProcess(q, t, command{argv: argv, env: s.paneEnv(q, t, n.Env), dir: dir}); err != nil {
		return nil, fail("layout_apply_failed", "%v", err)
	}
	t.add(q)
	return leaf(q), nil
}

type exportParams struct {
	TabID  *string `json:"tab_id"`
	PaneID *string `json:"pane_id"`
}

func (s *Server) exportLayout(p exportParams) (obj, *apiError) {
	t := s.state.focusedTab()
	if p.TabID != nil {
		t = s.state.tab(*p.TabID)
	}
	if p.PaneID != nil {
		t = nil
		if q := s.state.pane(*p.PaneID); q != nil {
			t = q.tab
		}
	}
	if t == nil {
		return nil, fail("layout_not_found", "layout not found")
	}
	return obj{"type": "layout_export", "layout": s.describeLayout(t)}, nil
}

func (s *Server) describeLayout(t *tab) obj {
	return obj{
		"workspace_id": t.ws.id, "tab_id": t.id, "zoomed": t.zoomed,
		"focused_pane_id": t.focused.id, "root": t.root.describe(),
	}
}

func (n *node) describe() obj {
	if n.pane == nil {
		return obj{"type": "split", "direction": n.direction, "ratio": n.ratio, "first": n.first.describe(), "second": n.second.describe()}
	}
	o := obj{"type": "pane", "pane_id": n.pane.id, "cwd": n.pane.cwd}
	put(o, "label", n.pane.label)
	if len(n.pane.command) > 0 {
		o["command"] = n.pane.command
	}
	return o
}
