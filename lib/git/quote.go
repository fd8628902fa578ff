package git

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// Quote spells a path for JSON, which holds Unicode only: paths are bytes. One
// that is not UTF-8, or that starts with a double quote, is written as Git
// writes it ("caf\351"); every other path is itself.
func Quote(path string) string {
	if utf8.ValidString(path) && !strings.HasPrefix(path, `"`) {
		return path
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(path); {
		c := path[i]
		r, n := utf8.DecodeRuneInString(path[i:])
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f || r == utf8.RuneError && n == 1:
			b.WriteByte('\\')
			b.WriteByte('0' + c>>6)
			b.WriteByte('0' + c>>3&7)
			b.WriteByte('0' + c&7)
		default:
			b.WriteString(path[i : i+n])
		}
		i += n
	}
	b.WriteByte('"')
	return b.String()
}

var errQuote = errors.New("badly quoted path")

// Unquote is the path that Quote, or git itself, spelled.
func Unquote(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	if len(s) < 2 || !strings.HasSuffix(s, `"`) {
		return "", errQuote
	}
	s = s[1 : len(s)-1]
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '"' {
			return "", errQuote
		}
		if c != '\\' {
			b.WriteByte(c)
			continue
		}
		i++
		if i == len(s) {
			return "", errQuote
		}
		if at := strings.IndexByte(`abfnrtv"\`, s[i]); at >= 0 {
			b.WriteByte("\a\b\f\n\r\t\v\"\\"[at])
			continue
		}
		if i+3 > len(s) || s[i] > '3' {
			return "", errQuote
		}
		var n byte
		for _, d := range []byte(s[i : i+3]) {
			if d < '0' || d > '7' {
				return "", errQuote
			}
			n = n<<3 | (d - '0')
		}
		b.WriteByte(n)
		i += 2
	}
	return b.String(), nil
}
