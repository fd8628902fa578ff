package screen

import (
	"strconv"
	"strings"
)

type mode int

const (
	ground mode = iota
	escape
	csi
	osc
	oscEscape
	skipString // DCS, SOS, PM, APC
	skipStringEscape
	skipOne // a character-set name
)

type parser struct {
	mode mode
	text []rune
}

// maxSequence bounds what is kept of a control sequence that never ends.
const maxSequence = 4096

func (s *Screen) feed(r rune) {
	p := &s.parse
	switch p.mode {
	case ground:
		s.plain(r)
	case escape:
		s.escape(r)
	case csi:
		switch {
		case r >= '@' && r <= '~':
			p.mode = ground
			s.control(string(p.text), r)
		case r == 0x1b:
			p.mode = escape
		case r < ' ':
			s.plain(r)
		default:
			p.keep(r)
		}
	case osc, oscEscape:
		s.oscRune(r)
	case skipString, skipStringEscape:
		end := r == 0x07 || p.mode == skipStringEscape && r == '\\'
		p.mode = skipString
		if r == 0x1b {
			p.mode = skipStringEscape
		}
		if end {
			p.mode = ground
		}
	case skipOne:
		p.mode = ground
	}
}

func (p *parser) keep(r rune) {
	if len(p.text) < maxSequence {
		p.text = append(p.text, r)
	}
}

func (s *Screen) oscRune(r rune) {
	p := &s.parse
	switch {
	case r == 0x07, p.mode == oscEscape && r == '\\':
		p.mode = ground
		s.osc(string(p.text))
	case r == 0x1b:
		p.mode = oscEscape
	default:
		p.mode = osc
		p.keep(r)
	}
}

func (s *Screen) plain(r rune) {
	switch r {
	case 0x1b:
		s.parse.mode = escape
	case '\r':
		s.x, s.wrapNext = 0, false
	case '\n', '\v', '\f':
		s.lineFeed()
	case '\b':
		if s.x > 0 {
			s.x--
		}
		s.wrapNext = false
	case '\t':
		s.x = min((s.x/8+1)*8, s.cols-1)
	default:
		if r >= ' ' && r != 0x7f {
			s.put(r)
		}
	}
}

func (s *Screen) escape(r rune) {
	s.parse.mode, s.parse.text = ground, s.parse.text[:0]
	switch r {
	case '[':
		s.parse.mode = csi
	case ']':
		s.parse.mode = osc
	case 'P', 'X', '^', '_':
		s.parse.mode = skipString
	case '(', ')', '*', '+', '#', '%', ' ':
		s.parse.mode = skipOne
	case '7':
		s.saved.x, s.saved.y = s.x, s.y
	case '8':
		s.moveTo(s.saved.x, s.saved.y)
	case 'D':
		s.lineFeed()
	case 'E':
		s.x = 0
		s.lineFeed()
	case 'M':
		if s.y == s.top {
			s.scrollDown(1)
		} else {
			s.moveTo(s.x, s.y-1)
		}
	case 'c':
		reply := s.Reply
		*s = *New(s.cols, s.rows)
		s.Reply = reply
	}
}

func (s *Screen) osc(text string) {
	code, rest, _ := strings.Cut(text, ";")
	if code == "0" || code == "2" {
		s.title = rest
	}
}

func (s *Screen) moveTo(x, y int) {
	s.x, s.y = clamp(x, s.cols), clamp(y, s.rows)
	s.wrapNext = false
}

func clamp(n, limit int) int { return max(0, min(n, limit-1)) }

// args are the numbers of a control sequence.
type args []int

func parseArgs(text string) (private string, a args) {
	for text != "" && strings.ContainsRune("<=>?", rune(text[0])) {
		private, text = private+text[:1], text[1:]
	}
	for _, w := range strings.Split(text, ";") {
		w, _, _ = strings.Cut(w, ":")
		n, err := strconv.Atoi(w)
		if err != nil || n > 1<<20 {
			n = -1
		}
		a = append(a, n)
	}
	return private, a
}

// at returns the i-th number, or def where it is missing or 0.
func (a args) at(i, def int) int {
	if i < len(a) && a[i] > 0 {
		return a[i]
	}
	return def
}
