package session

import (
	"context"
	"path/filepath"
	"strings"
)

// Servers is nil when a herdr server runs that something can be started in.
func (d *Desk) Servers(ctx context.Context) error {
	_, _, err := d.server(ctx, "")
	return err
}

// InUse is a pane of any herdr server here that runs an agent in dir or below
// it, "" when there is none. dir is absolute with its links resolved. A server
// that does not answer is an error: what it runs is not known.
func (d *Desk) InUse(ctx context.Context, dir string) (paneID string, err error) {
	for _, socket := range d.Sockets() {
		lctx, cancel := context.WithTimeout(ctx, d.Timing.Look)
		snap, err := d.Client(socket).Snapshot(lctx)
		cancel()
		if gone(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		for _, p := range snap.Panes {
			if p.Agent != "" && (within(p.Cwd, dir) || within(p.ForegroundCwd, dir)) {
				return p.PaneID, nil
			}
		}
	}
	return "", nil
}

// within reports whether a pane's directory is dir or below it.
func within(path, dir string) bool {
	if path == "" {
		return false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
