// Command shq puts records on the queue and looks at it.
package main

import (
	"context"
	"os"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hook"
)

func main() {
	// herdr runs this for every event of every pane: nothing is built that
	// this verb does not need.
	if len(os.Args) == 2 && os.Args[1] == "event" {
		event()
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
		Verbs: []front.Verb{eventVerb(), addVerb(), reportVerb(), titleVerb(), catVerb(), statVerb()},
		See:   []string{"shwatch(1)", "shctl(1)", "shinstall(1)", "shhub(1)"},
	}
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
