package screen

import (
	"fmt"
	"strings"
)

func (s *Screen) control(text string, final rune) {
	private, a := parseArgs(text)
	if private != "" {
		s.privateControl(private, a, final)
		return
	}
	if s.move(a, final) || s.erase(a, final) {
		return
	}
	switch final {
	case 'm':
		s.setStyle(text)
	case 'r':
		s.region(a)
	case 's':
		s.saved.x, s.saved.y = s.x, s.y
	case 'u':
		s.moveTo(s.saved.x, s.saved.y)
	case 'n':
		if a.at(0, 0) == 6 {
			s.reply(fmt.Sprintf("\x1b[%d;%dR", s.y+1, s.x+1))
		}
	case 'c':
		s.reply("\x1b[?62;22c")
	}
}

func (s *Screen) reply(text string) {
	if s.Reply != nil {
		s.Reply([]byte(text))
	}
}

func (s *Screen) move(a args, final rune) bool {
	n := a.at(0, 1)
	switch final {
	case 'A':
		s.moveTo(s.x, s.y-n)
	case 'B', 'e':
		s.moveTo(s.x, s.y+n)
	case 'C', 'a':
		s.moveTo(s.x+n, s.y)
	case 'D':
		s.moveTo(s.x-n, s.y)
	case 'E':
		s.moveTo(0, s.y+n)
	case 'F':
		s.moveTo(0, s.y-n)
	case 'G', '`':
		s.moveTo(n-1, s.y)
	case 'd':
		s.moveTo(s.x, n-1)
	case 'H', 'f':
		s.moveTo(a.at(1, 1)-1, n-1)
	default:
		return false
	}
	return true
}

func (s *Screen) erase(a args, final rune) bool {
	n := a.at(0, 1)
	switch final {
	case 'J':
		s.eraseScreen(a.at(0, 0))
	case 'K':
		s.eraseLine(a.at(0, 0))
	case 'X':
		s.clear(s.y, s.x, s.x+n)
	case 'P':
		s.shift(-n)
	case '@':
		s.shift(n)
	case 'L':
		s.shiftRows(n)
	case 'M':
		s.shiftRows(-n)
	case 'S':
		s.scrollUp(min(n, s.rows))
	case 'T':
		s.scrollDown(min(n, s.rows))
	default:
		return false
	}
	return true
}

func (s *Screen) clear(y, from, to int) {
	cells := s.grid()[y].cells
	for x := max(0, from); x < min(to, s.cols); x++ {
		cells[x] = cell{}
	}
	if to >= s.cols {
		s.grid()[y].wrapped = false
	}
}

func (s *Screen) eraseLine(how int) {
	switch how {
	case 0:
		s.clear(s.y, s.x, s.cols)
	case 1:
		s.clear(s.y, 0, s.x+1)
	case 2:
		s.clear(s.y, 0, s.cols)
	}
}

func (s *Screen) eraseScreen(how int) {
	from, to := 0, s.rows
	switch how {
	case 0:
		s.eraseLine(0)
		from = s.y + 1
	case 1:
		s.eraseLine(1)
		to = s.y
	case 3:
		s.history = nil
		return
	}
	for y := from; y < to; y++ {
		s.clear(y, 0, s.cols)
	}
}

// shift moves the rest of the line right by n cells, or left for n < 0.
func (s *Screen) shift(n int) {
	cells := s.grid()[s.y].cells
	old := append([]cell(nil), cells...)
	for x := s.x; x < s.cols; x++ {
		cells[x] = cell{}
		if from := x - n; from >= s.x && from < s.cols {
			cells[x] = old[from]
		}
	}
}

// shiftRows moves the rows from the cursor on down by n, or up for n < 0.
func (s *Screen) shiftRows(n int) {
	if s.y < s.top || s.y > s.bottom {
		return
	}
	top := s.top
	s.top = s.y
	defer func() { s.top = top }()
	if n > 0 {
		s.scrollDown(min(n, s.rows))
		return
	}
	g := s.grid()
	for i := 0; i < min(-n, s.rows); i++ {
		copy(g[s.y:s.bottom], g[s.y+1:s.bottom+1])
		g[s.bottom] = s.blankRow()
	}
}

func (s *Screen) region(a args) {
	top, bottom := a.at(0, 1)-1, a.at(1, s.rows)-1
	if top >= bottom || bottom >= s.rows {
		top, bottom = 0, s.rows-1
	}
	s.top, s.bottom = top, bottom
	s.moveTo(0, 0)
}

func (s *Screen) setStyle(text string) {
	for _, w := range strings.Split(text, ";") {
		if w == "" || w == "0" {
			s.style = ""
			continue
		}
		if s.style != "" {
			s.style += ";"
		}
		s.style += w
	}
	if len(s.style) > 64 {
		s.style = ""
	}
}

func (s *Screen) privateControl(private string, a args, final rune) {
	if private != "?" || final != 'h' && final != 'l' {
		return
	}
	on := final == 'h'
	for _, m := range a {
		switch m {
		case 1:
			s.appCursor = on
		case 2004:
			s.paste = on
		case 1000, 1002, 1003:
			s.mouse = on
		case 47, 1047, 1049:
			s.switchTo(on)
		}
	}
}

func (s *Screen) switchTo(alt bool) {
	if alt == s.isAlt {
		return
	}
	if alt {
		s.saved.x, s.saved.y = s.x, s.y
		s.alt = s.blank()
	}
	s.isAlt, s.top, s.bottom = alt, 0, s.rows-1
	if !alt {
		s.moveTo(s.saved.x, s.saved.y)
	}
}
