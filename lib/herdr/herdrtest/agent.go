package herdrtest

import (
	"regexp"
	"strings"
	"time"
)

type targetParams struct {
	Target string `json:"target" need:""`
}

// findAgent returns the pane of an agent by its current pane id or its name.
func (s *Server) findAgent(target string) (*pane, *apiError) {
	for _, p := range s.state.allPanes() {
		if !p.agent.present() || p.agent.resuming && p.id == target {
			continue
		}
		if p.id == target || p.agent.name == target && target != "" {
			return p, nil
		}
	}
	return nil, fail("agent_not_found", "agent target %s not found", target)
}

func (s *Server) agentAnswer(p *pane) (obj, *apiError) {
	return obj{"type": "agent_info", "agent": s.agentInfo(p)}, nil
}

func (s *Server) listAgents(noParams) (obj, *apiError) {
	list := []any{}
	for _, p := range s.state.allPanes() {
		if p.agent.present() {
			list = append(list, s.agentInfo(p))
		}
	}
	return obj{"type": "agent_list", "agents": list}, nil
}

func (s *Server) getAgent(p targetParams) (obj, *apiError) {
	q, err := s.findAgent(p.Target)
	if err != nil {
		return nil, err
	}
	return s.agentAnswer(q)
}

func (s *Server) focusAgent(p targetParams) (obj, *apiError) {
	q, err := s.findAgent(p.Target)
	if err != nil {
		return nil, err
	}
	s.focus(q.tab, q)
	return s.agentAnswer(q)
}

type readAgentParams struct {
	Target    string  `json:"target" need:""`
	Source    string  `json:"source" need:"" enum:"visible,recent,recent_unwrapped,detection"`
	Lines     *uint32 `json:"lines"`
	Format    string  `json:"format" enum:"text,ansi"`
	StripANSI bool    `json:"strip_ansi"`
}

func (s *Server) readAgent(p readAgentParams) (obj, *apiError) {
	q, err := s.findAgent(p.Target)
	if err != nil {
		return nil, err
	}
	return s.readPane(readParams{PaneID: q.id, Source: p.Source, Lines: p.Lines, Format: p.Format})
}

type agentKeysParams struct {
	Target string   `json:"target" need:""`
	Keys   []string `json:"keys" need:""`
}

func (s *Server) sendAgentKeys(p agentKeysParams) (obj, *apiError) {
	q, err := s.findAgent(p.Target)
	if err != nil {
		return nil, err
	}
	if q.agent.detected == "" {
		return nil, notReady(p.Target)
	}
	return s.sendKeys(keysParams{PaneID: q.id, Keys: p.Keys})
}

func notReady(target string) *apiError {
	return fail("agent_not_ready", "agent %s is not an active named agent", target)
}

type renameAgentParams struct {
	Target string  `json:"target" need:""`
	Name   *string `json:"name"`
}

func validAgentName(name string) bool {
	return regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`).MatchString(name)
}

func (s *Server) checkAgentName(name string, except *pane) *apiError {
	if !validAgentName(name) {
		return fail("invalid_agent_name", "agent name must start with a lowercase letter and contain only lowercase letters, digits, '-' or '_' (1-32 characters)")
	}
	for _, p := range s.state.allPanes() {
		if p != except && p.agent.name == name {
			return fail("agent_name_taken", "agent name %s is already used; candidates: terminal_id=%s pane_id=%s", name, p.terminalID, p.id)
		}
	}
	return nil
}

func (s *Server) renameAgent(p renameAgentParams) (obj, *apiError) {
	q, err := s.findAgent(p.Target)
	if err != nil {
		return nil, err
	}
	if q.agent.launch != nil {
		return nil, fail("agent_launch_pending", "agent name cannot change while startup is pending")
	}
	name := deref(p.Name)
	if name != "" {
		if err := s.checkAgentName(name, q); err != nil {
			return nil, err
		}
	}
	q.agent.name = name
	s.updated(q)
	return s.agentAnswer(q)
}

type startParams struct {
	Name      string   `json:"name" need:""`
	Kind      string   `json:"kind" need:""`
	PaneID    string   `json:"pane_id" need:""`
	Args      []string `json:"args"`
	TimeoutMS *int     `json:"timeout_ms"`
}

// startAgent types an agent's command line into an idle shell.
func (s *Server) startAgent(p startParams) (obj, *apiError) {
	if err := s.checkAgentName(p.Name, nil); err != nil {
		return nil, err
	}
	if t := p.TimeoutMS; t != nil && (*t <= 3000 || *t > 300000) {
		return nil, fail("invalid_agent_timeout", "agent start timeout must be greater than 3000ms and at most 300000ms")
	}
	program := executableOf(p.Kind)
	if program == "" {
		return nil, fail("unsupported_agent_kind", "unsupported interactive agent kind %s", p.Kind)
	}
	q := s.state.pane(p.PaneID)
	if q == nil {
		return nil, fail("agent_pane_not_found", "agent target pane %s not found", p.PaneID)
	}
	if q.term == nil || q.agent.present() || q.term.foreground() != q.term.pid {
		return nil, fail("agent_pane_busy", "agent target pane %s is not an available shell", p.PaneID)
	}
	line, err := commandLine(program, p.Args)
	if err != nil {
		return nil, err
	}
	if werr := q.term.write([]byte(line + "\r")); werr != nil {
		return nil, fail("agent_start_input_failed", "%v", werr)
	}
	limit := s.cfg.Timings.StartLimit
	if p.TimeoutMS != nil {
		limit = time.Duration(*p.TimeoutMS) * time.Millisecond
	}
	q.agent.name, q.agent.ready = p.Name, false
	q.agent.launch = &launch{until: time.Now().Add(limit)}
	return obj{"type": "agent_started", "agent": s.agentInfo(q), "argv": append([]string{program}, p.Args...)}, nil
}

func commandLine(program string, args []string) (string, *apiError) {
	words := []string{program}
	for _, a := range args {
		if strings.IndexFunc(a, func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0 {
			return "", fail("invalid_agent_argument", "agent arguments cannot be encoded safely for the target shell")
		}
		words = append(words, quote(a))
	}
	return strings.Join(words, " "), nil
}

func quote(word string) string {
	if word != "" && only(word, "_-./=:") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// settleLaunch ends an agent's start when its screen is ready for a person.
func (s *Server) settleLaunch(p *pane, status string) {
	if p.agent.launch == nil || status == "blocked" {
		return
	}
	p.agent.launch, p.agent.ready = nil, true
	s.updated(p)
}

// lookAtLaunch gives up on an agent that never came; one that waits on a dialog
// stays on its way.
func (s *Server) lookAtLaunch(p *pane, now time.Time) {
	a := &p.agent
	if a.launch != nil && now.After(a.launch.until) && a.detected == "" {
		a.launch, a.name = nil, ""
	}
}
