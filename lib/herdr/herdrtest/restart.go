package herdrtest

import (
	"time"

	"sessionhub/lib/herdr"
)

// savedState is what survives the end of a server: ids, labels, folders and
// agents' sessions; no tokens, titles, names, reports.
type savedState struct {
	at         time.Time
	workspaces []savedWorkspace
	focused    string
}

type savedWorkspace struct {
	id, label         string
	nextTab, nextPane int
	active            string
	tabs              []savedTab
}

type savedTab struct {
	id      string
	label   *string
	number  int
	focused string
	panes   []savedPane
}

type savedPane struct {
	id, label, cwd string
	session        *herdr.AgentSession
}

func (s *Server) save() {
	saved := savedState{at: time.Now()}
	if s.state.focused != nil {
		saved.focused = s.state.focused.id
	}
	for _, w := range s.state.workspaces {
		sw := savedWorkspace{id: w.id, label: w.label, nextTab: w.nextTab, nextPane: w.nextPane, active: w.active.id}
		for _, t := range w.tabs {
			st := savedTab{id: t.id, label: t.label, number: t.number, focused: t.focused.id}
			for _, p := range t.panes {
				cwd, _ := p.cwds()
				st.panes = append(st.panes, savedPane{id: p.id, label: p.label, cwd: cwd, session: p.agent.session})
			}
			sw.tabs = append(sw.tabs, st)
		}
		saved.workspaces = append(saved.workspaces, sw)
	}
	s.saved = saved
}

// restore brings the saved panes back. The counter of workspaces restarts after
// the highest that was saved, so the id of a closed one may come back.
func (s *Server) restore() {
	st := s.state
	for _, sw := range s.saved.workspaces {
		w := &workspace{id: sw.id, label: sw.label, nextTab: sw.nextTab, nextPane: sw.nextPane}
		st.workspaces = append(st.workspaces, w)
		st.nextID = max(st.nextID, numberOf(sw.id[1:])+1)
		for _, saved := range sw.tabs {
			t := &tab{id: saved.id, number: saved.number, label: saved.label, ws: w}
			w.tabs = append(w.tabs, t)
			if t.id == sw.active || w.active == nil {
				w.active = t
			}
			for _, sp := range saved.panes {
				s.restorePane(t, sp, saved.focused)
			}
		}
		if w.id == s.saved.focused || st.focused == nil {
			st.focused = w
		}
	}
	s.after(s.cfg.Timings.ResumeStart, s.startResumed)
	s.after(s.cfg.Timings.ResumeKnown, s.judgeResumed)
}

func (s *Server) restorePane(t *tab, sp savedPane, focused string) {
	p := &pane{id: sp.id, terminalID: s.state.terminalID(), label: sp.label, cwd: sp.cwd}
	p.agent = agentState{session: sp.session, raw: "unknown", shown: "unknown"}
	previous := t.focused
	t.add(p)
	if sp.id == focused {
		t.focused = p
	}
	if t.root == nil {
		t.root = leaf(p)
	} else {
		t.root = t.root.split(previous, p, "right", 0.5)
		t.arrange()
	}
	if !s.cfg.NoResume && sp.session != nil && sp.session.Kind == "id" {
		p.agent.resuming, p.agent.detected = true, sp.session.Agent
		p.agent.raw, p.agent.shown = "idle", "idle"
		return
	}
	dir := sp.cwd
	s.startShell(p, t, s.startDir(&dir), nil)
}

// startResumed types the agents' resume commands into fresh shells.
func (s *Server) startResumed() {
	for _, p := range s.state.allPanes() {
		if !p.agent.resuming || p.term != nil {
			continue
		}
		dir := p.cwd
		if s.startShell(p, p.tab, s.startDir(&dir), nil) != nil {
			continue
		}
		line, err := commandLine(executableOf(p.agent.session.Agent), []string{"--resume", p.agent.session.Value})
		if err == nil {
			p.term.write([]byte(line + "\r"))
		}
	}
}

// judgeResumed looks whether the agents came: no pane.agent_detected for those
// that did, one without an agent for the others, whose session stays.
func (s *Server) judgeResumed() {
	now := time.Now()
	for _, p := range s.state.allPanes() {
		if !p.agent.resuming {
			continue
		}
		a := &p.agent
		a.resuming = false
		if p.term != nil && p.term.agent() == a.detected {
			a.since, a.known = now, false
			s.setStatus(p, "unknown")
			continue
		}
		a.detected = ""
		s.emitDetected(p, obj{})
		s.setStatus(p, "unknown")
	}
}
