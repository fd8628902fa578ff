package herdrdriver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sessionhub/lib/herdr"
	"sessionhub/lib/record"
	"sessionhub/lib/shell"
	"sessionhub/lib/spawn"
)

// The tokens by which a pane is known as an agent's. herdr shows them in the
// pane, and forgets them with the server.
const (
	source    = "sessionhub:spawn"
	nameToken = "shspawn"
	atToken   = "shspawn_at"
)

// Open opens a pane. Where herdr can, the launcher is the pane's own process: no
// shell, nothing typed.
func (d *driver) Open(ctx context.Context, o spawn.Opening) (spawn.Spawned, error) {
	c := d.client(o.Space)
	var a spawn.Spawned
	var err error
	if o.Layout == spawn.LayoutSplit {
		a, err = d.openSplit(ctx, c, o)
	} else {
		a, err = d.openWorkspace(ctx, c, o)
	}
	if err != nil {
		return spawn.Spawned{}, fmt.Errorf("open a pane for %s: %w", o.Name, err)
	}
	a.Space, a.Name, a.Server = o.Space, o.Name, session(o.Space)
	return a, nil
}

// openWorkspace gives an agent a workspace and a tab of its own.
func (d *driver) openWorkspace(ctx context.Context, c *herdr.Client, o spawn.Opening) (a spawn.Spawned, err error) {
	made, err := c.CreateWorkspace(ctx, herdr.NewWorkspace{Cwd: o.Cwd, Label: o.Name})
	if err != nil {
		return a, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, undo(c, func(ctx context.Context) error { return c.CloseWorkspace(ctx, made.Workspace.WorkspaceID) }))
		}
	}()
	pane := made.RootPane.PaneID
	applied, err := c.ApplyLayout(ctx, herdr.ApplyParams{TabID: made.Tab.TabID, TabLabel: o.Name, Root: herdr.LayoutNode{
		Type: "pane", Command: o.Argv, Cwd: o.Cwd, Label: o.Name,
	}})
	switch {
	case err == nil:
		pane = applied.Root.PaneID
	case herdr.IsUnsupported(err): // an older herdr: it can only type
		if err = c.RenameTab(ctx, made.Tab.TabID, o.Name); err == nil {
			err = typeLine(ctx, c, pane, o.Argv)
		}
	}
	if err != nil {
		return a, err
	}
	return mark(ctx, c, pane, o)
}

// typeLine has the pane's shell become the launcher. The line is short: while
// the shell is not ready a line is cut after 4095 bytes, and the cut line runs.
// A shell that can't start it goes, too, so that the pane does.
func typeLine(ctx context.Context, c *herdr.Client, pane string, argv []string) error {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = shell.Quote(w)
	}
	line := "exec " + strings.Join(words, " ") + " || exit 127"
	const most = 1000
	if len(line) > most {
		return fmt.Errorf("the line to type has %d bytes, over the limit of %d: the state directory's path is too long", len(line), most)
	}
	return c.SendInput(ctx, pane, line, "Enter")
}

// splitLabel is the workspace of all agents of a space with the layout split.
const splitLabel = "agents"

// openSplit puts an agent beside the others, in one tab. A pane that is split
// off has a shell, so its line is typed; the first one needs none.
func (d *driver) openSplit(ctx context.Context, c *herdr.Client, o spawn.Opening) (a spawn.Spawned, err error) {
	list, err := c.Workspaces(ctx)
	if err != nil {
		return a, err
	}
	for _, w := range list {
		if w.Label == splitLabel {
			return d.splitOff(ctx, c, w.WorkspaceID, o)
		}
	}
	first := o
	first.Name = splitLabel
	a, err = d.openWorkspace(ctx, c, first)
	if err != nil {
		return a, err
	}
	return mark(ctx, c, a.PaneID, o)
}

func (d *driver) splitOff(ctx context.Context, c *herdr.Client, workspace string, o spawn.Opening) (a spawn.Spawned, err error) {
	panes, err := c.Panes(ctx, workspace)
	if err != nil {
		return a, err
	}
	if len(panes) == 0 {
		return a, fmt.Errorf("the workspace %s has no pane", workspace)
	}
	direction := "right"
	if len(panes)%2 == 0 {
		direction = "down"
	}
	pane, err := c.SplitPane(ctx, herdr.Split{TargetPaneID: panes[len(panes)-1].PaneID, Direction: direction, Cwd: o.Cwd})
	if err != nil {
		return a, err
	}
	if err = typeLine(ctx, c, pane.PaneID, o.Argv); err == nil {
		a, err = mark(ctx, c, pane.PaneID, o)
	}
	if err != nil {
		return a, errors.Join(err, undo(c, func(ctx context.Context) error { return c.ClosePane(ctx, pane.PaneID) }))
	}
	return a, nil
}

// undo takes something down whatever became of the caller's context.
func undo(c *herdr.Client, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	return notFoundIsFine(f(ctx))
}

// mark names a pane as an agent's, on every path. A pane whose agent is over
// already can't be marked; the launcher's word tells what became of it.
func mark(ctx context.Context, c *herdr.Client, paneID string, o spawn.Opening) (spawn.Spawned, error) {
	p, err := c.RenamePane(ctx, paneID, o.Name)
	if err == nil {
		at := o.At.String()
		err = c.ReportPaneMetadata(ctx, herdr.PaneMetadata{PaneID: paneID, Source: source, Tokens: map[string]*string{nameToken: &o.Name, atToken: &at}})
	}
	if herdr.IsCode(err, herdr.CodePaneNotFound) {
		return spawn.Spawned{PaneID: paneID}, nil
	}
	if err != nil {
		return spawn.Spawned{}, err
	}
	return spawn.Spawned{TerminalID: p.TerminalID, PaneID: p.PaneID, WorkspaceID: p.WorkspaceID, TabID: p.TabID}, nil
}

// panes are all of a space's server. One that is shutting down, as another stop
// ends it, tells of none: it is asked until it has gone.
func (d *driver) panes(ctx context.Context, space string) ([]herdr.Pane, error) {
	c := d.client(space)
	for began := time.Now(); ; time.Sleep(serveEvery) {
		panes, err := c.Panes(ctx, "")
		if !herdr.IsCode(err, herdr.CodeServerUnavailable) || time.Since(began) > serveLimit || ctx.Err() != nil {
			return panes, err
		}
	}
}

// List lists the panes that are marked as agents'.
func (d *driver) List(ctx context.Context, space string) ([]spawn.Spawned, error) {
	panes, err := d.panes(ctx, space)
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []spawn.Spawned
	for _, p := range panes {
		name, ours := p.Tokens[nameToken]
		if !ours || spawn.CheckName("name", name) != nil {
			continue
		}
		a := spawn.Spawned{Space: space, Name: name, Runtime: Name, Server: session(space), TerminalID: p.TerminalID, PaneID: p.PaneID, WorkspaceID: p.WorkspaceID, TabID: p.TabID}
		if at, err := record.ParseTime(p.Tokens[atToken]); err == nil {
			a.StartedAt = at
		}
		list = append(list, a)
	}
	return list, nil
}

// Process is the pane's own process.
func (d *driver) Process(ctx context.Context, a spawn.Spawned) (int, error) {
	info, err := d.client(a.Space).ProcessInfo(ctx, a.PaneID)
	return info.ShellPID, notFoundIsFine(err)
}

// now finds the pane of an agent's terminal anew: its id changes when it is
// moved. ok is false when it is gone.
func (d *driver) now(ctx context.Context, a spawn.Spawned) (pane string, ok bool, err error) {
	panes, err := d.panes(ctx, a.Space)
	if isGone(err) {
		return "", false, nil
	}
	for _, p := range panes {
		if p.TerminalID == a.TerminalID {
			return p.PaneID, true, nil
		}
	}
	return "", false, err
}

// Type types text, and Enter after it.
func (d *driver) Type(ctx context.Context, a spawn.Spawned, text string) error {
	pane, ok, err := d.now(ctx, a)
	if err != nil || !ok {
		return err
	}
	return notFoundIsFine(d.client(a.Space).SendInput(ctx, pane, text, "Enter"))
}

// Close closes an agent's pane, and with it its tab and workspace.
func (d *driver) Close(ctx context.Context, a spawn.Spawned) error {
	pane, ok, err := d.now(ctx, a)
	if err != nil || !ok {
		return err
	}
	return notFoundIsFine(d.client(a.Space).ClosePane(ctx, pane))
}

// Screen is what an agent's pane shows.
func (d *driver) Screen(ctx context.Context, a spawn.Spawned) (string, error) {
	pane, ok, err := d.now(ctx, a)
	if err != nil || !ok {
		return "", err
	}
	s, err := d.client(a.Space).Read(ctx, herdr.ReadParams{PaneID: pane, Source: herdr.ReadVisible})
	return s.Text, err
}

func notFoundIsFine(err error) error {
	for _, code := range []string{herdr.CodePaneNotFound, herdr.CodeWorkspaceNotFound} {
		if herdr.IsCode(err, code) {
			return nil
		}
	}
	if isGone(err) {
		return nil
	}
	return err
}
