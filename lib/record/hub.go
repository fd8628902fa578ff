package record

import "encoding/json"

// The statuses of a session at the hub. Stale means that its machine is
// silent; retired is a fact of its own, set by the owner alone (field report
// A15).
const (
	StatusLive  = "live"
	StatusStale = "stale"
	StatusEnded = "ended"
)

// Place is where in herdr a session runs.
type Place struct {
	HerdrSession string `json:"herdr_session"`
	PaneID       string `json:"pane_id,omitempty"`
	WorkspaceID  string `json:"workspace_id,omitempty"`
}

// Session is what the hub tells people of a session.
type Session struct {
	Session     string     `json:"session"`
	Machine     string     `json:"machine"`
	Status      string     `json:"status"`
	EndedReason string     `json:"ended_reason,omitempty"`
	Retired     bool       `json:"retired"`
	AgentState  AgentState `json:"agent_state"`
	Note        string     `json:"note,omitempty"`
	Title       string     `json:"title"`
	Cwd         string     `json:"cwd"`
	Git         *Git       `json:"git,omitempty"`
	Herdr       *Place     `json:"herdr,omitempty"`
	Background  bool       `json:"background,omitempty"`
	OtherPanes  []string   `json:"other_panes,omitempty"`
	Since       Time       `json:"since"`
	LastSeenAt  Time       `json:"last_seen_at"`
	StartedAt   Time       `json:"started_at"`
	FirstPrompt string     `json:"first_prompt,omitempty"`
	LastPrompt  string     `json:"last_prompt,omitempty"`
	Model       string     `json:"model,omitempty"`
	Asks        []Ask      `json:"asks"`
	Digest      *Digest    `json:"digest,omitempty"`
	Move        *Move      `json:"move,omitempty"` // the one that is under way

	// Only in the answer for one session, oldest first.
	Events  []Event       `json:"events,omitempty"`
	Reports []SavedReport `json:"reports,omitempty"`
	Links   []Link        `json:"links,omitempty"` // newest first: each enabling of Remote Control makes another
}

// Link is a Remote Control link that Claude Code printed for a session. Only the
// newest may still open, and nothing proves that it does (field reports A26 and
// A27).
type Link struct {
	URL string `json:"url"`
	At  Time   `json:"at"`
}

// Ask is an ask as the hub keeps it.
type Ask struct {
	AskBody
	State   string     `json:"state"`
	How     string     `json:"how,omitempty"`
	EndedAt *Time      `json:"ended_at,omitempty"`
	Answer  *AskAnswer `json:"answer,omitempty"`
}

// AskAnswer is who answered an ask from afar, and of which input.
type AskAnswer struct {
	By          string   `json:"by"`
	At          Time     `json:"at"`
	Behavior    Behavior `json:"behavior"`
	InputSHA256 string   `json:"input_sha256"`
	Request     string   `json:"request"`
}

// Event is one entry of a session's history. At is the hub's own clock,
// SentAt the sender's (field report A54). Late events came from a machine that
// the session had left, or after its end: they are kept and changed nothing.
type Event struct {
	ID         string     `json:"id"`
	At         Time       `json:"at"`
	SentAt     Time       `json:"sent_at"`
	Machine    string     `json:"machine"`
	Source     Source     `json:"source"`
	Kind       Kind       `json:"kind"`
	AgentState AgentState `json:"agent_state,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	Note       string     `json:"note,omitempty"`
	Late       bool       `json:"late,omitempty"`
}

// SavedReport is a report as the hub keeps it.
type SavedReport struct {
	ID string `json:"id"`
	At Time   `json:"at"`
	Report
}

// EventPost is the body of POST /v1/sessions/{id}/events: an item's kind and
// body, with its id and time.
type EventPost struct {
	ID     string          `json:"id"`
	At     Time            `json:"at"`
	Source Source          `json:"source"`
	Kind   Kind            `json:"kind"`
	Herdr  *Place          `json:"herdr,omitempty"`
	Body   json.RawMessage `json:"body"`
}

// UpsertPut is the body of PUT /v1/sessions/{id}: an upsert, and where the
// session runs when that is known.
type UpsertPut struct {
	Upsert
	At     Time   `json:"at,omitzero"` // of the record, by the machine's clock
	Source Source `json:"source,omitempty"`
	Herdr  *Place `json:"herdr,omitempty"`
}

// Tokens counts what a session used.
type Tokens struct {
	In         int64 `json:"in"`
	Out        int64 `json:"out"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
}

// Digest is what a transcript says in short. Texts are cleaned and cut at 200
// characters, the recap at 600. Turns are the prompts of the person; the tokens
// are those of the session itself, without its subagents. UpdatedAt is the time
// of the last message (results of tools aside), Size the transcript's in bytes.
type Digest struct {
	Session     string `json:"session"`
	Title       string `json:"title,omitempty"`
	FirstPrompt string `json:"first_prompt,omitempty"`
	LastPrompt  string `json:"last_prompt,omitempty"`
	LastReply   string `json:"last_reply,omitempty"`
	Recap       string `json:"recap,omitempty"`
	Turns       int    `json:"turns"`
	Model       string `json:"model,omitempty"`
	Tokens      Tokens `json:"tokens"`
	GitBranch   string `json:"git_branch,omitempty"`
	UpdatedAt   Time   `json:"updated_at"`
	Size        int64  `json:"size"`
	// SkippedLines are lines over 1 MiB, such as large images. They were not
	// read, so that a prompt in one of them is missing (field report A57).
	SkippedLines int `json:"skipped_lines,omitempty"`
}

// Machine is what the hub tells of a machine. Skew is the machine's clock
// minus the hub's at the last heartbeat, in milliseconds.
type Machine struct {
	Machine      string `json:"machine"`
	LastSeenAt   Time   `json:"last_seen_at"`
	Stale        bool   `json:"stale"`
	SkewMS       int64  `json:"skew_ms"`
	HerdrVersion string `json:"herdr_version,omitempty"`
	ToolsVersion string `json:"tools_version,omitempty"`
	Live         int    `json:"live"`
	Recorded     int64  `json:"recorded"`              // records accepted from its queue
	Fingerprint  string `json:"fingerprint,omitempty"` // of its keys for moves
}

// The kinds of inbox entries.
const (
	InboxBlocked = "blocked"
	InboxDone    = "done"
	InboxWaiting = "waiting"
	InboxFailed  = "failed"
)

// InboxEntry is something that its owner should look at.
type InboxEntry struct {
	ID      string `json:"id"`
	Session string `json:"session,omitempty"`
	Kind    string `json:"kind"`
	Since   Time   `json:"since"`
	Title   string `json:"title"`
	Machine string `json:"machine"`
	Text    string `json:"text"`
	Ask     string `json:"ask,omitempty"` // the session waits with this ask
}

// InboxCounts is what a machine's own token may see of the inbox.
type InboxCounts struct {
	Total   int `json:"total"`
	Blocked int `json:"blocked"`
}

// Instructions are the standing rules for sessions. Version is the ETag.
type Instructions struct {
	Version   string `json:"version"`
	Text      string `json:"text"`
	FetchedAt Time   `json:"fetched_at"`
}

// Self is whose token a person's client has, and what it allows: read, ask,
// answer.
type Self struct {
	Name   string   `json:"name"`
	Scopes []string `json:"scopes"`
}

// Health is what a hub says of itself to anybody.
type Health struct {
	Status  string `json:"status"`
	Version string `json:"version,omitempty"`
}

// HealthOK is the status of a hub that is up.
const HealthOK = "ok"

// Paired answers a pairing code: this machine's token, and its owner's when the
// code was made so. Neither can be read again.
type Paired struct {
	Machine   string `json:"machine"`
	Token     string `json:"token"`
	UserToken string `json:"user_token,omitempty"`
}

// Problem is an error answer of the hub (RFC 9457). Limit is set with 413, Move
// where something does not fit how a move stands.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Limit  int64  `json:"limit,omitempty"`
	Move   *Move  `json:"move,omitempty"`
}

// ProblemKeyReused is the type of the problem that answers an idempotency key
// that came with another body before: what it stands for is recorded.
const ProblemKeyReused = "urn:sessionhub:problem:key-reused"

// ProblemEnded is the type of the problem that answers a change of a request
// that is over.
const ProblemEnded = "urn:sessionhub:problem:request-ended"

// MachineHeader names the machine that a client believes to be. A machine's
// token is refused when it is another's, before anything is recorded in the
// wrong name.
const MachineHeader = "Sessionhub-Machine"

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"
