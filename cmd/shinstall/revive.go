package main

import (
	"context"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/install"
)

func reviveHookUp() hookUp {
	return hookUp{
		name: "revive", short: "run shrevive every quarter of an hour",
		long: `Makes a timer that runs shrevive: a user timer of systemd, an agent of launchd or
a line of the crontab, whichever this machine has, in this order. Where there is
none, it prints the command to run. Every path is absolute, Claude Code's too, and
the timer has a PATH of its own. Then a pass that does nothing is made in the
timer's environment, and it fails if that fails. A session watchdog that is
scheduled still is told. --remove leaves revive.json, what shrevive knows.`,
		files: []string{
			"~/.config/systemd/user/sessionhub-revive.timer, .service  the timer, and what it starts",
			"~/Library/LaunchAgents/sessionhub.revive.plist  the agent, in place of these",
			"revive.log  what shrevive says where launchd or cron runs it",
			"~/.local/share/sessionhub/written.json  what of this shinstall wrote, for --remove",
		},
		exits: []front.Exit{{Code: front.ExitUnavailable, When: "claude was not found"}},
		examples: []front.Example{
			{Line: "shinstall revive --dry-run", For: "which timer would it be, and what would it run?"},
			{Line: "shinstall hub plugin hooks mcp revive", For: "everything, on the first machine"},
		},
		target: func(c *front.Call, o options, t install.Tools, _ []string) (install.Target, error) {
			data, err := install.DataDir(c.Getenv)
			if err != nil {
				return nil, front.Fail(front.ExitConfig, err)
			}
			return &install.Revive{
				Tools: t, Claude: o.claude, Home: c.Config.ClaudeHome, Data: data, Getenv: c.Getenv,
				Manager: func(ctx context.Context, k install.Kind) (install.Manager, string) {
					return install.FindManager(ctx, k, c.Getenv)
				},
			}, nil
		},
	}
}
