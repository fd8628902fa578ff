package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
	"sessionhub/lib/watch"
)

// drain reads, checks and coalesces a backlog, beside jq that only reads it.
func (b *bench) drain() error {
	if _, err := exec.LookPath("jq"); err != nil {
		return fmt.Errorf("jq is missing: install it, as the drain is compared with it")
	}
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		dir := state.Dir(filepath.Join(b.dir, fmt.Sprint(n)))
		path := filepath.Join(dir.Sending(), "0.jsonl")
		if err := backlog(path, n); err != nil {
			return err
		}
		q := &queue.Queue{Dir: dir}
		began := time.Now()
		entries, bad, err := q.ReadSegment("0.jsonl")
		if err != nil || len(bad) > 0 || len(entries) != n {
			return fmt.Errorf("read: %d records, %d bad, %w", len(entries), len(bad), err)
		}
		items := make([]record.Item, len(entries))
		for i := range entries {
			items[i] = entries[i].Item
		}
		kept := 0
		for _, gone := range watch.Superseded(items) {
			if !gone {
				kept++
			}
		}
		ours := time.Since(began)
		began = time.Now()
		if err := exec.CommandContext(context.Background(), "jq", "-c", ".", path).Run(); err != nil {
			return fmt.Errorf("jq: %w", err)
		}
		jq := time.Since(began)
		began = time.Now()
		if err := exec.Command("wc", "-l", path).Run(); err != nil {
			return fmt.Errorf("wc: %w", err)
		}
		wc := time.Since(began)
		say("%9d lines        %7.0f ms (%d kept); jq -c . %7.0f ms = %.1f × ours; wc -l %.0f ms",
			n, float64(ours.Milliseconds()), kept, float64(jq.Milliseconds()), float64(jq)/float64(ours), float64(wc.Milliseconds()))
		if err := os.RemoveAll(string(dir)); err != nil {
			return err
		}
	}
	return nil
}

// backlog writes what a machine with 200 panes makes: mostly states, a report
// in twenty.
func backlog(path string, n int) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	at := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	states := []record.AgentState{record.Working, record.Idle, record.Blocked}
	for i := range n {
		s := queue.NewStamp(at.Add(time.Duration(i) * time.Microsecond))
		it, err := record.NewItem(s.ID, s.At, record.SourcePlugin, record.KindState, record.State{AgentState: states[i%3]})
		if i%20 == 0 {
			it, err = record.NewItem(s.ID, s.At, record.SourceHook, record.KindReport, record.Report{Done: fmt.Sprint("step ", i)})
			it.Session = fmt.Sprintf("0b5c1f9e-2d2c-4a57-9a3e-%012d", i%200)
		} else {
			it.Pane = &record.Pane{Herdr: "/home/dev/.config/herdr/herdr.sock", PaneID: fmt.Sprintf("w%d:p1", i%200), WorkspaceID: fmt.Sprintf("w%d", i%200)}
		}
		if err != nil {
			return err
		}
		line, err := it.Line()
		if err != nil {
			return err
		}
		w.Write(line)
		w.WriteByte('\n') // Flush returns the first error of these
	}
	return w.Flush()
}
