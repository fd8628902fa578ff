// Command shq puts records on the queue and looks at it.
package main

import (
	"context"
	"os"
	"slices"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hook"
)

func main() {
	// herdr and Claude Code run these for every event: nothing is built that
	// they do not need.
	if len(os.Args) == 2 && os.Args[1] == "event" {
		event()
		return
	}
	if len(os.Args) >= 2 && os.Args[1] == "hook" && !asksHelp(os.Args[2:]) {
		claudeHook(os.Args[2:])
		return
	}
	front.Main(tool())
}

func tool() front.Tool {
	return front.Tool{
		Name:  "shq",
		Short: "put records on the queue of sessionhub, and look at it",
		Long: `shq is how herdr, Claude Code, scripts and people report to sessionhub: it
appends records to the queue in the state directory, from where shwatch takes
them to the hub. It never waits for a network.`,
		Verbs: []front.Verb{eventVerb(), hookVerb(), mcpVerb(), addVerb(), reportVerb(), titleVerb(), catVerb(), statVerb()},
		See:   []string{"shwatch(1)", "shctl(1)", "shinstall(1)", "shhub(1)"},
	}
}

// asksHelp reports whether --help stands among the arguments.
func asksHelp(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == "--help" || a == "-help" || a == "-h" })
}

func event() {
	program, err := hook.Beside("shwatch")
	if err != nil {
		program = "shwatch"
	}
	h := &hook.EventHook{Getenv: hook.Getenv(os.Getenv), Now: time.Now, Watcher: program}
	h.Run(context.Background())
}

func eventVerb() front.Verb {
	return front.Verb{
		Name: "event", Short: "herdr's event hook",
		Long: `Takes the event from HERDR_PLUGIN_EVENT_JSON, queues what it tells of a Claude
session, starts the watcher if none runs, and shows a herdr notification when a
session began to wait for its person. It exits with status 0 always; what goes
wrong is a line in watcher.log.`,
		Guest: true,
		Run:   func(context.Context, *front.Call) error { event(); return nil },
		Files: []string{"queue.jsonl  the queue", "watcher.log  what went wrong"},
	}
}
