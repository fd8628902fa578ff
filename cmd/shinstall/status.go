package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/install"
	"sessionhub/lib/text"
)

func statusVerb() front.Verb {
	var o options
	return front.Verb{
		Name: "status", Args: "[flags]", Short: "tell what is hooked up, where, and at which version",
		Long: `Prints one line for each part: ready, missing, stale (hooked up in part, by
another version or from another place), off (switched off by its user) or
unclear (it could not be looked at), and what to do about it.`,
		Patient:  true,
		Settings: []string{"server_url", "token_file", "machine", "claude_home"},
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&o.json, "json", false, "JSON lines, also on a terminal")
			fs.StringVar(&o.binDir, "bin-dir", "", "`folder` of the tools, in place of the one that shinstall was found in")
			o.programs(fs)
		},
		Run:      func(ctx context.Context, c *front.Call) error { return status(ctx, c, o) },
		Examples: []front.Example{{Line: `shinstall status --json | jq -r 'select(.state!="ready").do'`, For: "what is left to do"}},
	}
}

func status(ctx context.Context, c *front.Call, o options) error {
	if len(c.Args) > 0 {
		return front.Usage("no arguments are wanted, not %q", c.Args[0])
	}
	tools, err := findTools(c, o)
	if err != nil {
		return front.Fail(front.ExitConfig, err)
	}
	for _, h := range hookUps() {
		t, err := h.target(c, o, tools, nil)
		if err != nil {
			return err
		}
		if err := printPart(c, o, t.Look(ctx)); err != nil {
			return err
		}
	}
	w, err := newWatcher(c, tools)
	if err != nil {
		return err
	}
	if err := printPart(c, o, w.Look(ctx)); err != nil {
		return err
	}
	return printPart(c, o, configPart(c))
}

func printPart(c *front.Call, o options, p install.Part) error {
	if o.json || !c.Terminal() {
		return front.PrintJSON(c.Stdout, p)
	}
	var words []string
	for _, w := range []string{p.Version, p.Path, p.Detail} {
		if w != "" {
			words = append(words, text.Line(w))
		}
	}
	line := fmt.Sprintf("%-8s %-8s %s", p.Part, p.State, strings.Join(words, ", "))
	if p.Do != "" {
		line += "  → " + p.Do
	}
	_, err := fmt.Fprintln(c.Stdout, strings.TrimRight(line, " "))
	return err
}
