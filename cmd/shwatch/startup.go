package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/config"
	"sessionhub/lib/hook"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/runlog"
	"sessionhub/lib/watch"
)

// startupWait bounds herdr's startup hook.
const startupWait = 2 * time.Second

func startupVerb() front.Verb {
	return front.Verb{
		Name: "startup", Short: "herdr's startup hook",
		Long: `Queues a snapshot of the herdr server that runs it, and starts the watcher if
none runs. It takes 2 seconds at most and exits with status 0 always; what goes
wrong is a line in watcher.log.`,
		Guest: true,
		Run: func(ctx context.Context, c *front.Call) error {
			startup(ctx, c)
			return nil
		},
		Files: []string{"queue.jsonl  the queue", "herdr.json  the herdr servers known", "watcher.log  what went wrong"},
	}
}

func startup(ctx context.Context, c *front.Call) {
	c.Getenv = hook.Getenv(c.Getenv)
	conf, confErr := config.Load(c.Getenv)
	c.Config = conf
	w, err := build(c, "")
	if err != nil {
		return // there is no log to tell it
	}
	log, done := logFile(w)
	defer done()
	if confErr != nil {
		log.Printf("startup: %v", confErr)
	}
	program, err := hook.Beside("shwatch")
	if err == nil {
		err = hook.EnsureWatcher(w.Dir, program)
	}
	if err != nil {
		log.Printf("startup: %v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startupWait)
	defer cancel()
	if err := queueSnapshot(ctx, w, socketOf(c, "")); err != nil {
		log.Printf("startup: %v", err)
	}
}

func queueSnapshot(ctx context.Context, w *watch.Watcher, socket string) error {
	if socket == "" {
		return fmt.Errorf("no herdr socket: neither HERDR_SOCKET_PATH nor HOME is set")
	}
	if err := watch.Learn(w.Dir, socket, time.Now()); err != nil {
		return err
	}
	w.Git = nil // git may be slow, and the heartbeat tells it soon
	s, err := w.Snapshot(ctx, socket)
	if err != nil {
		return err
	}
	stamp := queue.NewStamp(time.Now())
	it, err := record.NewItem(stamp.ID, stamp.At, record.SourcePlugin, record.KindSnapshot, s)
	if err != nil {
		return err
	}
	return w.Queue.Append(queue.Fast, it)
}

// logFile is watcher.log for a process that herdr started.
func logFile(w *watch.Watcher) (*runlog.Log, func()) {
	if w.Dir.Ensure() != nil {
		return &runlog.Log{W: io.Discard}, func() {}
	}
	f, err := os.OpenFile(w.Dir.WatcherLog(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return &runlog.Log{W: io.Discard}, func() {}
	}
	return &runlog.Log{W: f}, func() { f.Close() }
}
