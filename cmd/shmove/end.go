package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/bundle"
	"sessionhub/lib/claude"
	"sessionhub/lib/herdr"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/move"
	"sessionhub/lib/move/tree"
	"sessionhub/lib/session"
	"sessionhub/lib/state"
	"sessionhub/lib/watch"
)

// moving are the settings of what touches sessions here.
func moving() []string {
	return []string{"server_url", "allow_http", "token_file", "machine", "herdr_sockets", "claude_home", "move_roots"}
}

// newEnd is this machine's end of moves, without a hub and without keys: what
// ends a move needs none, and must not fail for want of them.
func newEnd(c *front.Call, tell func(move.Step)) (*move.End, error) {
	dir, err := state.Default(c.Getenv)
	if err != nil {
		return nil, front.Fail(front.ExitConfig, err)
	}
	if err := dir.Ensure(); err != nil {
		return nil, err
	}
	p, err := pins(c)
	if err != nil {
		return nil, err
	}
	home := c.Getenv("HOME")
	return &move.End{
		Machine: c.Config.Machine, Dir: dir, Home: claude.Home(c.Config.ClaudeHome), Desk: desk(c, dir), Pins: p,
		Roots:  append([]string{filepath.Join(home, "Code")}, c.Config.MoveRoots...),
		Claude: func(ctx context.Context) (string, error) { return claudeVersion(ctx, c) },
		Limit:  bundle.DefaultLimit, MaxUntracked: tree.MaxUntracked, Now: time.Now, Pause: session.Pause, LockWait: move.LockWait, Tell: tell,
	}, nil
}

// withKeys gives the end this machine's keys, which are made if there are none.
func withKeys(c *front.Call, e *move.End) (err error) {
	e.Keys, err = loadKeys(c)
	return coded(err)
}

func desk(c *front.Call, dir state.Dir) *session.Desk {
	return &session.Desk{
		Dir: dir, Home: claude.Home(c.Config.ClaudeHome), Getenv: c.Getenv, Now: time.Now, Pause: session.Pause, Timing: session.DefaultTiming(),
		Client: func(socket string) session.Herdr { return &herdr.Client{Socket: socket} },
		Sockets: func() []string {
			named := append([]string{c.Getenv("HERDR_SOCKET_PATH")}, c.Config.HerdrSockets...)
			return watch.KnownSockets(dir, c.Getenv, named)
		},
	}
}

// claudeVersion asks the Claude Code that a shell here would start. What herdr
// and the watcher give may be a poor PATH (field report A46).
func claudeVersion(ctx context.Context, c *front.Call) (string, error) {
	home := c.Getenv("HOME")
	names := []string{
		c.Getenv("CLAUDE_BIN"), "claude", filepath.Join(home, ".local/bin/claude"), filepath.Join(home, ".claude/local/claude"),
		"/usr/local/bin/claude", "/opt/homebrew/bin/claude",
	}
	for _, name := range names {
		if name == "" {
			continue
		}
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		return claude.Version(ctx, path)
	}
	return "", errors.New("no Claude Code found on the PATH, nor where its installer puts it; CLAUDE_BIN names it")
}

// processVersion is the version of a session's own process, as the registry has
// it; of one that does not run, that of the program here.
func processVersion(ctx context.Context, e *move.End, id string) (string, error) {
	t, err := claude.NewTable()
	if err != nil {
		return "", err
	}
	list, err := e.Home.Live(t)
	if err != nil && !errors.Is(err, claude.ErrNoRegistry) {
		return "", err
	}
	for _, p := range list {
		if p.SessionID == id && p.Version != "" {
			return p.Version, nil
		}
	}
	return e.Claude(ctx)
}

// withHub gives the end its hub, with this machine's token.
func withHub(c *front.Call, e *move.End) error {
	token, err := c.Config.MachineToken()
	if err != nil {
		return fmt.Errorf("%w (shinstall hub, or shinstall join URL, gets one)", err)
	}
	hub, err := hubclient.New(c.Config, token)
	if err != nil {
		return err
	}
	e.Hub = hub
	return nil
}

// toLog tells steps where a log is read.
func toLog(c *front.Call) func(move.Step) {
	return func(s move.Step) {
		word := ""
		if !s.OK {
			word = "failed: "
		}
		fmt.Fprintf(c.Stderr, "move: %s: %s%s\n", s.Step, word, s.Detail)
	}
}

// wholeID is a session's id from its beginning, of those that have a transcript
// here.
func wholeID(e *move.End, prefix string) (string, error) {
	const short = 4
	if len(prefix) < short {
		return "", front.Usage("--session wants a session's id, or at least %d characters of its beginning", short)
	}
	ids := e.Home.Transcribed(prefix)
	switch len(ids) {
	case 0:
		return "", front.Fail(front.ExitData, fmt.Errorf("no session here begins with %q, or it had no prompt yet", prefix))
	case 1:
		return ids[0], nil
	}
	return "", front.Fail(front.ExitData, fmt.Errorf("%d sessions here begin with %q: %v", len(ids), prefix, ids))
}

// scratch is a private folder that goes away with the returned function. What a
// killed process left goes first: it holds work and transcripts.
func scratch(dir state.Dir) (string, func(), error) {
	left, err := filepath.Glob(filepath.Join(string(dir), scratchName+"*"))
	if err != nil {
		return "", nil, err
	}
	for _, path := range left {
		if st, err := os.Lstat(path); err == nil && time.Since(st.ModTime()) > scratchLife {
			os.RemoveAll(path) // the next one tries again
		}
	}
	path, err := os.MkdirTemp(string(dir), scratchName)
	return path, func() { os.RemoveAll(path) }, err
}

const (
	scratchName = "shmove."
	// scratchLife is longer than any verb takes by hand.
	scratchLife = 24 * time.Hour
)
