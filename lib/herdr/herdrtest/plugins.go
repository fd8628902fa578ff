package herdrtest

import (
	"strings"
)

type linkParams struct {
	Path    string `json:"path" need:""`
	Enabled *bool  `json:"enabled" nonull:""`
}

func (s *Server) linkPlugin(p linkParams) (obj, *apiError) {
	enabled := p.Enabled == nil || *p.Enabled
	linked, err := link(s.registry(), p.Path, s.cfg.Dialect.Version, enabled)
	if err != nil {
		return nil, err
	}
	return obj{"type": "plugin_linked", "plugin": linked.info()}, nil
}

// link puts a plugin into the registry, in the place of one with its id.
func link(registry, path, version string, enabled bool) (*plugin, *apiError) {
	abs, err := manifestPath(path)
	if err != nil {
		return nil, err
	}
	m, err := readManifest(abs, version)
	if err != nil {
		return nil, err
	}
	list, lerr := loadPlugins(registry)
	if lerr != nil {
		return nil, fail("plugin_registry_load_failed", "%v", lerr)
	}
	p := &plugin{ID: m.ID, Path: abs, Enabled: enabled, Seen: m, manifest: m, warnings: m.warn()}
	kept := []*plugin{p}
	for _, old := range list {
		if old.ID != m.ID {
			kept = append(kept, old)
		}
	}
	if serr := savePlugins(registry, kept); serr != nil {
		return nil, fail("plugin_registry_save_failed", "%v", serr)
	}
	return p, nil
}

type pluginListParams struct {
	PluginID *string `json:"plugin_id"`
}

func (s *Server) listPlugins(p pluginListParams) (obj, *apiError) {
	list, err := loadPlugins(s.registry())
	if err != nil {
		return nil, fail("plugin_registry_load_failed", "%v", err)
	}
	out := []any{}
	for _, q := range list {
		if p.PluginID == nil || q.ID == *p.PluginID {
			out = append(out, q.info())
		}
	}
	return obj{"type": "plugin_list", "plugins": out}, nil
}

type pluginParams struct {
	PluginID string `json:"plugin_id" need:""`
}

func (s *Server) unlinkPlugin(p pluginParams) (obj, *apiError) {
	list, _ := loadPlugins(s.registry())
	kept := []*plugin{}
	for _, q := range list {
		if q.ID != p.PluginID {
			kept = append(kept, q)
		}
	}
	if err := savePlugins(s.registry(), kept); err != nil {
		return nil, fail("plugin_registry_save_failed", "%v", err)
	}
	return obj{"type": "plugin_unlinked", "plugin_id": p.PluginID, "removed": len(kept) < len(list)}, nil
}

func (s *Server) enablePlugin(p pluginParams) (obj, *apiError) {
	return s.setEnabled(p.PluginID, true, "plugin_enabled")
}

func (s *Server) disablePlugin(p pluginParams) (obj, *apiError) {
	return s.setEnabled(p.PluginID, false, "plugin_disabled")
}

func (s *Server) setEnabled(id string, enabled bool, answer string) (obj, *apiError) {
	list, _ := loadPlugins(s.registry())
	for _, q := range list {
		if q.ID != id {
			continue
		}
		q.Enabled = enabled
		if err := savePlugins(s.registry(), list); err != nil {
			return nil, fail("plugin_registry_save_failed", "%v", err)
		}
		return obj{"type": answer, "plugin": q.info()}, nil
	}
	return nil, fail("plugin_not_found", "plugin not found")
}

func (s *Server) findPlugin(id string) (*plugin, *apiError) {
	list, _ := loadPlugins(s.registry())
	for _, q := range list {
		if q.ID != id {
			continue
		}
		switch {
		case !q.Enabled:
			return nil, fail("plugin_disabled", "plugin %s is disabled", id)
		case q.broken:
			return nil, fail("plugin_manifest_unavailable", "plugin %s manifest is unavailable", id)
		}
		return q, nil
	}
	return nil, fail("plugin_not_found", "plugin not found")
}

type logParams struct {
	PluginID *string `json:"plugin_id"`
	Limit    *int    `json:"limit"`
}

const defaultLogs = 50

func (s *Server) listPluginLogs(p logParams) (obj, *apiError) {
	h := &s.plugins
	h.mu.Lock()
	defer h.mu.Unlock()
	limit := defaultLogs
	if p.Limit != nil {
		limit = min(max(*p.Limit, 1), maxLogs)
	}
	out := []any{}
	for _, e := range h.logs {
		if p.PluginID == nil || e.plugin == *p.PluginID {
			out = append(out, e.obj())
		}
	}
	return obj{"type": "plugin_log_list", "logs": out[max(0, len(out)-limit):]}, nil
}

func (e *logEntry) obj() obj {
	o := obj{"log_id": e.id, "plugin_id": e.plugin, "command": e.command, "status": e.status, "started_unix_ms": e.started.UnixMilli()}
	put(o, "action_id", e.action)
	put(o, "event", e.event)
	put(o, "error", e.err)
	if e.status != "running" {
		o["finished_unix_ms"], o["stdout"], o["stderr"] = e.finished.UnixMilli(), e.stdout, e.stderr
	}
	if e.exit != nil {
		o["exit_code"] = *e.exit
	}
	return o
}

func (s *Server) listActions(p pluginListParams) (obj, *apiError) {
	list, _ := loadPlugins(s.registry())
	out := []any{}
	for _, q := range list {
		if !q.usable() || p.PluginID != nil && q.ID != *p.PluginID {
			continue
		}
		for _, a := range q.manifest.Actions {
			out = append(out, actionInfo(q, a))
		}
	}
	return obj{"type": "plugin_action_list", "actions": out}, nil
}

func actionInfo(p *plugin, a manifestCmd) obj {
	o := obj{"plugin_id": p.ID, "action_id": a.ID, "title": a.Title, "command": a.Command}
	put(o, "description", a.Description)
	if len(a.Contexts) > 0 {
		o["contexts"] = a.Contexts
	}
	platforms := a.Platforms
	if len(platforms) == 0 {
		platforms = p.manifest.Platforms
	}
	if len(platforms) > 0 {
		o["platforms"] = platforms
	}
	return o
}

type invokeParams struct {
	ActionID string  `json:"action_id" need:""`
	PluginID *string `json:"plugin_id"`
}

func (s *Server) invokeAction(c *exchange) (obj, *apiError) {
	var p invokeParams
	if err := decode(c.req.params, &p); err != nil {
		return nil, err
	}
	q, a, err := s.findAction(p)
	if err != nil {
		return nil, err
	}
	source := "api"
	if strings.HasPrefix(c.req.id, "cli:") {
		source = "cli"
	}
	ctx := s.focusContext()
	context := ctx.obj(source, c.req.id)
	entry, err := s.plugins.submit(q, a.Command, &logEntry{action: a.ID}, s.plugins.env(q, ctx, context, "HERDR_PLUGIN_ACTION_ID="+a.ID))
	if err != nil {
		return nil, err
	}
	s.plugins.mu.Lock()
	defer s.plugins.mu.Unlock()
	return obj{"type": "plugin_action_invoked", "action": actionInfo(q, *a), "context": context, "log": entry.obj()}, nil
}

func (s *Server) findAction(p invokeParams) (*plugin, *manifestCmd, *apiError) {
	if p.PluginID != nil {
		q, err := s.findPlugin(*p.PluginID)
		if err != nil {
			return nil, nil, err
		}
		if a := q.action(p.ActionID); a != nil {
			return q, a, nil
		}
		return nil, nil, fail("plugin_action_not_found", "plugin action not found")
	}
	list, _ := loadPlugins(s.registry())
	var found []*plugin
	id := p.ActionID
	for _, q := range list {
		if bare, ok := strings.CutPrefix(p.ActionID, q.ID+"."); ok && q.action(bare) != nil {
			found, id = []*plugin{q}, bare
			break
		}
		if q.usable() && q.action(p.ActionID) != nil {
			found = append(found, q)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil, fail("plugin_action_not_found", "plugin action not found")
	case 1:
		q, err := s.findPlugin(found[0].ID)
		if err != nil {
			return nil, nil, err
		}
		return q, q.action(id), nil
	}
	return nil, nil, fail("ambiguous_plugin_action", "%s matches more than one action; include plugin_id", p.ActionID)
}

func (p *plugin) action(id string) *manifestCmd { return find(p.manifest.Actions, id) }

func find(list []manifestCmd, id string) *manifestCmd {
	for i := range list {
		if list[i].ID == id {
			return &list[i]
		}
	}
	return nil
}
