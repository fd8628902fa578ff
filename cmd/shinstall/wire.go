package main

import (
	"context"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/config"
	"sessionhub/lib/herdr"
	"sessionhub/lib/install"
	"sessionhub/lib/state"
	"sessionhub/lib/watch"
)

// watcher is lib/watch, as lib/install wants it.
type watcher struct{ dir state.Dir }

func (w watcher) Now() (install.Watching, error) {
	r, err := watch.ReadReport(w.dir)
	if err != nil || !r.Running {
		return install.Watching{}, err
	}
	return install.Watching{Running: true, PID: r.PID, Version: r.Version, Since: r.Since.Time}, nil
}

func (w watcher) Stop(ctx context.Context) (bool, error) { return watch.Stop(ctx, w.dir) }

func newWatcher(c *front.Call, t install.Tools) (*install.Watcher, error) {
	dir, err := state.Default(c.Getenv)
	if err != nil {
		return nil, front.Fail(front.ExitConfig, err)
	}
	return &install.Watcher{Tools: t, Watch: watcher{dir}, Socket: herdr.DefaultSocket(c.Getenv)}, nil
}

// configPart tells of config.toml and the machine's token, without showing it.
func configPart(c *front.Call) install.Part {
	p := install.Part{Part: "config", State: install.Ready, Path: config.Path(c.Getenv), Detail: c.Config.ServerURL + ", machine " + c.Config.Machine}
	_, err := c.Config.MachineToken()
	switch {
	case c.ConfigErr != nil:
		p.State, p.Detail, p.Do = install.Unclear, c.ConfigErr.Error(), "mend it by hand"
	case c.Config.ServerURL == "":
		p.State, p.Detail, p.Do = install.Missing, "no server_url", "shinstall hub, or shinstall join URL"
	case err != nil:
		p.State, p.Detail, p.Do = install.Stale, c.Config.ServerURL+", "+err.Error(), "shinstall hub, or shinstall join URL with a new code"
	}
	return p
}
