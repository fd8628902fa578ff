package main

import (
	"fmt"
	"strings"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/install"
	"sessionhub/lib/text"
)

// reporter prints the steps: JSON lines for programs, a line each for people.
func reporter(c *front.Call, o options) func(install.Step) {
	if o.json || !c.Terminal() {
		return func(s install.Step) { _ = front.PrintJSON(c.Stdout, s) } // a closed pipe stops no step
	}
	return func(s install.Step) { fmt.Fprint(c.Stdout, stepLine(s)) }
}

// stepLine is a step for a person. A failure is told on standard error.
func stepLine(s install.Step) string {
	if s.Outcome == install.Failed {
		return ""
	}
	words := []string{fmt.Sprintf("%-7s %-9s %s", s.Target, s.Outcome, s.Step)}
	for _, w := range []string{s.Path, s.Detail} {
		if w != "" {
			words = append(words, text.Line(w))
		}
	}
	line := strings.Join(words, ": ") + "\n"
	if s.Command != "" {
		line += "  $ " + text.Line(s.Command) + "\n"
	}
	for l := range strings.Lines(text.Block(s.Lines)) {
		line += "  " + l
	}
	return line + text.Block(s.Diff)
}

// partPrinter prints the lines of status as they come: asking Claude Code takes
// a moment.
func partPrinter(c *front.Call, o options) func(install.Part) error {
	if o.json || !c.Terminal() {
		return func(p install.Part) error { return front.PrintJSON(c.Stdout, p) }
	}
	fmt.Fprintf(c.Stdout, "%-8s %-8s %s\n", "PART", "STATE", "WHAT")
	return func(p install.Part) error {
		_, err := fmt.Fprint(c.Stdout, partLines(p, c.Getenv("HOME")))
		return err
	}
}

// partLines is a part for a person: what it is, and below it what to do.
func partLines(p install.Part, home string) string {
	var words []string
	for _, w := range []string{p.Version, p.Path, p.Detail} {
		if w = text.Line(w); home != "" && strings.HasPrefix(w, home+"/") {
			w = "~" + strings.TrimPrefix(w, home)
		}
		if w != "" {
			words = append(words, w)
		}
	}
	lines := fmt.Sprintf("%-8s %-8s %s\n", p.Part, p.State, strings.Join(words, ", "))
	if p.Do != "" {
		lines += fmt.Sprintf("%-17s → %s\n", "", text.Line(p.Do))
	}
	return lines
}
