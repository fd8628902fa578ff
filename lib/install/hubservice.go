package install

import (
	"context"
	"errors"
	"fmt"

	"sessionhub/lib/hubclient"
)

// HubKind is the hub at the managers.
func HubKind() Kind {
	return Kind{
		Target: "hub", What: "the hub", Unit: "sessionhub", Label: "sessionhub.hub", Manual: "shhub(1)",
		Logout: "the hub ends when you log out, and starts when you log in",
	}
}

// run has the service run, or tells what a person must run where nothing manages
// services. up reports whether the hub answers.
func (h *Hub) run(ctx context.Context, r *Run, d *desk) (up bool, err error) {
	m, why := h.Manager(ctx)
	job, err := h.job()
	if err != nil {
		return false, err
	}
	version, err := h.Tools.Version(ctx, "shhub")
	if err != nil {
		return false, err
	}
	if m == nil {
		answers, err := h.ask(ctx, d)
		if hubclient.Untrusted(err) {
			r.Note("service", "%v", err)
			return false, nil
		}
		if err != nil {
			r.tell(Step{Step: "service", Outcome: Noted, Command: Command{Argv: job.Argv}.Line(),
				Detail: "no service was made, as " + why + ": keep this running by what runs programs here, then run shinstall hub again to prove the tokens"})
			return false, nil
		}
		if answers != version {
			r.tell(Step{Step: "service", Outcome: Noted, Command: Command{Argv: job.Argv}.Line(),
				Detail: fmt.Sprintf("a hub of version %s answers at %s, and %s is installed: end it, and run it again by what runs programs here", answers, h.url(), version)})
			return true, nil
		}
		r.tell(Step{Step: "service", Outcome: Unchanged, Command: Command{Argv: job.Argv}.Line(), // with words that the one that runs may lack
			Detail: fmt.Sprintf("a hub answers at %s (no service was made, as %s: this is how it is to be run)", h.url(), why)})
		return true, nil
	}
	return h.serve(ctx, r, d, m, job, version)
}

// serve writes the job's file and starts what does not run as it says.
func (h *Hub) serve(ctx context.Context, r *Run, d *desk, m Manager, job Job, version string) (up bool, err error) {
	files, mine, err := d.units(r, m, job)
	if err != nil {
		return false, err
	}
	if !mine {
		_, err := h.ask(ctx, d)
		return err == nil, nil
	}
	st, err := m.State(ctx)
	if err != nil {
		return false, err
	}
	answers, err := h.ask(ctx, d)
	if err == nil && !st.Running {
		return false, fmt.Errorf("a hub answers at %s already, which is no service of %s: end it, or choose another --listen", h.url(), m.Name())
	}
	var said *hubclient.Error
	if errors.As(err, &said) && said.NotHub {
		return false, fmt.Errorf("something else than a hub answers at %s: end it, or choose another --listen", h.url())
	}
	fresh, werr := d.writeUnits(r, files)
	if werr != nil {
		return false, werr
	}
	m.Notes(ctx, r)
	if !fresh && st.Enabled && st.Running && err == nil && answers == version {
		r.Unchanged("service", "%s runs version %s", m.Name(), version)
		return true, nil
	}
	if err := m.Start(ctx, r, fresh); err != nil || r.DryRun {
		return false, err
	}
	if err := h.await(ctx, d, version); err != nil {
		return false, fmt.Errorf("the service was started, and the hub does not answer: %w (%s says why)", err, m.LogHint())
	}
	r.Changed("service", "%s runs version %s at %s, and starts it at every login", m.Name(), version, h.url())
	return true, nil
}

// stop ends the service and removes its file, also where the manager that it was
// made for is out of reach now.
func (h *Hub) stop(ctx context.Context, r *Run, d *desk) (Manager, error) {
	m, _ := h.Manager(ctx)
	return m, d.retire(ctx, r, HubKind(), m, h.Getenv)
}
