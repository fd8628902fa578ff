package main

import (
	"context"
	"flag"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/state"
	"sessionhub/lib/watch"
)

func instructionsVerb() front.Verb {
	var quiet bool
	return front.Verb{
		Name: "instructions", Args: "[flags]", Short: "read the standing rules from the hub", Settings: []string{"server_url", "allow_http", "token_file", "machine"},
		Long: `Reads the standing rules once and rewrites the copy that "shq hook context"
prints into every prompt, when they changed. A running watcher does the same
after each heartbeat. Prints {"version","changed"}.`,
		Flags: func(fs *flag.FlagSet) { fs.BoolVar(&quiet, "quiet", false, "print nothing") },
		Run: func(ctx context.Context, c *front.Call) error {
			dir, err := state.Default(c.Getenv)
			if err != nil {
				return front.Fail(front.ExitConfig, err)
			}
			hub, err := (&connector{conf: c.Config, getenv: c.Getenv}).connect()
			if err != nil {
				return err
			}
			version, changed, err := watch.RefreshRules(ctx, hub, dir)
			if err != nil || quiet {
				return err
			}
			return front.PrintJSON(c.Stdout, struct {
				Version string `json:"version"`
				Changed bool   `json:"changed"`
			}{version, changed})
		},
		Files: []string{"instructions.json  the copy"},
		Exits: []front.Exit{
			{Code: front.ExitUnavailable, When: "the hub is out of reach; the copy stays"},
			{Code: front.ExitNotAllowed, When: "the hub refuses the token; the copy stays"},
			{Code: front.ExitConfig, When: "the configuration is wrong or incomplete"},
		},
	}
}
