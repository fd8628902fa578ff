package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/text"
)

// picker lets a person choose one of some rows: by typing a part of it, with
// the arrows, or by its number in plain mode, which screen readers can follow.
type picker struct {
	title string
	rows  []string

	filter string
	at     int // of those that fit the filter
}

// errNothingPicked ends a choice that was given up.
var errNothingPicked = front.Fail(front.ExitInterrupted, errors.New("nothing was chosen"))

// choose returns the index of the chosen row.
func (p *picker) choose(ctx context.Context, c *front.Call, plain bool) (int, error) {
	in, ok := c.Stdin.(*os.File)
	if plain || !ok || !c.Interactive() || !c.Terminal() || c.Getenv("TERM") == "dumb" {
		return p.plain(c)
	}
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return p.plain(c)
	}
	defer term.Restore(int(in.Fd()), old)
	defer fmt.Fprint(c.Stdout, "\x1b[H\x1b[2J")
	keys := readKeys(in)
	for {
		p.draw(c)
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case k, open := <-keys:
			if !open {
				return 0, errNothingPicked
			}
			if n, done, err := p.press(k); done {
				return n, err
			}
		}
	}
}

// fits lists the rows that hold every word of the filter, whatever their case.
func (p *picker) fits() []int {
	words := strings.Fields(strings.ToLower(p.filter))
	var list []int
rows:
	for i, r := range p.rows {
		for _, w := range words {
			if !strings.Contains(strings.ToLower(r), w) {
				continue rows
			}
		}
		list = append(list, i)
	}
	return list
}

// press takes a key; done is true when the choice is over.
func (p *picker) press(k string) (n int, done bool, err error) {
	fits := p.fits()
	switch k {
	case "enter":
		if len(fits) > 0 {
			return fits[p.at], true, nil
		}
	case "esc", "ctrl+c", "ctrl+d":
		return 0, true, errNothingPicked
	case "up":
		p.at = max(p.at-1, 0)
	case "down":
		p.at = max(min(p.at+1, len(fits)-1), 0)
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(p.filter)
		p.filter, p.at = p.filter[:len(p.filter)-size], 0
	case "ctrl+u":
		p.filter, p.at = "", 0
	default:
		p.filter, p.at = p.filter+k, 0
	}
	return 0, false, nil
}

// draw shows the filter, and as many rows as the screen has room for.
func (p *picker) draw(c *front.Call) {
	width, height := c.Size()
	fits := p.fits()
	room := max(height-4, 1)
	from := max(0, min(p.at-room/2, len(fits)-room))
	var b strings.Builder
	b.WriteString("\x1b[H\x1b[2J")
	row := func(s string) { b.WriteString(text.Fit(s, width-1) + "\r\n") }
	row(p.title)
	row("> " + text.Line(p.filter))
	for i := from; i < min(from+room, len(fits)); i++ {
		mark := "  "
		if i == p.at {
			mark = "❯ "
		}
		row(mark + p.rows[fits[i]])
	}
	b.WriteString(text.Fit(fmt.Sprintf("%d of %d · type to narrow · ↑ ↓ · Enter · Esc", len(fits), len(p.rows)), width-1))
	fmt.Fprint(c.Stdout, b.String())
}

// plain prints the rows with numbers and asks for one. Words in place of a
// number narrow the list.
func (p *picker) plain(c *front.Call) (int, error) {
	in := bufio.NewScanner(c.Stdin)
	for {
		fits := p.fits()
		fmt.Fprintln(c.Stderr, p.title)
		for i, n := range fits {
			fmt.Fprintf(c.Stderr, "%d: %s\n", i+1, p.rows[n])
		}
		fmt.Fprint(c.Stderr, "a number, or words to narrow the list (nothing gives up): ")
		if !in.Scan() {
			return 0, errNothingPicked
		}
		line := strings.TrimSpace(in.Text())
		n, err := strconv.Atoi(line)
		switch {
		case line == "":
			return 0, errNothingPicked
		case err == nil && n >= 1 && n <= len(fits):
			return fits[n-1], nil
		case err == nil:
			fmt.Fprintf(c.Stderr, "there is no number %d\n", n)
		default:
			p.filter = line
		}
	}
}

// readKeys reads a terminal's keys. Its goroutine ends with the terminal, or
// the process.
func readKeys(in *os.File) <-chan string {
	keys := make(chan string)
	go func() {
		defer close(keys)
		buf := make([]byte, 256)
		for {
			n, err := in.Read(buf)
			if err != nil {
				return
			}
			for _, k := range parseKeys(string(buf[:n])) {
				keys <- k
			}
		}
	}()
	return keys
}

// parseKeys names the keys in what a terminal sent in one read.
func parseKeys(s string) []string {
	var keys []string
	named := []struct{ seq, name string }{
		{"\x1b[A", "up"}, {"\x1bOA", "up"}, {"\x1b[B", "down"}, {"\x1bOB", "down"}, {"\r", "enter"}, {"\n", "enter"},
		{"\x7f", "backspace"}, {"\b", "backspace"}, {"\x03", "ctrl+c"}, {"\x04", "ctrl+d"}, {"\x15", "ctrl+u"}, {"\x10", "up"}, {"\x0e", "down"},
	}
next:
	for s != "" {
		for _, k := range named {
			if strings.HasPrefix(s, k.seq) {
				keys, s = append(keys, k.name), s[len(k.seq):]
				continue next
			}
		}
		if s == "\x1b" {
			return append(keys, "esc")
		}
		if s[0] == 0x1b { // a sequence that means nothing here
			return keys
		}
		r, n := utf8.DecodeRuneInString(s)
		if r >= ' ' {
			keys = append(keys, s[:n])
		}
		s = s[n:]
	}
	return keys
}
