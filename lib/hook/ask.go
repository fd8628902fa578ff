package hook

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"sessionhub/lib/ask"
	"sessionhub/lib/config"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// Ask is the hook that waits beside a dialog for an answer from afar. Unlike the
// others it may last a day, and prints a decision.
const Ask = "ask"

// RunAsk answers Claude Code's PermissionRequest. As Run it never fails; what
// goes wrong leaves the dialog on the screen to decide. The context ends with
// the signal by which Claude Code ends a hook.
func (h *ClaudeHook) RunAsk(ctx context.Context) {
	stamp := queue.NewStamp(h.Now())
	dir, err := state.Default(h.Getenv)
	if err != nil {
		return // there is no log to tell it
	}
	if err := h.ask(ctx, stamp, dir); err != nil {
		h.askFailed(dir, err)
	}
}

func (h *ClaudeHook) askFailed(dir state.Dir, err error) {
	logFailure(dir, h.Now, fmt.Errorf("hook %s: %w", Ask, err))
}

func (h *ClaudeHook) ask(ctx context.Context, stamp queue.Stamp, dir state.Dir) error {
	var in ask.Input
	if err := readValue(h.Stdin, &in); err != nil {
		return err
	}
	if !h.attended() {
		return nil
	}
	pid, err := h.claude()
	if err != nil {
		return err
	}
	home, err := h.home()
	if err != nil { // the defaults: nothing may be answered
		h.askFailed(dir, err)
	}
	q := &queue.Queue{Dir: dir, Now: h.Now}
	waiter := ask.Hook{
		Dir: dir, Home: home, Claude: pid, Stamp: stamp, Now: h.Now, Stdout: h.Stdout, Timing: ask.DefaultTiming(),
		Config: func() (config.Config, error) { return config.Load(h.Getenv) },
		Queue:  func(items ...record.Item) error { return q.Append(queue.Durable, items...) },
		Ensure: func() error { return EnsureWatcher(dir, h.Watcher) },
		Log:    func(err error) { h.askFailed(dir, err) },
	}
	return waiter.Run(ctx, in)
}

// claude is the process of the Claude Code that runs the hook.
func (h *ClaudeHook) claude() (pid int, err error) {
	if pid, err = strconv.Atoi(h.Getenv("CLAUDE_PID")); err != nil {
		return 0, errors.New("CLAUDE_PID is not set: Claude Code runs this")
	}
	return pid, nil
}

// home is the folder of that Claude Code. With an error it is the default one.
func (h *ClaudeHook) home() (string, error) {
	if d := h.Getenv("CLAUDE_CONFIG_DIR"); d != "" {
		return d, nil
	}
	conf, err := config.Load(h.Getenv)
	return conf.ClaudeHome, err
}

// attended reports whether the session is a person's, not one of `claude -p` or
// of a program that embeds Claude Code.
func (h *ClaudeHook) attended() bool {
	entry := h.Getenv("CLAUDE_CODE_ENTRYPOINT")
	return entry == "" || entry == "cli"
}
