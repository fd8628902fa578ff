// Package screen is a small terminal: it turns what a program writes into the
// rows that a person would see. It knows what shells and full-screen programs
// commonly use (cursor, erase, insert, scroll region, alternate screen, titles,
// bracketed paste, wide characters) and ignores the rest.
package screen

import (
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// maxHistory bounds the rows kept above the screen.
const maxHistory = 5000

type cell struct {
	text  string // one grapheme; "" for the right half of a wide one
	style string // SGR parameters, "" for plain
}

type row struct {
	cells   []cell
	wrapped bool // goes on in the next row
}

// Screen is one terminal. It is not safe for concurrent use.
type Screen struct {
	// Reply sends an answer to a query of the program, such as where the
	// cursor is. May be nil.
	Reply func([]byte)

	cols, rows  int
	main, alt   []row
	history     []row
	isAlt       bool
	x, y        int
	wrapNext    bool
	top, bottom int
	style       string
	saved       struct{ x, y int }
	title       string
	paste       bool
	mouse       bool
	appCursor   bool
	parse       parser
	partial     []byte
}

// New returns an empty screen.
func New(cols, rows int) *Screen {
	s := &Screen{cols: cols, rows: rows, bottom: rows - 1}
	s.main, s.alt = s.blank(), s.blank()
	return s
}

// Size returns the screen's columns and rows.
func (s *Screen) Size() (cols, rows int) { return s.cols, s.rows }

// Title is the last title that the program set.
func (s *Screen) Title() string { return s.title }

// BracketedPaste reports whether the program wants pastes in brackets.
func (s *Screen) BracketedPaste() bool { return s.paste }

// Alternate reports whether the alternate screen is shown.
func (s *Screen) Alternate() bool { return s.isAlt }

// Mouse reports whether the program asked for mouse events.
func (s *Screen) Mouse() bool { return s.mouse }

// ApplicationCursor reports whether the program wants cursor keys in their
// application form.
func (s *Screen) ApplicationCursor() bool { return s.appCursor }

// History returns how many rows have scrolled off.
func (s *Screen) History() int { return len(s.history) }

// Write takes what the program wrote. It never fails.
func (s *Screen) Write(p []byte) (int, error) {
	n := len(p)
	if len(s.partial) > 0 {
		p = append(s.partial, p...)
		s.partial = nil
	}
	for len(p) > 0 {
		if p[0] >= utf8.RuneSelf && !utf8.FullRune(p) {
			s.partial = append([]byte(nil), p...)
			break
		}
		r, size := utf8.DecodeRune(p)
		p = p[size:]
		s.feed(r)
	}
	return n, nil
}

func (s *Screen) blank() []row {
	rows := make([]row, s.rows)
	for i := range rows {
		rows[i] = s.blankRow()
	}
	return rows
}

func (s *Screen) blankRow() row { return row{cells: make([]cell, s.cols)} }

func (s *Screen) grid() []row {
	if s.isAlt {
		return s.alt
	}
	return s.main
}

func (s *Screen) put(r rune) {
	w := runewidth.RuneWidth(r)
	if w == 0 {
		s.combine(r)
		return
	}
	if s.wrapNext || s.x+w > s.cols {
		s.grid()[s.y].wrapped = true
		s.x = 0
		s.lineFeed()
	}
	cells := s.grid()[s.y].cells
	cells[s.x] = cell{string(r), s.style}
	if w == 2 && s.x+1 < s.cols {
		cells[s.x+1] = cell{"", s.style}
	}
	s.x += w
	s.wrapNext = s.x >= s.cols
	if s.wrapNext {
		s.x = s.cols - 1
	}
}

func (s *Screen) combine(r rune) {
	x := s.x
	if !s.wrapNext {
		x--
	}
	if x < 0 {
		return
	}
	cells := s.grid()[s.y].cells
	if cells[x].text == "" && x > 0 {
		x--
	}
	cells[x].text += string(r)
}

func (s *Screen) lineFeed() {
	s.wrapNext = false
	if s.y == s.bottom {
		s.scrollUp(1)
		return
	}
	if s.y < s.rows-1 {
		s.y++
	}
}

func (s *Screen) scrollUp(n int) {
	g := s.grid()
	for ; n > 0; n-- {
		if !s.isAlt && s.top == 0 {
			s.remember(g[0])
		}
		copy(g[s.top:s.bottom], g[s.top+1:s.bottom+1])
		g[s.bottom] = s.blankRow()
	}
}

func (s *Screen) scrollDown(n int) {
	g := s.grid()
	for ; n > 0; n-- {
		copy(g[s.top+1:s.bottom+1], g[s.top:s.bottom])
		g[s.top] = s.blankRow()
	}
}

func (s *Screen) remember(r row) {
	s.history = append(s.history, r)
	if len(s.history) > maxHistory {
		s.history = append([]row(nil), s.history[len(s.history)-maxHistory:]...)
	}
}

// Row is one row as text.
type Row struct {
	Text    string // without blanks at its end
	Styled  string // with SGR sequences
	Wrapped bool   // goes on in the next row
}

// Visible returns the rows of the screen.
func (s *Screen) Visible() []Row { return render(s.grid()) }

// All returns the rows that scrolled off, then those of the screen.
func (s *Screen) All() []Row {
	if s.isAlt {
		return s.Visible()
	}
	return append(render(s.history), render(s.main)...)
}

func render(rows []row) []Row {
	out := make([]Row, len(rows))
	for i, r := range rows {
		out[i] = Row{Text: r.text(), Styled: r.styled(), Wrapped: r.wrapped}
	}
	return out
}

func (r row) text() string {
	var b strings.Builder
	for x := 0; x < len(r.cells); x++ {
		r.cells[x].write(&b, x > 0 && wide(r.cells[x-1]))
	}
	return strings.TrimRight(b.String(), " ")
}

func wide(c cell) bool { return runewidth.StringWidth(c.text) == 2 }

func (c cell) write(b *strings.Builder, afterWide bool) {
	switch {
	case c.text != "":
		b.WriteString(c.text)
	case !afterWide:
		b.WriteByte(' ')
	}
}

func (r row) styled() string {
	var b strings.Builder
	end, style := len(r.text()), ""
	for x := 0; x < len(r.cells) && b.Len() < end+len(r.cells)*16; x++ {
		c := r.cells[x]
		if c.style != style {
			b.WriteString("\x1b[0m")
			if style = c.style; style != "" {
				b.WriteString("\x1b[" + style + "m")
			}
		}
		c.write(&b, x > 0 && wide(r.cells[x-1]))
	}
	return strings.TrimRight(b.String(), " ")
}
