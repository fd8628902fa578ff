package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/record"
	"sessionhub/lib/revive"
	"sessionhub/lib/text"
)

// printReport prints what came of a pass: as JSON all decisions, for a log the
// resumes and one line more, for a person who asks ahead all that is not
// plainly at work.
func printReport(c *front.Call, w *wish, rep revive.Report) error {
	for _, d := range rep.Drift {
		fmt.Fprintf(c.Stderr, "shrevive: a text about a stop is not understood, and is left alone: %q\n", text.Cut(text.Line(d), 300))
	}
	if w.json {
		for _, d := range rep.Decisions {
			if err := front.PrintJSON(c.Stdout, d); err != nil {
				return err
			}
		}
		return nil
	}
	resumed := 0
	for _, d := range rep.Decisions {
		switch {
		case d.Decision == revive.Resume && w.dry:
			fmt.Fprintf(c.Stdout, "would resume %s: %s\n", label(d), cause(d))
		case d.Decision == revive.Resume:
			printOutcome(c, d)
		case w.dry && d.Decision == revive.Wait:
			fmt.Fprintf(c.Stdout, "waits: %s: %s\n", label(d), cause(d))
		case w.dry:
			fmt.Fprintf(c.Stdout, "left alone: %s: %s\n", label(d), text.Line(d.Why))
		}
		if d.Decision == revive.Resume {
			resumed++
		}
	}
	if resumed == 0 {
		fmt.Fprintln(c.Stdout, nothing(rep.Decisions))
	}
	return nil
}

func printOutcome(c *front.Call, d revive.Decision) {
	if d.Resumed != nil && *d.Resumed {
		fmt.Fprintf(c.Stdout, "resumed %s: %s\n", label(d), cause(d))
	}
	if d.Error != "" {
		fmt.Fprintf(c.Stderr, "shrevive: resume %s: %s\n", label(d), text.Line(d.Error))
	}
}

// nothing is the one line of a pass that resumed nothing.
func nothing(list []revive.Decision) string {
	waiting, first := 0, time.Time{}
	for _, d := range list {
		if d.Decision != revive.Wait {
			continue
		}
		waiting++
		if d.ResetAt != nil && (first.IsZero() || d.ResetAt.Before(first)) {
			first = d.ResetAt.Time
		}
	}
	switch {
	case waiting == 0:
		return "nothing to resume"
	case first.IsZero():
		return fmt.Sprintf("nothing to resume; waiting: %d", waiting)
	}
	return fmt.Sprintf("nothing to resume; waiting: %d, the first until %s", waiting, clock(first))
}

// label names a session for a person.
func label(d revive.Decision) string {
	if d.Name == "" {
		return text.Line(d.Short)
	}
	return fmt.Sprintf("%s (%s)", text.Line(d.Name), text.Line(d.Short))
}

func cause(d revive.Decision) string {
	s := text.Line(d.Why)
	if d.ResetAt != nil {
		s += ", until " + clock(d.ResetAt.Time)
	}
	return s
}

// clock is a moment in the local zone, with its day when it is not near.
func clock(t time.Time) string {
	if time.Until(t).Abs() < 20*time.Hour {
		return t.Local().Format("15:04")
	}
	return t.Local().Format("Mon 2 Jan 15:04")
}

// printStatus tells a person what waits for what.
func printStatus(out io.Writer, s revive.Status) {
	for _, d := range s.Sessions {
		switch d.Decision {
		case revive.Wait:
			fmt.Fprintf(out, "%s waits: %s\n", label(d), cause(d))
		case revive.Resume:
			fmt.Fprintf(out, "%s is resumed by the next pass: %s\n", label(d), cause(d))
		case revive.Leave:
			fmt.Fprintf(out, "%s is left alone: %s\n", label(d), text.Line(d.Why))
		}
	}
	if len(s.Sessions) == 0 {
		fmt.Fprintln(out, "no background session is stopped")
	}
	fmt.Fprintf(out, "resumed in the last 24 hours: %d of at most %d%s\n", s.Resumed, s.MaxPerDay, last(s.LastResume))
	if s.Outage != nil {
		fmt.Fprintf(out, "outage: since %s, %s failed; the next try at %s\n", clock(s.Outage.Since.Time), tries(s.Outage.Fails), clock(s.Outage.Next.Time))
	}
	for _, d := range s.Drift {
		fmt.Fprintf(out, "not understood: %q\n", text.Cut(text.Line(d), 300))
	}
}

func last(t *record.Time) string {
	if t == nil {
		return ""
	}
	return ", the last one at " + clock(t.Time)
}

func tries(n int) string {
	if n == 1 {
		return "one try"
	}
	return strings.Join([]string{fmt.Sprint(n), "tries"}, " ")
}
