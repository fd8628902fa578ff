package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// Colours of states, as SGR parameters.
const (
	colourBlocked = "1;31"
	colourDone    = "1;32"
	colourWorking = "33"
	colourFaint   = "2"
)

// minCell is how narrow a column that shrinks may become.
const minCell = 8

// gap is the blanks between two columns.
const gap = 2

// table is what a person sees: wide characters line up, and it fits the
// terminal by shrinking some columns, and then dropping others.
type table struct {
	head    []string
	rows    [][]string
	colours []string
	shrink  []int // columns that may be cut, the first first
	drop    []int // columns that a narrow terminal lacks, the first first
}

func (t *table) add(colour string, cells ...string) {
	t.rows, t.colours = append(t.rows, cells), append(t.colours, colour)
}

func (t *table) print(c *front.Call) {
	width, _ := c.Size()
	widths := t.widths(width)
	line := func(cells []string, colour string) {
		var b strings.Builder
		for i, cell := range cells {
			if widths[i] == 0 {
				continue
			}
			if b.Len() > 0 {
				b.WriteString(strings.Repeat(" ", gap))
			}
			b.WriteString(text.Fit(cell, widths[i]))
		}
		s := strings.TrimRight(b.String(), " ")
		if colour != "" && c.Colour() {
			s = "\x1b[" + colour + "m" + s + "\x1b[0m"
		}
		fmt.Fprintln(c.Stdout, s)
	}
	line(t.head, colourFaint)
	for i, r := range t.rows {
		line(r, t.colours[i])
	}
}

// widths fits the columns into a terminal; a width of 0 is a column that is
// left out.
func (t *table) widths(width int) []int {
	w := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			w[i] = max(w[i], text.Width(cell))
		}
	}
	over := func() int {
		total := -gap
		for _, n := range w {
			if n > 0 {
				total += n + gap
			}
		}
		return total - width
	}
	for _, col := range t.shrink {
		w[col] -= min(max(over(), 0), max(w[col]-minCell, 0))
	}
	for _, col := range t.drop {
		if over() > 0 {
			w[col] = 0
		}
	}
	return w
}

// printTable prints sessions for a person.
func printTable(c *front.Call, list []record.Session) {
	if len(list) == 0 {
		fmt.Fprintln(c.Stdout, "No sessions.")
		return
	}
	t := table{head: []string{"STATE", "TITLE", "MACHINE", "WHERE", "SINCE", "ID"}, shrink: []int{3, 1}, drop: []int{2, 4}}
	for _, s := range list {
		t.add(colourOf(s), stateWord(s), text.Line(s.Title), text.Line(s.Machine), where(c, s), age(s.Since), short(s.Session))
	}
	t.print(c)
}

func stateWord(s record.Session) string {
	switch {
	case s.Status == record.StatusEnded:
		return "ended"
	case s.Retired:
		return "archived"
	case s.Status == record.StatusStale:
		return "stale"
	case s.Background:
		return string(s.AgentState) + "+bg"
	}
	return string(s.AgentState)
}

func colourOf(s record.Session) string {
	if s.Status != record.StatusLive || s.Retired {
		return colourFaint
	}
	switch s.AgentState {
	case record.Blocked:
		return colourBlocked
	case record.Done:
		return colourDone
	case record.Working:
		return colourWorking
	}
	return ""
}

// where is the session's pane, when it runs in one, and its directory: of a
// narrow column the directory's end is cut.
func where(c *front.Call, s record.Session) string {
	dir := text.Line(s.Cwd)
	if home := c.Getenv("HOME"); home != "" && (dir == home || strings.HasPrefix(dir, home+string(os.PathSeparator))) {
		dir = "~" + strings.TrimPrefix(dir, home)
	}
	if rel := filepath.Base(dir); text.Width(dir) > 40 && rel != dir {
		dir = "…/" + rel
	}
	if s.Herdr == nil || s.Status == record.StatusEnded {
		return dir
	}
	pane := text.Line(s.Herdr.PaneID)
	if h := text.Line(s.Herdr.HerdrSession); h != "" && h != "default" {
		pane = h + " " + pane
	}
	if n := len(s.OtherPanes); n > 0 {
		pane += fmt.Sprintf(" (+%d)", n)
	}
	return strings.TrimSpace(pane + " " + dir)
}

// age is how long ago something was, in the largest unit that says it.
func age(t record.Time) string {
	if t.IsZero() {
		return ""
	}
	d := time.Since(t.Time)
	switch {
	case d < 0:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

func short(id string) string {
	if len(id) > 8 {
		return id[:8]
	}
	return id
}
