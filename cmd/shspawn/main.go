// Command shspawn runs agents for other programs in panes of a dedicated
// terminal session.
package main

import (
	"fmt"
	"os"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/spawn"
	_ "sessionhub/lib/spawn/herdrdriver"
	_ "sessionhub/lib/spawn/tmuxdriver"
)

func main() {
	// The launcher becomes the agent: nothing is built that it does not need.
	if len(os.Args) == 3 && os.Args[1] == "launch" && os.Args[2] != "--help" {
		fmt.Fprintf(os.Stderr, "shspawn: %v\n", spawn.Launch(os.Args[2], os.Environ()))
		os.Exit(exitNotStarted)
	}
	front.Main(tool())
}

// exitNotStarted is what shells give for a command that they can't start.
const exitNotStarted = 127

func tool() front.Tool {
	return front.Tool{
		Name:  "shspawn",
		Short: "run agents in panes of a dedicated terminal session",
		Long: `shspawn runs the agents of another program in panes of herdr or tmux. Each space
has a server of its own, so that nothing touches a person's panes; the agents go on
when the program that started them ends, and a person can watch them:

  herdr session attach shspawn-SPACE
  tmux -L shspawn-SPACE attach

An agent's environment goes to it through a private file that is removed before the
agent starts: no secret is on a command line, on a screen, or in another process.`,
		Verbs: []front.Verb{startVerb(), stopVerb(), waitVerb(), listVerb(), availableVerb(), launchVerb()},
		See:   []string{"shctl(1)", "shrevive(1)", "herdr(1)", "tmux(1)"},
	}
}
