// Command shq-mcp is `shq mcp`: a program of its own, so that shq, which runs
// for every event, need not carry the protocol's library and HTTP.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/claude"
	"sessionhub/lib/config"
	"sessionhub/lib/hook"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/mcp"
	"sessionhub/lib/queue"
	"sessionhub/lib/state"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, os.Getenv); err != nil {
		fmt.Fprintf(os.Stderr, "shq: mcp: %v\n", err)
		os.Exit(front.ExitFailed)
	}
}

func serve(ctx context.Context, getenv func(string) string) error {
	getenv = hook.Getenv(getenv)
	dir, err := state.Default(getenv)
	if err != nil {
		return err
	}
	program, err := hook.Beside("shwatch")
	if err != nil {
		return err
	}
	s := &mcp.Server{
		Queue:   &queue.Queue{Dir: dir},
		Connect: func() (mcp.Hub, error) { return connect(getenv) },
		Session: func() (string, error) { return session(getenv) },
		Stamp:   func() queue.Stamp { return queue.NewStamp(time.Now()) },
		Wake:    func() error { return hook.EnsureWatcher(dir, program) },
		Version: front.BuildVersion().Number,
	}
	return s.Serve(ctx, &sdk.StdioTransport{})
}

func connect(getenv func(string) string) (mcp.Hub, error) {
	conf, err := config.Load(getenv)
	if err != nil {
		return nil, err
	}
	token, err := conf.MachineToken()
	if err != nil {
		return nil, err
	}
	return hubclient.New(conf, token)
}

// session is the session that started this server: by the registry, which
// follows /clear, else by the environment, which does not.
func session(getenv func(string) string) (string, error) {
	conf, err := config.Load(getenv)
	if err != nil {
		return "", err
	}
	table, err := claude.NewTable()
	if err == nil {
		var id string
		if id, err = claude.Home(conf.ClaudeHome).SessionAbove(table, os.Getppid()); err == nil {
			return id, nil
		}
	}
	if id := getenv("CLAUDE_CODE_SESSION_ID"); id != "" {
		return id, nil
	}
	if errors.Is(err, claude.ErrNoRegistry) {
		err = claude.ErrNoSession
	}
	return "", err
}
