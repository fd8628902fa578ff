package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// maxInput bounds what add reads: it appends all of it or nothing, so it
// holds it in memory.
const maxInput = 64 << 20

func addVerb() front.Verb {
	return front.Verb{
		Name: "add", Args: "< items.jsonl", Short: "append records, all or none",
		Long: `Reads items as JSON, one after the other, and appends them in one step. "v",
"id", "at" and "source" may be left out. Prints {"id"} for each once they are on
disk. A record that is wrong is named by its line, and nothing is appended.`,
		Run: add,
		Examples: []front.Example{
			{Line: `echo '{"kind":"title","session":"0b5c…","body":{"title":"Fix the parser"}}' | shq add`, For: "name a session"},
		},
		Files: []string{"queue.jsonl  the queue"},
		Exits: []front.Exit{{Code: front.ExitData, When: "a record is wrong; nothing was appended"}},
	}
}

func add(ctx context.Context, c *front.Call) error {
	if len(c.Args) > 0 {
		return front.Usage("records come on standard input, not as %q", c.Args[0])
	}
	first := queue.NewStamp(time.Now())
	in, err := io.ReadAll(io.LimitReader(c.Input(ctx), maxInput+1))
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	if len(in) > maxInput {
		return front.Fail(front.ExitData, fmt.Errorf("standard input is over %d bytes; split it", maxInput))
	}
	items, err := parseItems(in, first)
	if err != nil {
		return front.Fail(front.ExitData, err)
	}
	return appendItems(c, items)
}

// parseItems reads JSON values one after the other. Errors name the line on
// which the value begins.
func parseItems(in []byte, first queue.Stamp) ([]record.Item, error) {
	var items []record.Item
	seen := map[string]bool{}
	dec := json.NewDecoder(bytes.NewReader(in))
	at := position{in: in, line: 1}
	for {
		line := at.next(dec.InputOffset())
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return items, nil
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", lineOfError(in, err, line), record.Explain(err))
		}
		stamp := first
		if len(items) > 0 {
			stamp = queue.NewStamp(time.Now())
		}
		it, err := itemFrom(raw, stamp)
		if err == nil && seen[it.ID] {
			err = fmt.Errorf(`"id" %s is there twice`, it.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		seen[it.ID] = true
		items = append(items, it)
	}
}

func itemFrom(raw json.RawMessage, stamp queue.Stamp) (record.Item, error) {
	it := record.Item{V: record.Version, ID: stamp.ID, At: stamp.At, Source: record.SourceCLI}
	if err := record.Decode(raw, &it); err != nil {
		return it, err
	}
	if err := it.Validate(); err != nil {
		return it, err
	}
	if !isUUID(it.ID) { // a short one would meet another's
		return it, fmt.Errorf(`"id" %q is no UUID; leave it out, and one is made`, it.ID)
	}
	_, err := it.Line()
	return it, err
}

// position counts lines as it goes on, so that a large input is read once.
type position struct {
	in   []byte
	off  int64
	line int
}

// next is the line, from 1, of the first value at or after an offset.
func (p *position) next(off int64) int {
	for off < int64(len(p.in)) && bytes.IndexByte([]byte(" \t\r\n"), p.in[off]) >= 0 {
		off++
	}
	p.line += bytes.Count(p.in[p.off:off], []byte("\n"))
	p.off = off
	return p.line
}

func lineOfError(in []byte, err error, line int) int {
	var syn *json.SyntaxError
	if errors.As(err, &syn) && syn.Offset <= int64(len(in)) {
		return 1 + bytes.Count(in[:max(syn.Offset-1, 0)], []byte("\n"))
	}
	return line
}

func appendItems(c *front.Call, items []record.Item) error {
	dir, err := state.Default(c.Getenv)
	if err != nil {
		return front.Fail(front.ExitConfig, err)
	}
	q := &queue.Queue{Dir: dir}
	if err := q.Append(queue.Durable, items...); err != nil {
		if errors.Is(err, queue.ErrTooLong) {
			return front.Fail(front.ExitData, err)
		}
		return err
	}
	for _, it := range items {
		if err := front.PrintJSON(c.Stdout, struct {
			ID string `json:"id"`
		}{it.ID}); err != nil {
			return err
		}
	}
	return nil
}

func reportVerb() front.Verb {
	var r record.Report
	var session string
	return front.Verb{
		Name: "report", Args: "[flags] | < report.json", Short: "say what a session did, does and waits for",
		Long: `Queues a report of a session. Without flags the report is read as JSON from
standard input. The session is the one that runs this, as Claude Code's
environment names it, unless --session names another.`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&session, "session", "", "Claude's session `id`")
			fs.StringVar(&r.Done, "done", "", "`what` is done")
			fs.StringVar(&r.InFlight, "in-flight", "", "`what` is being done")
			fs.StringVar(&r.WaitingOn, "waiting-on", "", "`what` it waits for")
		},
		Run: func(ctx context.Context, c *front.Call) error {
			return say(ctx, c, session, record.KindReport, &r, r == record.Report{})
		},
		Examples: []front.Example{{Line: "shq report --done 'parser fixed' --waiting-on 'review'", For: "from inside a session"}},
		Files:    []string{"queue.jsonl  the queue"},
		Exits:    []front.Exit{{Code: front.ExitData, When: "the report is wrong"}},
	}
}

func titleVerb() front.Verb {
	var t record.Title
	var session string
	return front.Verb{
		Name: "title", Args: "[flags] TITLE | < title.json", Short: "name a session",
		Long: `Queues a title for the session that runs this, as Claude Code's environment
names it, or for the one that --session names.`,
		Flags: func(fs *flag.FlagSet) { fs.StringVar(&session, "session", "", "Claude's session `id`") },
		Run: func(ctx context.Context, c *front.Call) error {
			if len(c.Args) > 1 {
				return front.Usage("one title is wanted, not %d words: quote it", len(c.Args))
			}
			if len(c.Args) == 1 {
				t.Title = c.Args[0]
			}
			return say(ctx, c, session, record.KindTitle, &t, t.Title == "")
		},
		Examples: []front.Example{{Line: "shq title 'Fix the parser'", For: "from inside a session"}},
		Files:    []string{"queue.jsonl  the queue"},
		Exits:    []front.Exit{{Code: front.ExitData, When: "the title is wrong"}},
	}
}

// isUUID reports whether s is a session id of Claude Code in full. A short one,
// as tables show it, would name a session that does not exist.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range []byte(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
		if dash != (c == '-') || !dash && !hex {
			return false
		}
	}
	return true
}

// say queues what a session says of itself. An empty body is read from
// standard input.
func say(ctx context.Context, c *front.Call, session string, kind record.Kind, body any, empty bool) error {
	stamp := queue.NewStamp(time.Now())
	if session == "" {
		session = c.Getenv("CLAUDE_CODE_SESSION_ID")
	}
	if session == "" {
		return front.Usage("no session: give --session, or run this inside Claude Code")
	}
	if !isUUID(session) {
		return front.Fail(front.ExitData, fmt.Errorf("--session %q is no full session id, such as 0b5c1f9e-2d2c-4a57-9a3e-1f0c52b8d1aa; shctl show tells it", session))
	}
	if empty {
		in, err := io.ReadAll(io.LimitReader(c.Input(ctx), record.MaxItem+1))
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
		if err := record.Decode(in, body); err != nil {
			return front.Fail(front.ExitData, err)
		}
	}
	it, err := record.NewItem(stamp.ID, stamp.At, record.SourceCLI, kind, body)
	if err != nil {
		return err
	}
	it.Session = session
	if err := it.Validate(); err != nil {
		return front.Fail(front.ExitData, err)
	}
	return appendItems(c, []record.Item{it})
}
