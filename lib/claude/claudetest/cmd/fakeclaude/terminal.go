package main

import (
	"bufio"
	"os"
	"strings"

	"golang.org/x/term"
)

// terminal is where the app draws. Without one, as in a pipe, it draws all the
// same.
type terminal struct {
	fd  int
	old *term.State
}

func openTerminal() (*terminal, error) {
	t := &terminal{fd: int(os.Stdin.Fd())}
	return t, t.enter()
}

// enter takes the terminal: raw, alternate screen, pastes in brackets.
func (t *terminal) enter() error {
	if term.IsTerminal(t.fd) {
		old, err := term.MakeRaw(t.fd)
		if err != nil {
			return err
		}
		t.old = old
	}
	t.print("\x1b[?1049h\x1b[?2004h")
	return nil
}

func (t *terminal) leave() {
	t.print("\x1b[?2004l\x1b[?1049l")
	if t.old != nil {
		_ = term.Restore(t.fd, t.old) // it may be gone
	}
}

func (t *terminal) close() {
	t.print("\x1b]0;\x07")
	t.leave()
}

func (t *terminal) print(s string) { os.Stdout.WriteString(s) }

// size is what can be drawn on; herdr's headless panes have 94 columns.
func (t *terminal) size() (cols, rows int) {
	cols, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || cols < 20 || rows < 10 {
		return 94, 39
	}
	return cols, rows
}

// draw writes title and screen in one go.
func (t *terminal) draw(title string, screen func(cols, rows int) []string) {
	w := bufio.NewWriterSize(os.Stdout, 64<<10)
	w.WriteString("\x1b]0;" + title + "\x07\x1b[2J\x1b[H")
	w.WriteString(strings.Join(screen(t.size()), "\r\n"))
	w.Flush() // a terminal that is gone ends the keys, too
}
