package main

import (
	"context"
	"flag"
	"fmt"
	"os/signal"
	"strings"
	"syscall"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/doctor"
	"sessionhub/lib/text"
)

func doctorVerb() front.Verb {
	var o options
	return front.Verb{
		Name: "doctor", Args: "[flags]", Short: "test each link from herdr's panes to the hub, and say what to do",
		Long: `Tests each link of the chain as herdr's server and the watcher see it, and says
whether it is fine, broken, not set up (which may be as you want it) or untested
(as another link is broken). An event is made in herdr, in a workspace that is
closed again, and a record that tells nothing goes to the hub: both must arrive.
Nothing stays behind, and nothing is repaired.`,
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&o.json, "json", false, "JSON lines, also on a terminal")
			fs.StringVar(&o.binDir, "bin-dir", "", "`folder` of the tools, in place of the one that shinstall was found in")
			o.programs(fs)
		},
		Run:   func(ctx context.Context, c *front.Call) error { return examine(ctx, c, o) },
		Exits: []front.Exit{{Code: front.ExitFailed, When: "something is broken"}},
		Examples: []front.Example{
			{Line: "shinstall doctor", For: "when something is not as it should be, and after an upgrade"},
			{Line: `shinstall doctor --json | jq -r 'select(.state=="broken") | .check+": "+.fix'`, For: "what to do"},
		},
	}
}

func examine(ctx context.Context, c *front.Call, o options) error {
	if len(c.Args) > 0 {
		return front.Usage("no arguments are wanted, not %q", c.Args[0])
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP) // a closed terminal must not leave a workspace behind
	defer stop()
	d, err := newDoctor(ctx, c, o)
	if err != nil {
		return err
	}
	all, err := doctor.Run(ctx, d.Checks(), findingPrinter(c, o))
	if err != nil {
		return front.Fail(front.ExitInterrupted, err)
	}
	if doctor.Faults(all) > 0 {
		return front.Fail(front.ExitFailed, nil)
	}
	return nil
}

// findingPrinter prints findings as they come: some take seconds.
func findingPrinter(c *front.Call, o options) func(doctor.Finding) {
	if o.json || !c.Terminal() {
		return func(f doctor.Finding) { _ = front.PrintJSON(c.Stdout, f) } // a closed pipe stops no cleaning up
	}
	fmt.Fprintf(c.Stdout, "%-14s %-11s %s\n", "CHECK", "STATE", "WHY")
	return func(f doctor.Finding) { fmt.Fprint(c.Stdout, findingLines(f)) }
}

// findingLines is a finding for a person: what it is, and below it what to do.
func findingLines(f doctor.Finding) string {
	lines := fmt.Sprintf("%-14s %-11s %s\n", f.Check, f.State.Words(), text.Line(f.Why))
	if f.Fix != "" {
		lines += fmt.Sprintf("%-26s → %s\n", "", text.Line(f.Fix))
	}
	for l := range strings.Lines(text.Block(f.Lines)) {
		lines += fmt.Sprintf("%-28s %s", "", l)
	}
	return lines
}
