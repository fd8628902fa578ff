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
