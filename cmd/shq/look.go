package main

import (
	"context"
	"flag"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/jsonl"
	"sessionhub/lib/queue"
	"sessionhub/lib/state"
)

func openQueue(c *front.Call) (*queue.Queue, error) {
	dir, err := state.Default(c.Getenv)
	if err != nil {
		return nil, front.Fail(front.ExitConfig, err)
	}
	return &queue.Queue{Dir: dir}, nil
}

func statVerb() front.Verb {
	return front.Verb{
		Name: "stat", Short: "count what waits, what was delivered and what was set aside",
		Long: `Prints one JSON object: lines queued, in segments being sent, spilled and set
aside; totals delivered and superseded; bytes that wait; and the time of the
oldest record. It changes nothing.`,
		Run: func(_ context.Context, c *front.Call) error {
			q, err := openQueue(c)
			if err != nil {
				return err
			}
			s, err := q.Stat()
			if err != nil {
				return err
			}
			return front.PrintJSON(c.Stdout, s)
		},
		Examples: []front.Example{{Line: "shq stat | jq .queued", For: "how much waits"}},
		Files:    []string{"queue.jsonl, queue.sending/, queue.spill/  what waits", "queue.bad.jsonl  lines set aside", "counters.json  totals"},
	}
}

func catVerb() front.Verb {
	var follow bool
	return front.Verb{
		Name: "cat", Args: "[flags]", Short: "print the records that wait",
		Long: `Prints what waits, oldest first, one JSON record a line. With --follow it goes
on with what is appended, until it is interrupted. It changes nothing.`,
		Flags: func(fs *flag.FlagSet) { fs.BoolVar(&follow, "follow", false, "go on with what is appended") },
		Run: func(ctx context.Context, c *front.Call) error {
			q, err := openQueue(c)
			if err != nil {
				return err
			}
			if follow {
				return followQueue(ctx, c, q)
			}
			return q.Lines(func(l jsonl.Line) error { return printLine(c, l) })
		},
		Examples: []front.Example{{Line: "shq cat | jq -r .kind | sort | uniq -c", For: "what kinds wait"}},
		Files:    []string{"queue.jsonl, queue.sending/, queue.spill/  what waits"},
	}
}

func printLine(c *front.Call, l jsonl.Line) error {
	if len(l.Bytes) == 0 {
		return nil
	}
	_, err := c.Stdout.Write(append(append([]byte(nil), l.Bytes...), '\n'))
	return err
}

// followEvery is how often cat --follow looks for more: often enough for a
// person who watches, rare enough to cost nothing.
const followEvery = 200 * time.Millisecond

// followQueue prints each record once. Lines are known by their content, as
// the take-over moves them from file to file.
func followQueue(ctx context.Context, c *front.Call, q *queue.Queue) error {
	shown := map[string]bool{}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		waiting := map[string]bool{}
		err := q.Lines(func(l jsonl.Line) error {
			key := string(l.Bytes)
			waiting[key] = true
			if shown[key] || l.Torn {
				return nil
			}
			shown[key] = true
			return printLine(c, l)
		})
		if err != nil {
			return err
		}
		for key := range shown {
			if !waiting[key] {
				delete(shown, key)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
