package session

import (
	"strconv"
	"strings"
)

// input is what a screen says of Claude Code's input line.
type input int

const (
	noInput    input = iota // there is none: a dialog, another view, a shell
	inputText               // text stands in it
	inputEmpty              // it is empty
)

const (
	promptSign = "❯"
	rule       = "─"
	noBreak    = "\u00a0" // between the sign and the text
)

// inputLine finds Claude Code's input line: the last line that begins with the
// prompt sign, between two rules. It is empty when nothing follows the sign and
// the rule comes next: a draft may begin with an empty line (seen with 2.1.332).
// What a person said before, and the choices of dialogs, begin with the same
// sign, but stand between no rules.
func inputLine(screen string) input {
	lines := strings.Split(screen, "\n")
	i := lastPrompt(lines)
	if i < 0 || i == 0 || !isRule(lines[i-1]) {
		return noInput
	}
	if text, _ := strings.CutPrefix(line(lines[i]), promptSign); blank(text) && i+1 < len(lines) && isRule(lines[i+1]) {
		return inputEmpty
	}
	return inputText
}

func lastPrompt(lines []string) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.HasPrefix(line(lines[i]), promptSign) {
			return i
		}
	}
	return -1
}

func line(s string) string   { return strings.Trim(s, " \r") }
func blank(s string) bool    { return strings.Trim(s, " \r"+noBreak) == "" }
func isRule(s string) bool   { return strings.HasPrefix(line(s), rule) }
func isEscape(s string) bool { return strings.HasPrefix(s, "\x1b[") }

// ghostInput reports whether the text in the input line is a suggestion of
// Claude Code's own, by its colours: dim, but for the cursor's cell.
func ghostInput(ansi string) bool {
	lines := strings.Split(ansi, "\n")
	plain := make([]string, len(lines))
	for i := range lines {
		plain[i] = withoutStyle(lines[i])
	}
	i := lastPrompt(plain)
	if i <= 0 || i+1 >= len(lines) || !isRule(plain[i-1]) || !isRule(plain[i+1]) {
		return false
	}
	_, rest, _ := strings.Cut(lines[i], promptSign)
	return onlyDim(rest)
}

// style is what of a cell's look matters here.
type style struct{ dim, inverse bool }

func (s *style) apply(sgr string) {
	if sgr == "" {
		sgr = "0"
	}
	codes := strings.Split(sgr, ";")
	for i := 0; i < len(codes); i++ {
		switch n, err := strconv.Atoi(codes[i]); {
		case err != nil:
		case n == 0:
			*s = style{}
		case n == 2:
			s.dim = true
		case n == 7:
			s.inverse = true
		case n == 22:
			s.dim = false
		case n == 27:
			s.inverse = false
		case n == 38 || n == 48: // a colour's own numbers follow
			if i+1 < len(codes) && codes[i+1] == "2" {
				i += 4
			} else {
				i += 2
			}
		}
	}
}

// onlyDim reports whether a line's characters are dim, but for one in inverse.
func onlyDim(s string) bool {
	var st style
	cursors := 0
	for s != "" {
		if isEscape(s) {
			end := strings.IndexFunc(s[2:], func(r rune) bool { return r >= 0x40 && r <= 0x7e })
			if end < 0 {
				return false
			}
			if s[2+end] == 'm' {
				st.apply(s[2 : 2+end])
			}
			s = s[2+end+1:]
			continue
		}
		r, n := firstRune(s)
		s = s[n:]
		switch {
		case blank(r):
		case st.inverse && !st.dim:
			cursors++
		case !st.dim:
			return false
		}
	}
	return cursors <= 1
}

func firstRune(s string) (string, int) {
	for i := range s {
		if i > 0 {
			return s[:i], i
		}
	}
	return s, len(s)
}

func withoutStyle(s string) string {
	var b strings.Builder
	for s != "" {
		if isEscape(s) {
			end := strings.IndexFunc(s[2:], func(r rune) bool { return r >= 0x40 && r <= 0x7e })
			if end < 0 {
				break
			}
			s = s[2+end+1:]
			continue
		}
		r, n := firstRune(s)
		b.WriteString(r)
		s = s[n:]
	}
	return b.String()
}
