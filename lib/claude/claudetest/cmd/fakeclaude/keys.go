package main

import (
	"os"
	"strings"
	"unicode/utf8"
)

// key is one press, or a paste.
type key struct {
	name string // "text", "paste", or a key's name
	text string
}

// readKeys turns what the terminal sends into keys until it is gone.
func readKeys(keys chan<- key) {
	defer close(keys)
	var p keyParser
	buf := make([]byte, 4096)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil {
			return
		}
		for _, k := range p.feed(string(buf[:n])) {
			keys <- k
		}
	}
}

// keyParser keeps what one read cut off.
type keyParser struct {
	rest    string
	pasting bool
}

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

var keyNames = map[byte]string{
	'\r': "enter", '\n': "newline", 0x7f: "backspace", '\b': "backspace", '\t': "tab",
	0x03: "ctrl+c", 0x04: "ctrl+d", 0x15: "ctrl+u", 0x1a: "ctrl+z",
}

var sequences = map[string]string{
	"A": "up", "B": "down", "C": "right", "D": "left",
}

// feed reads keys. An escape at the end of a read is the Esc key: terminals
// send a sequence in one go.
func (p *keyParser) feed(in string) (out []key) {
	s := p.rest + in
	p.rest = ""
	for s != "" {
		if p.pasting {
			text, after, whole := strings.Cut(s, pasteEnd)
			if !whole {
				p.rest = s
				return out
			}
			p.pasting = false
			out = append(out, key{"paste", text})
			s = after
			continue
		}
		if strings.HasPrefix(s, pasteStart) {
			p.pasting = true
			s = s[len(pasteStart):]
			continue
		}
		k, n := p.one(s)
		if n == 0 {
			p.rest = s
			return out
		}
		if k.name != "" {
			out = append(out, k)
		}
		s = s[n:]
	}
	return out
}

// one reads a key and how long it is; 0 when it is cut.
func (p *keyParser) one(s string) (key, int) {
	if name, ok := keyNames[s[0]]; ok {
		return key{name: name}, 1
	}
	if s[0] == 0x1b {
		if len(s) < 3 || s[1] != '[' && s[1] != 'O' {
			return key{name: "esc"}, 1
		}
		end := strings.IndexFunc(s[2:], func(r rune) bool { return r >= '@' && r <= '~' })
		if end < 0 {
			return key{}, 0
		}
		return key{name: sequences[s[2:2+end+1]]}, 2 + end + 1
	}
	if s[0] < ' ' {
		return key{}, 1
	}
	if !utf8.FullRuneInString(s) {
		return key{}, 0
	}
	n := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
	if n < 0 {
		n = len(s)
	}
	for n > 1 && !utf8.ValidString(s[:n]) { // cut in a character
		n--
	}
	return key{"text", s[:n]}, n
}
