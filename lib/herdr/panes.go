package herdr

import "context"

// Ping asks a server for its version. It is answered even while the server
// shuts down (finding 25).
func (c *Client) Ping(ctx context.Context) (Pong, error) {
	return call[Pong](ctx, c, "ping", nil)
}

// Snapshot returns everything a server knows, as of one moment.
func (c *Client) Snapshot(ctx context.Context) (Snapshot, error) {
	type result struct {
		Snapshot Snapshot `json:"snapshot"`
	}
	r, err := call[result](ctx, c, "session.snapshot", nil)
	return r.Snapshot, err
}

// StopServer asks a server to end. It answers at once; for up to a second all
// calls but Ping then fail with CodeServerUnavailable, and the programs of its
// panes live on for up to two (finding 42 of the captures with Claude).
func (c *Client) StopServer(ctx context.Context) error {
	return c.do(ctx, "server.stop", nil)
}

type paneTarget struct {
	PaneID string `json:"pane_id"`
}

type paneResult struct {
	Pane Pane `json:"pane"`
}

// Pane returns one pane, CodePaneNotFound if there is none. For the old id of
// a pane that was moved it returns the pane with its new id.
func (c *Client) Pane(ctx context.Context, paneID string) (Pane, error) {
	r, err := call[paneResult](ctx, c, "pane.get", paneTarget{paneID})
	return r.Pane, err
}

// Panes lists the panes of a workspace, or of the whole server for "".
func (c *Client) Panes(ctx context.Context, workspaceID string) ([]Pane, error) {
	type params struct {
		WorkspaceID string `json:"workspace_id,omitempty"`
	}
	type result struct {
		Panes []Pane `json:"panes"`
	}
	r, err := call[result](ctx, c, "pane.list", params{workspaceID})
	return r.Panes, err
}

// ClosePane closes a pane, and its tab and workspace if it was their last. It
// returns when the processes of its terminal session are dead, 0.5 s for those
// that ignore SIGHUP and SIGTERM (finding 7); a process in a session of its own
// lives on, and an agent may outlive the answer by a second (finding 40 of the
// captures with Claude).
func (c *Client) ClosePane(ctx context.Context, paneID string) error {
	return c.do(ctx, "pane.close", paneTarget{paneID})
}

// RenamePane sets a pane's label; "" takes it away.
func (c *Client) RenamePane(ctx context.Context, paneID, label string) (Pane, error) {
	type params struct {
		PaneID string `json:"pane_id"`
		Label  string `json:"label"`
	}
	r, err := call[paneResult](ctx, c, "pane.rename", params{paneID, label})
	return r.Pane, err
}

// FocusPane gives a pane the focus; its tab counts as looked at then, so done
// becomes idle.
func (c *Client) FocusPane(ctx context.Context, paneID string) (Pane, error) {
	r, err := call[paneResult](ctx, c, "pane.focus", paneTarget{paneID})
	return r.Pane, err
}

// Split says how to split a pane.
type Split struct {
	TargetPaneID string            `json:"target_pane_id,omitempty"` // default: the focused one
	WorkspaceID  string            `json:"workspace_id,omitempty"`
	Direction    string            `json:"direction"` // "right" or "down"
	Ratio        float64           `json:"ratio,omitempty"`
	Cwd          string            `json:"cwd,omitempty"`
	Focus        bool              `json:"focus,omitempty"`
	Env          map[string]string `json:"env,omitempty"`
}

// SplitPane splits a pane and returns the new one. A missing Cwd starts it in
// the home directory all the same (finding 8): compare Pane.Cwd.
func (c *Client) SplitPane(ctx context.Context, s Split) (Pane, error) {
	r, err := call[paneResult](ctx, c, "pane.split", s)
	return r.Pane, err
}

// Move says where a pane goes.
type Move struct {
	PaneID      string          `json:"pane_id"`
	Destination MoveDestination `json:"destination"`
	Focus       bool            `json:"focus,omitempty"`
}

// MoveDestination is a tab (Type "tab"), a new tab of a workspace ("new_tab")
// or a new workspace ("new_workspace"). Split ("right" or "down") is needed for
// a tab.
type MoveDestination struct {
	Type         string  `json:"type"`
	TabID        string  `json:"tab_id,omitempty"`
	TargetPaneID string  `json:"target_pane_id,omitempty"`
	Split        string  `json:"split,omitempty"`
	Ratio        float64 `json:"ratio,omitempty"`
	WorkspaceID  string  `json:"workspace_id,omitempty"`
	Label        string  `json:"label,omitempty"`
	TabLabel     string  `json:"tab_label,omitempty"`
}

// Moved is what became of a pane that was moved: in another workspace it has a
// new id, while its process keeps the old one in its environment.
type Moved struct {
	Changed           bool   `json:"changed"`
	Pane              Pane   `json:"pane"`
	PreviousPaneID    string `json:"previous_pane_id"`
	ClosedTabID       string `json:"closed_tab_id"`
	ClosedWorkspaceID string `json:"closed_workspace_id"`
}

// MovePane moves a pane to another tab or workspace.
func (c *Client) MovePane(ctx context.Context, m Move) (Moved, error) {
	type result struct {
		Move Moved `json:"move_result"`
	}
	r, err := call[result](ctx, c, "pane.move", m)
	return r.Move, err
}

// SendText writes text to a pane as it is: no bracketed paste, no Enter.
func (c *Client) SendText(ctx context.Context, paneID, text string) error {
	type params struct {
		PaneID string `json:"pane_id"`
		Text   string `json:"text"`
	}
	return c.do(ctx, "pane.send_text", params{paneID, text})
}

// SendKeys presses keys such as "Enter", "esc", "ctrl+c". A name that herdr
// does not know gives CodeInvalidKey, and nothing is pressed.
func (c *Client) SendKeys(ctx context.Context, paneID string, keys ...string) error {
	type params struct {
		PaneID string   `json:"pane_id"`
		Keys   []string `json:"keys"`
	}
	return c.do(ctx, "pane.send_keys", params{paneID, append([]string{}, keys...)}) // null is refused
}

// SendInput writes text, in brackets if the pane's program asked for that at
// this moment (otherwise each newline is an Enter, finding 12), then the keys.
// Nothing is taken out of the text; see PromptAgent.
func (c *Client) SendInput(ctx context.Context, paneID, text string, keys ...string) error {
	type params struct {
		PaneID string   `json:"pane_id"`
		Text   string   `json:"text,omitempty"`
		Keys   []string `json:"keys,omitempty"`
	}
	return c.do(ctx, "pane.send_input", params{paneID, text, keys})
}

// Sources of a Read. ReadRecent as text may make herdr scroll an idle agent's
// own view, for seconds: poll with ReadVisible or ReadDetection.
const (
	ReadVisible         = "visible"
	ReadRecent          = "recent"
	ReadRecentUnwrapped = "recent_unwrapped"
	ReadDetection       = "detection"
)

// ReadParams says what to read of a pane's screen.
type ReadParams struct {
	PaneID string `json:"pane_id"`
	Source string `json:"source"`
	Lines  int    `json:"lines,omitempty"`  // lowest rows, blank ones too; at most 1000
	Format string `json:"format,omitempty"` // "text" (default) or "ansi"
}

// Screen is the text of a pane.
type Screen struct {
	PaneID    string `json:"pane_id"`
	Source    string `json:"source"`
	Format    string `json:"format"`
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"`
}

// Read returns what a pane shows.
func (c *Client) Read(ctx context.Context, p ReadParams) (Screen, error) {
	type result struct {
		Read Screen `json:"read"`
	}
	r, err := call[result](ctx, c, "pane.read", p)
	return r.Read, err
}

// ProcessInfo says what runs in a pane ("" is the focused one). Here
// CodePaneNotFound is no proof that the pane is gone: for a second after a
// server's start a pane whose agent will be resumed has no process yet
// (finding 30).
func (c *Client) ProcessInfo(ctx context.Context, paneID string) (ProcessInfo, error) {
	type params struct {
		PaneID string `json:"pane_id,omitempty"`
	}
	type result struct {
		Info ProcessInfo `json:"process_info"`
	}
	r, err := call[result](ctx, c, "pane.process_info", params{paneID})
	return r.Info, err
}
