package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/config"
	"sessionhub/lib/install"
)

// accountFiles are the files that hub and join write.
func accountFiles() []string {
	return []string{
		"~/.config/sessionhub/config.toml  server_url and machine (XDG_CONFIG_HOME is heeded)",
		"~/.config/sessionhub/token, user-token  this machine's token and its owner's (0600)",
		"~/.local/share/sessionhub/written.json  which of them shinstall wrote, for --remove",
	}
}

func hubHookUp() hookUp {
	return hookUp{
		name: "hub", short: "run the hub on this machine",
		long: `Makes a service of this user that runs shhub serve (systemd, or launchd), and
what a first user needs: a token for this machine, one for its owner, and a
config.toml that names them. It waits until the hub answers, and proves both
tokens. Where nothing manages a user's services, as in a container, it prints the
command to run. A config.toml that names another hub stays as it is. --remove
leaves the database.`,
		files: append(accountFiles(),
			"~/.config/systemd/user/sessionhub.service, ~/Library/LaunchAgents/sessionhub.hub.plist  the service",
			"~/.local/share/sessionhub/hub.db  the database",
		),
		exits: []front.Exit{{Code: front.ExitUnavailable, When: "the hub does not answer"}},
		examples: []front.Example{
			{Line: "shinstall hub plugin hooks mcp revive", For: "everything, on the first machine"},
			{Line: "shinstall hub --listen :7733 --tls-cert hub.pem --tls-key hub.key", For: "a hub that other machines reach"},
			{Line: "shinstall hub --notify ~/.config/sessionhub/topics", For: "push a note to a phone when a session waits"},
		},
		target: func(c *front.Call, o options, t install.Tools, _ []string) (install.Target, error) {
			a, err := account(c, t)
			if err != nil {
				return nil, err
			}
			host, err := os.Hostname()
			if err != nil {
				host = c.Config.Machine
			}
			return &install.Hub{
				Tools: t, Serve: o.serve, Account: a, Getenv: c.Getenv, Hostname: host, Database: filepath.Join(a.Data, "hub.db"),
				Manager: func(ctx context.Context) (install.Manager, string) {
					return install.FindManager(ctx, install.HubKind(), c.Getenv)
				},
			}, nil
		},
	}
}

func joinHookUp() hookUp {
	return hookUp{
		name: "join", args: "URL", short: "report to a hub on another machine",
		long: `Makes this machine known to the hub at URL, by a code that shhub pair prints
there: asked for on a terminal, else the first line of standard input. Writes the
tokens that it gets, and config.toml, and proves them. A machine that is joined to
that hub already is left alone. --machine names this machine (default: its host
name); plain http to another host needs --allow-http. --remove needs no URL.`,
		files: accountFiles(),
		exits: []front.Exit{
			{Code: front.ExitData, When: "a machine of that name is known already"},
			{Code: front.ExitUnavailable, When: "the hub is out of reach"},
			{Code: front.ExitNotAllowed, When: "the code is not good"},
		},
		examples: []front.Example{{Line: "shinstall join https://hub.example.org:7733 plugin hooks mcp revive", For: "everything, on a second machine"}},
		target: func(c *front.Call, o options, t install.Tools, args []string) (install.Target, error) {
			a, err := account(c, t)
			if err != nil {
				return nil, err
			}
			return &install.Join{URL: strings.Join(args, ""), Account: a, Replace: o.replace, Code: func(ctx context.Context) (string, error) { return askCode(ctx, c) }}, nil
		},
	}
}

func account(c *front.Call, t install.Tools) (*install.Account, error) {
	data, err := install.DataDir(c.Getenv)
	if err != nil {
		return nil, front.Fail(front.ExitConfig, err)
	}
	w, err := newWatcher(c, t)
	if err != nil {
		return nil, err
	}
	return &install.Account{Conf: c.Config, Path: config.Path(c.Getenv), Data: data, Watcher: w}, nil
}

// askCode reads the pairing code, after asking for it where a person sits.
func askCode(ctx context.Context, c *front.Call) (string, error) {
	if c.Interactive() {
		fmt.Fprint(c.Stderr, "The code that shhub pair prints on the hub's machine: ")
	}
	code, err := bufio.NewReader(c.Input(ctx)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return code, err
}
