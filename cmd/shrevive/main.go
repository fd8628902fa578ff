// Command shrevive brings background sessions of Claude Code back that a usage
// limit, an outage or the network stopped.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"
	_ "time/tzdata" // limits name zones, and the machine may have no database of them

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/claude"
	"sessionhub/lib/config"
	"sessionhub/lib/hook"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/revive"
	"sessionhub/lib/runlog"
	"sessionhub/lib/session"
	"sessionhub/lib/state"
)

func main() { front.Main(tool()) }

func tool() front.Tool {
	return front.Tool{
		Name:  "shrevive",
		Short: "bring back background sessions that a limit or an outage stopped",
		Long: `shrevive makes one pass over Claude Code's background sessions and resumes those
that a usage limit, an outage of the API or the network stopped, once what stopped
them is over. A timer runs it every quarter of an hour: shinstall revive sets one
up.

A session is left alone that works, is done, was stopped by hand, waits for a
person, made progress since, or runs in a terminal.`,
		Main:  passVerb(),
		Verbs: []front.Verb{statusVerb(), forgetVerb()},
		See:   []string{"shinstall(1)", "shctl(1)", "shwatch(1)"},
	}
}

// defaultPrompt is what a resumed session is told. It says who woke it (field
// report A06).
const defaultPrompt = "You were stopped by a usage limit, an outage or the network, and shrevive has resumed you now that it is over. " +
	"Go on with the task that you were working on; do not repeat what is done already."

// wish are the flags.
type wish struct {
	bin, prompt string
	limits      revive.Limits
	dry, json   bool
}

func (w *wish) flags(fs *flag.FlagSet) {
	def := revive.DefaultLimits()
	fs.StringVar(&w.bin, "claude-bin", "claude", "Claude Code, a `path` or a name on the PATH")
	fs.IntVar(&w.limits.MaxAttempts, "max-attempts", def.MaxAttempts, "resume a session at most `N` times for one stop; progress and a new refusal begin anew")
	fs.IntVar(&w.limits.MaxPerDay, "max-per-day", def.MaxPerDay, "resume at most `N` sessions in 24 hours")
	fs.IntVar(&w.limits.MaxPerRun, "max-per-run", 0, "resume at most `N` sessions in one pass; 0 is all")
	fs.BoolVar(&w.json, "json", false, "print each decision as a line of JSON")
}

// environment are the names of the flags in the environment; those without a
// prefix are the session watchdog's.
func environment() map[string][]string {
	return map[string][]string{
		"claude-bin":   {"SESSIONHUB_CLAUDE_BIN", "CLAUDE_BIN"},
		"claude-home":  {"SESSIONHUB_CLAUDE_HOME", "CLAUDE_HOME"},
		"max-attempts": {"SESSIONHUB_MAX_ATTEMPTS", "WATCHDOG_MAX_ATTEMPTS"},
		"max-per-day":  {"SESSIONHUB_MAX_PER_DAY", "WATCHDOG_MAX_PER_DAY"},
		"max-per-run":  {"SESSIONHUB_MAX_PER_RUN", "WATCHDOG_MAX_PER_RUN"},
	}
}

func (w *wish) check() error {
	switch {
	case w.limits.MaxAttempts < 1:
		return front.Usage("--max-attempts is %d, and must be at least 1", w.limits.MaxAttempts)
	case w.limits.MaxPerDay < 1:
		return front.Usage("--max-per-day is %d, and must be at least 1", w.limits.MaxPerDay)
	case w.limits.MaxPerRun < 0:
		return front.Usage("--max-per-run is %d, and must not be negative", w.limits.MaxPerRun)
	case strings.HasPrefix(strings.TrimSpace(w.prompt), "-"):
		return front.Usage("--prompt begins with a dash, which Claude Code would take for a flag")
	}
	return nil
}

func passVerb() *front.Verb {
	w := &wish{}
	env := environment()
	env["prompt"] = []string{"SESSIONHUB_PROMPT", "WATCHDOG_PROMPT"}
	return &front.Verb{
		Args: "[flags]", Short: "make one pass, and resume what is to be resumed", Settings: []string{"claude_home", "server_url"},
		Long: `A stated reset is waited for, and a minute more. One that is refused again waits
anew: until the new reset, and at least 1, 2, 4 … 60 minutes. After an outage the
first pass resumes all; if that fails, one session at a time tries, with the same
waits, and the first success brings all back. The oldest stop comes first.`,
		Flags: func(fs *flag.FlagSet) {
			w.flags(fs)
			fs.StringVar(&w.prompt, "prompt", defaultPrompt, "what a resumed session is told")
			fs.BoolVar(&w.dry, "dry-run", false, "print what would be done, and do nothing")
		},
		Env: env,
		Run: func(ctx context.Context, c *front.Call) error { return pass(ctx, c, w) },
		Examples: []front.Example{
			{Line: "shrevive --dry-run", For: "what would it do now?"},
			{Line: "shrevive --json | jq 'select(.decision == \"resume\")'", For: "what it did, for a program"},
		},
		Files: []string{"revive.json   what was resumed, and when", "revive.lock   held during a pass", "revive.log    what it said where cron or launchd runs it; emptied when over 1 MiB"},
		Exits: []front.Exit{
			{Code: front.ExitFailed, When: "a session could not be resumed"},
			{Code: front.ExitUnavailable, When: "there is no Claude Code"},
			{Code: front.ExitBusy, When: "another pass is under way"},
		},
	}
}

func pass(ctx context.Context, c *front.Call, w *wish) error {
	if len(c.Args) > 0 {
		return front.Usage("no arguments are wanted, not %q", c.Args[0])
	}
	if err := w.check(); err != nil {
		return err
	}
	r, err := reviver(c, w)
	if err != nil {
		return err
	}
	var rep revive.Report
	if w.dry {
		rep, _, err = r.Look(ctx)
	} else {
		if err := runlog.Truncate(r.Dir.ReviveLog()); err != nil { // where cron or launchd keeps what this prints
			fmt.Fprintf(c.Stderr, "shrevive: %v\n", err)
		}
		rep, err = r.Pass(ctx)
	}
	if err == nil || len(rep.Decisions) > 0 {
		if err := printReport(c, w, rep); err != nil {
			return err
		}
	}
	switch {
	case errors.Is(err, revive.ErrNoClaude):
		return front.Fail(front.ExitUnavailable, err)
	case err != nil:
		return err
	case rep.Failed:
		return front.Fail(front.ExitFailed, nil) // told already
	}
	return nil
}

func reviver(c *front.Call, w *wish) (*revive.Reviver, error) {
	dir, err := state.Default(c.Getenv)
	if err != nil {
		return nil, front.Fail(front.ExitConfig, err)
	}
	home := claude.Home(c.Config.ClaudeHome)
	desk := &session.Desk{Dir: dir, Now: time.Now}
	return &revive.Reviver{
		Dir: dir, Home: home, Claude: &revive.Program{Bin: w.bin, Home: home, Environ: os.Environ()},
		Table: claude.NewTable, Now: time.Now, Pause: session.Pause,
		Jitter: func() float64 { return rand.Float64()*2 - 1 },
		Limits: w.limits, Prompt: w.prompt, Lease: desk.Lease,
		Tell: func(d revive.Decision, at time.Time) error { return tell(c.Config, dir, d, at) },
	}, nil
}

// tell queues for the hub, if there is one, why a session was resumed, and has
// a watcher take it there.
func tell(conf config.Config, dir state.Dir, d revive.Decision, at time.Time) error {
	if conf.ServerURL == "" {
		return nil
	}
	why := "resumed by shrevive after: " + d.Why
	if d.ResetAt != nil {
		why += ", which reset at " + d.ResetAt.String()
	}
	stamp := queue.NewStamp(at)
	item, err := record.NewItem(stamp.ID, stamp.At, record.SourceCLI, record.KindReport, record.Report{InFlight: why})
	if err != nil {
		return err
	}
	item.Session = d.Session
	q := queue.Queue{Dir: dir}
	if err := q.Append(queue.Durable, item); err != nil {
		return err
	}
	watcher, err := hook.Beside("shwatch")
	if err != nil {
		return err
	}
	if _, err := os.Stat(watcher); err != nil { // this tool stands alone; the next watcher takes it
		return nil
	}
	return hook.EnsureWatcher(dir, watcher)
}
