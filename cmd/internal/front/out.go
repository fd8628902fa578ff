package front

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// Terminal reports whether standard output is a terminal, which is when a
// person gets a table and a program would not.
func (c *Call) Terminal() bool {
	f, ok := c.Stdout.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Interactive reports whether standard input is a terminal, where a person can
// be asked.
func (c *Call) Interactive() bool {
	f, ok := c.Stdin.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Colour reports whether output may be coloured: on a terminal, without
// NO_COLOR, and not on a dumb one.
func (c *Call) Colour() bool {
	return c.Terminal() && c.Getenv("NO_COLOR") == "" && c.Getenv("TERM") != "dumb"
}

// Size is the terminal's width and height in cells; 80×24 when it tells none.
func (c *Call) Size() (width, height int) {
	if f, ok := c.Stdout.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return 80, 24
}

// PrintJSON writes v as one line of JSON.
func PrintJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
