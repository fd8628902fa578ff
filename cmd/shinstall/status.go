package main

import (
	"context"
	"flag"

	"sessionhub/cmd/internal/front"
)

func statusVerb() front.Verb {
	var o options
	return front.Verb{
		Name: "status", Args: "[flags]", Short: "tell what is hooked up, where, and at which version",
		Long: `Prints one line for each part: ready, missing, stale (hooked up in part, by
another version or from another place), off (switched off by its user) or
unclear (it could not be looked at), and what to do about it.`,
		Patient:  true,
		Settings: []string{"server_url", "token_file", "machine", "claude_home", "allow_http"},
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
	w, err := newWatcher(c, tools)
	if err != nil {
		return err
	}
	print := partPrinter(c, o)
	for _, h := range hookUps() {
		if h.args != "" { // config's line tells of it
			continue
		}
		t, err := h.target(c, o, tools, nil)
		if err != nil {
			return err
		}
		if err := print(t.Look(ctx)); err != nil {
			return err
		}
	}
	if err := print(w.Look(ctx)); err != nil {
		return err
	}
	return print(configPart(c))
}
