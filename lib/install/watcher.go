package install

import (
	"context"
	"fmt"
	"os"
	"time"

	"sessionhub/lib/herdr"
)

const (
	// stopWait is how long a stopping watcher is waited for; it ends within 5 s.
	stopWait = 7 * time.Second
	// startWait is how long a new watcher may take until it holds its lock.
	startWait = 5 * time.Second
	// startEvery is how often it is looked for.
	startEvery = 20 * time.Millisecond
	// pingWait bounds the question whether herdr's server runs, which a
	// healthy one answers within 102 ms.
	pingWait = 2 * time.Second
)

// Watch is what the installer needs of lib/watch.
type Watch interface {
	// Now says whether a watcher runs.
	Now() (Watching, error)
	// Stop ends a running one and waits for its end.
	Stop(ctx context.Context) (stopped bool, err error)
}

// Watching is a running watcher, as watcher.lock labels it.
type Watching struct {
	Running bool      `json:"running"`
	PID     int       `json:"pid,omitempty"`
	Version string    `json:"version,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// Watcher hands the work of a running watcher over to one of the installed
// version: an upgrade reaches no process that runs (field report A59).
type Watcher struct {
	Tools  Tools
	Watch  Watch
	Socket string // of herdr's server
}

// installed is the version of the shwatch that hooks would start.
func (w *Watcher) installed(ctx context.Context) (string, error) {
	return w.Tools.Version(ctx, "shwatch")
}

// current reports whether a running watcher is the installed program: of its
// version, and started after the file was put there.
func (w *Watcher) current(now Watching, installed string) bool {
	st, err := os.Stat(w.Tools.Path("shwatch"))
	return err == nil && now.Version == installed && now.Since.After(st.ModTime())
}

// HandOver ends a running watcher that is not the installed program, or any
// if force is set, and, where herdr's server runs, starts the installed one
// through herdr's startup hook, which herdr itself runs only at its own start.
// Without wanted, none is started where none ran.
func (w *Watcher) HandOver(ctx context.Context, r *Run, force, wanted bool) error {
	installed, err := w.installed(ctx)
	if err != nil {
		return err
	}
	now, err := w.Watch.Now()
	if err != nil {
		return err
	}
	if now.Running && !force && w.current(now, installed) {
		r.Unchanged("watcher", "process %d of version %s runs", now.PID, now.Version)
		return nil
	}
	if !now.Running && !wanted {
		return nil
	}
	if err := w.stop(ctx, r, now); err != nil {
		return err
	}
	if !w.serverRuns(ctx) {
		r.Note("watcher", "herdr's server does not run: it starts the watcher at its own start")
		return nil
	}
	return w.start(ctx, r, installed, now.PID)
}

func (w *Watcher) stop(ctx context.Context, r *Run, now Watching) error {
	if !now.Running {
		return nil
	}
	if r.DryRun {
		r.Planned("watcher", "process %d of version %s would be ended", now.PID, now.Version)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	stopped, err := w.Watch.Stop(ctx)
	if err != nil {
		return fmt.Errorf("%w: end it by hand, and run this again", err)
	}
	if stopped {
		r.Changed("watcher", "process %d of version %s has ended", now.PID, now.Version)
	}
	return nil
}

// start runs the startup hook and proves by the label of the lock that a
// watcher of the installed version took over.
func (w *Watcher) start(ctx context.Context, r *Run, installed string, old int) error {
	c := Command{Argv: []string{w.Tools.Path("shwatch"), "startup"}, Env: []string{"HERDR_SOCKET_PATH=" + w.Socket}}
	if _, ran, err := r.Do(ctx, "watcher", c); err != nil || !ran {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		now, err := w.Watch.Now()
		switch {
		case err != nil:
			return err
		case now.Running && now.PID > 0 && now.PID != old && now.Version == installed:
			r.Changed("watcher", "process %d of version %s runs", now.PID, now.Version)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no watcher of version %s took over: watcher.log in the state directory says why", installed)
		case <-time.After(startEvery):
		}
	}
}

func (w *Watcher) serverRuns(ctx context.Context) bool {
	_, err := (&herdr.Client{Socket: w.Socket, Timeout: pingWait}).Ping(ctx)
	return err == nil
}

// Look tells whether a watcher runs, and whether it is the installed one.
func (w *Watcher) Look(ctx context.Context) Part {
	p := Part{Part: "watcher", State: Missing, Do: "it starts with herdr, or with shwatch run"}
	now, err := w.Watch.Now()
	if err != nil {
		p.State, p.Detail, p.Do = Unclear, err.Error(), ""
		return p
	}
	p.Facts = now
	if !now.Running {
		return p
	}
	p.State, p.Version, p.Do = Ready, now.Version, ""
	p.Detail = fmt.Sprintf("process %d", now.PID)
	if installed, err := w.installed(ctx); err == nil && !w.current(now, installed) {
		p.State, p.Do = Stale, "shinstall plugin"
		p.Detail += ", started before version " + installed + " was installed"
	}
	return p
}
