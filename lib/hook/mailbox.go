package hook

import (
	"context"
	"fmt"

	"sessionhub/lib/mailbox"
	"sessionhub/lib/state"
)

// Mailbox is the hook that waits in the background for messages to its session.
// It may last as long as Claude Code does, and alone of all has an exit status
// that means something: 2 wakes the session with what it printed.
const Mailbox = "mailbox"

// RunMailbox waits for messages. given reports that it printed some, and that the
// process is to exit with status 2. What goes wrong is a line in watcher.log.
func (h *ClaudeHook) RunMailbox(ctx context.Context) (given bool) {
	dir, err := state.Default(h.Getenv)
	if err != nil {
		return false // there is no log to tell it
	}
	failed := func(err error) { logFailure(dir, h.Now, fmt.Errorf("hook %s: %w", Mailbox, err)) }
	given, err = h.mailbox(ctx, dir, failed)
	if err != nil {
		failed(err)
	}
	return given
}

func (h *ClaudeHook) mailbox(ctx context.Context, dir state.Dir, failed func(error)) (bool, error) {
	in, err := ReadInput(h.Stdin)
	if err != nil {
		return false, err
	}
	if !h.person(in) {
		return false, nil
	}
	pid, err := h.claude()
	if err != nil {
		return false, err
	}
	home, err := h.home()
	if err != nil {
		failed(err)
	}
	w := mailbox.Waiter{Dir: dir, Home: home, Claude: pid, Now: h.Now, Stderr: h.Stderr, Log: failed, Timing: mailbox.DefaultTiming()}
	return w.Run(ctx, in.SessionID)
}
