package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hook"
)

// wakes is the exit status by which a hook in the background wakes its session.
const wakes = 2

// claudeHook answers a hook of Claude Code. Any misuse ends with status 0, too:
// Claude Code takes 2 as an order, which only a message that was given is.
func claudeHook(args []string) {
	program, err := hook.Beside("shwatch")
	if err != nil {
		program = "shwatch"
	}
	h := &hook.ClaudeHook{Getenv: hook.Getenv(os.Getenv), Now: time.Now, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Watcher: program}
	name := strings.Join(args, " ")
	if name != hook.Ask && name != hook.Mailbox {
		h.Run(name)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP, os.Interrupt)
	defer stop()
	if name == hook.Ask {
		h.RunAsk(ctx)
		return
	}
	if h.RunMailbox(ctx) {
		os.Exit(wakes)
	}
}

func hookVerb() front.Verb {
	return front.Verb{
		Name: "hook", Args: "NAME < input.json", Short: "Claude Code's hooks",
		Long: `Takes what Claude Code tells a hook on standard input and queues it: the start
and the end of a session, its first prompt, its state. NAME is one of
` + strings.Join(hook.Names(), ", ") + `.
"context" prints the standing rules, which Claude Code adds to the prompt;
"refresh-instructions" lets them be read anew in the background. "ask" tells of
a permission prompt, a question or a plan, and waits beside its dialog, for a
day at most, until it is over: answered at the screen, or from afar by shctl
answer where config.toml has remote_answer, which it then prints for Claude
Code. "mailbox" waits in the background, as long as Claude Code runs, for
messages to its session that can't be typed into a pane, and prints them when
the session is at its prompt. No other hook waits. What subagents, "claude -p"
and programs that embed Claude Code do is no session of a person, and is not
reported.

It exits with status 0 always, except "mailbox" with 2 when it printed messages,
which wakes the session; what goes wrong is a line in watcher.log. "shinstall
hooks" enters the hooks into Claude Code's settings.`,
		Guest:    true,
		Run:      func(_ context.Context, c *front.Call) error { claudeHook(c.Args); return nil },
		Examples: []front.Example{{Line: "shq hook stop < input.json", For: "what Claude Code runs after a turn"}},
		Files: []string{
			"queue.jsonl        the queue", "instructions.json  the standing rules", "hooks/SESSION      when a session's hooks ran last",
			"asks/              what waits for its person, and the answers from afar",
			"messages/SESSION/  messages to it, what was taken, waiter.lock", "waiters/           which hook waits for messages, a Claude Code",
			"watcher.log        what went wrong",
		},
	}
}
