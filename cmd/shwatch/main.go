// Command shwatch keeps the hub current.
package main

import "sessionhub/cmd/internal/front"

func main() { front.Main(tool()) }

func tool() front.Tool {
	return front.Tool{
		Name:  "shwatch",
		Short: "keep the hub of sessionhub current",
		Long: `shwatch takes the records that shq queued to the hub, sends a heartbeat for each
herdr server every minute, and notices what no record tells. herdr's startup
hook and shq's hooks start it; one runs for a state directory.`,
		Verbs: []front.Verb{
			runVerb(), startupVerb(), snapshotVerb(), coalesceVerb(), drainVerb(), digestVerb(), instructionsVerb(), statusVerb(), stopVerb(),
		},
		See: []string{"shq(1)", "shctl(1)", "shinstall(1)", "shhub(1)"},
	}
}

// watching are the settings of a watcher.
func watching() []string {
	return []string{"server_url", "allow_http", "token_file", "machine", "herdr_sockets", "claude_home"}
}
