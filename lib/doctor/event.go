package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"sessionhub/lib/herdr"
	"sessionhub/lib/text"
)

const (
	// eventLimit bounds the observation of an event: herdr starts hooks within
	// milliseconds, and 32 of them at once at most.
	eventLimit = 15 * time.Second
	// eventWait is how long a hook may take to run.
	eventWait = 6 * time.Second
	// arriveWait is how long its outcome may take after that.
	arriveWait = 3 * time.Second
	// cleanWait bounds the closing of the workspace, which stops herdr for half
	// a second and more where a program does not end.
	cleanWait = 4 * time.Second

	eventAgent  = "sessionhub-doctor" // none that anybody has a record made of
	eventSource = "sessionhub:doctor"
	eventLabel  = "sessionhub doctor "
)

// event lets herdr make an event, and sees that its hook ran and that what the
// hook did arrived. A workspace is made for that, without taking the focus, and
// closed again. Its label names this process, so that what a killed doctor left
// is found and closed by the next one.
func (d *Doctor) event(ctx context.Context, _ Known) (f Finding) {
	d.sweep(ctx)
	before, err := d.logged(ctx)
	if err != nil {
		return broken("", "%v", err)
	}
	began, looked := d.Now(), modified(d.Dir.Look())
	label := eventLabel + strconv.Itoa(d.PID)
	defer func() {
		if err := d.clean(ctx, label); err != nil && f.State == Fine {
			f = broken("close it by hand", "the workspace %q could not be closed: %v", label, err)
		}
	}()
	if f, ok := d.raise(ctx, label); !ok {
		return f
	}
	run, ok, err := d.hookRun(ctx, before)
	switch {
	case err != nil:
		return broken("", "%v", err)
	case !ok:
		return broken("herdr server stop, and start herdr again; herdr plugin log list --plugin sessionhub tells more",
			"herdr ran no hook of the plugin within %s of an event", eventWait)
	}
	took := time.Duration(max(run.FinishedUnixMS-run.StartedUnixMS, 0)) * time.Millisecond
	if run.ExitCode == nil || *run.ExitCode != 0 {
		return broken("herdr plugin log list --plugin sessionhub tells more", "herdr ran %s, which failed: %s", strings.Join(run.Command, " "), said(run))
	}
	if err := d.clean(ctx, label); err != nil {
		return broken("close it by hand", "the workspace %q could not be closed: %v", label, err)
	}
	if !d.arrived(ctx, looked) {
		return broken("see the check environment, and tail "+d.Dir.WatcherLog(),
			"herdr ran %s, and nothing of it arrived in %s", strings.Join(run.Command, " "), d.Dir)
	}
	return fine("herdr ran %s, in %s, and it arrived after %s", strings.Join(run.Command, " "), took, d.Now().Sub(began).Round(10*time.Millisecond))
}

// raise makes a workspace and lets an agent report itself in it.
func (d *Doctor) raise(ctx context.Context, label string) (Finding, bool) {
	// Cut off, it could leave a workspace that nobody knows the id of.
	made, err := d.Herdr.CreateWorkspace(context.WithoutCancel(ctx), herdr.NewWorkspace{Cwd: "/", Label: label, Env: map[string]string{"HISTFILE": "/dev/null"}})
	if err != nil {
		return broken("", "%v", err), false
	}
	err = d.Herdr.ReportAgent(ctx, herdr.AgentReport{PaneID: made.RootPane.PaneID, Source: eventSource, Agent: eventAgent, State: herdr.StatusWorking})
	if err != nil {
		return broken("", "%v", err), false
	}
	return Finding{}, true
}

// logged are the ids of what herdr's log has of the plugin.
func (d *Doctor) logged(ctx context.Context) (map[string]bool, error) {
	list, err := d.logs(ctx)
	seen := map[string]bool{}
	for _, e := range list {
		seen[e.LogID] = true
	}
	return seen, err
}

// maxLogs is as many entries as herdr keeps.
const maxLogs = 200

func (d *Doctor) logs(ctx context.Context) ([]herdr.LogEntry, error) {
	return d.Herdr.PluginLogs(ctx, herdr.Logs{PluginID: herdr.OwnPlugin, Limit: maxLogs})
}

// hookRun waits for a run of the event's hook that was not there before.
func (d *Doctor) hookRun(ctx context.Context, before map[string]bool) (run herdr.LogEntry, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, eventWait)
	defer cancel()
	ok, err = d.until(ctx, func() (bool, error) {
		list, err := d.logs(ctx)
		if err != nil {
			return false, err
		}
		i := slices.IndexFunc(list, func(e herdr.LogEntry) bool {
			name := strings.ReplaceAll(e.Event, ".", "_") // the log has dot names
			return !before[e.LogID] && e.Status != "running" && (name == herdr.EventAgentDetected || name == herdr.EventAgentStatus)
		})
		if i < 0 {
			return false, nil
		}
		run = list[i]
		return true, nil
	})
	if ctx.Err() != nil && !ok {
		err = nil // the wait is over
	}
	return run, ok, err
}

// said is what a failed run left.
func said(e herdr.LogEntry) string {
	for _, s := range []string{e.Error, e.Stderr, e.Stdout} {
		if s = text.Line(s); s != "" {
			return text.Cut(s, 200)
		}
	}
	if e.ExitCode == nil {
		return "it was killed"
	}
	return fmt.Sprintf("exit status %d", *e.ExitCode)
}

// arrived waits until the hook of the closing workspace has asked the watcher to
// look, by the state directory that the hook itself uses.
func (d *Doctor) arrived(ctx context.Context, before time.Time) bool {
	ctx, cancel := context.WithTimeout(ctx, arriveWait)
	defer cancel()
	ok, _ := d.until(ctx, func() (bool, error) { return modified(d.Dir.Look()).After(before), nil })
	return ok
}

func modified(path string) time.Time {
	st, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return st.ModTime()
}

// clean closes the workspaces of that label, also when the check was interrupted.
func (d *Doctor) clean(ctx context.Context, label string) error {
	return d.closeAll(ctx, func(name string) bool { return name == label })
}

// sweep closes what doctors left that were killed.
func (d *Doctor) sweep(ctx context.Context) {
	_ = d.closeAll(ctx, func(name string) bool { // what stays is the next one's
		rest, ok := strings.CutPrefix(name, eventLabel)
		pid, err := strconv.Atoi(rest)
		return ok && err == nil && pid != d.PID && !d.Alive(pid)
	})
}

func (d *Doctor) closeAll(ctx context.Context, ours func(label string) bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanWait)
	defer cancel()
	list, err := d.Herdr.Workspaces(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, w := range list {
		if ours(w.Label) {
			errs = append(errs, d.Herdr.CloseWorkspace(ctx, w.WorkspaceID))
		}
	}
	return errors.Join(errs...)
}
