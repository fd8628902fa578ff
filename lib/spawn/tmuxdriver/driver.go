// Package tmuxdriver runs agents in windows of tmux, 3.2 or later. Importing it
// registers it as "tmux".
//
// A space has a tmux server of its own, on the socket shspawn-<space>: nothing
// here can touch a person's windows. Watch it with
// `tmux -L shspawn-<space> attach`.
package tmuxdriver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sessionhub/lib/record"
	"sessionhub/lib/spawn"
	"sessionhub/lib/text"
)

// Name is the runtime's name.
const Name = "tmux"

const (
	prefix  = "shspawn-"
	session = "agents" // the one session of a server
)

func init() {
	spawn.Register(Name, func(s spawn.Surroundings) spawn.Driver { return &driver{s} })
}

type driver struct{ spawn.Surroundings }

// askLimit bounds a call of tmux, which takes some milliseconds.
const askLimit = 10 * time.Second

// errNoServer says that a space has no server.
var errNoServer = errors.New("no tmux server")

// noServer is how tmux says that there is none, or that it is ending: a server
// ends with its last session.
var noServer = regexp.MustCompile(`^(no server running on|error connecting to .*\((No such file or directory|Connection refused)\)|server exited|lost server|no current target|no sessions)`)

// run calls tmux for a space's server, without the person's own configuration.
func (d *driver) run(ctx context.Context, space string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-L", prefix + space, "-f", os.DevNull}, args...)...)
	cmd.Env, cmd.WaitDelay = d.Environ, time.Second
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil { // not who ended it, but why
		err = ctx.Err()
	}
	said := strings.TrimSpace(errs.String())
	switch {
	case err == nil:
		return out.String(), nil
	case noServer.MatchString(said):
		return "", fmt.Errorf("%w: %s", errNoServer, said)
	}
	return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, text.Cut(text.Line(said), 200))
}

// minMajor and minMinor are the oldest tmux that is supported.
const minMajor, minMinor = 3, 2

// Available reads the version.
func (d *driver) Available(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, "tmux", "-V").Output()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("tmux -V: %w", ctx.Err())
	case err != nil:
		return "", fmt.Errorf("tmux is not there: %w", err)
	}
	version := strings.TrimSpace(strings.TrimPrefix(string(out), "tmux "))
	var major, minor int
	if n, _ := fmt.Sscanf(strings.TrimPrefix(version, "next-"), "%d.%d", &major, &minor); n == 2 && (major < minMajor || major == minMajor && minor < minMinor) {
		return version, fmt.Errorf("tmux is %s, and must be %d.%d or later", version, minMajor, minMinor)
	}
	return version, nil
}

// Serve does nothing: tmux starts its server with the first window.
func (d *driver) Serve(context.Context, string) error { return nil }

// format is how tmux prints a pane.
const format = "#{pane_id}\t#{pid}\t#{window_id}\t#{pane_pid}\t#{@shspawn}\t#{@shspawn_at}"

// Open opens a window, or with the layout split a pane beside the others, whose
// process is the launcher itself: no shell, nothing typed.
func (d *driver) Open(ctx context.Context, o spawn.Opening) (spawn.Spawned, error) {
	list, err := d.panes(ctx, o.Space)
	if err != nil {
		return spawn.Spawned{}, err
	}
	label := o.Name
	var args []string
	switch {
	case len(list) == 0:
		args = []string{"new-session", "-d", "-s", session, "-n", o.Name, "-x", "200", "-y", "50"}
		if o.Layout == spawn.LayoutSplit {
			args[5] = "split"
			label = "split"
		}
	case o.Layout == spawn.LayoutSplit && hasSplit(ctx, d, o.Space):
		args = []string{"split-window", "-d", "-t", session + ":split"}
		label = ""
	case o.Layout == spawn.LayoutSplit:
		args = []string{"new-window", "-d", "-t", session, "-n", "split"}
		label = "split"
	default:
		args = []string{"new-window", "-d", "-t", session, "-n", o.Name}
	}
	args = append(args, "-c", o.Cwd, "-P", "-F", format, "--")
	out, err := d.run(ctx, o.Space, append(args, o.Argv...)...)
	if err != nil {
		return spawn.Spawned{}, fmt.Errorf("open a window for %s: %w", o.Name, err)
	}
	a, ok := parse(o.Space, strings.TrimSuffix(out, "\n"))
	if !ok {
		return spawn.Spawned{}, fmt.Errorf("open a window for %s: tmux answers %q", o.Name, text.Line(out))
	}
	a.Name = o.Name
	if err := d.mark(ctx, o, a, label); err != nil && !isGone(err) {
		return spawn.Spawned{}, errors.Join(fmt.Errorf("name the window of %s: %w", o.Name, err), d.Close(context.Background(), a))
	}
	return a, nil
}

func hasSplit(ctx context.Context, d *driver, space string) bool {
	out, err := d.run(ctx, space, "list-windows", "-t", session, "-F", "#{window_name}")
	return err == nil && strings.Contains("\n"+out, "\nsplit\n")
}

// mark names a pane as an agent's, and keeps the window's name from being
// changed by what runs in it.
func (d *driver) mark(ctx context.Context, o spawn.Opening, a spawn.Spawned, label string) error {
	args := []string{
		"set-option", "-p", "-t", a.PaneID, "@shspawn", o.Name, ";",
		"set-option", "-p", "-t", a.PaneID, "@shspawn_at", o.At.String(), ";",
		"select-pane", "-t", a.PaneID, "-T", o.Name, ";",
		"set-option", "-w", "-t", a.PaneID, "automatic-rename", "off", ";",
		"set-option", "-w", "-t", a.PaneID, "allow-rename", "off",
	}
	if label == "" {
		args = append(args, ";", "select-layout", "-t", a.PaneID, "tiled")
	}
	_, err := d.run(ctx, o.Space, args...)
	return err
}

// isGone tells that a pane, or its server, is not there any more.
func isGone(err error) bool {
	return errors.Is(err, errNoServer) || err != nil && (strings.Contains(err.Error(), "can't find pane") || strings.Contains(err.Error(), "no such pane") ||
		strings.Contains(err.Error(), "can't find window") || strings.Contains(err.Error(), "no such window"))
}

// panes lists all panes of a space's server, ours or not.
func (d *driver) panes(ctx context.Context, space string) ([]string, error) {
	out, err := d.run(ctx, space, "list-panes", "-a", "-F", format)
	if errors.Is(err, errNoServer) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(out, func(r rune) bool { return r == '\n' }), nil
}

// parse reads a line of format. A terminal is known by its pane and its server:
// another server begins to count anew.
func parse(space, line string) (spawn.Spawned, bool) {
	f := strings.Split(line, "\t")
	if len(f) != 6 {
		return spawn.Spawned{}, false
	}
	pid, err := strconv.Atoi(f[3])
	a := spawn.Spawned{
		Space: space, Name: f[4], Runtime: Name, Server: prefix + space, TerminalID: f[1] + f[0], PaneID: f[0], TabID: f[2], PID: pid,
	}
	if at, err := record.ParseTime(f[5]); err == nil {
		a.StartedAt = at
	}
	return a, err == nil
}

// List lists the panes that are marked as agents'.
func (d *driver) List(ctx context.Context, space string) ([]spawn.Spawned, error) {
	lines, err := d.panes(ctx, space)
	if err != nil {
		return nil, err
	}
	var list []spawn.Spawned
	for _, l := range lines {
		if a, ok := parse(space, l); ok && spawn.CheckName("name", a.Name) == nil {
			list = append(list, a)
		}
	}
	return list, nil
}

// Process is known from the list.
func (d *driver) Process(_ context.Context, a spawn.Spawned) (int, error) { return a.PID, nil }

// sockets is the folder of tmux's sockets.
func (d *driver) sockets() string {
	root := d.Getenv("TMUX_TMPDIR")
	if root == "" {
		root = "/tmp"
	}
	return filepath.Join(root, fmt.Sprintf("tmux-%d", os.Getuid()))
}

// Spaces are the sockets of ours at which somebody listens: a server that was
// killed leaves its behind.
func (d *driver) Spaces(ctx context.Context) ([]string, error) {
	entries, err := os.ReadDir(d.sockets())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the spaces: %w", err)
	}
	var list []string
	for _, e := range entries {
		space, ours := strings.CutPrefix(e.Name(), prefix)
		if ours && spawn.CheckName("space", space) == nil && d.listens(ctx, e.Name()) {
			list = append(list, space)
		}
	}
	return list, nil
}

// listens reports whether a server listens at a socket. In doubt it does.
func (d *driver) listens(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var to net.Dialer
	c, err := to.DialContext(ctx, "unix", filepath.Join(d.sockets(), name))
	if err == nil {
		c.Close()
	}
	return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, os.ErrNotExist)
}

// Type types text, and Enter after it.
func (d *driver) Type(ctx context.Context, a spawn.Spawned, text string) error {
	_, err := d.run(ctx, a.Space, "send-keys", "-t", a.PaneID, "-l", "--", text, ";", "send-keys", "-t", a.PaneID, "Enter")
	if isGone(err) {
		return nil
	}
	return err
}

// Close ends an agent's pane.
func (d *driver) Close(ctx context.Context, a spawn.Spawned) error {
	_, err := d.run(ctx, a.Space, "kill-pane", "-t", a.PaneID)
	if isGone(err) {
		return nil
	}
	return err
}

// Screen is what an agent's pane shows.
func (d *driver) Screen(ctx context.Context, a spawn.Spawned) (string, error) {
	return d.run(ctx, a.Space, "capture-pane", "-p", "-t", a.PaneID)
}

// Quit removes what is left of a server: tmux ends it with its last window.
func (d *driver) Quit(ctx context.Context, space string) error {
	lines, err := d.panes(ctx, space)
	if err != nil || len(lines) > 0 {
		return err
	}
	_, err = d.run(ctx, space, "kill-server")
	if err != nil && !errors.Is(err, errNoServer) {
		return err
	}
	err = os.Remove(filepath.Join(d.sockets(), prefix+space))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
