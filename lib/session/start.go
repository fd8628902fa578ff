package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"sessionhub/lib/herdr"
	"sessionhub/lib/text"
)

// Launch is a Claude Code to start in a workspace of its own.
type Launch struct {
	Dir    string // absolute, links resolved
	Label  string // of the workspace
	Name   string // of the agent, unique among herdr's
	Args   []string
	Socket string // of the herdr server; "" is the one used last
}

// Launched is a Claude Code that herdr has detected.
type Launched struct {
	Socket      string
	WorkspaceID string
	PaneID      string
	Blocked     bool // it asks something, such as whether its folder is trusted

	herdr Herdr
}

// ErrNoHerdr says that no herdr server runs to start anything in.
var ErrNoHerdr = errors.New("no herdr server runs on this machine: start herdr")

// startLimit is what herdr is told to wait for an agent, in ms: more than our
// own wait, so that herdr's book-keeping does not end first.
const startLimit = 60_000

// Launch starts Claude Code in a new workspace without taking the focus, and
// waits until herdr detects it. What was created stays when Claude Code does
// not start, so that its screen can be looked at; the error says what it shows.
func (d *Desk) Launch(ctx context.Context, l Launch, before func() error) (Launched, error) {
	socket, client, err := d.server(ctx, l.Socket)
	if err != nil {
		return Launched{}, err
	}
	if err := before(); err != nil {
		return Launched{}, err
	}
	made, err := client.CreateWorkspace(ctx, herdr.NewWorkspace{Cwd: l.Dir, Label: l.Label})
	if err != nil {
		return Launched{}, fmt.Errorf("make a workspace: %w", err)
	}
	at := Launched{Socket: socket, WorkspaceID: made.Workspace.WorkspaceID, PaneID: made.RootPane.PaneID, herdr: client}
	if !sameDir(made.RootPane.Cwd, l.Dir) { // herdr starts in the home otherwise, and says nothing (finding 31)
		err := fmt.Errorf("herdr opened %s in place of %s", text.Line(made.RootPane.Cwd), l.Dir)
		return at, errors.Join(err, client.CloseWorkspace(ctx, at.WorkspaceID))
	}
	if err := d.startAgent(ctx, client, herdr.Start{Name: l.Name, Kind: "claude", PaneID: at.PaneID, Args: l.Args, TimeoutMS: startLimit}); err != nil {
		return at, err
	}
	return d.detect(ctx, at)
}

// server is the herdr server to start something in: the one that is named, else
// the first that answers.
func (d *Desk) server(ctx context.Context, name string) (string, Herdr, error) {
	var failed error
	for _, socket := range d.Sockets() {
		if name != "" && socket != name && herdr.SessionName(socket, d.Getenv) != name {
			continue
		}
		client := d.Client(socket)
		lctx, cancel := context.WithTimeout(ctx, d.Timing.Look)
		_, err := client.Snapshot(lctx)
		cancel()
		if err == nil {
			return socket, client, nil
		}
		if !gone(err) {
			failed = err
		}
	}
	switch {
	case failed != nil:
		return "", nil, failed
	case name != "":
		return "", nil, fmt.Errorf("no herdr server named %s runs on this machine", text.Line(name))
	}
	return "", nil, ErrNoHerdr
}

func sameDir(a, b string) bool {
	if a == b {
		return true
	}
	ra, err := filepath.EvalSymlinks(a)
	return err == nil && ra == b
}

// startAgent types the command line into the new shell. A shell that runs
// something at its start is busy for a while (finding 34).
func (d *Desk) startAgent(ctx context.Context, h Herdr, s herdr.Start) error {
	var err error
	d.until(ctx, d.Timing.Retry, func(ctx context.Context) bool {
		_, err = h.StartAgent(ctx, s)
		return !herdr.IsCode(err, herdr.CodeAgentPaneBusy)
	})
	if err != nil {
		return fmt.Errorf("start claude: %w", err)
	}
	return nil
}

// detect waits until herdr sees Claude in the pane. One that ends at once is
// never told of; its reason is on the screen alone (finding 32).
func (d *Desk) detect(ctx context.Context, at Launched) (Launched, error) {
	seen := d.until(ctx, d.Timing.Detect, func(ctx context.Context) bool {
		p, err := at.herdr.Pane(ctx, at.PaneID)
		return err == nil && p.Agent == "claude"
	})
	if !seen {
		return at, d.notStarted(ctx, at, "claude didn't start")
	}
	return at, nil
}

// notStarted is an error with what the pane shows.
func (d *Desk) notStarted(ctx context.Context, at Launched, why string) error {
	if shows := lastWords(d.screen(context.WithoutCancel(ctx), at.herdr, at.PaneID)); shows != "" {
		return fmt.Errorf("%s in pane %s, which shows: %s", why, at.PaneID, shows)
	}
	return fmt.Errorf("%s in pane %s", why, at.PaneID)
}

// WhyEnded is the error of a launched Claude Code that ended at once, with what
// its pane shows.
func (d *Desk) WhyEnded(ctx context.Context, at Launched) error {
	return d.notStarted(ctx, at, "claude ended at once")
}

// lastWords are the last lines of a screen that say something, in one.
func lastWords(screen string) string {
	const lines, limit = 3, 200
	var words []string
	for row := range strings.SplitSeq(screen, "\n") {
		if row = text.Line(row); row != "" {
			words = append(words, row)
		}
	}
	return text.Cut(strings.Join(words[max(0, len(words)-lines):], " / "), limit)
}

// Prompt is the state that a launched Claude Code comes to.
type Prompt int

// The states after a launch.
const (
	Ready    Prompt = iota // at its prompt
	Asking                 // it asks its person something
	NotReady               // neither, in time
	Ended                  // it ended
)

// endedLooks is how often in all a launched Claude Code must be missing from
// its pane to have ended: once may be chance.
const endedLooks = 3

// AwaitPrompt waits until a launched Claude Code is at its prompt, or asks
// something, which it never answers.
func (d *Desk) AwaitPrompt(ctx context.Context, at Launched) Prompt {
	state, without := NotReady, 0
	d.until(ctx, d.Timing.Ready, func(ctx context.Context) bool {
		a, err := at.herdr.Agent(ctx, at.PaneID)
		if err == nil && a.Agent == "" { // herdr keeps a launch that has ended for as long as it was told to wait
			without++
		}
		switch {
		case herdr.IsCode(err, herdr.CodeAgentNotFound), without > endedLooks:
			state = Ended
		case err != nil:
		case a.AgentStatus == herdr.StatusBlocked:
			state = Asking
		case a.AgentStatus == herdr.StatusIdle, a.AgentStatus == herdr.StatusDone:
			state = Ready
		}
		return state != NotReady
	})
	return state
}
