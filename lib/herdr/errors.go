package herdr

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Codes of herdr's error answers that callers decide by. Others exist.
const (
	CodeInvalidRequest       = "invalid_request"
	CodeUnknownMethod        = "unknown_method"
	CodeServerUnavailable    = "server_unavailable"
	CodeInvalidParams        = "invalid_params"
	CodePaneNotFound         = "pane_not_found"
	CodeTabNotFound          = "tab_not_found"
	CodeWorkspaceNotFound    = "workspace_not_found"
	CodeAgentNotFound        = "agent_not_found"
	CodeAgentTargetAmbiguous = "agent_target_ambiguous"
	CodeAgentNotReady        = "agent_not_ready"
	CodeAgentNotRunning      = "agent_not_running"
	CodeAgentBlocked         = "agent_blocked"
	CodeAgentPromptStalled   = "agent_prompt_stalled"
	CodeAgentPaneBusy        = "agent_pane_busy"
	CodeAgentNameTaken       = "agent_name_taken"
	CodeEmptyAgentPrompt     = "empty_agent_prompt"
	CodeTimeout              = "timeout"
	CodeInvalidKey           = "invalid_key"
	CodeConfirmationRequired = "confirmation_required"
	CodeLayoutApplyFailed    = "layout_apply_failed"
	CodePluginNotFound       = "plugin_not_found"
	CodePluginDisabled       = "plugin_disabled"
	CodeEventsLost           = "events_lost"
)

// Error is an error answer of herdr.
type Error struct {
	Method  string // the method that was called
	Code    string // one of the Code constants, or another
	Message string // herdr's words, for people only
}

func (e *Error) Error() string {
	return "herdr " + e.Method + ": " + e.Code + ": " + e.Message
}

// IsCode reports whether err is, or wraps, an answer of herdr with that code.
func IsCode(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// IsUnsupported reports whether err says that the server does not know the
// method at all, as an older or a newer one may. Up to 0.9.1 the answer is
// that of any malformed request and names the method as an unknown variant
// (which herdr says of bad enum values, too); later it has a code of its own.
func IsUnsupported(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Code == CodeUnknownMethod ||
		e.Code == CodeInvalidRequest && strings.Contains(e.Message, "unknown variant `"+e.Method+"`")
}

// ErrBadAnswer means that what answered does not speak herdr's protocol, or
// sent more than MaxAnswer bytes.
var ErrBadAnswer = errors.New("answer makes no sense")

// ErrUnreachable is matched by every error that means that no whole answer
// came. It proves nothing about panes and sessions. See UnreachableError.
var ErrUnreachable = errors.New("herdr is out of reach")

// Cause says why herdr did not answer.
type Cause int

const (
	// HungUp: the connection ended before a whole answer.
	HungUp Cause = iota
	// NoSocket: the socket file does not exist; no server runs there.
	NoSocket
	// Refused: a dead server's socket file, or no socket at all.
	Refused
	// Forbidden: the socket belongs to another user.
	Forbidden
	// TimedOut: no answer in time; the server is alive, but busy or stopped.
	TimedOut
)

// UnreachableError says which server gave no answer to what, and why.
type UnreachableError struct {
	Socket string
	Method string
	Cause  Cause
	Err    error
}

// Gone reports whether nobody listens at the socket any more, as opposed to a
// server that is slow, or that hung up.
func (e *UnreachableError) Gone() bool { return e.Cause == NoSocket || e.Cause == Refused }

// Is makes every UnreachableError match ErrUnreachable.
func (e *UnreachableError) Is(target error) bool { return target == ErrUnreachable }

func (e *UnreachableError) Unwrap() error { return e.Err }

func (e *UnreachableError) Error() string {
	return "herdr " + e.Method + ": " + fmt.Sprintf(e.Cause.text(), e.Socket)
}

func (c Cause) text() string {
	switch c {
	case NoSocket:
		return "no herdr server at %s: start herdr, or name another socket"
	case Refused:
		return "no herdr server listens at %s any more: start herdr again"
	case Forbidden:
		return "no access to %s: run as the user who started herdr"
	case TimedOut:
		return "no answer from %s in time: herdr is busy or stopped; try again"
	default:
		return "%s hung up without a whole answer: try again; if it stays so, restart herdr"
	}
}

// MinVersion is the oldest herdr that this package works with.
const MinVersion = "0.8.0"

// VersionError says that a herdr is too old, or that its version makes no
// sense.
type VersionError struct{ Version string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("herdr %q is not supported: %s or later is needed; update herdr and restart its server", e.Version, MinVersion)
}

// CheckVersion returns a *VersionError unless version (as ping, snapshot and
// herdr --version give it, with or without a "herdr " in front) is MinVersion
// or later. Pre-releases count as what comes before their release.
func CheckVersion(version string) error {
	have, pre, ok := parseVersion(version)
	if !ok {
		return &VersionError{version}
	}
	least, _, _ := parseVersion(MinVersion)
	for i := range have {
		if have[i] != least[i] {
			if have[i] < least[i] {
				return &VersionError{version}
			}
			return nil
		}
	}
	if pre {
		return &VersionError{version}
	}
	return nil
}

func parseVersion(s string) (parts [3]int, pre, ok bool) {
	s = strings.TrimPrefix(strings.TrimSpace(s), "herdr ")
	s, _, _ = strings.Cut(s, "+")
	s, tail, pre := strings.Cut(s, "-")
	words := strings.Split(s, ".")
	if len(words) != len(parts) || pre && tail == "" {
		return parts, pre, false
	}
	for i, w := range words {
		n, err := strconv.Atoi(w)
		if err != nil || n < 0 || w[0] == '+' {
			return parts, pre, false
		}
		parts[i] = n
	}
	return parts, pre, true
}
