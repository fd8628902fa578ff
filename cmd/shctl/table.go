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

// minTitle is how narrow the title may become before a line wraps.
const minTitle = 12

// printTable prints sessions for a person: wide characters line up, and what
// comes from outside is cleaned.
func printTable(c *front.Call, list []record.Session) {
	if len(list) == 0 {
		fmt.Fprintln(c.Stdout, "No sessions.")
		return
	}
	rows := make([][]string, len(list))
	for i, s := range list {
		rows[i] = []string{stateWord(s), text.Line(s.Title), text.Line(s.Machine), where(c, s), age(s.Since), short(s.Session)}
	}
	width, _ := c.Size()
	widths := columns([]string{"STATE", "TITLE", "MACHINE", "WHERE", "SINCE", "ID"}, rows, width)
	line := func(cells []string, colour string) {
		var b strings.Builder
		for i, cell := range cells {
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(text.Fit(cell, widths[i]))
		}
		s := strings.TrimRight(b.String(), " ")
		if colour != "" && c.Colour() {
			s = "\x1b[" + colour + "m" + s + "\x1b[0m"
		}
		fmt.Fprintln(c.Stdout, s)
	}
	line([]string{"STATE", "TITLE", "MACHINE", "WHERE", "SINCE", "ID"}, colourFaint)
	for i, s := range list {
		line(rows[i], colourOf(s))
	}
}

// columns fits the columns into a width by narrowing title and place.
func columns(head []string, rows [][]string, width int) []int {
	w := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			w[i] = max(w[i], text.Width(cell))
		}
	}
	total := 2 * (len(w) - 1)
	for _, n := range w {
		total += n
	}
	for _, col := range []int{3, 1} { // the place first, then the title
		over := total - width
		if over <= 0 {
			break
		}
		cut := min(over, max(w[col]-minTitle, 0))
		w[col] -= cut
		total -= cut
	}
	return w
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

// where is the session's directory, and its pane when it runs in one.
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
	return strings.TrimSpace(dir + " " + pane)
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
