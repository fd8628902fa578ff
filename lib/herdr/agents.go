package herdr

import (
	"context"
	"time"
)

type agentTarget struct {
	Target string `json:"target"`
}

type agentResult struct {
	Agent Agent `json:"agent"`
}

// Agent returns the agent of a pane (its current id), or of that name.
func (c *Client) Agent(ctx context.Context, target string) (Agent, error) {
	r, err := call[agentResult](ctx, c, "agent.get", agentTarget{target})
	return r.Agent, err
}

// Agents lists the panes that host an agent.
func (c *Client) Agents(ctx context.Context) ([]Agent, error) {
	type result struct {
		Agents []Agent `json:"agents"`
	}
	r, err := call[result](ctx, c, "agent.list", nil)
	return r.Agents, err
}

// Start says which agent to start where.
type Start struct {
	Name      string   `json:"name"` // ^[a-z][a-z0-9_-]{0,31}$, unique among live agents
	Kind      string   `json:"kind"` // such as "claude"
	PaneID    string   `json:"pane_id"`
	Args      []string `json:"args,omitempty"`
	TimeoutMS int      `json:"timeout_ms,omitempty"` // over 3000, at most 300000; default 30000
}

// Started is an agent on its way: its LaunchPending is true, and herdr says
// only after three seconds and more whether it came up (finding 17).
type Started struct {
	Agent Agent    `json:"agent"`
	Argv  []string `json:"argv"`
}

// StartAgent types an agent's command line into an idle shell.
func (c *Client) StartAgent(ctx context.Context, s Start) (Started, error) {
	return call[Started](ctx, c, "agent.start", s)
}

// Prompt is text for an agent.
type Prompt struct {
	Target string      `json:"target"`
	Text   string      `json:"text"`
	Wait   *PromptWait `json:"wait,omitempty"`
}

// PromptWait makes PromptAgent return only when the agent reaches a status.
type PromptWait struct {
	Until     []Status `json:"until,omitempty"` // default idle, done, blocked
	TimeoutMS int      `json:"timeout_ms"`      // up to 5000 no stall is told
}

// PromptAgent pastes text into an agent and presses Enter 300 ms later. Neither
// success nor CodeAgentPromptStalled nor CodeTimeout proves whether the agent
// read it (finding 21 of the captures with Claude). herdr 0.8.2 passes the text on
// byte for byte: escape sequences in it, the end of a bracketed paste
// (ESC [ 201 ~) included, reach the agent's terminal, so take control characters
// out of text from outside first.
func (c *Client) PromptAgent(ctx context.Context, p Prompt) (Agent, error) {
	limit := c.timeout()
	if p.Wait != nil {
		limit += time.Duration(p.Wait.TimeoutMS) * time.Millisecond
	}
	r, err := callFor[agentResult](ctx, c, limit, "agent.prompt", p)
	return r.Agent, err
}

// AgentReport tells herdr of an agent and its state.
type AgentReport struct {
	PaneID    string `json:"pane_id"`
	Source    string `json:"source"`
	Agent     string `json:"agent"`
	State     Status `json:"state"` // never done
	Message   string `json:"message,omitempty"`
	Seq       uint64 `json:"seq,omitempty"`
	SessionID string `json:"agent_session_id,omitempty"`
}

// ReportAgent reports an agent's state. It also succeeds where herdr drops the
// report: an old Seq, none after one with, a foreign source (finding 14).
func (c *Client) ReportAgent(ctx context.Context, r AgentReport) error {
	return c.do(ctx, "pane.report_agent", r)
}

// SessionReport tells herdr which session a pane's agent runs.
type SessionReport struct {
	PaneID      string `json:"pane_id"`
	Source      string `json:"source"` // such as "herdr:claude"
	Agent       string `json:"agent"`
	Seq         uint64 `json:"seq,omitempty"`
	SessionID   string `json:"agent_session_id,omitempty"`
	StartSource string `json:"session_start_source,omitempty"` // startup, resume, clear, compact, …
}

// ReportAgentSession reports the session of a pane's agent, as herdr's own
// hooks do.
func (c *Client) ReportAgentSession(ctx context.Context, r SessionReport) error {
	return c.do(ctx, "pane.report_agent_session", r)
}

// Release takes a reported agent back.
type Release struct {
	PaneID string `json:"pane_id"`
	Source string `json:"source"`
	Agent  string `json:"agent"`
	Seq    uint64 `json:"seq,omitempty"` // needed if the reports had one
}

// ReleaseAgent takes a report back; like ReportAgent it also succeeds where
// nothing happened.
func (c *Client) ReleaseAgent(ctx context.Context, r Release) error {
	return c.do(ctx, "pane.release_agent", r)
}

// PaneMetadata is what a source wants herdr to show of a pane. A nil token
// clears it. The texts are lost when the server restarts.
type PaneMetadata struct {
	PaneID     string             `json:"pane_id"`
	Source     string             `json:"source"`
	Title      string             `json:"title,omitempty"`
	ClearTitle bool               `json:"clear_title,omitempty"`
	Tokens     map[string]*string `json:"tokens,omitempty"`
	Seq        uint64             `json:"seq,omitempty"`
	TTLMS      int                `json:"ttl_ms,omitempty"` // 1 to 86400000; 0 is for ever
}

// ReportPaneMetadata sets a pane's texts: at most 16 tokens a call, each cut to
// 80 characters by herdr.
func (c *Client) ReportPaneMetadata(ctx context.Context, m PaneMetadata) error {
	return c.do(ctx, "pane.report_metadata", m)
}

// WorkspaceMetadata is PaneMetadata for a workspace, which has tokens only.
type WorkspaceMetadata struct {
	WorkspaceID string             `json:"workspace_id"`
	Source      string             `json:"source"`
	Tokens      map[string]*string `json:"tokens"`
	Seq         uint64             `json:"seq,omitempty"`
	TTLMS       int                `json:"ttl_ms,omitempty"`
}

// ReportWorkspaceMetadata sets a workspace's tokens.
func (c *Client) ReportWorkspaceMetadata(ctx context.Context, m WorkspaceMetadata) error {
	if m.Tokens == nil {
		m.Tokens = map[string]*string{} // herdr refuses null here
	}
	return c.do(ctx, "workspace.report_metadata", m)
}
