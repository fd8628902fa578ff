package hook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"sessionhub/lib/config"
	"sessionhub/lib/herdr"
	"sessionhub/lib/queue"
	"sessionhub/lib/runlog"
	"sessionhub/lib/state"
)

// EventHook is one run of herdr's event hook.
type EventHook struct {
	Getenv  func(string) string
	Now     func() time.Time
	Watcher string // path of shwatch
}

// Run takes the event from HERDR_PLUGIN_EVENT_JSON, queues what it tells,
// starts the watcher if none runs and shows a notification when a session
// became blocked, in this order: what matters first, what may take time last.
// It never fails: what goes wrong is a line in watcher.log.
func (h *EventHook) Run(ctx context.Context) {
	stamp := queue.NewStamp(h.Now())
	dir, err := state.Default(h.Getenv)
	if err != nil {
		return // there is no log to tell it
	}
	if err := h.run(ctx, stamp, dir); err != nil {
		logFailure(dir, h.Now, fmt.Errorf("event: %w", err))
	}
}

func (h *EventHook) run(ctx context.Context, stamp queue.Stamp, dir state.Dir) error {
	raw := h.Getenv("HERDR_PLUGIN_EVENT_JSON")
	if raw == "" {
		return errors.New("HERDR_PLUGIN_EVENT_JSON is not set: herdr's event hooks run this")
	}
	e, err := herdr.ParseEvent([]byte(raw))
	if err != nil {
		return err
	}
	socket := herdr.DefaultSocket(h.Getenv)
	if socket == "" {
		return errors.New("no herdr socket: neither HERDR_SOCKET_PATH nor HOME is set")
	}
	out, err := FromEvent(stamp, socket, e)
	if err != nil {
		return err
	}
	q := &queue.Queue{Dir: dir, Now: h.Now}
	err = q.Append(queue.Fast, out.Items...)
	if out.Look {
		err = errors.Join(err, touch(dir))
	}
	if len(out.Items) > 0 || out.Look {
		err = errors.Join(err, EnsureWatcher(dir, h.Watcher))
	}
	if out.Blocked {
		err = errors.Join(err, h.notify(ctx, socket, e.PaneID))
	}
	return err
}

func (h *EventHook) notify(ctx context.Context, socket, paneID string) error {
	conf, err := config.Load(h.Getenv)
	if err != nil {
		return err
	}
	if !conf.Notify {
		return nil
	}
	return NotifyBlocked(ctx, &herdr.Client{Socket: socket, Timeout: notifyWait}, paneID, conf.Machine)
}

// touch wakes the watcher for a look at herdr without a record.
func touch(dir state.Dir) error {
	if err := dir.Ensure(); err != nil {
		return err
	}
	// Emptying an empty file is no change that a file watch would tell.
	if err := os.WriteFile(dir.Look(), []byte("look\n"), 0o600); err != nil {
		return fmt.Errorf("ask the watcher to look: %w", err)
	}
	return nil
}

// logFailure writes a line to watcher.log. There is nobody to tell when that
// fails, too.
func logFailure(dir state.Dir, now func() time.Time, err error) {
	if dir.Ensure() != nil {
		return
	}
	f, oerr := os.OpenFile(dir.WatcherLog(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if oerr != nil {
		return
	}
	defer f.Close()
	(&runlog.Log{W: f, Now: now}).Printf("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
}
