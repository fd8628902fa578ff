package herdrtest

import (
	"strings"
)

// pluginPane marks a pane that a plugin opened.
type pluginPane struct{ plugin, entrypoint string }

type openPaneParams struct {
	PluginID     string            `json:"plugin_id" need:""`
	Entrypoint   string            `json:"entrypoint" need:""`
	Placement    *string           `json:"placement" enum:"overlay,popup,split,tab,zoomed"`
	WorkspaceID  *string           `json:"workspace_id"`
	TargetPaneID *string           `json:"target_pane_id"`
	Direction    *string           `json:"direction" enum:"right,down"`
	Cwd          *string           `json:"cwd"`
	Focus        bool              `json:"focus"`
	Env          map[string]string `json:"env"`
}

func (s *Server) openPluginPane(p openPaneParams) (obj, *apiError) {
	q, err := s.findPlugin(p.PluginID)
	if err != nil {
		return nil, err
	}
	entry := find(q.manifest.Panes, p.Entrypoint)
	if entry == nil {
		return nil, fail("plugin_pane_not_found", "plugin pane entrypoint '%s' not found", p.Entrypoint)
	}
	if err := checkEnv(p.Env); err != nil {
		return nil, err
	}
	placement := entry.Placement
	if p.Placement != nil {
		placement = *p.Placement
	}
	o := &opening{server: s, params: p, plugin: q, entry: entry, ctx: s.focusContext()}
	switch placement {
	case "split", "zoomed":
		return o.split(placement == "zoomed")
	case "tab":
		return o.tab()
	case "popup":
		return o.popup()
	default:
		return o.overlay()
	}
}

// opening is a plugin pane on its way.
type opening struct {
	server *Server
	params openPaneParams
	plugin *plugin
	entry  *manifestCmd
	ctx    hookContext
}

// start runs the entry's command as the pane's process: nothing that is typed.
func (o *opening) start(q *pane, t *tab) error {
	c := o.command(t.ws.id, t.id, q.id)
	q.label = o.entry.Title
	q.plugin = &pluginPane{o.plugin.ID, o.entry.ID}
	return o.server.startProcess(q, t, c)
}

func (o *opening) command(workspace, tab, pane string) command {
	s := o.server
	dir := o.plugin.root()
	if o.params.Cwd != nil {
		dir = s.startDir(o.params.Cwd)
	}
	env := s.plugins.env(o.plugin, hookContext{workspace: workspace, tab: tab, pane: pane},
		o.ctx.obj("api", "plugin-pane"), "HERDR_PLUGIN_ENTRYPOINT_ID="+o.entry.ID, "TERM=xterm-256color",
		"COLORTERM=truecolor", "PWD="+dir)
	for k, v := range o.params.Env {
		if !strings.HasPrefix(k, "HERDR_") {
			env = append(env, k+"="+v)
		}
	}
	argv := o.entry.Command
	if strings.HasPrefix(argv[0], "./") {
		argv = append([]string{dir + "/" + argv[0]}, argv[1:]...)
	}
	return command{argv: argv, env: env, dir: dir}
}

func (o *opening) answer(q *pane) (obj, *apiError) {
	return obj{"type": "plugin_pane_opened", "plugin_pane": obj{
		"plugin_id": o.plugin.ID, "entrypoint": o.entry.ID, "pane": o.server.paneInfo(q),
	}}, nil
}

// spawnable refuses bin/x, which herdr finds for hooks but not for panes.
func (o *opening) spawnable() *apiError {
	name := o.entry.Command[0]
	if strings.Contains(name, "/") && !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "./") {
		return fail("plugin_pane_open_failed", "Unable to spawn %s because:\nNo viable candidates found in PATH \"%s\"", name, o.server.getenv("PATH"))
	}
	return nil
}

func (o *opening) split(zoomed bool) (obj, *apiError) {
	s := o.server
	if o.params.WorkspaceID != nil {
		return nil, fail("invalid_params", "split and zoomed plugin panes target an existing pane; use target_pane_id")
	}
	target := s.state.focusedPane()
	if o.params.TargetPaneID != nil {
		var err *apiError
		if target, err = s.findPane(*o.params.TargetPaneID); err != nil {
			return nil, err
		}
	}
	if target == nil {
		return nil, fail("no_active_pane", "no active pane")
	}
	o.ctx = s.contextOf(target.tab.ws, target.tab, target)
	direction := deref(o.params.Direction)
	if direction == "" {
		direction = "right"
	}
	return o.beside(target, direction, o.params.Focus || zoomed, zoomed)
}

func (o *opening) beside(target *pane, direction string, focus, zoomed bool) (obj, *apiError) {
	s := o.server
	if err := o.spawnable(); err != nil {
		return nil, err
	}
	q, serr := s.splitOff(target, splitParams{Direction: direction}, o.start)
	if serr != nil {
		return nil, fail("plugin_pane_open_failed", "%v", serr)
	}
	q.tab.zoomed = zoomed
	s.emitPane("pane.created", q, obj{"pane": s.paneInfo(q)})
	if focus {
		s.focus(q.tab, q)
	}
	s.emitLayout(q.tab)
	return o.answer(q)
}

func (o *opening) overlay() (obj, *apiError) {
	if err := o.targetsNothing(); err != nil {
		return nil, err
	}
	target := o.server.state.focusedPane()
	if target == nil {
		return nil, fail("no_active_pane", "no active pane")
	}
	return o.beside(target, "right", true, true)
}

func (o *opening) targetsNothing() *apiError {
	if o.params.WorkspaceID != nil || o.params.TargetPaneID != nil || o.params.Direction != nil {
		return fail("invalid_params", "overlay and popup plugin panes target the active pane")
	}
	return nil
}

func (o *opening) tab() (obj, *apiError) {
	s := o.server
	w := s.state.focused
	if o.params.WorkspaceID != nil {
		w = s.state.workspace(*o.params.WorkspaceID)
	}
	if w == nil {
		return nil, fail("workspace_not_found", "workspace not found")
	}
	if err := o.spawnable(); err != nil {
		return nil, err
	}
	t := s.state.addTab(w, &o.entry.Title)
	q := s.state.newPane(w)
	if err := o.start(q, t); err != nil {
		s.state.removeTab(t)
		return nil, fail("plugin_pane_open_failed", "%v", err)
	}
	t.add(q)
	t.root = leaf(q)
	s.emitTab("tab.created", t)
	s.emitPane("pane.created", q, obj{"pane": s.paneInfo(q)})
	if o.params.Focus {
		s.focus(t, q)
	}
	s.emitLayout(t)
	return o.answer(q)
}

// popup opens a window that is no pane: no id, no events, one a server.
func (o *opening) popup() (obj, *apiError) {
	s := o.server
	if err := o.targetsNothing(); err != nil {
		return nil, err
	}
	if s.state.popup != nil {
		return nil, fail("plugin_pane_open_failed", "popup already open")
	}
	if err := o.spawnable(); err != nil {
		return nil, err
	}
	c := o.command("", "", "")
	c.cols, c.rows = s.cfg.Cols/2, s.cfg.Rows/2
	term, err := startTerminal(c)
	if err != nil {
		return nil, fail("plugin_pane_open_failed", "%v", err)
	}
	s.state.popup = term
	st := s.state
	s.terms = append(s.terms, term)
	go func() {
		<-term.done
		s.mu.Lock()
		defer s.mu.Unlock()
		term.hangUp()
		if st.popup == term {
			st.popup = nil
		}
	}()
	return ok()
}

func (s *Server) closePopup(noParams) (obj, *apiError) {
	if s.state.popup == nil {
		return nil, fail("popup_not_open", "no popup is open")
	}
	s.state.popup.kill(s.cfg.Timings.Kill)
	s.state.popup = nil
	return ok()
}

func (s *Server) findPluginPane(id string) (*pane, *apiError) {
	q := s.state.pane(id)
	if q == nil || q.plugin == nil {
		return nil, fail("plugin_pane_not_found", "plugin pane not found")
	}
	return q, nil
}

func (s *Server) focusPluginPane(p paneParams) (obj, *apiError) {
	q, err := s.findPluginPane(p.PaneID)
	if err != nil {
		return nil, err
	}
	s.focus(q.tab, q)
	return obj{"type": "plugin_pane_focused", "plugin_pane": obj{
		"plugin_id": q.plugin.plugin, "entrypoint": q.plugin.entrypoint, "pane": s.paneInfo(q),
	}}, nil
}

func (s *Server) closePluginPane(p paneParams) (obj, *apiError) {
	q, err := s.findPluginPane(p.PaneID)
	if err != nil {
		return nil, err
	}
	s.removePane(q)
	return obj{"type": "plugin_pane_closed", "pane_id": p.PaneID}, nil
}
