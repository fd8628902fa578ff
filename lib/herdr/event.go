package herdr

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Names of the events that this project acts on. Others exist.
const (
	EventAgentDetected    = "pane_agent_detected"
	EventAgentStatus      = "pane_agent_status_changed"
	EventPaneCreated      = "pane_created"
	EventPaneUpdated      = "pane_updated"
	EventPaneClosed       = "pane_closed"
	EventPaneExited       = "pane_exited"
	EventPaneMoved        = "pane_moved"
	EventTabClosed        = "tab_closed"
	EventWorkspaceClosed  = "workspace_closed"
	EventWorkspaceCreated = "workspace_created"
)

// Event is something that happened in herdr. No event tells a changed session
// id (finding 20 of the captures with Claude); read the pane for that.
type Event struct {
	// Name is in snake_case in both of herdr's families (per-pane
	// subscriptions use dots). Unknown names are kept.
	Name           string
	PaneID         string
	WorkspaceID    string
	TabID          string
	PreviousPaneID string // of pane_moved
	Agent          string // of a released agent: the one that left
	Status         Status
	Title          string
	Released       bool
	FinalStatus    Status
	Pane           *Pane // where the event carries the whole pane
}

// AgentGone reports whether the event says that the pane's agent is gone: it
// names the one that left and says released (finding 19 of the captures with
// Claude), or names none, as after a failed restore.
func (e Event) AgentGone() bool {
	return e.Name == EventAgentDetected && (e.Released || e.Agent == "")
}

// PaneGone reports whether the event says that PaneID is no more. Closing a tab
// or a workspace says nothing of its panes, and a shell that exits says nothing
// of its tab and workspace (finding 22).
func (e Event) PaneGone() bool {
	return e.Name == EventPaneClosed || e.Name == EventPaneExited
}

type wireEvent struct {
	Event string     `json:"event"`
	Data  *eventData `json:"data"`
	Error *wireError `json:"error"`
}

type eventData struct {
	PaneID         string `json:"pane_id"`
	WorkspaceID    string `json:"workspace_id"`
	TabID          string `json:"tab_id"`
	PreviousPaneID string `json:"previous_pane_id"`
	Agent          string `json:"agent"`
	AgentStatus    Status `json:"agent_status"`
	Title          string `json:"title"`
	Released       bool   `json:"released"`
	FinalStatus    Status `json:"final_status"`
	Pane           *Pane  `json:"pane"`
	Tab            *struct {
		TabID       string `json:"tab_id"`
		WorkspaceID string `json:"workspace_id"`
	} `json:"tab"`
	Workspace *struct {
		WorkspaceID string `json:"workspace_id"`
	} `json:"workspace"`
}

// ParseEvent reads the JSON that herdr hands to plugin hooks in
// HERDR_PLUGIN_EVENT_JSON, or a line of a subscription. Unknown names and
// fields are fine; no JSON, no name or a name that is none are errors.
func ParseEvent(data []byte) (Event, error) {
	var w wireEvent
	if err := json.Unmarshal(data, &w); err != nil {
		return Event{}, fmt.Errorf("herdr event: %w", err)
	}
	return w.event()
}

func (w wireEvent) event() (Event, error) {
	name := strings.ReplaceAll(w.Event, ".", "_")
	if !validName(name) {
		return Event{}, fmt.Errorf("herdr event: %.40q is no event name", w.Event)
	}
	if w.Data == nil {
		return Event{}, errors.New("herdr event: " + name + " has no data")
	}
	d := w.Data
	e := Event{
		Name: name, PaneID: d.PaneID, WorkspaceID: d.WorkspaceID, TabID: d.TabID,
		PreviousPaneID: d.PreviousPaneID, Agent: d.Agent, Status: d.AgentStatus, Title: d.Title,
		Released: d.Released, FinalStatus: d.FinalStatus, Pane: d.Pane,
	}
	e.fillIDs(d)
	return e, nil
}

// fillIDs takes ids from the objects that some events carry instead of ids.
func (e *Event) fillIDs(d *eventData) {
	if p := d.Pane; p != nil {
		e.PaneID, e.TabID, e.WorkspaceID = or(e.PaneID, p.PaneID), or(e.TabID, p.TabID), or(e.WorkspaceID, p.WorkspaceID)
	}
	if t := d.Tab; t != nil {
		e.TabID, e.WorkspaceID = or(e.TabID, t.TabID), or(e.WorkspaceID, t.WorkspaceID)
	}
	if w := d.Workspace; w != nil {
		e.WorkspaceID = or(e.WorkspaceID, w.WorkspaceID)
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// maxName is far above herdr's longest event name.
const maxName = 64

func validName(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return false
		}
	}
	return true
}
