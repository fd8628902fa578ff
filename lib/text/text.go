// Package text makes text from outside safe to show: titles, pane text, git
// messages and answers of the hub may hold escape sequences, control
// characters and bidirectional overrides that would move the cursor, forge a
// line or hide what follows (field report A56).
package text

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Ellipsis marks a text that was cut.
const Ellipsis = "…"

// Line is s as one line of plain text: escape sequences, C0, C1, DEL and
// bidirectional controls are gone, white space runs are one space, ends are
// trimmed. Bytes that are not UTF-8 become U+FFFD.
func Line(s string) string {
	if plain(s) {
		return strings.TrimSpace(s)
	}
	return strings.Join(strings.Fields(strip(s, false)), " ")
}

// Block is as Line but keeps line ends and tabs, for texts of several lines.
func Block(s string) string { return strip(s, true) }

// plain reports whether s is printable ASCII without double spaces, which is
// what nearly every title and path is.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' || s[i] == ' ' && i > 0 && s[i-1] == ' ' {
			return false
		}
	}
	return true
}

func strip(s string, block bool) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := escape(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\n' || r == '\t':
			if !block {
				r = ' '
			}
			b.WriteRune(r)
		case r == '\u2028' || r == '\u2029' || r == '\r':
			b.WriteByte(' ')
		case unicode.IsControl(r) || hidden(r):
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden reports characters that change how their neighbours are shown while
// they show nothing themselves: bidirectional controls, tag characters and
// the byte order mark. Joiners stay, as emoji and many scripts need them.
func hidden(r rune) bool {
	switch {
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
		return true
	case r == 0xfeff, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// Hides reports whether a terminal would heed a character in place of showing
// it: controls other than line ends and tabs, and what turns or hides its
// neighbours.
func Hides(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || hidden(r) || r == '\u2028' || r == '\u2029')
}

// Visible is s with everything that a terminal would heed spelled out, such as
// <U+001B>, so that a person sees that it is there. Line ends and tabs stay.
func Visible(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "<0x%02X>", s[i])
		case Hides(r), invisible(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// invisible reports characters that take no room and that a command or a path
// has no use for: zero-width spaces and joiners, and blank fillers.
func invisible(r rune) bool {
	switch r {
	case 0x00ad, 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180e, 0x200b, 0x200c, 0x200d, 0x2060, 0x2061, 0x2062, 0x2063, 0x2064, 0x3164, 0xffa0:
		return true
	}
	return false
}

// escape is the length of the escape sequence that s starts with, 0 if none:
// CSI to its final byte, OSC and other strings to BEL or ST, else two bytes.
func escape(s string) int {
	start, kind := 0, byte(0)
	switch {
	case len(s) >= 2 && s[0] == 0x1b:
		start, kind = 2, s[1]
	case len(s) >= 2 && s[0] == 0xc2 && s[1] >= 0x90 && s[1] <= 0x9f: // C1 in UTF-8
		start, kind = 2, s[1]-0x40
	case s != "" && s[0] == 0x1b:
		return 1
	default:
		return 0
	}
	switch kind {
	case '[':
		for i := start; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				return i
			}
		}
		return len(s)
	case ']', 'P', 'X', '^', '_':
		return stringSequence(s, start)
	}
	return start
}

func stringSequence(s string, start int) int {
	for i := start; i < len(s); i++ {
		switch {
		case s[i] == 0x07:
			return i + 1
		case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
			return i + 2
		case s[i] == '\n':
			return i
		}
	}
	return len(s)
}

// Cut is s cut to at most n user-perceived characters, with an ellipsis as
// the last of them when something was cut.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if n <= 0 {
		return ""
	}
	count, end, rest, state := 0, 0, s, -1
	for rest != "" {
		var g string
		g, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		count++
		if count < n {
			end += len(g)
		}
		if count > n {
			return strings.TrimRight(s[:end], " ") + Ellipsis
		}
	}
	return s
}

// Width is how many terminal cells s takes.
func Width(s string) int { return uniseg.StringWidth(s) }

// Fit is s cut or padded to exactly w terminal cells.
func Fit(s string, w int) string {
	if n := Width(s); n <= w {
		return s + strings.Repeat(" ", w-n)
	}
	if w <= 0 {
		return ""
	}
	cells, end, rest, state := 0, 0, s, -1
	for rest != "" {
		var g string
		var width int
		g, rest, width, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if cells+width > w-1 {
			break
		}
		cells += width
		end += len(g)
	}
	return s[:end] + Ellipsis + strings.Repeat(" ", w-1-cells)
}

// Remote is a Git remote or another address without user and password. The
// user "git" of ssh addresses is no secret and stays out all the same, so
// that two spellings of one remote compare equal more often.
func Remote(s string) string {
	s = Line(s)
	if u, err := url.Parse(s); err == nil && u.Scheme != "" && u.Host != "" {
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		return u.String()
	}
	if at, colon := strings.IndexByte(s, '@'), strings.IndexByte(s, ':'); at >= 0 && at < colon && !strings.Contains(s[:at], "/") {
		return s[at+1:]
	}
	return s
}
