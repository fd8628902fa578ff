package herdrtest

import (
	"time"
)

type promptParams struct {
	Target string      `json:"target" need:""`
	Text   string      `json:"text" need:""`
	Wait   *waitParams `json:"wait"`
}

type waitParams struct {
	Until     []string `json:"until"`
	TimeoutMS *int     `json:"timeout_ms"`
}

func (s *Server) promptAgent(c *exchange, p promptParams) (obj, *apiError) {
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return nil, fail("server_unavailable", "server is shutting down")
	}
	q, err := s.promptable(p)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	before := q.agent
	result := obj{"type": "agent_prompted", "agent": s.agentInfo(q)}
	if werr := q.term.write(q.term.paste(p.Text)); werr != nil {
		s.mu.Unlock()
		return nil, fail("agent_prompt_failed", "%v", werr)
	}
	s.after(s.cfg.Timings.PromptEnter, func() {
		if !q.gone {
			q.term.write([]byte("\r"))
		}
	})
	s.mu.Unlock()
	if p.Wait != nil {
		return s.waitPrompted(c, q, before, *p.Wait)
	}
	if s.cfg.Dialect.PromptWaits {
		time.Sleep(s.cfg.Timings.PromptEnter)
	}
	return result, nil
}

func (s *Server) promptable(p promptParams) (*pane, *apiError) {
	q, err := s.findAgent(p.Target)
	switch {
	case err != nil:
		return nil, err
	case p.Text == "":
		return nil, fail("empty_agent_prompt", "agent prompt must not be empty")
	case q.agent.shown == "blocked":
		return nil, fail("agent_blocked", "agent %s is blocked and requires interactive input", p.Target)
	case q.agent.detected == "" || q.agent.launch != nil || q.term == nil:
		return nil, notReady(p.Target)
	}
	return q, nil
}

func (s *Server) waitPrompted(c *exchange, q *pane, before agentState, w waitParams) (obj, *apiError) {
	if before.raw != "working" {
		stall := s.cfg.Timings.PromptStall
		err := s.poll(c, limitOf(w.TimeoutMS), func() (bool, *apiError) {
			if q.gone || q.agent.detected == "" {
				return false, fail("agent_not_running", "agent is no longer running in the target pane")
			}
			return q.agent.seq != before.seq, nil
		}, stall)
		if err != nil && err.code == "stalled" {
			return nil, fail("agent_prompt_stalled", "agent prompt produced no observed state change within %d ms; status is %s and state_change_seq remained %d",
				stall.Milliseconds(), before.shown, before.seq)
		}
		if err != nil {
			return nil, err
		}
	}
	return s.waitStatus(c, q, w, "agent_prompted")
}

func limitOf(ms *int) time.Duration {
	if ms == nil {
		return 0
	}
	return time.Duration(*ms) * time.Millisecond
}

// poll asks check under the lock until it says true or an error, the client
// hangs up, limit is over (timeout; 0 is never) or stall is over (stalled).
func (s *Server) poll(c *exchange, limit time.Duration, check func() (bool, *apiError), stall time.Duration) *apiError {
	start, hungUp := time.Now(), c.hungUp()
	for {
		s.mu.Lock()
		done, err := check()
		s.mu.Unlock()
		if done || err != nil {
			return err
		}
		spent := time.Since(start)
		if limit > 0 && spent >= limit {
			return fail("timeout", "timed out waiting for agent status")
		}
		if stall > 0 && spent >= stall {
			return fail("stalled", "")
		}
		select {
		case <-hungUp:
			return fail(codeHungUp, "")
		case <-c.run.Done():
			return fail("server_unavailable", "server is shutting down")
		case <-time.After(s.cfg.Timings.Detect):
		}
	}
}

type agentWaitParams struct {
	Target    string   `json:"target" need:""`
	Until     []string `json:"until"`
	TimeoutMS *int     `json:"timeout_ms"`
}

func (s *Server) waitAgent(c *exchange, p agentWaitParams) (obj, *apiError) {
	s.mu.Lock()
	q, err := s.findAgent(p.Target)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return s.waitStatus(c, q, waitParams{Until: p.Until, TimeoutMS: p.TimeoutMS}, "agent_info")
}

func (s *Server) waitStatus(c *exchange, q *pane, w waitParams, answer string) (obj, *apiError) {
	until := w.Until
	if len(until) == 0 {
		until = []string{"idle", "done", "blocked"}
	}
	var result obj
	err := s.poll(c, limitOf(w.TimeoutMS), func() (bool, *apiError) {
		if q.gone || !q.agent.present() {
			return false, fail("agent_not_running", "agent is no longer running in the target pane")
		}
		for _, status := range until {
			if q.agent.shown == status {
				result = obj{"type": answer, "agent": s.agentInfo(q)}
				return true, nil
			}
		}
		return false, nil
	}, 0)
	return result, err
}

type waitEventParams struct {
	Match     waitMatch `json:"match_event" need:""`
	TimeoutMS *int      `json:"timeout_ms"`
}

type waitMatch struct {
	Event       string `json:"event"`
	PaneID      string `json:"pane_id"`
	AgentStatus string `json:"agent_status"`
}

func (s *Server) waitEvent(c *exchange, p waitEventParams) (obj, *apiError) {
	if p.Match.Event != "pane_agent_status_changed" {
		return nil, fail("unsupported_event_wait_match", "events.wait currently supports pane agent status matches")
	}
	var result obj
	first := true
	err := s.poll(c, limitOf(p.TimeoutMS), func() (bool, *apiError) {
		q, err := s.findPane(p.Match.PaneID)
		if err != nil {
			if first && !s.cfg.Dialect.KeepsErrorIDs {
				c.req.id += ":sub:0:probe"
			}
			return false, err
		}
		first = false
		if q.agent.shown != p.Match.AgentStatus {
			return false, nil
		}
		data := obj{"type": "pane_agent_status_changed", "pane_id": q.id, "workspace_id": q.tab.ws.id, "agent_status": q.agent.shown}
		put(data, "agent", q.agent.label())
		q.meta.showTexts(data)
		result = obj{"type": "wait_matched", "event": obj{"event": "pane_agent_status_changed", "data": data}}
		return true, nil
	}, 0)
	if err != nil && err.code == "timeout" {
		err = fail("timeout", "timed out waiting for event match")
	}
	return result, err
}
