// Command shctl asks the hub, and carries out what the hub asks.
package main

import (
	"fmt"
	"strings"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hubclient"
)

func main() { front.Main(tool()) }

func tool() front.Tool {
	return front.Tool{
		Name:  "shctl",
		Short: "see all sessions on all machines",
		Long: `shctl asks the hub: which sessions are there, which waits for me, what did it
do? People get tables, programs JSON lines.`,
		Verbs: []front.Verb{
			statusVerb(), showVerb(), inboxVerb(), archiveVerb(), readVerb(), instructionsVerb(), openVerb(),
			remoteVerb(), sendVerb(), answerVerb(), startVerb(), resumeVerb(), moveVerb(), requestVerb(), cancelVerb(),
			pollVerb(), claimVerb(), doVerb(), postVerb(),
		},
		See: []string{"shq(1)", "shwatch(1)", "shinstall(1)", "shhub(1)"},
	}
}

// asking are the settings of a question to the hub.
func asking() []string { return []string{"server_url", "allow_http", "user_token_file"} }

// hubExits are the exit statuses of a question to the hub.
func hubExits(more ...front.Exit) []front.Exit {
	return append([]front.Exit{
		{Code: front.ExitUnavailable, When: "the hub is out of reach"},
		{Code: front.ExitNotAllowed, When: "the hub refuses the token"},
		{Code: front.ExitConfig, When: "the configuration is wrong or incomplete"},
	}, more...)
}

// connect is a client with its owner's token.
func connect(c *front.Call) (*hubclient.Client, error) {
	if c.Config.ServerURL == "" { // comes before a token, which is of no use without
		return hubclient.New(c.Config, "")
	}
	token, err := c.Config.UserToken()
	if err != nil {
		return nil, fmt.Errorf("%w (on the hub's machine shhub token add --user NAME prints one)", err)
	}
	if strings.HasPrefix(token, "shm_") {
		return nil, front.Fail(front.ExitNotAllowed, fmt.Errorf("%s holds a machine's token; a user's is wanted (on the hub's machine shhub token add --user NAME prints one)", c.Config.UserTokenFile))
	}
	return hubclient.New(c.Config, token)
}
