// Package hook is what the tools do as guests in somebody else's program:
// herdr's event hooks and Claude Code's hooks. A hook never blocks its host:
// no network, bounded waits, no output that the host does not expect, and
// what goes wrong goes to watcher.log.
package hook

import (
	"fmt"

	"sessionhub/lib/herdr"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
)

// ClaudeAgent is herdr's name for Claude Code. Events of other agents are
// ignored.
const ClaudeAgent = "claude"

// Outcome is what an event of herdr asks for.
type Outcome struct {
	Items   []record.Item
	Blocked bool // a session began to wait for its person
	Look    bool // something changed that no record of one pane can tell
}

// FromEvent says what an event of the herdr server at socket asks for. An
// agent that left is named in the event of its going (finding 19 of the Claude
// captures), so such an event never makes an upsert; the watcher looks
// instead, as only an inventory proves an end.
func FromEvent(stamp queue.Stamp, socket string, e herdr.Event) (Outcome, error) {
	switch e.Name {
	case herdr.EventTabClosed, herdr.EventWorkspaceClosed, herdr.EventPaneMoved:
		// Closing a tab or a workspace says nothing of the panes in it.
		return Outcome{Look: true}, nil
	case herdr.EventAgentDetected:
		if e.AgentGone() {
			return Outcome{Look: e.Agent == "" || e.Agent == ClaudeAgent}, nil
		}
		if e.Agent != ClaudeAgent {
			return Outcome{}, nil
		}
		return one(stamp, socket, e, record.KindUpsert, record.Upsert{Agent: ClaudeAgent})
	case herdr.EventAgentStatus:
		if e.Agent != ClaudeAgent {
			return Outcome{Look: e.Agent == ""}, nil
		}
		state := record.AgentState(e.Status)
		if !state.Known() {
			state = record.Unknown
		}
		out, err := one(stamp, socket, e, record.KindState, record.State{AgentState: state})
		out.Blocked = state == record.Blocked
		return out, err
	case herdr.EventPaneClosed:
		return one(stamp, socket, e, record.KindClosed, record.Closed{Cause: record.CausePaneClosed})
	case herdr.EventPaneExited:
		return one(stamp, socket, e, record.KindClosed, record.Closed{Cause: record.CausePaneExited})
	}
	return Outcome{}, nil
}

func one(stamp queue.Stamp, socket string, e herdr.Event, kind record.Kind, body any) (Outcome, error) {
	it, err := record.NewItem(stamp.ID, stamp.At, record.SourcePlugin, kind, body)
	if err != nil {
		return Outcome{}, err
	}
	it.Pane = &record.Pane{Herdr: socket, PaneID: e.PaneID, WorkspaceID: e.WorkspaceID}
	if err := it.Validate(); err != nil {
		return Outcome{}, fmt.Errorf("herdr event %s: %w", e.Name, err)
	}
	return Outcome{Items: []record.Item{it}}, nil
}
