package main

import (
	"fmt"
	"strings"
)

// title is that of the terminal: a sign for rest or work, and a name.
func (a *app) title() string {
	name := "Claude Code"
	if a.log.title != "" {
		name = a.log.title
	}
	if a.turn != nil && a.dialog == nil {
		return []string{"◐", "◑"}[a.spinning%2] + " " + name
	}
	return "✳ " + name
}

// screen draws the conversation, and below it a dialog or the prompt line.
func (a *app) screen(cols, rows int) []string {
	rule := strings.Repeat("─", cols)
	var low []string
	switch {
	case a.dialog != nil:
		low = append([]string{rule}, a.dialog.lines()...)
	default:
		low = a.promptLines(rule)
	}
	if a.dialog != nil && a.dialog.alone {
		return fit(low, cols, rows)
	}
	head := []string{" ▐▛███▛█   Claude Code v" + version, "▝▜██████▀  Opus 5.5 · API Usage Billing", " ▝▝   ▝▝   " + cwd(), ""}
	room := max(rows-len(low), 1)
	above := append(head, a.scroll...)
	if a.turn != nil && a.dialog == nil {
		above = append(above, "✻ Thinking… (esc to interrupt)", "")
	}
	if a.turn == nil && len(a.shells) > 0 {
		above = append(above, fmt.Sprintf("✻ Cooked for 0s · %d shell still running", len(a.shells)), "")
	}
	above = fit(above, cols, room)
	for len(above) < room {
		above = append(above, "")
	}
	return append(above, low...)
}

// promptLines is the prompt line between two rules. Text follows a no-break
// space.
func (a *app) promptLines(rule string) []string {
	lines := []string{rule}
	for i, l := range strings.Split(a.input, "\n") {
		switch {
		case i > 0:
			lines = append(lines, "  "+l)
		case strings.HasPrefix(l, "!"):
			lines = append(lines, "!\u00a0"+l[1:])
		default:
			lines = append(lines, "❯\u00a0"+l)
		}
	}
	foot := "  ⏸ manual mode on · ? for shortcuts"
	switch {
	case a.review:
		foot = "  Removed invisible characters · review and press Enter to send"
	case a.armed != "":
		foot = "  Press " + strings.Replace(a.armed, "ctrl+", "Ctrl-", 1) + " again to exit"
	}
	return append(lines, rule, foot)
}

// fit keeps the last rows, each cut at the edge.
func fit(lines []string, cols, rows int) []string {
	if len(lines) > rows {
		lines = lines[len(lines)-rows:]
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l
		if r := []rune(l); len(r) > cols {
			out[i] = string(r[:cols])
		}
	}
	return out
}
