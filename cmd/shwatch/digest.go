package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/claude"
	"sessionhub/lib/digest"
	"sessionhub/lib/text"
)

func digestVerb() front.Verb {
	return front.Verb{
		Name: "digest", Args: "FILE|SESSION", Short: "tell in short what a transcript holds", Settings: []string{"claude_home"},
		Long: `Reads a transcript of Claude Code and prints a Digest: title, first and last
prompt of the person, last reply, recap, turns, model, tokens, branch. It needs
no hub and changes nothing. SESSION is a session's id or a unique beginning of
it of at least 4 characters; its transcript is looked for in claude_home.`,
		Run: func(ctx context.Context, c *front.Call) error {
			if len(c.Args) != 1 {
				return front.Usage("one transcript is wanted: its file, its session's id, or the beginning of that")
			}
			path, err := transcript(claude.Home(c.Config.ClaudeHome), c.Args[0])
			if err != nil {
				return front.Fail(front.ExitData, err)
			}
			d, err := digest.File(ctx, path, "")
			if err != nil {
				return err
			}
			return front.PrintJSON(c.Stdout, d)
		},
		Examples: []front.Example{
			{Line: "shwatch digest 0b5c | jq -r .last_reply", For: "what was said last"},
			{Line: "shwatch digest ~/.claude/projects/-home-dev-app/0b5c….jsonl", For: "a file, wherever it lies"},
		},
		Files: []string{"claude_home/projects/*/SESSION.jsonl  the transcripts"},
		Exits: []front.Exit{{Code: front.ExitData, When: "SESSION has no transcript, or names more than one session"}},
	}
}

// minPrefix is the shortest beginning of an id that names a session.
const minPrefix = 4

// transcript finds the file that arg names: itself, or a session's.
func transcript(home claude.Home, arg string) (string, error) {
	st, err := os.Stat(arg)
	if err == nil && !st.IsDir() || strings.ContainsRune(arg, os.PathSeparator) || strings.HasSuffix(arg, ".jsonl") {
		return arg, nil // what is wrong with it is told when it is read
	}
	ids := home.Transcribed(arg)
	switch {
	case slices.Contains(ids, arg):
		ids = []string{arg}
	case len(arg) < minPrefix:
		return "", fmt.Errorf("%q names no session (the beginning of an id has at least %d characters)", text.Line(arg), minPrefix)
	case len(ids) > 1:
		return "", errors.New("more than one session fits: " + text.Line(strings.Join(ids, ", ")))
	}
	if len(ids) == 1 {
		if path, ok := home.Transcript(ids[0]); ok {
			return path, nil
		}
	}
	return "", fmt.Errorf("%q has no transcript in %s: it appears with the first prompt", text.Line(arg), text.Line(string(home)))
}
