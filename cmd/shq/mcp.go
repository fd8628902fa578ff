package main

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hook"
)

func mcpVerb() front.Verb {
	return front.Verb{
		Name: "mcp", Short: "serve a session's tools over MCP",
		Long: `Answers the Model Context Protocol on standard input and output, for the Claude
Code session that started it: "report" and "set_title" queue what the session
says of itself; "sessions" and "inbox" show this machine's. "shinstall mcp"
registers it. It is the program shq-mcp beside shq.`,
		Run: func(context.Context, *front.Call) error {
			program, err := hook.Beside("shq-mcp")
			if err != nil {
				return err
			}
			if err := syscall.Exec(program, []string{program}, os.Environ()); err != nil {
				return fmt.Errorf("%s: %w", program, err)
			}
			return nil
		},
		Examples: []front.Example{{Line: "claude mcp add -s user sessionhub -- ~/.local/bin/shq mcp", For: "what shinstall mcp does"}},
		Files:    []string{"queue.jsonl  the queue"},
	}
}
