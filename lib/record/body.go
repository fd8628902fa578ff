package record

import (
	"errors"
	"fmt"
)

// AgentState is what a session does, as people and the hub see it.
type AgentState string

// The states of an agent. Done is idle after work that nobody looked at yet.
const (
	Working AgentState = "working"
	Blocked AgentState = "blocked"
	Idle    AgentState = "idle"
	Done    AgentState = "done"
	Unknown AgentState = "unknown"
)

// Known reports whether the state is one of the five.
func (s AgentState) Known() bool {
	switch s {
	case Working, Blocked, Idle, Done, Unknown:
		return true
	}
	return false
}

// Git is where a session's directory stands in Git. User and password are
// never part of the remote.
type Git struct {
	Remote string `json:"remote,omitempty"`
	Branch string `json:"branch,omitempty"`
	Head   string `json:"head,omitempty"`
}

// Upsert is what is known of a session; absent fields say nothing.
type Upsert struct {
	Agent          string `json:"agent,omitempty"`
	Cwd            string `json:"cwd,omitempty"`
	TitleHint      string `json:"title_hint,omitempty"`
	FirstPrompt    string `json:"first_prompt,omitempty"`
	TranscriptPath string `json:"transcript_path,omitempty"`
	Model          string `json:"model,omitempty"`
	Git            *Git   `json:"git,omitempty"`
	StartSource    string `json:"start_source,omitempty"`
}

// Validate accepts any upsert: all of its fields are optional.
func (*Upsert) Validate() error { return nil }

// State is a change of what a session does.
type State struct {
	AgentState AgentState `json:"agent_state"`
	Note       string     `json:"note,omitempty"`
	Background bool       `json:"background,omitempty"`
}

// Validate checks the state's name.
func (s *State) Validate() error {
	if s.AgentState == "" {
		return errors.New(`"agent_state" is missing`)
	}
	if !s.AgentState.Known() {
		return fmt.Errorf(`"agent_state" is %q, which is none of working, blocked, idle, done, unknown`, cut(string(s.AgentState)))
	}
	return nil
}

// The causes of a closed pane.
const (
	CausePaneClosed = "pane_closed"
	CausePaneExited = "pane_exited"
)

// Closed says that a pane is gone.
type Closed struct {
	Cause string `json:"cause"`
}

// Validate checks the cause.
func (c *Closed) Validate() error {
	switch c.Cause {
	case CausePaneClosed, CausePaneExited:
		return nil
	case "":
		return errors.New(`"cause" is missing`)
	}
	return fmt.Errorf(`"cause" is %q, neither pane_closed nor pane_exited`, cut(c.Cause))
}

// Ended says that a session is over.
type Ended struct {
	Reason string `json:"reason"`
}

// Validate requires a reason.
func (e *Ended) Validate() error {
	if e.Reason == "" {
		return errors.New(`"reason" is missing`)
	}
	return nil
}

// Report is what a session says of its own work.
type Report struct {
	Done      string `json:"done,omitempty"`
	InFlight  string `json:"in_flight,omitempty"`
	WaitingOn string `json:"waiting_on,omitempty"`
}

// Validate requires that something is said.
func (r *Report) Validate() error {
	if r.Done == "" && r.InFlight == "" && r.WaitingOn == "" {
		return errors.New(`"done", "in_flight" and "waiting_on" are all missing`)
	}
	return nil
}

// Title names a session.
type Title struct {
	Title string `json:"title"`
}

// Validate requires a title.
func (t *Title) Validate() error {
	if t.Title == "" {
		return errors.New(`"title" is missing`)
	}
	return nil
}
