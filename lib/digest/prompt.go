package digest

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"sessionhub/lib/text"
)

// The lengths of a digest's texts, in characters as a reader counts them.
const (
	textLen  = 200
	recapLen = 600
)

// lookAt is how much of a text is looked at: far more than is shown, and far
// less than a person may paste.
const lookAt = 16 << 10

// head is the start of a text, ended before a character that would be cut.
func head(s string) string {
	if len(s) <= lookAt {
		return s
	}
	end := lookAt
	for end > lookAt-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// clean is s as a digest shows it: one line of at most n characters.
func clean(s string, n int) string { return text.Cut(text.Line(head(s)), n) }

// prompt is what a person said on a line, if one did.
//
// The line says itself who speaks: origin.kind is "human" for what was typed
// or sent from the app, and another word for the automatic continuation after
// a limit, for notices of tasks, and for other sessions, channels and
// schedules. Lines of `claude -p` and of older versions have no origin: there
// the text tells.
func (l *line) prompt() (string, bool) {
	switch {
	case l.kind.is("user"):
		if l.isMeta.isTrue() || l.isCompact.isTrue() || l.isTranscript.isTrue() || l.isVirtual.isTrue() || l.toolUseResult != nil || !l.human() {
			return "", false
		}
		return said(l.message.content)
	case l.kind.is("attachment"): // said while the model worked, and taken in then
		a := &l.attachment
		if !a.kind.is("queued_command") || a.isMeta.isTrue() {
			return "", false
		}
		if who := a.origin.text(); !a.commandMode.is("prompt") || who != "" && who != "human" {
			return "", false
		}
		return said(a.prompt)
	}
	return "", false
}

// human reports whether a user line is a person's, as far as its fields say.
func (l *line) human() bool {
	if who := l.origin.text(); who != "" {
		return who == "human"
	}
	if l.promptSource.is("system") {
		return false
	}
	who := l.turnOrigin.text()
	return who == "" || who == "human" || who == "sdk"
}

// said is the text of a content that holds no tool's result. What Claude Code
// itself put there is left out; ok is false when nothing else is left.
func said(content raw) (string, bool) {
	list, _ := blocks(content)
	var parts []string
	image := false
	for _, b := range list {
		switch b.kind.text() {
		case "tool_result":
			return "", false
		case "image":
			image = true
		case "text":
			if t := strings.TrimSpace(b.text.text()); t != "" && !machine(t) {
				parts = append(parts, typed(head(t)))
			}
		}
	}
	if len(parts) == 0 && image {
		return "[image]", true
	}
	return strings.Join(parts, "\n"), len(parts) > 0
}

// wraps are the tags in which Claude Code wraps what no person wrote as a
// prompt: local commands and shell commands with their output, notices,
// reminders, what an editor has open, words of other sessions and services
// (names as in 2.1.332 and in older versions).
var wraps = []string{
	"command-name", "local-command-caveat", "local-command-stdout", "local-command-stderr",
	"bash-input", "bash-stdout", "bash-stderr", "user-memory-input",
	"task-notification", "system-reminder", "system_reminder", "user-prompt-submit-hook", "post-tool-use-hook", "session-start-hook",
	"ide_selection", "ide_opened_file", "ide_diagnostics", "mcp-resource-update", "mcp-polling-update", "tick",
	"teammate-message", "cross-session-message", "agent-message", "coordinator-relay", "channel", "slack-ping", "slack-tag-message",
	"voice-call-talk", "remote-review", "remote-review-progress", "fetched-web-content", "untrusted-widget-state", "fork-boilerplate",
}

// machine reports whether a text is Claude Code's own.
func machine(s string) bool {
	if strings.HasPrefix(s, "[Request interrupted by user") && strings.HasSuffix(s, "]") {
		return true
	}
	rest, ok := strings.CutPrefix(s, "<")
	end := strings.IndexAny(rest, "> \n\t")
	return ok && end > 0 && slices.Contains(wraps, rest[:end])
}

var (
	commandName = regexp.MustCompile(`<command-name>([^<]*)</command-name>`)
	commandArgs = regexp.MustCompile(`(?s)<command-args>(.*)</command-args>`)
	pasted      = regexp.MustCompile(`</?pasted_content id="[^"<>]{1,32}">`)
)

// typed is a prompt as the person typed it: a command that is a prompt, such
// as a skill, without the tags around its name and arguments, and pasted text
// without its wrapper.
func typed(s string) string {
	if strings.HasPrefix(s, "<command-message>") {
		name, args := commandName.FindStringSubmatch(s), commandArgs.FindStringSubmatch(s)
		if name != nil {
			s = name[1]
		}
		if name != nil && args != nil {
			s += " " + args[1]
		}
	}
	return pasted.ReplaceAllString(s, " ")
}
