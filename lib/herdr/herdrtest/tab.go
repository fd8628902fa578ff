package herdrtest

func (s *Server) createTab(p createParams) (obj, *apiError) {
	w := s.state.focused
	if p.WorkspaceID != nil {
		if w = s.state.workspace(*p.WorkspaceID); w == nil {
			return nil, fail("workspace_not_found", "workspace %s not found", *p.WorkspaceID)
		}
	}
	if w == nil {
		return nil, fail("workspace_not_found", "no active workspace")
	}
	if err := checkEnv(p.Env); err != nil {
		return nil, err
	}
	cwd := p.Cwd
	if cwd == nil {
		dir, _ := w.active.focused.cwds()
		cwd = &dir
	}
	t := s.state.addTab(w, p.Label)
	root := s.state.newPane(w)
	if err := s.startShell(root, t, s.startDir(cwd), p.Env); err != nil {
		s.state.removeTab(t)
		return nil, fail("tab_create_failed", "%v", err)
	}
	t.add(root)
	t.root = leaf(root)
	s.emitTab("tab.created", t)
	s.emitPane("pane.created", root, obj{"pane": s.paneInfo(root)})
	if p.Focus {
		s.focus(t, root)
	}
	s.emitLayout(t)
	return obj{"type": "tab_created", "tab": s.tabInfo(t), "root_pane": s.paneInfo(root)}, nil
}

type tabParams struct {
	TabID string `json:"tab_id" need:""`
}

func (s *Server) findTab(id string) (*tab, *apiError) {
	if t := s.state.tab(id); t != nil {
		return t, nil
	}
	return nil, fail("tab_not_found", "tab %s not found", id)
}

func (s *Server) tabAnswer(t *tab) (obj, *apiError) {
	return obj{"type": "tab_info", "tab": s.tabInfo(t)}, nil
}

type listParams struct {
	WorkspaceID *string `json:"workspace_id"`
}

func (s *Server) listTabs(p listParams) (obj, *apiError) {
	if p.WorkspaceID != nil {
		if _, err := s.findWorkspace(*p.WorkspaceID); err != nil {
			return nil, err
		}
	}
	list := []any{}
	for _, w := range s.state.workspaces {
		if p.WorkspaceID != nil && w != s.state.workspace(*p.WorkspaceID) {
			continue
		}
		for _, t := range w.tabs {
			list = append(list, s.tabInfo(t))
		}
	}
	return obj{"type": "tab_list", "tabs": list}, nil
}

func (s *Server) getTab(p tabParams) (obj, *apiError) {
	t, err := s.findTab(p.TabID)
	if err != nil {
		return nil, err
	}
	return s.tabAnswer(t)
}

func (s *Server) focusTab(p tabParams) (obj, *apiError) {
	t, err := s.findTab(p.TabID)
	if err != nil {
		return nil, err
	}
	s.focus(t, nil)
	return s.tabAnswer(t)
}

type renameTabParams struct {
	TabID string `json:"tab_id" need:""`
	Label string `json:"label" need:""`
}

func (s *Server) renameTab(p renameTabParams) (obj, *apiError) {
	t, err := s.findTab(p.TabID)
	if err != nil {
		return nil, err
	}
	t.label = &p.Label
	s.state.touch()
	s.emit(event{kind: "tab.renamed", ctx: s.contextOf(t.ws, t, t.focused),
		data: obj{"tab_id": t.id, "workspace_id": t.ws.id, "label": p.Label}})
	return s.tabAnswer(t)
}

func (s *Server) closeTab(p tabParams) (obj, *apiError) {
	t, err := s.findTab(p.TabID)
	if err != nil {
		return nil, err
	}
	w := t.ws
	info, hadFocus := s.workspaceInfo(w), s.state.focusedTab() == t
	s.endPanes(t)
	gone := s.state.removeTab(t)
	s.emit(event{kind: "tab.closed", ctx: hookContext{workspace: w.id, tab: t.id},
		data: obj{"tab_id": t.id, "workspace_id": w.id}})
	if gone {
		s.emitWorkspaceClosed(w, info)
	}
	s.refocus(hadFocus)
	return ok()
}
