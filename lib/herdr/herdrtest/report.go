package herdrtest

import (
	"strings"

	"sessionhub/lib/herdr"
)

type reportParams struct {
	PaneID      string  `json:"pane_id" need:""`
	Source      string  `json:"source" need:""`
	Agent       string  `json:"agent" need:""`
	Seq         *uint64 `json:"seq"`
	SessionID   *string `json:"agent_session_id"`
	SessionPath *string `json:"agent_session_path"`
	StartSource *string `json:"session_start_source"`
}

// stateReport is a reportParams whose state is needed.
type stateReport struct {
	PaneID      string  `json:"pane_id" need:""`
	Source      string  `json:"source" need:""`
	Agent       string  `json:"agent" need:""`
	State       string  `json:"state" need:"" enum:"idle,working,blocked,unknown"`
	Message     *string `json:"message"`
	Seq         *uint64 `json:"seq"`
	SessionID   *string `json:"agent_session_id"`
	SessionPath *string `json:"agent_session_path"`
}

func (r stateReport) common() reportParams {
	return reportParams{
		PaneID: r.PaneID, Source: r.Source, Agent: r.Agent, Seq: r.Seq,
		SessionID: r.SessionID, SessionPath: r.SessionPath,
	}
}

const maxSources = 32

// accepts applies the rule of sequence numbers: from a source that has sent one
// nothing without, nothing old.
func (a *agentState) accepts(source string, seq *uint64) (bool, *apiError) {
	last, sequenced := a.seqs[source]
	if !sequenced && seq == nil {
		return true, nil
	}
	if sequenced && (seq == nil || *seq <= last) {
		return false, nil
	}
	if !sequenced && len(a.seqs) >= maxSources {
		return false, fail("metadata_sequence_source_limit", "pane metadata may track at most %d sequenced sources", maxSources)
	}
	if a.seqs == nil {
		a.seqs = map[string]uint64{}
	}
	a.seqs[source] = *seq
	return true, nil
}

// reported finds the pane of a report and applies what holds for all reports.
func (s *Server) reported(p reportParams) (q *pane, accepted bool, err *apiError) {
	q, err = s.findPane(p.PaneID)
	if err != nil {
		return nil, false, err
	}
	if strings.TrimSpace(p.Agent) == "" {
		return nil, false, fail("invalid_agent", "agent label must not be empty")
	}
	accepted, err = q.agent.accepts(p.Source, p.Seq)
	return q, accepted, err
}

func (s *Server) reportAgent(p stateReport) (obj, *apiError) {
	q, accepted, err := s.reported(p.common())
	if err != nil {
		return nil, err
	}
	if accepted {
		s.applySession(q, p.common())
		s.applyState(q, p.common(), p.State)
	}
	return ok()
}

// applyState takes a state from a tool of the user's. Official sources report
// no states here, and nobody overrules an agent that herdr sees itself.
func (s *Server) applyState(q *pane, p reportParams, state string) {
	a := &q.agent
	if strings.HasPrefix(p.Source, "herdr:") || a.detected != "" {
		return
	}
	before := a.label()
	a.report = &report{source: p.Source, agent: p.Agent}
	a.vanish = nil
	if before != p.Agent {
		s.emitDetectedWith(q, p.Agent, state)
		return
	}
	s.setStatus(q, state)
}

// emitDetectedWith tells of a new self-reported agent, whose pane shows the
// reported state already.
func (s *Server) emitDetectedWith(q *pane, label, state string) {
	a := &q.agent
	shown := s.shownAs(q, state)
	changed := a.shown != shown
	if a.raw = state; changed {
		a.shown = shown
		s.state.stateSeq++
		a.seq = s.state.stateSeq
	}
	s.emitDetected(q, obj{"agent": label})
	if changed {
		s.emitStatus(q, label, false)
	}
}

func (s *Server) reportAgentSession(p reportParams) (obj, *apiError) {
	q, accepted, err := s.reported(p)
	if err != nil {
		return nil, err
	}
	if accepted {
		s.applySession(q, p)
	}
	return ok()
}

const (
	maxSessionID   = 512
	maxSessionPath = 4096
)

// applySession takes a session id from an official integration. Those that say
// clear, resume or compact replace one, others only fill an empty place.
func (s *Server) applySession(q *pane, p reportParams) {
	kind, value := officialSession(p)
	if value == "" {
		return
	}
	switch deref(p.StartSource) {
	case "clear", "resume", "compact":
	default:
		if q.agent.session != nil {
			return
		}
	}
	q.agent.session = &herdr.AgentSession{Source: p.Source, Agent: p.Agent, Kind: kind, Value: value}
	s.state.touch()
}

func officialSession(p reportParams) (kind, value string) {
	kindOfAgent, official := strings.CutPrefix(p.Source, "herdr:")
	if kindOfAgent == "antigravity_cli" {
		kindOfAgent = "agy"
	}
	if !official || kindOfAgent != p.Agent || kindOf(executableOf(p.Agent)) == "" {
		return "", ""
	}
	id, path := deref(p.SessionID), deref(p.SessionPath)
	if (p.Agent == "pi" || p.Agent == "omp") && strings.HasPrefix(path, "/") && len(path) <= maxSessionPath {
		return "path", path
	}
	if len(id) > maxSessionID {
		return "", ""
	}
	return "id", id
}

func (s *Server) releaseAgent(p reportParams) (obj, *apiError) {
	q, err := s.findPane(p.PaneID)
	if err != nil {
		return nil, err
	}
	r := q.agent.report
	accepted, err := q.agent.accepts(p.Source, p.Seq)
	if err != nil {
		return nil, err
	}
	if accepted && q.agent.detected == "" && r != nil && r.source == p.Source && r.agent == p.Agent {
		s.releaseReported(q)
	}
	return ok()
}

func (s *Server) releaseReported(q *pane) {
	a := &q.agent
	label, changed := a.report.agent, a.shown != "unknown"
	a.report, a.name, a.raw, a.shown = nil, "", "unknown", "unknown"
	if changed {
		s.state.stateSeq++
		a.seq = s.state.stateSeq
	}
	s.emitDetected(q, obj{"agent": label, "released": true, "final_status": "unknown"})
	if changed {
		s.emitStatus(q, label, false)
	}
}

type clearParams struct {
	PaneID string  `json:"pane_id" need:""`
	Source *string `json:"source"`
	Seq    *uint64 `json:"seq"`
}

func (s *Server) clearAuthority(p clearParams) (obj, *apiError) {
	q, err := s.findPane(p.PaneID)
	if err != nil {
		return nil, err
	}
	a := &q.agent
	if a.report == nil || p.Source != nil && *p.Source != a.report.source {
		return ok()
	}
	accepted, err := a.accepts(a.report.source, p.Seq)
	if err != nil {
		return nil, err
	}
	if accepted {
		s.releaseReported(q)
	}
	return ok()
}
