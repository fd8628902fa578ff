package herdrtest

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
)

type createParams struct {
	WorkspaceID *string           `json:"workspace_id"`
	Cwd         *string           `json:"cwd"`
	Label       *string           `json:"label"`
	Focus       bool              `json:"focus"`
	Env         map[string]string `json:"env"`
}

func checkEnv(env map[string]string) *apiError {
	keys := make([]string, 0, len(env))
	for k := range env {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		switch {
		case k == "":
			return fail("invalid_env", "env key must not be empty")
		case strings.Contains(k, "="):
			return fail("invalid_env", "env key %s must not contain '='", k)
		case strings.ContainsRune(k, 0):
			return fail("invalid_env", "env key must not contain NUL bytes")
		case strings.ContainsRune(env[k], 0):
			return fail("invalid_env", "env value for %s must not contain NUL bytes", k)
		}
	}
	return nil
}

// startDir is where a shell starts: what is no folder becomes the home
// directory without a word.
func (s *Server) startDir(cwd *string) string {
	dir := deref(cwd)
	if cwd == nil {
		if p := s.state.focusedPane(); p != nil {
			dir, _ = p.cwds()
		}
	} else if dir != "" && !filepath.IsAbs(dir) {
		dir = filepath.Join(s.cfg.Dir, dir)
	}
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return s.cfg.Home
	}
	return dir
}

func (s *Server) createWorkspace(p createParams) (obj, *apiError) {
	if err := checkEnv(p.Env); err != nil {
		return nil, err
	}
	dir, label := s.startDir(p.Cwd), deref(p.Label)
	if p.Label == nil {
		label = s.homeLabel(dir)
		if p.Cwd != nil && *p.Cwd != "" && dir == s.cfg.Home && *p.Cwd != dir {
			label = filepath.Base(*p.Cwd)
		}
	}
	st := s.state
	w := st.addWorkspace(label)
	t := st.addTab(w, nil)
	root := st.newPane(w)
	if err := s.startShell(root, t, dir, p.Env); err != nil {
		st.removeWorkspace(w)
		return nil, fail("workspace_create_failed", "%v", err)
	}
	t.add(root)
	t.root = leaf(root)
	first := st.focused == nil
	if first || p.Focus {
		st.focused = w
	}
	s.emitWorkspace("workspace.created", w)
	s.emitTab("tab.created", t)
	s.emitPane("pane.created", root, obj{"pane": s.paneInfo(root)})
	if first || p.Focus {
		s.emitFocus()
	}
	s.emitLayout(t)
	return obj{"type": "workspace_created", "workspace": s.workspaceInfo(w), "tab": s.tabInfo(t), "root_pane": s.paneInfo(root)}, nil
}

func (s *Server) listWorkspaces(noParams) (obj, *apiError) {
	list := []any{}
	for _, w := range s.state.workspaces {
		list = append(list, s.workspaceInfo(w))
	}
	return obj{"type": "workspace_list", "workspaces": list}, nil
}

type workspaceParams struct {
	WorkspaceID string `json:"workspace_id" need:""`
	Label       string `json:"label"`
	CloseGroup  bool   `json:"close_group"`
}

func (s *Server) findWorkspace(id string) (*workspace, *apiError) {
	if w := s.state.workspace(id); w != nil {
		return w, nil
	}
	return nil, fail("workspace_not_found", "workspace %s not found", id)
}

func (s *Server) workspaceAnswer(w *workspace) (obj, *apiError) {
	return obj{"type": "workspace_info", "workspace": s.workspaceInfo(w)}, nil
}

func (s *Server) getWorkspace(p workspaceParams) (obj, *apiError) {
	w, err := s.findWorkspace(p.WorkspaceID)
	if err != nil {
		return nil, err
	}
	return s.workspaceAnswer(w)
}

func (s *Server) focusWorkspace(p workspaceParams) (obj, *apiError) {
	w, err := s.findWorkspace(p.WorkspaceID)
	if err != nil {
		return nil, err
	}
	s.focus(w.active, nil)
	return s.workspaceAnswer(w)
}

type renameWorkspaceParams struct {
	WorkspaceID string `json:"workspace_id" need:""`
	Label       string `json:"label" need:""`
}

func (s *Server) renameWorkspace(p renameWorkspaceParams) (obj, *apiError) {
	w, err := s.findWorkspace(p.WorkspaceID)
	if err != nil {
		return nil, err
	}
	w.label = p.Label
	s.state.touch()
	s.emit(event{kind: "workspace.renamed", ctx: s.contextOf(w, w.active, w.active.focused),
		data: obj{"workspace_id": w.id, "label": p.Label}})
	return s.workspaceAnswer(w)
}

func (s *Server) closeWorkspace(p workspaceParams) (obj, *apiError) {
	w, err := s.findWorkspace(p.WorkspaceID)
	if err != nil {
		return nil, err
	}
	info, hadFocus := s.workspaceInfo(w), s.state.focused == w
	for _, t := range w.tabs {
		s.endPanes(t)
	}
	s.state.removeWorkspace(w)
	s.emitWorkspaceClosed(w, info)
	s.refocus(hadFocus)
	return ok()
}

// endPanes ends the processes of a tab's panes.
func (s *Server) endPanes(t *tab) {
	for _, p := range t.panes {
		s.endPane(p, Stopped)
	}
}

// focus brings a tab, and a pane in it, to the front: done becomes idle in the
// whole tab.
func (s *Server) focus(t *tab, p *pane) {
	st := s.state
	st.focused, t.ws.active = t.ws, t
	if p != nil {
		t.focused = p
	}
	st.touch()
	for _, q := range t.panes {
		s.looked(q)
	}
	s.emitFocus()
}

// refocus tells where the focus went when what had it is gone.
func (s *Server) refocus(hadFocus bool) {
	if hadFocus && s.state.focusedPane() != nil {
		s.emitFocus()
	}
}

func (s *Server) emitFocus() {
	p := s.state.focusedPane()
	t, w := p.tab, p.tab.ws
	ctx := s.contextOf(w, t, p)
	s.emit(event{kind: "workspace.focused", ctx: ctx, data: obj{"workspace_id": w.id}})
	s.emit(event{kind: "tab.focused", ctx: ctx, data: obj{"tab_id": t.id, "workspace_id": w.id}})
	s.emit(event{kind: "pane.focused", ctx: ctx, data: obj{"pane_id": p.id, "workspace_id": w.id}})
}
