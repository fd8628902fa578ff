package herdrtest

import (
	"time"

	"sessionhub/lib/herdr"
)

// agentState is what a pane knows of its agent.
type agentState struct {
	// detected is the label of an agent whose process is in front, "" if none.
	detected string
	since    time.Time // of the detection
	known    bool      // the first status has been given
	resuming bool      // after a restart, before the agent's process is there

	report  *report           // of an agent that tells its state itself
	seqs    map[string]uint64 // last sequence number of each source
	session *herdr.AgentSession

	raw        string // idle, working, blocked, unknown
	shown      string // raw, or done
	seq        uint64 // state_change_seq of the last change
	completion uint64
	next       string // what the screen says now, if not raw
	nextSince  time.Time
	vanish     *time.Time // when status unknown follows a release

	name   string
	launch *launch
	ready  bool // interactive_ready
}

type report struct{ source, agent string }

type launch struct{ until time.Time }

func (a *agentState) label() string {
	switch {
	case a.detected != "":
		return a.detected
	case a.report != nil:
		return a.report.agent
	}
	return ""
}

// present reports whether the pane hosts an agent, be it only on its way.
func (a *agentState) present() bool { return a.label() != "" || a.launch != nil }

// shownAs is how a state looks: idle after work that nobody has looked at is
// done.
func (s *Server) shownAs(p *pane, raw string) string {
	a := &p.agent
	if raw == "idle" && (a.worked() && p.tab != s.state.focusedTab() || a.raw == "idle" && a.shown == "done") {
		return "done"
	}
	return raw
}

func (a *agentState) worked() bool { return a.raw == "working" || a.raw == "blocked" }

// setStatus changes an agent's state and tells everybody.
func (s *Server) setStatus(p *pane, raw string) {
	a := &p.agent
	shown := s.shownAs(p, raw)
	if raw == "idle" && a.worked() {
		a.completion = s.state.stateSeq + 1
	}
	a.raw = raw
	if shown != a.shown {
		s.showStatus(p, shown, a.label())
	}
}

func (s *Server) showStatus(p *pane, shown, label string) {
	a := &p.agent
	a.shown = shown
	s.state.stateSeq++
	a.seq = s.state.stateSeq
	s.emitStatus(p, label, false)
}

// looked is what happens when a person sees a pane: done becomes idle, without
// a plugin hook.
func (s *Server) looked(p *pane) {
	if p.agent.shown != "done" {
		return
	}
	p.agent.shown = "idle" // no change that state_change_seq counts
	s.emitStatus(p, p.agent.label(), true)
}

func (s *Server) emitStatus(p *pane, label string, silent bool) {
	data := obj{"pane_id": p.id, "workspace_id": p.tab.ws.id, "agent_status": p.agent.shown}
	put(data, "agent", label)
	p.meta.showTexts(data)
	s.emit(event{kind: "pane.agent_status_changed", pane: p.id, noHook: silent,
		ctx: s.contextOf(p.tab.ws, p.tab, p), data: data})
}

func (s *Server) emitDetected(p *pane, data obj) {
	data["pane_id"], data["workspace_id"] = p.id, p.tab.ws.id
	s.emit(event{kind: "pane.agent_detected", ctx: s.contextOf(p.tab.ws, p.tab, p), data: data})
}

// releaseDetected is what happens when a detected agent's process is gone or
// stopped: its session is forgotten, its status stays for a moment. One that was
// at work ends as idle or done, which a status event with the agent's label
// tells after its release (finding 19 of the captures with Claude).
func (s *Server) releaseDetected(p *pane) {
	a := &p.agent
	label, worked, final := a.detected, a.worked(), a.shown
	if worked {
		final = s.shownAs(p, "idle")
		a.raw = "idle"
	}
	a.detected, a.known, a.session, a.name, a.ready, a.next = "", false, nil, "", false, ""
	soon := time.Now().Add(s.cfg.Timings.Vanish)
	a.vanish = &soon
	s.state.touch()
	s.emitDetected(p, obj{"agent": label, "released": true, "final_status": final})
	if worked {
		s.showStatus(p, final, label)
	}
}

// SetStatus is what a screen would say, for tests that have no screen: it sets
// the state of a pane's agent (idle, working, blocked, unknown). The next look
// at a detected agent's screen changes it back.
func (s *Server) SetStatus(paneID string, status herdr.Status) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.findPane(paneID)
	if err != nil {
		return &herdr.Error{Method: "pane.get", Code: err.code, Message: err.message}
	}
	s.setStatus(p, string(status))
	return nil
}
