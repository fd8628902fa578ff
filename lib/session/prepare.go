package session

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"sessionhub/lib/text"
)

// Meaning is what a text is meant to be.
type Meaning int

// The meanings. A Message that Claude Code would take for something else is
// made safe or refused.
const (
	Message Meaning = iota
	Command         // a slash command, on purpose
	Letter          // a message that is not typed: nothing in it can be a command
)

// ErrUnfit is wrapped by every refusal of a text.
var ErrUnfit = errors.New("it would not arrive as a message")

// commandWord is how a slash command begins; "/usr/bin is full" is text
// (finding 25).
var commandWord = regexp.MustCompile(`^/[A-Za-z][A-Za-z0-9_:.-]*(\s|$)`)

// endWords end Claude Code when they stand alone (seen with 2.1.332: exit, quit
// and :q; the others are those of the same editor).
func endWord(s string) bool {
	switch s {
	case "exit", "quit", ":q", ":q!", ":wq", ":wq!":
		return true
	}
	return false
}

// Prepare makes of a text what arrives as it is when it is pasted into Claude
// Code and Enter is pressed (findings 23 to 25): escape sequences, control and
// invisible characters are taken out, as it would take them out, or hold the
// text back for review; letters are composed. What would be taken for a shell
// command, a slash command or the end of the program is refused, or made safe
// with a blank, unless it is a Letter. The error says why.
func Prepare(s string, m Meaning) (string, error) {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\t", "    ").Replace(s)
	s = strings.Map(visible, text.Block(s))
	s = norm.NFC.String(s)
	s = strings.TrimLeft(strings.TrimRight(s, " \n"), "\n")
	trimmed := strings.TrimSpace(s)
	if trimmed == "" {
		return "", fmt.Errorf("%w: it holds nothing that can be seen", ErrUnfit)
	}
	if m == Letter {
		return s, nil
	}
	if m == Command {
		if !commandWord.MatchString(trimmed) || strings.Contains(trimmed, "\n") {
			return "", fmt.Errorf("%w: a slash command is one line that begins with / and a word", ErrUnfit)
		}
		return trimmed, nil
	}
	switch {
	case commandWord.MatchString(trimmed):
		return "", fmt.Errorf("%w: it begins with /, so Claude Code would take it for a command; shctl send --as-command is for those, or put a word in front", ErrUnfit)
	case endWord(trimmed):
		return "", fmt.Errorf("%w: the word %s alone ends Claude Code; say more than that", ErrUnfit, trimmed)
	}
	if strings.HasPrefix(s, "!") {
		s = " " + s // else a shell command, that nobody is asked about
	}
	if strings.HasSuffix(s, `\`) {
		s += " " // else Enter would only begin another line; the blank does not arrive
	}
	return s, nil
}

// visible drops characters that show nothing and that Claude Code takes out in
// silence: zero-width and format characters, but not the joiners of emoji and
// scripts.
func visible(r rune) rune {
	const (
		zwnj = '\u200c'
		zwj  = '\u200d'
	)
	switch {
	case r == zwnj, r == zwj:
		return r
	case r == '\u00ad', unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r) && r != '\ufe0f':
		return -1
	}
	return r
}
