package install

// State is how a part is.
type State string

const (
	// Ready is hooked up as this version hooks it up.
	Ready State = "ready"
	// Missing is not hooked up at all.
	Missing State = "missing"
	// Stale is hooked up in part, by another version, or from another place.
	Stale State = "stale"
	// Off is hooked up, and switched off by its user.
	Off State = "off"
	// Unclear could not be looked at.
	Unclear State = "unclear"
)

// Part is how one thing is hooked up: a line of `shinstall status`.
type Part struct {
	Part    string `json:"part"`
	State   State  `json:"state"`
	Detail  string `json:"detail,omitempty"`
	Path    string `json:"path,omitempty"`
	Version string `json:"version,omitempty"`
	Do      string `json:"do,omitempty"`    // what to do about it
	Facts   any    `json:"facts,omitempty"` // what only this part has
}
