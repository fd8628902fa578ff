package herdrtest

import (
	"context"
	"path/filepath"
	"strings"
	"time"
)

// watchPanes looks at processes and screens, as herdr does a few times a second.
func (s *Server) watchPanes(run context.Context) {
	defer s.wg.Done()
	tick := time.NewTicker(s.cfg.Timings.Detect)
	defer tick.Stop()
	for {
		select {
		case <-run.Done():
			return
		case <-tick.C:
		}
		s.mu.Lock()
		if run.Err() == nil {
			s.look(time.Now())
		}
		s.mu.Unlock()
	}
}

func (s *Server) look(now time.Time) {
	for _, p := range s.state.allPanes() {
		s.expireTokens(p, now)
		s.lookAtTitle(p)
		s.lookAtAgent(p, now)
	}
	for _, w := range s.state.workspaces {
		w.meta.expire(now)
	}
	if s.state.changed.After(s.savedAt) && now.Sub(s.state.changed) >= s.cfg.Timings.Save {
		s.save()
	}
}

func (s *Server) lookAtTitle(p *pane) {
	if p.term == nil {
		return
	}
	title := p.term.title()
	if title == p.title {
		return
	}
	changed := strippedTitle(title) != strippedTitle(p.title)
	p.title = title
	if changed {
		s.updated(p)
	}
}

// updated tells of changed titles and tokens.
func (s *Server) updated(p *pane) {
	p.revision++
	s.emit(event{kind: "pane.updated", noHook: true, data: obj{"pane": s.paneInfo(p)}})
}

func (s *Server) lookAtAgent(p *pane, now time.Time) {
	a := &p.agent
	if a.resuming {
		return
	}
	found := ""
	if p.term != nil {
		found = p.term.agent()
	}
	switch {
	case found != "" && found != a.detected:
		if a.detected != "" {
			s.releaseDetected(p)
		}
		s.detected(p, found, now)
	case found == "" && a.detected != "":
		s.releaseDetected(p)
	}
	if a.vanish != nil && now.After(*a.vanish) {
		a.vanish = nil
		s.setStatus(p, "unknown")
	}
	if a.detected != "" {
		s.lookAtScreen(p, now)
	}
	s.lookAtLaunch(p, now)
}

func (s *Server) detected(p *pane, label string, now time.Time) {
	a := &p.agent
	a.detected, a.since, a.known, a.vanish, a.report = label, now, false, nil, nil
	a.raw, a.shown = "unknown", "unknown"
	s.emitDetected(p, obj{"agent": label})
}

// lookAtScreen gives an agent its status: the first one only when it had time
// to draw, later ones when the screen has said so for a moment.
func (s *Server) lookAtScreen(p *pane, now time.Time) {
	a := &p.agent
	if now.Sub(a.since) < s.cfg.Timings.FirstIdle {
		return
	}
	text, title := p.screenText()
	status := screenStatus(a.detected, text, title)
	if !a.known {
		a.known = true
		s.settleLaunch(p, status)
		s.setStatus(p, status)
		return
	}
	if status == a.raw {
		a.next = ""
		return
	}
	if status != a.next {
		a.next, a.nextSince = status, now
	}
	if now.Sub(a.nextSince) >= s.cfg.Timings.Settle {
		a.next = ""
		s.settleLaunch(p, status)
		s.setStatus(p, status)
	}
}

// screenStatus reads an agent's state from its screen. It knows Claude's
// screens as they were captured; other agents are idle.
func screenStatus(agent, text, title string) string {
	if agent != "claude" {
		return "idle"
	}
	low := lastLines(text, 25)
	switch {
	case dialogOpen(low):
		return "blocked"
	case spinning(title), strings.Contains(low, "esc to interrupt"):
		return "working"
	default:
		return "idle"
	}
}

// dialogOpen knows the dialogs that ask a person: a list with a chosen entry
// above a line of keys.
func dialogOpen(text string) bool {
	cancel := strings.LastIndex(text, "Esc to cancel")
	if cancel < 0 || !strings.Contains(text, "❯ ") {
		return false
	}
	for _, key := range []string{"Enter to confirm", "Enter to select", "Tab to amend"} {
		if strings.Contains(text, key) {
			return true
		}
	}
	return false
}

func spinning(title string) bool {
	for _, r := range title {
		return r >= 0x2800 && r <= 0x28ff || strings.ContainsRune("◐◓◑◒", r)
	}
	return false
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// agent returns the label of the agent in front, "" if there is none.
func (t *terminal) agent() string {
	group := t.foreground()
	if group <= 0 {
		return ""
	}
	if label := agentLabel(group); label != "" || group == t.pid {
		return label
	}
	for _, pid := range groupProcesses(group) {
		if label := agentLabel(pid); label != "" {
			return label
		}
	}
	return ""
}

func agentLabel(pid int) string {
	if kind := kindOf(processName(pid)); kind != "" {
		return kind
	}
	if argv := processArgv(pid); len(argv) > 0 {
		return kindOf(filepath.Base(argv[0]))
	}
	return ""
}

// kindOf returns the kind of agent that an executable's name stands for.
func kindOf(name string) string {
	switch name {
	case "pi", "claude", "codex", "gemini", "devin", "agy", "cline", "omp", "mastracode", "opencode", "copilot",
		"kimi", "droid", "amp", "grok", "hermes", "kilo", "qodercli", "qwen", "maki":
		return name
	case "cursor-agent":
		return "cursor"
	case "kiro-cli":
		return "kiro"
	}
	return ""
}

func executableOf(kind string) string {
	switch kind {
	case "cursor":
		return "cursor-agent"
	case "kiro":
		return "kiro-cli"
	}
	if kindOf(kind) == "" {
		return ""
	}
	return kind
}
