package install

import (
	"path/filepath"
	"strconv"
	"strings"

	"sessionhub/lib/jsonedit"
	"sessionhub/lib/shell"
)

// Row is one hook of Claude Code: at which event which `shq hook` runs.
type Row struct {
	Event   string
	Hook    string // NAME of `shq hook NAME`
	Timeout int    // seconds; Claude ends it then
	// Rewake lets the hook run on in the background and wake an idle session
	// by exit status 2.
	Rewake bool
}

// quick is the limit of hooks that only append to the queue. SessionEnd needs
// one: without it Claude gives all hooks 1.5 s together.
const quick = 10

// aDay is the limit of the hook that waits beside a dialog, which ends by itself
// a little earlier.
const aDay = 24 * 60 * 60

// twoWeeks is the limit of the hook that waits for messages, which ends with
// Claude Code. A session that sleeps longer begins another one with its next turn.
// In milliseconds it must stay below 2^31 (24.8 days), where timers of Claude
// Code's runtime overflow and end at once.
const twoWeeks = 14 * aDay

// HookRows are the hooks of Claude Code, in the order in which they are
// written. None has a matcher: each runs at every event of its name.
func HookRows() []Row {
	return []Row{
		{Event: "SessionStart", Hook: "session-start", Timeout: quick},
		{Event: "SessionStart", Hook: "refresh-instructions", Timeout: quick},
		{Event: "UserPromptSubmit", Hook: "prompt", Timeout: quick},
		{Event: "UserPromptSubmit", Hook: "context", Timeout: quick},
		{Event: "Stop", Hook: "stop", Timeout: quick},
		{Event: "StopFailure", Hook: "stop", Timeout: quick},
		{Event: "Notification", Hook: "notification", Timeout: quick},
		{Event: "SessionEnd", Hook: "session-end", Timeout: quick},
		{Event: "PermissionRequest", Hook: "ask", Timeout: aDay},
		// A wake ends the hook, and each turn's end, also one by an error, begins
		// another one.
		{Event: "SessionStart", Hook: "mailbox", Timeout: twoWeeks, Rewake: true},
		{Event: "Stop", Hook: "mailbox", Timeout: twoWeeks, Rewake: true},
		{Event: "StopFailure", Hook: "mailbox", Timeout: twoWeeks, Rewake: true},
	}
}

// field is a field of a hook's entry, its value as JSON.
type field struct{ key, value string }

// fields are the entry's fields as they should be.
func (r Row) fields(shq string) []field {
	list := []field{
		{"type", jsonedit.Quote("command")},
		{"command", jsonedit.Quote(r.command(shq))},
		{"timeout", strconv.Itoa(r.Timeout)},
	}
	if r.Rewake { // the second alone held up the start of older versions
		list = append(list, field{"async", "true"}, field{"asyncRewake", "true"})
	}
	return list
}

// command is the line that Claude gives to a shell.
func (r Row) command(shq string) string { return shell.Quote(shq) + " hook " + r.Hook }

// entry is the hook as JSON on one line.
func (r Row) entry(shq string) string {
	var parts []string
	for _, f := range r.fields(shq) {
		parts = append(parts, jsonedit.Quote(f.key)+":"+f.value)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// ourHook is the NAME of a command that is `shq hook NAME`, wherever that shq
// is and however it is quoted; "" is a foreign one.
func ourHook(command string) (name, program string) { return hookOf(command, "shq") }

// hookOf reads "PROGRAM hook NAME" of a program of that name.
func hookOf(command, program string) (name, path string) {
	words, ok := shell.Words(command)
	if !ok || len(words) != 3 || filepath.Base(words[0]) != program || words[1] != "hook" || words[2] == "" {
		return "", ""
	}
	return words[2], words[0]
}
