package record

import (
	"errors"
	"fmt"
)

// Snapshot is the body of a heartbeat: every session that one herdr server
// runs on one machine. Sessions outside herdr come in a snapshot of their own,
// whose HerdrSession is empty and whose entries have no pane fields.
type Snapshot struct {
	V                 int                `json:"v"`
	At                Time               `json:"at"`
	Machine           string             `json:"machine"`
	HerdrSession      string             `json:"herdr_session"`
	HerdrVersion      string             `json:"herdr_version,omitempty"`
	ToolsVersion      string             `json:"tools_version,omitempty"`
	Sessions          []LiveSession      `json:"sessions"`
	UnidentifiedPanes []UnidentifiedPane `json:"unidentified_panes"`
}

// LiveSession is one session in a snapshot.
type LiveSession struct {
	Session     string     `json:"session"`
	Agent       string     `json:"agent"`
	PaneID      string     `json:"pane_id,omitempty"`
	WorkspaceID string     `json:"workspace_id,omitempty"`
	TabID       string     `json:"tab_id,omitempty"`
	TerminalID  string     `json:"terminal_id,omitempty"`
	AgentState  AgentState `json:"agent_state"`
	Cwd         string     `json:"cwd,omitempty"`
	Git         *Git       `json:"git,omitempty"`
	TitleHint   string     `json:"title_hint,omitempty"`
	Background  bool       `json:"background,omitempty"`
	OtherPanes  []string   `json:"other_panes,omitempty"`
	PID         int        `json:"pid,omitempty"`
	Why         []string   `json:"why,omitempty"`
}

// UnidentifiedPane is a pane that runs an agent whose session is not known.
// The hub keeps what it knows of that pane alive.
type UnidentifiedPane struct {
	PaneID      string     `json:"pane_id"`
	WorkspaceID string     `json:"workspace_id,omitempty"`
	AgentState  AgentState `json:"agent_state"`
	Why         []string   `json:"why,omitempty"`
}

// Validate checks the snapshot as the hub does. Machine may be empty: the
// hub knows it from the token.
func (s *Snapshot) Validate() error {
	if s.V != Version {
		return fmt.Errorf(`"v" is %d, not %d`, s.V, Version)
	}
	if s.At.IsZero() {
		return errors.New(`"at" is missing`)
	}
	seen := make(map[string]bool, len(s.Sessions))
	for i := range s.Sessions {
		e := &s.Sessions[i]
		if err := CheckID(fmt.Sprintf("sessions[%d].session", i), e.Session); err != nil {
			return err
		}
		if seen[e.Session] {
			return fmt.Errorf(`"sessions[%d].session" is %s, which is in the snapshot twice`, i, e.Session)
		}
		seen[e.Session] = true
		if !e.AgentState.Known() {
			return fmt.Errorf(`"sessions[%d].agent_state" is %q, which is not known`, i, cut(string(e.AgentState)))
		}
	}
	for i := range s.UnidentifiedPanes {
		if err := CheckName(fmt.Sprintf("unidentified_panes[%d].pane_id", i), s.UnidentifiedPanes[i].PaneID); err != nil {
			return err
		}
	}
	return nil
}
