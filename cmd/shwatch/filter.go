package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/jsonl"
	"sessionhub/lib/record"
	"sessionhub/lib/watch"
)

func snapshotVerb() front.Verb {
	var socket string
	var explain bool
	return front.Verb{
		Name: "snapshot", Args: "[flags]", Short: "print what a heartbeat would say", Settings: []string{"machine", "claude_home"},
		Long: `Takes an inventory of a herdr server and prints it as a Snapshot, without a
hub. With --explain each session says why it was found as it was.`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&socket, "herdr", "", "the herdr `socket` (default: the one that herdr itself would use)")
			fs.BoolVar(&explain, "explain", false, "say why")
		},
		Run: func(ctx context.Context, c *front.Call) error {
			w, err := build(c, socket)
			if err != nil {
				return err
			}
			if explain {
				w.Looker = &watch.PresenceLooker{ClaudeHome: c.Config.ClaudeHome, Getenv: c.Getenv, Explain: true}
			}
			w.Git = watch.ReadGit
			s, err := w.Snapshot(ctx, socketOf(c, socket))
			if err != nil {
				return front.Fail(front.ExitUnavailable, err)
			}
			return front.PrintJSON(c.Stdout, s)
		},
		Examples: []front.Example{{Line: "shwatch snapshot --explain | jq '.sessions[]'", For: "why is it shown like that?"}},
		Exits:    []front.Exit{{Code: front.ExitUnavailable, When: "herdr is out of reach"}},
	}
}

func coalesceVerb() front.Verb {
	return front.Verb{
		Name: "coalesce", Args: "< items.jsonl", Short: "drop the records that later ones make pointless",
		Long: `Reads items as JSON lines and prints those that are not superseded, in their
order and as they stood. It is the same rule that a delivery follows.`,
		Run: coalesce,
		Examples: []front.Example{
			{Line: "shq cat | shwatch coalesce | wc -l", For: "how much would be sent"},
		},
		Exits: []front.Exit{{Code: front.ExitData, When: "a line is no record; nothing was printed"}},
	}
}

func coalesce(ctx context.Context, c *front.Call) error {
	var lines [][]byte
	var items []record.Item
	r := jsonl.NewReader(c.Input(ctx), record.MaxItem)
	for n := 1; ; n++ {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
		if len(bytes.TrimSpace(l.Bytes)) == 0 {
			continue
		}
		if l.Long {
			return front.Fail(front.ExitData, fmt.Errorf("line %d: it has %d bytes, over the limit of %d", n, l.Size, record.MaxItem))
		}
		it, err := record.ParseItem(l.Bytes)
		if err != nil {
			return front.Fail(front.ExitData, fmt.Errorf("line %d: %w", n, err))
		}
		lines, items = append(lines, bytes.Clone(l.Bytes)), append(items, it)
	}
	for i, gone := range watch.Superseded(items) {
		if gone {
			continue
		}
		if _, err := c.Stdout.Write(append(lines[i], '\n')); err != nil {
			return err
		}
	}
	return nil
}
