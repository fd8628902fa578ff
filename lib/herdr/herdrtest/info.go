package herdrtest

import (
	"strings"
	"unicode"
)

func (s *Server) paneInfo(p *pane) obj {
	o := s.commonInfo(p)
	put(o, "label", p.label)
	put(o, "restore_error", p.restoreError)
	o["scroll"] = obj{"offset_from_bottom": 0, "max_offset_from_bottom": p.history(), "viewport_rows": s.cfg.Rows}
	return o
}

func (s *Server) agentInfo(p *pane) obj {
	o := s.commonInfo(p)
	a := &p.agent
	put(o, "name", a.name)
	o["state_change_seq"] = a.seq
	if a.completion > 0 && s.cfg.Dialect.KeepsErrorIDs {
		o["completion_seq"] = a.completion
	}
	if a.launch != nil {
		o["launch_pending"] = true
	}
	if a.ready {
		o["interactive_ready"] = true
	}
	return o
}

func (s *Server) commonInfo(p *pane) obj {
	o := obj{
		"pane_id": p.id, "terminal_id": p.terminalID, "workspace_id": p.tab.ws.id, "tab_id": p.tab.id,
		"focused": p == s.state.focusedPane(), "agent_status": p.agent.shown, "revision": p.revision,
	}
	cwd, foreground := p.cwds()
	put(o, "cwd", cwd)
	put(o, "foreground_cwd", foreground)
	put(o, "agent", p.agent.label())
	put(o, "terminal_title", p.title)
	put(o, "terminal_title_stripped", strippedTitle(p.title))
	p.meta.show(o)
	if id := p.agent.session; id != nil {
		o["agent_session"] = obj{"source": id.Source, "agent": id.Agent, "kind": id.Kind, "value": id.Value}
	}
	return o
}

// strippedTitle takes an agent's spinner or mark off a title.
func strippedTitle(title string) string {
	mark, rest, found := strings.Cut(title, " ")
	for _, r := range mark {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r < 0x80 {
			return title
		}
	}
	if !found {
		return title
	}
	return rest
}

func (s *Server) tabInfo(t *tab) obj {
	return obj{
		"tab_id": t.id, "workspace_id": t.ws.id, "number": t.number, "label": t.shownLabel(),
		"focused": t == s.state.focusedTab(), "pane_count": len(t.panes), "agent_status": strongest(t.panes),
	}
}

func (s *Server) workspaceInfo(w *workspace) obj {
	var panes []*pane
	for _, t := range w.tabs {
		panes = append(panes, t.panes...)
	}
	o := obj{
		"workspace_id": w.id, "number": w.number(s.state), "label": w.label, "focused": w == s.state.focused,
		"pane_count": len(panes), "tab_count": len(w.tabs), "active_tab_id": w.active.id, "agent_status": strongest(panes),
	}
	if len(w.meta.tokens) > 0 {
		o["tokens"] = w.meta.values()
	}
	return o
}

func strongest(panes []*pane) string {
	for _, status := range []string{"blocked", "done", "working", "idle"} {
		for _, p := range panes {
			if p.agent.shown == status {
				return status
			}
		}
	}
	return "unknown"
}

func (s *Server) snapshot(noParams) (obj, *apiError) {
	st := s.state
	workspaces, tabs, panes, layouts, agents := []any{}, []any{}, []any{}, []any{}, []any{}
	for _, w := range st.workspaces {
		workspaces = append(workspaces, s.workspaceInfo(w))
		for _, t := range w.tabs {
			tabs = append(tabs, s.tabInfo(t))
			layouts = append(layouts, st.layoutOf(t))
			for _, p := range t.panes {
				panes = append(panes, s.paneInfo(p))
				if p.agent.present() {
					agents = append(agents, s.agentInfo(p))
				}
			}
		}
	}
	snap := obj{
		"version": s.cfg.Dialect.Version, "protocol": s.cfg.Dialect.Protocol, "workspaces": workspaces,
		"tabs": tabs, "panes": panes, "layouts": layouts, "agents": agents,
	}
	if p := st.focusedPane(); p != nil {
		snap["focused_workspace_id"], snap["focused_tab_id"], snap["focused_pane_id"] = p.tab.ws.id, p.tab.id, p.id
	}
	return obj{"type": "session_snapshot", "snapshot": snap}, nil
}
