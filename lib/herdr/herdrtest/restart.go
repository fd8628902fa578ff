package herdrtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"sessionhub/lib/herdr"
)

// savedState is what survives the end of a server, in session.json beside its
// socket (in a form of this package's own): ids, labels, folders and agents'
// sessions; no tokens, titles, names, reports.
type savedState struct {
	Workspaces []savedWorkspace
	Focused    string
}

type savedWorkspace struct {
	ID, Label         string
	NextTab, NextPane int
	Active            string
	Tabs              []savedTab
}

type savedTab struct {
	ID      string
	Label   *string
	Number  int
	Focused string
	Panes   []savedPane
}

type savedPane struct {
	ID, Label, Cwd string
	Session        *herdr.AgentSession
}

func (s *Server) sessionFile() string { return filepath.Join(filepath.Dir(s.socket), "session.json") }

func (s *Server) save() {
	var saved savedState
	if s.state.focused != nil {
		saved.Focused = s.state.focused.id
	}
	for _, w := range s.state.workspaces {
		sw := savedWorkspace{ID: w.id, Label: w.label, NextTab: w.nextTab, NextPane: w.nextPane, Active: w.active.id}
		for _, t := range w.tabs {
			st := savedTab{ID: t.id, Label: t.label, Number: t.number, Focused: t.focused.id}
			for _, p := range t.panes {
				cwd, _ := p.cwds()
				st.Panes = append(st.Panes, savedPane{ID: p.id, Label: p.label, Cwd: cwd, Session: p.agent.session})
			}
			sw.Tabs = append(sw.Tabs, st)
		}
		saved.Workspaces = append(saved.Workspaces, sw)
	}
	s.savedAt = time.Now()
	if b, err := json.MarshalIndent(saved, "", "  "); err == nil {
		os.WriteFile(s.sessionFile(), b, 0o600)
	}
}

// restore brings the saved panes back. The counter of workspaces restarts after
// the highest that was saved, so the id of a closed one may come back.
func (s *Server) restore() {
	st := s.state
	var kept savedState
	if b, err := os.ReadFile(s.sessionFile()); err == nil {
		json.Unmarshal(b, &kept)
	}
	for _, sw := range kept.Workspaces {
		w := &workspace{id: sw.ID, label: sw.Label, nextTab: sw.NextTab, nextPane: sw.NextPane}
		st.workspaces = append(st.workspaces, w)
		st.nextID = max(st.nextID, numberOf(sw.ID[1:])+1)
		for _, saved := range sw.Tabs {
			t := &tab{id: saved.ID, number: saved.Number, label: saved.Label, ws: w}
			w.tabs = append(w.tabs, t)
			if t.id == sw.Active || w.active == nil {
				w.active = t
			}
			for _, sp := range saved.Panes {
				s.restorePane(t, sp, saved.Focused)
			}
		}
		if w.id == kept.Focused || st.focused == nil {
			st.focused = w
		}
	}
	s.after(s.cfg.Timings.ResumeStart, s.startResumed)
	s.after(s.cfg.Timings.ResumeKnown, s.judgeResumed)
}

func (s *Server) restorePane(t *tab, sp savedPane, focused string) {
	p := &pane{id: sp.ID, terminalID: s.state.terminalID(), label: sp.Label, cwd: sp.Cwd}
	p.agent = agentState{session: sp.Session, raw: "unknown", shown: "unknown"}
	previous := t.focused
	t.add(p)
	if sp.ID == focused {
		t.focused = p
	}
	if t.root == nil {
		t.root = leaf(p)
	} else {
		t.root = t.root.split(previous, p, "right", 0.5)
		t.arrange()
	}
	if !s.cfg.NoResume && sp.Session != nil && sp.Session.Kind == "id" {
		p.agent.resuming, p.agent.detected = true, sp.Session.Agent
		p.agent.raw, p.agent.shown = "idle", "idle"
		return
	}
	dir := sp.Cwd
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
		if s.cfg.Dialect.KeepsErrorIDs {
			p.restoreError = "agent did not start"
		}
		s.emitDetected(p, obj{})
		s.setStatus(p, "unknown")
	}
}
