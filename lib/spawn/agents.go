package spawn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// List lists the agents of a space, or of all with "", of one runtime or of all
// that can be used. One that can't be used although a server of it runs, as with
// another PATH than at the start, is an ErrUnasked: what runs there is not gone.
func (r *Runtime) List(ctx context.Context, space, runtime string) ([]Spawned, error) {
	names := []string{runtime}
	if runtime == "" {
		names = Runtimes()
	}
	list := []Spawned{}
	for _, n := range names {
		d, err := driver(n, r.surroundings())
		if err != nil {
			return nil, err
		}
		_, unusable := d.Available(ctx)
		if unusable != nil && runtime != "" {
			return nil, fmt.Errorf("%w: %s: %w", ErrRuntime, n, unusable)
		}
		if unusable != nil {
			if serves, err := served(ctx, d, space); err != nil || !serves {
				if err != nil {
					return nil, fmt.Errorf("%w: %s: %w", ErrUnasked, n, err)
				}
				continue // nothing of it runs
			}
		}
		found, err := inventory(ctx, d, n, space)
		switch {
		case err != nil && unusable != nil:
			return nil, fmt.Errorf("%w: %s has a server of ours, and can't be asked: %w", ErrUnasked, n, unusable)
		case err != nil:
			return nil, err
		}
		list = append(list, found...)
	}
	slices.SortFunc(list, func(a, b Spawned) int {
		return strings.Compare(a.Space+"/"+a.Name+"/"+a.Runtime, b.Space+"/"+b.Name+"/"+b.Runtime)
	})
	return list, nil
}

// served reports whether a space, or any with "", has a server.
func served(ctx context.Context, d Driver, space string) (bool, error) {
	spaces, err := d.Spaces(ctx)
	if space == "" {
		return len(spaces) > 0, err
	}
	return slices.Contains(spaces, space), err
}

func inventory(ctx context.Context, d Driver, runtime, space string) ([]Spawned, error) {
	spaces := []string{space}
	if space == "" {
		var err error
		if spaces, err = d.Spaces(ctx); err != nil {
			return nil, err
		}
	}
	var list []Spawned
	for _, s := range spaces {
		found, err := d.List(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, a := range found {
			a.Runtime = runtime
			if a.PID == 0 {
				if a.PID, err = d.Process(ctx, a); err != nil {
					return nil, err
				}
			}
			list = append(list, a)
		}
	}
	return list, nil
}

// find is the agent of a name, and its driver.
func (r *Runtime) find(ctx context.Context, space, name string) (Spawned, Driver, error) {
	if err := CheckName("space", space); err != nil {
		return Spawned{}, nil, err
	}
	if err := CheckName("name", name); err != nil {
		return Spawned{}, nil, err
	}
	list, err := r.List(ctx, space, "")
	if err != nil {
		return Spawned{}, nil, err
	}
	for _, a := range list {
		if a.Name == name {
			d, err := driver(a.Runtime, r.surroundings())
			return a, d, err
		}
	}
	return Spawned{}, nil, fmt.Errorf("%w: %s runs nowhere in %s", ErrUnknown, name, space)
}

// Stop ends an agent: with /exit typed into its pane, and after a while by
// closing the pane; hard at once. It returns when the inventory lacks it and its
// process is gone. The space's server ends with its last agent.
func (r *Runtime) Stop(ctx context.Context, space, name string, hard bool) error {
	a, d, err := r.find(ctx, space, name)
	if errors.Is(err, ErrUnknown) {
		return errors.Join(err, r.tidy(ctx, space))
	}
	if err != nil {
		return err
	}
	gone := false
	if !hard {
		if err := d.Type(ctx, a, "/exit"); err != nil {
			return fmt.Errorf("stop %s: %w", name, err)
		}
		if gone, err = r.gone(ctx, d, a, r.Timing.Exit, r.Timing.Every); err != nil {
			return err
		}
	}
	if !gone {
		if err := d.Close(ctx, a); err != nil {
			return fmt.Errorf("stop %s: %w", name, err)
		}
		if gone, err = r.gone(ctx, d, a, r.Timing.Close, r.Timing.Every); err != nil {
			return err
		}
	}
	if !gone {
		return fmt.Errorf("stop %s: %w, %s after its pane was closed (process %d)", name, ErrRunning, r.Timing.Close, a.PID)
	}
	return r.locked(space, func() error { return r.quit(ctx, d, space) })
}

// Wait waits until an agent does not run, at most that long: ErrRunning after it.
// Only a successful inventory without it proves that: one that exited before,
// or never ran, is no error. The space's server ends with its last agent.
func (r *Runtime) Wait(ctx context.Context, space, name string, limit time.Duration) error {
	a, d, err := r.find(ctx, space, name)
	if errors.Is(err, ErrUnknown) {
		return r.tidy(ctx, space)
	}
	if err != nil {
		return err
	}
	gone, err := r.gone(ctx, d, a, limit, r.Timing.Watch)
	if err != nil {
		return err
	}
	if !gone {
		return fmt.Errorf("%w after %s", ErrRunning, limit)
	}
	return r.locked(space, func() error { return r.quit(ctx, d, space) })
}

// tidy ends the servers of a space in which nothing runs: agents that ended by
// themselves leave them behind.
func (r *Runtime) tidy(ctx context.Context, space string) error {
	return r.locked(space, func() error {
		for _, n := range Runtimes() {
			d, err := driver(n, r.surroundings())
			if err != nil {
				return err
			}
			if _, err := d.Available(ctx); err != nil {
				continue
			}
			if err := r.quit(ctx, d, space); err != nil {
				return err
			}
		}
		return nil
	})
}

// gone waits until the inventory lacks an agent's terminal and its process is
// gone, looking every so often, at most that long.
func (r *Runtime) gone(ctx context.Context, d Driver, a Spawned, limit, every time.Duration) (bool, error) {
	for began := r.Now(); ; {
		list, err := d.List(ctx, a.Space)
		if err != nil {
			return false, fmt.Errorf("whether %s exited can't be told: %w", a.Name, err)
		}
		listed := slices.ContainsFunc(list, func(o Spawned) bool { return o.TerminalID == a.TerminalID })
		switch {
		case !listed && !alive(a.PID):
			return true, nil
		case r.Now().Sub(began) >= limit:
			return false, nil
		case ctx.Err() != nil:
			return false, ctx.Err()
		}
		r.Pause(ctx, every)
	}
}
