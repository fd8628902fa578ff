package herdrtest

// handler answers a method: run holds the server's lock, wait does not, stream
// has the connection to itself.
type handler struct {
	run    func(*Server, *exchange) (obj, *apiError)
	wait   func(*Server, *exchange) (obj, *apiError)
	stream func(*exchange)
}

// with makes a handler from a function of decoded params.
func with[P any](f func(*Server, P) (obj, *apiError)) handler {
	return handler{run: func(s *Server, c *exchange) (obj, *apiError) {
		var p P
		if err := decode(c.req.params, &p); err != nil {
			return nil, err
		}
		return f(s, p)
	}}
}

// waiting is with for methods that answer late.
func waiting[P any](f func(*Server, *exchange, P) (obj, *apiError)) handler {
	return handler{wait: func(s *Server, c *exchange) (obj, *apiError) {
		var p P
		if err := decode(c.req.params, &p); err != nil {
			return nil, err
		}
		return f(s, c, p)
	}}
}

func methods() map[string]handler {
	return map[string]handler{
		"ping":                       with((*Server).ping),
		"server.stop":                with((*Server).stopServer),
		"session.snapshot":           with((*Server).snapshot),
		"notification.show":          with((*Server).notify),
		"workspace.create":           with((*Server).createWorkspace),
		"workspace.list":             with((*Server).listWorkspaces),
		"workspace.get":              with((*Server).getWorkspace),
		"workspace.focus":            with((*Server).focusWorkspace),
		"workspace.rename":           with((*Server).renameWorkspace),
		"workspace.close":            with((*Server).closeWorkspace),
		"workspace.report_metadata":  with((*Server).reportWorkspaceMetadata),
		"tab.create":                 with((*Server).createTab),
		"tab.list":                   with((*Server).listTabs),
		"tab.get":                    with((*Server).getTab),
		"tab.focus":                  with((*Server).focusTab),
		"tab.rename":                 with((*Server).renameTab),
		"tab.close":                  with((*Server).closeTab),
		"pane.list":                  with((*Server).listPanes),
		"pane.get":                   with((*Server).getPane),
		"pane.current":               with((*Server).currentPane),
		"pane.focus":                 with((*Server).focusPane),
		"pane.rename":                with((*Server).renamePane),
		"pane.split":                 with((*Server).splitPane),
		"pane.move":                  with((*Server).movePane),
		"pane.close":                 with((*Server).closePane),
		"pane.layout":                with((*Server).paneLayout),
		"pane.send_text":             with((*Server).sendText),
		"pane.send_keys":             with((*Server).sendKeys),
		"pane.send_input":            with((*Server).sendInput),
		"pane.read":                  with((*Server).readPane),
		"pane.process_info":          with((*Server).processInfo),
		"pane.report_agent":          with((*Server).reportAgent),
		"pane.report_agent_session":  with((*Server).reportAgentSession),
		"pane.release_agent":         with((*Server).releaseAgent),
		"pane.clear_agent_authority": with((*Server).clearAuthority),
		"pane.report_metadata":       with((*Server).reportPaneMetadata),
		"agent.list":                 with((*Server).listAgents),
		"agent.get":                  with((*Server).getAgent),
		"agent.rename":               with((*Server).renameAgent),
		"agent.focus":                with((*Server).focusAgent),
		"agent.read":                 with((*Server).readAgent),
		"agent.send_keys":            with((*Server).sendAgentKeys),
		"agent.start":                with((*Server).startAgent),
		"agent.prompt":               waiting((*Server).promptAgent),
		"agent.wait":                 waiting((*Server).waitAgent),
		"events.wait":                waiting((*Server).waitEvent),
		"events.subscribe":           {stream: (*exchange).subscribe},
		"layout.apply":               with((*Server).applyLayout),
		"layout.export":              with((*Server).exportLayout),
		"plugin.link":                with((*Server).linkPlugin),
		"plugin.list":                with((*Server).listPlugins),
		"plugin.unlink":              with((*Server).unlinkPlugin),
		"plugin.enable":              with((*Server).enablePlugin),
		"plugin.disable":             with((*Server).disablePlugin),
		"plugin.log.list":            with((*Server).listPluginLogs),
		"plugin.action.list":         with((*Server).listActions),
		"plugin.action.invoke":       {run: (*Server).invokeAction},
		"plugin.pane.open":           with((*Server).openPluginPane),
		"plugin.pane.focus":          with((*Server).focusPluginPane),
		"plugin.pane.close":          with((*Server).closePluginPane),
		"popup.close":                with((*Server).closePopup),
	}
}

type noParams struct{}

func (s *Server) ping(noParams) (obj, *apiError) {
	caps := obj{"live_handoff": true, "detached_server_daemon": true}
	if s.cfg.Dialect.LiveEvents {
		caps["endpoint_protocol_generation"], caps["health_check"] = 1, true
		caps["surface_interest"], caps["ssh_agent_registration"] = true, true
	}
	return obj{"type": "pong", "version": s.cfg.Dialect.Version, "protocol": s.cfg.Dialect.Protocol, "capabilities": caps}, nil
}

func (s *Server) stopServer(noParams) (obj, *apiError) {
	s.stop()
	return ok()
}
