package main

import (
	"context"
	"os"
	"strings"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hook"
)

// claudeHook answers a hook of Claude Code. Any misuse ends with status 0, too:
// Claude Code takes 2 as an order to block.
func claudeHook(args []string) {
	program, err := hook.Beside("shwatch")
	if err != nil {
		program = "shwatch"
	}
	h := &hook.ClaudeHook{Getenv: hook.Getenv(os.Getenv), Now: time.Now, Stdin: os.Stdin, Stdout: os.Stdout, Watcher: program}
	h.Run(strings.Join(args, " "))
}

func hookVerb() front.Verb {
	return front.Verb{
		Name: "hook", Args: "NAME < input.json", Short: "Claude Code's hooks",
		Long: `Takes what Claude Code tells a hook on standard input and queues it: the start
and the end of a session, its first prompt, its state. NAME is one of
` + strings.Join(hook.Names(), ", ") + `.
"context" prints the standing rules, which Claude Code adds to the prompt;
"refresh-instructions" lets them be read anew in the background. What
subagents, "claude -p" and programs that embed Claude Code do is no session of a
person, and is not reported.

It exits with status 0 always; what goes wrong is a line in watcher.log.
"shinstall hooks" enters the hooks into Claude Code's settings.`,
		Guest:    true,
		Run:      func(_ context.Context, c *front.Call) error { claudeHook(c.Args); return nil },
		Examples: []front.Example{{Line: "shq hook stop < input.json", For: "what Claude Code runs after a turn"}},
		Files: []string{
			"queue.jsonl        the queue", "instructions.json  the standing rules", "hooks/SESSION      when a session's hooks ran last",
			"watcher.log        what went wrong",
		},
	}
}
