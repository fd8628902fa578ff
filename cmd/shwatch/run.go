package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hook"
	"sessionhub/lib/lock"
	"sessionhub/lib/runlog"
	"sessionhub/lib/state"
	"sessionhub/lib/watch"
)

// probeWait is how long a new watcher tries for the lock: every hook's probe
// holds it for an instant.
const probeWait = 200 * time.Millisecond

func runVerb() front.Verb {
	var socket string
	return front.Verb{
		Name: "run", Args: "[flags]", Short: "watch, in the foreground", Settings: watching(),
		Long: `Delivers what is queued as soon as it is appended, and sends heartbeats, until
it is ended by SIGTERM or has had nothing to watch for 10 minutes. Hooks start
it in the background, with standard error appended to watcher.log.`,
		Flags: func(fs *flag.FlagSet) { fs.StringVar(&socket, "herdr", "", "a herdr `socket` to watch") },
		Run: func(ctx context.Context, c *front.Call) error {
			w, err := build(c, socket)
			if err != nil {
				return err
			}
			release, err := hold(w)
			if err != nil {
				return err
			}
			defer release()
			if w.Child, err = control(c); err != nil {
				return err
			}
			return w.Run(ctx)
		},
		Files: []string{"watcher.lock  held while it runs", "watcher.log  its log", "queue.jsonl  what it delivers"},
		Exits: []front.Exit{{Code: front.ExitBusy, When: "another watcher runs"}},
	}
}

// control is the program that carries out what the hub asks of this machine. A
// shctl that is not there is told each time it is tried.
func control(c *front.Call) (*watch.Child, error) {
	program, err := hook.Beside("shctl")
	if err != nil {
		return nil, err
	}
	return &watch.Child{Program: program, Args: []string{"poll"}, Env: os.Environ(), Log: &runlog.Log{W: c.Stderr}}, nil
}

// hold takes watcher.lock and writes who holds it. A second watcher that a
// hook started ends without a word: it lost a race that is none.
func hold(w *watch.Watcher) (release func(), err error) {
	if err := w.Dir.Ensure(); err != nil {
		return nil, err
	}
	l, err := lock.Acquire(w.Dir.WatcherLock(), probeWait)
	if errors.Is(err, lock.ErrBusy) {
		return nil, front.Fail(front.ExitBusy, errors.New("another watcher runs for this state directory; see shwatch status"))
	}
	if err != nil {
		return nil, err
	}
	if err := l.Write(watch.Label(os.Getpid(), time.Now(), w.Version)); err != nil {
		w.Log.Printf("%v", err) // a full disk must not keep the queue from draining
	}
	w.Owns = l.Stands
	return func() { l.Release() }, nil
}

func drainVerb() front.Verb {
	return front.Verb{
		Name: "drain", Args: "[flags]", Short: "deliver once what is queued", Settings: watching(),
		Long: `Makes one pass over the queue, without a daemon, and prints what it did:
{"sent","kept","dropped","set_aside"}.`,
		Run: func(ctx context.Context, c *front.Call) error {
			w, err := build(c, "")
			if err != nil {
				return err
			}
			release, err := hold(w)
			if err != nil {
				return err
			}
			defer release()
			res, err := w.Pass(ctx)
			if err != nil {
				return err
			}
			if err := front.PrintJSON(c.Stdout, res); err != nil {
				return err
			}
			return res.Err
		},
		Examples: []front.Example{{Line: "shwatch drain | jq .kept", For: "what could not be sent"}},
		Files:    []string{"queue.jsonl, queue.sending/, queue.spill/  what it delivers"},
		Exits: []front.Exit{
			{Code: front.ExitUnavailable, When: "the hub is out of reach; the rest is kept"},
			{Code: front.ExitBusy, When: "a watcher runs, which does this anyway"},
			{Code: front.ExitNotAllowed, When: "the hub refuses the token; everything is kept"},
			{Code: front.ExitConfig, When: "the configuration is wrong or incomplete"},
		},
	}
}

func statusVerb() front.Verb {
	return front.Verb{
		Name: "status", Short: "tell how the watcher and its queue are",
		Long: `Prints one JSON object: whether a watcher runs, since when, by which version;
the queue's counts and its oldest record; the last good heartbeat of each herdr
server; the last error and what to do about it.`,
		Run: func(_ context.Context, c *front.Call) error {
			dir, err := state.Default(c.Getenv)
			if err != nil {
				return front.Fail(front.ExitConfig, err)
			}
			r, err := watch.ReadReport(dir)
			if err != nil {
				return err
			}
			return front.PrintJSON(c.Stdout, r)
		},
		Files: []string{"watcher.json  what the watcher says of itself"},
	}
}

// stopWait is how long stop waits: a watcher ends within 5 s.
const stopWait = 7 * time.Second

func stopVerb() front.Verb {
	return front.Verb{
		Name: "stop", Short: "end the watcher",
		Long: "Ends a running watcher and waits until it has ended. What is queued stays queued.",
		Run: func(ctx context.Context, c *front.Call) error {
			dir, err := state.Default(c.Getenv)
			if err != nil {
				return front.Fail(front.ExitConfig, err)
			}
			ctx, cancel := context.WithTimeout(ctx, stopWait)
			defer cancel()
			stopped, err := watch.Stop(ctx, dir)
			if err != nil {
				return err
			}
			return front.PrintJSON(c.Stdout, struct {
				Stopped bool `json:"stopped"`
			}{stopped})
		},
		Exits: []front.Exit{{Code: front.ExitBusy, When: "the watcher did not end"}},
	}
}
