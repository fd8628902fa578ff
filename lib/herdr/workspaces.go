package herdr

import "context"

// NewWorkspace says what workspace to create.
type NewWorkspace struct {
	Cwd   string            `json:"cwd,omitempty"`
	Label string            `json:"label,omitempty"`
	Focus bool              `json:"focus,omitempty"`
	Env   map[string]string `json:"env,omitempty"`
}

// Created is a new tab or workspace with its first pane.
type Created struct {
	Workspace Workspace `json:"workspace"` // not set for a tab
	Tab       Tab       `json:"tab"`
	RootPane  Pane      `json:"root_pane"`
}

// CreateWorkspace creates a workspace with one pane and a shell. A Cwd that
// does not exist is no error: the shell then starts in the home directory
// (finding 8), so compare RootPane.Cwd.
func (c *Client) CreateWorkspace(ctx context.Context, w NewWorkspace) (Created, error) {
	return call[Created](ctx, c, "workspace.create", w)
}

// Workspaces lists the workspaces in their order on the screen.
func (c *Client) Workspaces(ctx context.Context) ([]Workspace, error) {
	type result struct {
		Workspaces []Workspace `json:"workspaces"`
	}
	r, err := call[result](ctx, c, "workspace.list", nil)
	return r.Workspaces, err
}

// CloseWorkspace closes a workspace with all that runs in it.
func (c *Client) CloseWorkspace(ctx context.Context, workspaceID string) error {
	type params struct {
		WorkspaceID string `json:"workspace_id"`
	}
	return c.do(ctx, "workspace.close", params{workspaceID})
}

// NewTab says what tab to create.
type NewTab struct {
	WorkspaceID string            `json:"workspace_id,omitempty"` // default: the focused one
	Cwd         string            `json:"cwd,omitempty"`
	Label       string            `json:"label,omitempty"`
	Focus       bool              `json:"focus,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
}

// CreateTab creates a tab with one pane and a shell.
func (c *Client) CreateTab(ctx context.Context, t NewTab) (Created, error) {
	return call[Created](ctx, c, "tab.create", t)
}

type tabTarget struct {
	TabID string `json:"tab_id"`
}

// CloseTab closes a tab with all that runs in it.
func (c *Client) CloseTab(ctx context.Context, tabID string) error {
	return c.do(ctx, "tab.close", tabTarget{tabID})
}

// FocusTab brings a tab to the front; done becomes idle in all its panes.
func (c *Client) FocusTab(ctx context.Context, tabID string) (Tab, error) {
	type result struct {
		Tab Tab `json:"tab"`
	}
	r, err := call[result](ctx, c, "tab.focus", tabTarget{tabID})
	return r.Tab, err
}

// ApplyParams says which panes a tab shall have. With TabID the new tab takes
// that one's place (new ids), with WorkspaceID it is added.
type ApplyParams struct {
	TabID       string     `json:"tab_id,omitempty"`
	WorkspaceID string     `json:"workspace_id,omitempty"`
	TabLabel    string     `json:"tab_label,omitempty"`
	Focus       bool       `json:"focus,omitempty"`
	Root        LayoutNode `json:"root"`
}

// LayoutNode is a pane (Type "pane") or a split of two nodes (Type "split").
// Command is the pane's process itself: no shell, nothing typed. herdr saves it
// in its session file, so it must hold no secret; Env is never saved
// (finding 41).
type LayoutNode struct {
	Type      string            `json:"type"`
	PaneID    string            `json:"pane_id,omitempty"` // in answers
	Command   []string          `json:"command,omitempty"` // default: a shell
	Env       map[string]string `json:"env,omitempty"`
	Cwd       string            `json:"cwd,omitempty"`
	Label     string            `json:"label,omitempty"`
	Direction string            `json:"direction,omitempty"`
	Ratio     float64           `json:"ratio,omitempty"`
	First     *LayoutNode       `json:"first,omitempty"`
	Second    *LayoutNode       `json:"second,omitempty"`
}

// AppliedLayout is the tab that ApplyLayout made.
type AppliedLayout struct {
	WorkspaceID   string     `json:"workspace_id"`
	TabID         string     `json:"tab_id"`
	FocusedPaneID string     `json:"focused_pane_id"`
	Root          LayoutNode `json:"root"`
}

// ApplyLayout makes a tab whose panes run given commands. A program that does
// not exist is CodeLayoutApplyFailed at once, and the old tab stays.
func (c *Client) ApplyLayout(ctx context.Context, p ApplyParams) (AppliedLayout, error) {
	type result struct {
		Layout AppliedLayout `json:"layout"`
	}
	r, err := call[result](ctx, c, "layout.apply", p)
	return r.Layout, err
}

// Notification is a message for the person at the screen.
type Notification struct {
	Title string `json:"title"` // cut to 80 characters by herdr
	Body  string `json:"body,omitempty"`
	Sound string `json:"sound,omitempty"` // "none", "done" or "request"
}

// Reasons of a Shown.
const (
	NotificationShown       = "shown"
	NotificationDisabled    = "disabled" // the default of a fresh herdr
	NotificationBusy        = "busy"
	NotificationRateLimited = "rate_limited"
	NotificationNoClient    = "no_foreground_client"
)

// Shown says what became of a notification; one that is not shown is no error.
type Shown struct {
	Shown  bool   `json:"shown"`
	Reason string `json:"reason"`
}

// ShowNotification shows a notification if herdr's settings allow it now.
func (c *Client) ShowNotification(ctx context.Context, n Notification) (Shown, error) {
	return call[Shown](ctx, c, "notification.show", n)
}

// RenameTab sets a tab's label.
func (c *Client) RenameTab(ctx context.Context, tabID, label string) error {
	type params struct {
		TabID string `json:"tab_id"`
		Label string `json:"label"`
	}
	return c.do(ctx, "tab.rename", params{tabID, label})
}
