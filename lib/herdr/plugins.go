package herdr

import (
	"context"
	"encoding/json"
)

// sessionhub's own plugin: its id, and the panes that it can open.
const (
	OwnPlugin  = "sessionhub"
	PanePicker = "picker"
	PaneInbox  = "inbox"
)

// Plugin is a linked or installed plugin.
type Plugin struct {
	PluginID        string          `json:"plugin_id"`
	Name            string          `json:"name"`
	Version         string          `json:"version"`
	MinHerdrVersion string          `json:"min_herdr_version"`
	ManifestPath    string          `json:"manifest_path"`
	PluginRoot      string          `json:"plugin_root"`
	Enabled         bool            `json:"enabled"`
	Source          PluginSource    `json:"source"`
	Startup         []PluginHook    `json:"startup"`
	Events          []PluginHook    `json:"events"`
	Actions         []PluginCommand `json:"actions"`
	Panes           []PluginCommand `json:"panes"`
	Warnings        []string        `json:"warnings"`
}

// SourceGitHub is the kind of source of a plugin that herdr itself cloned.
const SourceGitHub = "github"

// PluginSource is where a plugin came from.
type PluginSource struct {
	Kind        string `json:"kind"` // "local", or SourceGitHub
	Owner       string `json:"owner"`
	Repo        string `json:"repo"`
	ManagedPath string `json:"managed_path"` // of a clone
}

// PluginHook is a command that herdr runs at a startup or an event.
type PluginHook struct {
	On      string   `json:"on"` // dot name; "" for a startup
	Command []string `json:"command"`
}

// PluginCommand is an action or a pane of a plugin.
type PluginCommand struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Command []string `json:"command"`
}

type pluginTarget struct {
	PluginID string `json:"plugin_id"`
}

type pluginResult struct {
	Plugin Plugin `json:"plugin"`
}

// Link says which plugin to link.
type Link struct {
	Path    string // its folder, or its manifest
	Enabled bool   // always sent: left out it re-enables what a user disabled (finding 31)
}

// LinkPlugin links a plugin; the same id from elsewhere is replaced silently.
func (c *Client) LinkPlugin(ctx context.Context, l Link) (Plugin, error) {
	type params struct {
		Path    string `json:"path"`
		Enabled bool   `json:"enabled"`
	}
	r, err := call[pluginResult](ctx, c, "plugin.link", params(l))
	return r.Plugin, err
}

// UnlinkPlugin removes a plugin, and says whether there was one.
func (c *Client) UnlinkPlugin(ctx context.Context, pluginID string) (removed bool, err error) {
	type result struct {
		Removed bool `json:"removed"`
	}
	r, err := call[result](ctx, c, "plugin.unlink", pluginTarget{pluginID})
	return r.Removed, err
}

// Plugins lists the plugins, or the one with that id.
func (c *Client) Plugins(ctx context.Context, pluginID string) ([]Plugin, error) {
	type params struct {
		PluginID string `json:"plugin_id,omitempty"`
	}
	type result struct {
		Plugins []Plugin `json:"plugins"`
	}
	r, err := call[result](ctx, c, "plugin.list", params{pluginID})
	return r.Plugins, err
}

// EnablePlugin turns a plugin's hooks and actions on.
func (c *Client) EnablePlugin(ctx context.Context, pluginID string) (Plugin, error) {
	r, err := call[pluginResult](ctx, c, "plugin.enable", pluginTarget{pluginID})
	return r.Plugin, err
}

// DisablePlugin turns a plugin's hooks and actions off.
func (c *Client) DisablePlugin(ctx context.Context, pluginID string) (Plugin, error) {
	r, err := call[pluginResult](ctx, c, "plugin.disable", pluginTarget{pluginID})
	return r.Plugin, err
}

// LogEntry tells of one run of a plugin's command. Its Status is "running"
// until the command has ended and nobody holds its stdout or stderr any more
// (finding 29).
type LogEntry struct {
	LogID          string   `json:"log_id"`
	PluginID       string   `json:"plugin_id"`
	ActionID       string   `json:"action_id"`
	Event          string   `json:"event"`
	Command        []string `json:"command"`
	Status         string   `json:"status"` // running, succeeded, failed
	StartedUnixMS  int64    `json:"started_unix_ms"`
	FinishedUnixMS int64    `json:"finished_unix_ms"`
	ExitCode       *int     `json:"exit_code"` // nil while running, or killed by a signal
	Stdout         string   `json:"stdout"`
	Stderr         string   `json:"stderr"`
	Error          string   `json:"error"`
}

// Logs says which log entries to list.
type Logs struct {
	PluginID string `json:"plugin_id,omitempty"`
	Limit    int    `json:"limit,omitempty"` // 1 to 200; default 50
}

// PluginLogs lists the last runs of plugins' commands; the server forgets them
// when it ends.
func (c *Client) PluginLogs(ctx context.Context, l Logs) ([]LogEntry, error) {
	type result struct {
		Logs []LogEntry `json:"logs"`
	}
	r, err := call[result](ctx, c, "plugin.log.list", l)
	return r.Logs, err
}

// OpenPane says which pane of a plugin to open where.
type OpenPane struct {
	PluginID     string            `json:"plugin_id"`
	Entrypoint   string            `json:"entrypoint"`
	Placement    string            `json:"placement,omitempty"` // overlay, popup, split, tab, zoomed
	WorkspaceID  string            `json:"workspace_id,omitempty"`
	TargetPaneID string            `json:"target_pane_id,omitempty"`
	Direction    string            `json:"direction,omitempty"`
	Cwd          string            `json:"cwd,omitempty"`
	Focus        bool              `json:"focus,omitempty"`
	Env          map[string]string `json:"env,omitempty"`
}

// OpenPluginPane opens a plugin's pane. A popup is no pane: for one the
// returned Pane is empty.
func (c *Client) OpenPluginPane(ctx context.Context, p OpenPane) (Pane, error) {
	type result struct {
		Opened struct {
			Pane Pane `json:"pane"`
		} `json:"plugin_pane"`
	}
	r, err := call[result](ctx, c, "plugin.pane.open", p)
	return r.Opened.Pane, err
}

// Invocation names an action to run.
type Invocation struct {
	PluginID string          `json:"plugin_id,omitempty"`
	ActionID string          `json:"action_id"`
	Context  json.RawMessage `json:"context,omitempty"`
}

// InvokeAction starts a plugin's action and returns its log entry, which is
// running as a rule.
func (c *Client) InvokeAction(ctx context.Context, i Invocation) (LogEntry, error) {
	type result struct {
		Log LogEntry `json:"log"`
	}
	r, err := call[result](ctx, c, "plugin.action.invoke", i)
	return r.Log, err
}
