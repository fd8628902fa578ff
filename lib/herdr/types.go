package herdr

// Status is what herdr says of an agent. New values may appear; treat them as
// StatusUnknown.
type Status string

// The statuses that herdr knows.
const (
	StatusIdle    Status = "idle"
	StatusWorking Status = "working"
	StatusBlocked Status = "blocked"
	StatusDone    Status = "done" // idle after work, and not looked at yet
	StatusUnknown Status = "unknown"
)

// Pane is one terminal. Text fields come from programs and may hold anything;
// clean them before they reach a terminal or a log.
type Pane struct {
	PaneID                string            `json:"pane_id"`
	TerminalID            string            `json:"terminal_id"` // new after a restart
	WorkspaceID           string            `json:"workspace_id"`
	TabID                 string            `json:"tab_id"`
	Focused               bool              `json:"focused"`
	Cwd                   string            `json:"cwd"`            // of the shell
	ForegroundCwd         string            `json:"foreground_cwd"` // of the foreground process
	Label                 string            `json:"label"`
	Agent                 string            `json:"agent"` // "" when no agent is seen
	Title                 string            `json:"title"` // by report
	TerminalTitle         string            `json:"terminal_title"`
	TerminalTitleStripped string            `json:"terminal_title_stripped"`
	DisplayAgent          string            `json:"display_agent"`
	AgentStatus           Status            `json:"agent_status"`
	AgentSession          *AgentSession     `json:"agent_session"`
	StateLabels           map[string]string `json:"state_labels"`
	Tokens                map[string]string `json:"tokens"`
	RestoreError          string            `json:"restore_error"` // since 0.9.2
	Revision              uint64            `json:"revision"`
}

// AgentSession names an agent's own session. It may be stale or wrong: herdr
// keeps it for a pane whose agent is not up, and nested agents overwrite it
// (findings 2 and 44 of the captures with Claude).
type AgentSession struct {
	Source string `json:"source"`
	Agent  string `json:"agent"`
	Kind   string `json:"kind"` // "id" or "path"
	Value  string `json:"value"`
}

// Agent is a pane that hosts an agent.
type Agent struct {
	Pane
	Name             string `json:"name"` // given by agent.start or agent.rename
	LaunchPending    bool   `json:"launch_pending"`
	InteractiveReady bool   `json:"interactive_ready"` // only after agent.start
	StateChangeSeq   uint64 `json:"state_change_seq"`
	CompletionSeq    uint64 `json:"completion_seq"` // since 0.9.2
}

// Workspace is a group of tabs.
type Workspace struct {
	WorkspaceID string            `json:"workspace_id"`
	Number      int               `json:"number"` // its position, from 1; no id
	Label       string            `json:"label"`
	Focused     bool              `json:"focused"`
	PaneCount   int               `json:"pane_count"`
	TabCount    int               `json:"tab_count"`
	ActiveTabID string            `json:"active_tab_id"`
	AgentStatus Status            `json:"agent_status"`
	Tokens      map[string]string `json:"tokens"`
}

// Tab is a group of panes that are seen together.
type Tab struct {
	TabID       string `json:"tab_id"`
	WorkspaceID string `json:"workspace_id"`
	Number      int    `json:"number"`
	Label       string `json:"label"`
	Focused     bool   `json:"focused"`
	PaneCount   int    `json:"pane_count"`
	AgentStatus Status `json:"agent_status"`
}

// Layout is how the panes of a tab share its area, in terminal cells.
type Layout struct {
	WorkspaceID   string       `json:"workspace_id"`
	TabID         string       `json:"tab_id"`
	Zoomed        bool         `json:"zoomed"`
	FocusedPaneID string       `json:"focused_pane_id"`
	Area          Rect         `json:"area"`
	Panes         []LayoutPane `json:"panes"`
}

// LayoutPane is a pane's place in a Layout.
type LayoutPane struct {
	PaneID  string `json:"pane_id"`
	Focused bool   `json:"focused"`
	Rect    Rect   `json:"rect"`
}

// Rect is measured in terminal cells.
type Rect struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

// Snapshot is the whole state of a server at one moment.
type Snapshot struct {
	Version            string      `json:"version"`
	Protocol           int         `json:"protocol"`
	FocusedWorkspaceID string      `json:"focused_workspace_id"`
	FocusedTabID       string      `json:"focused_tab_id"`
	FocusedPaneID      string      `json:"focused_pane_id"`
	Workspaces         []Workspace `json:"workspaces"`
	Tabs               []Tab       `json:"tabs"`
	Panes              []Pane      `json:"panes"`
	Layouts            []Layout    `json:"layouts"`
	Agents             []Agent     `json:"agents"`
}

// ProcessInfo says what runs in a pane.
type ProcessInfo struct {
	PaneID                   string    `json:"pane_id"`
	ShellPID                 int       `json:"shell_pid"` // the pane's own process, also after an exec
	ForegroundProcessGroupID int       `json:"foreground_process_group_id"`
	ForegroundProcesses      []Process `json:"foreground_processes"` // no background jobs
}

// Process is one process of a pane's foreground group.
type Process struct {
	PID     int      `json:"pid"`
	Name    string   `json:"name"`
	Argv    []string `json:"argv"`
	Cmdline string   `json:"cmdline"`
	Cwd     string   `json:"cwd"`
}

// Pong is a server's answer to Ping.
type Pong struct {
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
}
