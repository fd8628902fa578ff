package herdrtest

type moveParams struct {
	PaneID      string          `json:"pane_id" need:""`
	Destination moveDestination `json:"destination" need:""`
	Focus       bool            `json:"focus"`
}

type moveDestination struct {
	Type         string   `json:"type"`
	TabID        string   `json:"tab_id"`
	TargetPaneID *string  `json:"target_pane_id"`
	Split        string   `json:"split"`
	Ratio        *float64 `json:"ratio"`
	WorkspaceID  *string  `json:"workspace_id"`
	Label        *string  `json:"label"`
	TabLabel     *string  `json:"tab_label"`
}

// movePane moves a pane. In another workspace it gets a new id, and the old one
// stays as an alias.
func (s *Server) movePane(p moveParams) (obj, *apiError) {
	q, err := s.findPane(p.PaneID)
	if err != nil {
		return nil, err
	}
	from, oldID := q.tab, q.id
	to, newWorkspace, newTab, err := s.destination(p.Destination, q)
	if err != nil {
		return nil, err
	}
	tabGone, workspaceGone := s.state.remove(q)
	q.gone = false
	if to.ws != from.ws {
		s.state.alias[oldID] = q
		fresh := s.state.newPane(to.ws)
		q.id = fresh.id
	}
	s.attach(q, to, p.Destination)
	result := obj{
		"changed": true, "previous_pane_id": oldID, "previous_workspace_id": from.ws.id, "previous_tab_id": from.id,
		"pane": s.paneInfo(q), "target_layout": s.state.layoutOf(to), "focused_pane_id": to.focused.id,
	}
	moved := obj{"previous_pane_id": oldID, "previous_workspace_id": from.ws.id, "previous_tab_id": from.id, "pane": s.paneInfo(q)}
	if tabGone {
		result["closed_tab_id"], moved["closed_tab_id"] = from.id, from.id
		s.emit(event{kind: "tab.closed", ctx: hookContext{workspace: from.ws.id, tab: from.id},
			data: obj{"tab_id": from.id, "workspace_id": from.ws.id}})
	} else {
		result["source_layout"] = s.state.layoutOf(from)
	}
	if workspaceGone {
		result["closed_workspace_id"], moved["closed_workspace_id"] = from.ws.id, from.ws.id
	}
	if newWorkspace {
		result["created_workspace"], moved["created_workspace"] = s.workspaceInfo(to.ws), s.workspaceInfo(to.ws)
		s.emitWorkspace("workspace.created", to.ws)
	}
	if newTab {
		result["created_tab"], moved["created_tab"] = s.tabInfo(to), s.tabInfo(to)
		s.emitTab("tab.created", to)
	}
	s.emitPane("pane.moved", q, moved)
	if p.Focus {
		s.focus(to, q)
	}
	return obj{"type": "pane_move", "move_result": result}, nil
}

func (s *Server) destination(d moveDestination, q *pane) (to *tab, newWorkspace, newTab bool, err *apiError) {
	switch d.Type {
	case "tab":
		to, err = s.findTab(d.TabID)
		return to, false, false, err
	case "new_tab":
		w := q.tab.ws
		if d.WorkspaceID != nil {
			if w, err = s.findWorkspace(*d.WorkspaceID); err != nil {
				return nil, false, false, err
			}
		}
		return s.state.addTab(w, d.Label), false, true, nil
	case "new_workspace":
		label := deref(d.Label)
		if d.Label == nil {
			label = q.tab.ws.label
		}
		w := s.state.addWorkspace(label)
		return s.state.addTab(w, d.TabLabel), true, true, nil
	}
	return nil, false, false, malformed("unknown variant `%s`, expected one of `tab`, `new_tab`, `new_workspace`", d.Type)
}

func (s *Server) attach(q *pane, to *tab, d moveDestination) {
	if len(to.panes) == 0 {
		to.add(q)
		to.root = leaf(q)
		return
	}
	target := to.focused
	if d.TargetPaneID != nil {
		if other := s.state.pane(*d.TargetPaneID); other != nil && other.tab == to {
			target = other
		}
	}
	direction, ratio := d.Split, 0.5
	if direction == "" {
		direction = "right"
	}
	if d.Ratio != nil {
		ratio = *d.Ratio
	}
	to.add(q)
	to.root = to.root.split(target, q, direction, ratio)
	to.arrange()
}
