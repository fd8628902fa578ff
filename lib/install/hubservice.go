package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sessionhub/lib/hubclient"
)

// run has the service run, or tells what a person must run where nothing manages
// services. up reports whether the hub answers.
func (h *Hub) run(ctx context.Context, r *Run, d *desk) (up bool, err error) {
	m, why := h.Manager(ctx)
	job, err := h.job()
	if err != nil {
		return false, err
	}
	if m == nil {
		_, err := h.ask(ctx, d)
		if err != nil {
			r.tell(Step{Step: "service", Outcome: Noted, Command: Command{Argv: job.Argv}.Line(),
				Detail: "no service was made, as " + why + ": keep this running by what runs programs here, then run shinstall hub again to prove the tokens"})
			return false, nil
		}
		r.Unchanged("service", "a hub answers at %s (no service was made, as %s)", h.url(), why)
		return true, nil
	}
	version, err := h.Tools.Version(ctx, "shhub")
	if err != nil {
		return false, err
	}
	return h.serve(ctx, r, d, m, job, version)
}

// serve writes the job's file and starts what does not run as it says.
func (h *Hub) serve(ctx context.Context, r *Run, d *desk, m Manager, job Job, version string) (up bool, err error) {
	f, mine, err := h.unit(r, d, m, job)
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
	if err := f.Writable(); err != nil && !f.same() && !r.DryRun {
		return false, err
	}
	if !f.same() {
		d.ledger.note(f, d.by, "")
	}
	if err := errors.Join(d.ledger.save(r), r.Write("unit", f)); err != nil {
		return false, err
	}
	m.Notes(ctx, r)
	if f.same() && st.Enabled && st.Running && err == nil && answers == version {
		r.Unchanged("service", "%s runs version %s", m.Name(), version)
		return true, nil
	}
	if err := m.Start(ctx, r, !f.same()); err != nil || r.DryRun {
		return false, err
	}
	if err := h.await(ctx, d, version); err != nil {
		return false, fmt.Errorf("the service was started, and the hub does not answer: %w (%s says why)", err, m.LogHint())
	}
	r.Changed("service", "%s runs version %s at %s, and starts it at every login", m.Name(), version, h.url())
	return true, nil
}

// unit is the job's file as it should be. One that a person made or changed stays,
// and is that person's to start: mine is false then.
func (h *Hub) unit(r *Run, d *desk, m Manager, job Job) (f File, mine bool, err error) {
	text, err := m.Text(job)
	if err != nil {
		return f, false, err
	}
	path, err := Resolve(m.Path())
	if err != nil {
		return f, false, err
	}
	f = File{Path: path, New: text, Mode: 0o644}
	if f.Old, err = Read(path); err != nil {
		return f, false, err
	}
	if f.Old != nil && !f.same() && !d.ledger.asWritten(path, f.Old) {
		r.Note("unit", "%s is not as shinstall wrote it: it stays, and is yours to start; remove it to have it made anew", path)
		return f, false, nil
	}
	return f, true, nil
}

// stop ends the service and removes its file, also where the manager that it was
// made for is out of reach now.
func (h *Hub) stop(ctx context.Context, r *Run, d *desk) error {
	m, _ := h.Manager(ctx)
	for _, other := range []Manager{newSystemd("systemctl", h.Getenv), newLaunchd("launchctl", h.Getenv)} {
		reached := m != nil && m.Path() == other.Path()
		if reached {
			other = m
		}
		if err := h.stopAt(ctx, r, d, other, reached); err != nil {
			return err
		}
	}
	return nil
}

func (h *Hub) stopAt(ctx context.Context, r *Run, d *desk, m Manager, reached bool) error {
	old, err := Read(m.Path())
	if err != nil || old == nil {
		if reached {
			r.Unchanged("service", "there is none")
		}
		return err
	}
	if reached {
		if err := m.Stop(ctx, r); err != nil {
			return err
		}
	} else {
		r.Note("service", "%s is out of reach here: a hub that it runs goes on until it is asked again", m.Name())
	}
	gone, err := d.removeFile(r, "unit", File{Path: m.Path(), Old: old})
	if err != nil || !gone {
		return err
	}
	if reached {
		if err := m.Removed(ctx, r); err != nil {
			return err
		}
	} else if err := unlinkWanted(r, m.Path()); err != nil {
		return err
	}
	if !r.DryRun {
		r.Changed("service", "%s knows the hub no more", m.Name())
	}
	return r.pruneUp("folder", filepath.Dir(m.Path()), m.Path())
}

// unlinkWanted removes the link by which systemd starts the unit, where systemd
// itself can't be asked to.
func unlinkWanted(r *Run, unit string) error {
	link := filepath.Join(filepath.Dir(unit), "default.target.wants", filepath.Base(unit))
	if to, err := os.Readlink(link); err != nil || r.DryRun || to != unit {
		return nil
	}
	if err := os.Remove(link); err != nil {
		return err
	}
	return r.prune("folder", filepath.Dir(link))
}
