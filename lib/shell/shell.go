// Package shell writes words for sh, and reads them: a word that was quoted
// here comes out of any POSIX shell as it went in (field report A23).
package shell

import "strings"

// safe are the characters that mean nothing to a shell, wherever they stand
// in a word.
const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"

// Quote writes one word, in single quotes only when it needs them. A word can
// hold anything but NUL, which no argument can.
func Quote(word string) string {
	if word != "" && strings.Trim(word, safe) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Words splits a line into words when it is one simple command: quotes of
// both kinds and backslashes are read, and anything that a shell would expand
// or act on (variables, patterns, pipes, redirections, comments) gives ok ==
// false.
func Words(line string) (words []string, ok bool) {
	var word strings.Builder
	in := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
			continue
		case c == '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, false
			}
			word.WriteString(line[i+1 : i+1+end])
			i += end + 1
		case c == '"':
			text, n := double(line[i+1:])
			if n < 0 {
				return nil, false
			}
			word.WriteString(text)
			i += n
		case c == '\\':
			i++
			if i == len(line) || line[i] == '\n' {
				return nil, false
			}
			word.WriteByte(line[i])
		case strings.IndexByte("|&;<>()$`*?[]#~!{}\r\n\x00", c) >= 0:
			return nil, false
		default:
			word.WriteByte(c)
		}
		in = true
	}
	if in {
		words = append(words, word.String())
	}
	return words, true
}

// double reads what stands in double quotes and returns how many bytes it
// took with the closing quote, or -1.
func double(s string) (text string, n int) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), i + 1
		case '$', '`', '!':
			return "", -1
		case '\\':
			if i+1 < len(s) && strings.IndexByte("$`\"\\", s[i+1]) >= 0 {
				i++
			}
		}
		b.WriteByte(s[i])
	}
	return "", -1
}
