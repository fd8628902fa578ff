package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/record"
	"sessionhub/lib/spawn"
	"sessionhub/lib/state"
)

// maxSpec bounds what start reads of a spec, in bytes.
const maxSpec = 2 << 20

func runtime(c *front.Call) (*spawn.Runtime, error) {
	dir, err := state.Default(c.Getenv)
	if err != nil {
		return nil, front.Fail(front.ExitConfig, err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return &spawn.Runtime{
		Dir: dir, Getenv: c.Getenv, Environ: os.Environ(), Launcher: []string{self, "launch"}, Now: time.Now, Timing: spawn.DefaultTiming(),
		Pause: func(ctx context.Context, d time.Duration) {
			select {
			case <-ctx.Done():
			case <-time.After(d):
			}
		},
	}, nil
}

// failure gives the errors of a runtime their exit statuses.
func failure(err error) error {
	switch {
	case errors.Is(err, spawn.ErrSpec), errors.Is(err, spawn.ErrTaken), errors.Is(err, spawn.ErrUnknown):
		return front.Fail(front.ExitData, err)
	case errors.Is(err, spawn.ErrRuntime), errors.Is(err, spawn.ErrUnasked):
		return front.Fail(front.ExitUnavailable, err)
	case errors.Is(err, spawn.ErrRunning):
		return front.Fail(front.ExitBusy, err)
	}
	return err
}

func startVerb() front.Verb {
	return front.Verb{
		Name: "start", Args: "< spec.json", Short: "start an agent",
		Long: `Reads a spec as JSON and prints the pane of the agent that was started, once its
program is proven to run. If anything fails, nothing is left behind.

{"space","name","cwd","command":[…],"env":{…},"secret_env":{…},"layout","runtime"}

space and name are 1 to 32 letters, digits, '_' and '-'. cwd is an absolute path.
layout is workspace (one for each agent; the default) or split (all in one tab);
SHSPAWN_LAYOUT is used where the spec has none. runtime is herdr or tmux; without
one the first that can be used is.`,
		Run: func(ctx context.Context, c *front.Call) error {
			if len(c.Args) > 0 {
				return front.Usage("the spec comes on standard input, not as %q", c.Args[0])
			}
			s, err := readSpec(c.Input(ctx))
			if err != nil {
				return front.Fail(front.ExitData, err)
			}
			r, err := runtime(c)
			if err != nil {
				return err
			}
			a, err := r.Start(ctx, s)
			if err != nil {
				return failure(err)
			}
			return front.PrintJSON(c.Stdout, a)
		},
		Examples: []front.Example{
			{Line: `echo '{"space":"ci","name":"fix-1","cwd":"/src/app","command":["claude","fix the build"]}' | shspawn start`, For: "run Claude Code in a pane"},
		},
		Files: []string{"spawn/SPACE.lock   held while something is started or ended in a space", "spawn/SPACE.log    what a server of herdr said on standard error"},
		Exits: []front.Exit{
			{Code: front.ExitData, When: "the spec is wrong, its program is not there, or the name is taken"},
			{Code: front.ExitUnavailable, When: "no runtime can be used"},
		},
	}
}

func readSpec(in io.Reader) (spawn.Spec, error) {
	var s spawn.Spec
	b, err := io.ReadAll(io.LimitReader(in, maxSpec+1))
	if err != nil {
		return s, fmt.Errorf("read the spec: %w", err)
	}
	if len(b) > maxSpec {
		return s, fmt.Errorf("the spec is over %d bytes", maxSpec)
	}
	if err := record.Decode(b, &s); err != nil {
		return s, fmt.Errorf("the spec: %w", err)
	}
	return s, nil
}

func spaceFlag(fs *flag.FlagSet, space *string) {
	fs.StringVar(space, "space", "", "the agent's `space`")
}

func oneName(c *front.Call, space string) (string, error) {
	switch {
	case space == "":
		return "", front.Usage("--space is missing")
	case len(c.Args) != 1:
		return "", front.Usage("one agent is wanted, not %d", len(c.Args))
	}
	return c.Args[0], nil
}

func stopVerb() front.Verb {
	var space string
	var hard bool
	return front.Verb{
		Name: "stop", Args: "--space S [--hard] NAME", Short: "stop an agent",
		Long: `Types /exit into the agent's pane, and closes the pane if it does not end within 10 s.
--hard closes it at once. Ends when the agent is gone. The server of a space ends
with its last agent.`,
		Flags: func(fs *flag.FlagSet) {
			spaceFlag(fs, &space)
			fs.BoolVar(&hard, "hard", false, "close the pane at once")
		},
		Run: func(ctx context.Context, c *front.Call) error {
			name, err := oneName(c, space)
			if err != nil {
				return err
			}
			r, err := runtime(c)
			if err != nil {
				return err
			}
			return failure(r.Stop(ctx, space, name, hard))
		},
		Exits: []front.Exit{{Code: front.ExitData, When: "no such agent runs"}, {Code: front.ExitBusy, When: "it does not end"}},
	}
}

func waitVerb() front.Verb {
	var space string
	var limit time.Duration
	return front.Verb{
		Name: "wait", Args: "--space S [--timeout 1m] NAME", Short: "wait until an agent has exited",
		Long: `Ends when the agent has exited, and at once when none of that name runs. Only a
successful look at its server proves either: one that can't be asked is an error. The server of a space ends with its last agent.`,
		Flags: func(fs *flag.FlagSet) {
			spaceFlag(fs, &space)
			fs.DurationVar(&limit, "timeout", 365*24*time.Hour, "wait at most that `long`, such as 1m")
		},
		Run: func(ctx context.Context, c *front.Call) error {
			name, err := oneName(c, space)
			if err != nil {
				return err
			}
			r, err := runtime(c)
			if err != nil {
				return err
			}
			return failure(r.Wait(ctx, space, name, limit))
		},
		Exits: []front.Exit{{Code: front.ExitBusy, When: "it still runs after the timeout"}},
	}
}

func listVerb() front.Verb {
	var space, rt string
	return front.Verb{
		Name: "list", Args: "[--space S] [--runtime R]", Short: "list the agents that run",
		Long: `Prints each agent that runs as a line of JSON. A space without a server has none; a
server that can't be asked is an error.`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&space, "space", "", "only of this `space`")
			fs.StringVar(&rt, "runtime", "", "only of this `runtime`, herdr or tmux")
		},
		Run: func(ctx context.Context, c *front.Call) error {
			if len(c.Args) > 0 {
				return front.Usage("no arguments are wanted, not %q", c.Args[0])
			}
			if space != "" {
				if err := spawn.CheckName("space", space); err != nil {
					return failure(err)
				}
			}
			r, err := runtime(c)
			if err != nil {
				return err
			}
			list, err := r.List(ctx, space, rt)
			if err != nil {
				return failure(err)
			}
			return printEach(c.Stdout, list)
		},
	}
}

func availableVerb() front.Verb {
	return front.Verb{
		Name: "available", Short: "tell which runtimes can be used",
		Long: `Prints each runtime as a line of JSON, with its version, or why it can't be used:
herdr must be 0.8.0 or later, tmux 3.2.`,
		Run: func(ctx context.Context, c *front.Call) error {
			r, err := runtime(c)
			if err != nil {
				return err
			}
			list := r.Available(ctx)
			if err := printEach(c.Stdout, list); err != nil {
				return err
			}
			for _, a := range list {
				if a.Available {
					return nil
				}
			}
			return front.Fail(front.ExitUnavailable, errors.New("no runtime can be used"))
		},
		Exits: []front.Exit{{Code: front.ExitUnavailable, When: "none can be used"}},
	}
}

func printEach[T any](out io.Writer, list []T) error {
	enc := json.NewEncoder(out)
	for _, v := range list {
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

func launchVerb() front.Verb {
	return front.Verb{
		Name: "launch", Args: "FILE", Short: "become the agent that a file orders",
		Long: `What a pane runs. It reads the file that start made, removes it with its folder, and
becomes the agent. It is of no use by hand.`,
		Run: func(_ context.Context, c *front.Call) error {
			if len(c.Args) != 1 || !filepath.IsAbs(c.Args[0]) {
				return front.Usage("the file of a launcher is wanted")
			}
			return front.Fail(exitNotStarted, spawn.Launch(c.Args[0], os.Environ()))
		},
		Exits: []front.Exit{{Code: exitNotStarted, When: "the agent can't be started"}},
	}
}
