package spawn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"sessionhub/lib/lock"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
	"sessionhub/lib/text"
)

// Runtime starts, lists and stops agents.
type Runtime struct {
	Dir      state.Dir
	Getenv   func(string) string
	Environ  []string
	Launcher []string // what runs a launcher's file: the path of shspawn, and "launch"
	Now      func() time.Time
	Pause    func(ctx context.Context, d time.Duration)
	Timing   Timing
}

// Timing is how long what may take.
type Timing struct {
	Serve time.Duration // for the lock on starting in a space
	Start time.Duration // until the agent runs
	Exit  time.Duration // for an agent that was asked to exit
	Close time.Duration // for a pane that was closed to be gone
	Every time.Duration // between two looks
	Watch time.Duration // the same, while an agent is waited for
}

// DefaultTiming is the timing of real use. A shell that is busy starting up
// was seen to take many seconds.
func DefaultTiming() Timing {
	return Timing{Serve: time.Minute, Start: 20 * time.Second, Exit: 10 * time.Second, Close: 5 * time.Second, Every: 20 * time.Millisecond, Watch: 250 * time.Millisecond}
}

// Errors of agents.
var (
	ErrTaken   = errors.New("the name is taken")
	ErrUnknown = errors.New("no such agent")
	ErrRunning = errors.New("it still runs")
	ErrUnasked = errors.New("what runs can't be told")
)

// preferred is the order in which a runtime is chosen.
var preferred = []string{"herdr", "tmux"}

// Availability is whether a runtime can be used.
type Availability struct {
	Runtime   string `json:"runtime"`
	Available bool   `json:"available"`
	Version   string `json:"version,omitempty"`
	Why       string `json:"why,omitempty"` // it is not
}

// Available asks every driver.
func (r *Runtime) Available(ctx context.Context) []Availability {
	var list []Availability
	for _, name := range Runtimes() {
		a := Availability{Runtime: name}
		d, err := driver(name, r.surroundings())
		if err == nil {
			a.Version, err = d.Available(ctx)
		}
		if err != nil {
			a.Why = err.Error()
		}
		a.Available = err == nil
		list = append(list, a)
	}
	return list
}

func (r *Runtime) surroundings() Surroundings {
	return Surroundings{Dir: r.Dir, Getenv: r.Getenv, Environ: serverEnviron(r.Environ)}
}

// serverEnviron is the environment of a server: the caller's, without what
// belongs to the pane that the caller may run in.
func serverEnviron(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return ofAnotherPane(name) && name != "TERM"
	})
}

// choose is the driver of a spec: the one it names, else the first that can be
// used.
func (r *Runtime) choose(ctx context.Context, name string) (string, Driver, error) {
	names := []string{name}
	if name == "" {
		names = slices.DeleteFunc(slices.Clone(preferred), func(n string) bool { return !slices.Contains(Runtimes(), n) })
	}
	errs := []error{ErrRuntime}
	for _, n := range names {
		d, err := driver(n, r.surroundings())
		if err == nil {
			_, err = d.Available(ctx)
		}
		if err == nil {
			return n, d, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", n, err))
	}
	return "", nil, oneLine(errs)
}

// oneLine joins errors into one line.
func oneLine(errs []error) error {
	err := errs[0]
	for _, e := range errs[1:] {
		err = fmt.Errorf("%w; %w", err, e)
	}
	return err
}

// Start starts an agent and returns when it is proven that its program was
// started: a pane that opens proves nothing. When it fails, nothing is left.
func (r *Runtime) Start(ctx context.Context, s Spec) (Spawned, error) {
	if s.Layout == "" {
		s.Layout = r.Getenv("SHSPAWN_LAYOUT")
	}
	if err := s.Validate(); err != nil {
		return Spawned{}, err
	}
	if err := s.checkCwd(); err != nil {
		return Spawned{}, err
	}
	env := s.environ(r.Environ)
	program, err := s.program(env)
	if err != nil {
		return Spawned{}, err
	}
	name, d, err := r.choose(ctx, s.Runtime)
	if err != nil {
		return Spawned{}, err
	}
	dir, err := r.prepare()
	if err != nil {
		return Spawned{}, err
	}
	word, err := os.CreateTemp(dir, "proof-") // 0600
	if err != nil {
		return Spawned{}, fmt.Errorf("start: %w", err)
	}
	word.Close()
	defer os.Remove(word.Name())
	leave, err := withhold(word.Name() + leaveExt)
	if err != nil {
		return Spawned{}, err
	}
	defer leave.end()
	file, err := writeOrder(dir, order{Program: program, Command: s.Command, Env: env, Cwd: s.Cwd, Proof: word.Name(), Leave: leave.path})
	if err != nil {
		return Spawned{}, err
	}
	defer os.RemoveAll(filepath.Dir(file))
	at := record.At(r.Now())
	a, err := r.open(ctx, name, d, Opening{Space: s.Space, Name: s.Name, Cwd: s.Cwd, Layout: s.Layout, Argv: append(slices.Clone(r.Launcher), file), At: at})
	if err != nil {
		return Spawned{}, err
	}
	a.Runtime, a.StartedAt = name, at
	if err = leave.give(); err == nil {
		a.PID, err = r.proven(ctx, d, a, word.Name())
	}
	if err != nil {
		return Spawned{}, errors.Join(err, r.tearDown(d, a))
	}
	if a.TerminalID == "" { // it is over already
		return a, r.locked(s.Space, func() error { return r.quit(ctx, d, s.Space) })
	}
	return a, nil
}

// prepare is the folder of launchers, without what a crash left in it.
func (r *Runtime) prepare() (string, error) {
	if err := r.Dir.Ensure(); err != nil {
		return "", err
	}
	dir, err := folder(r.Dir)
	if err != nil {
		return "", err
	}
	return dir, sweep(dir, r.Now())
}

// locked runs f while no other process starts or ends anything in a space.
func (r *Runtime) locked(space string, f func() error) error {
	dir, err := folder(r.Dir)
	if err != nil {
		return err
	}
	l, err := lock.Acquire(filepath.Join(dir, space+".lock"), r.Timing.Serve)
	if err != nil {
		return err
	}
	defer l.Release()
	return f()
}

// open starts the space's server, if need be, and opens the pane.
func (r *Runtime) open(ctx context.Context, chosen string, d Driver, o Opening) (a Spawned, err error) {
	err = r.locked(o.Space, func() error {
		if err := r.takenElsewhere(ctx, chosen, o); err != nil {
			return err
		}
		if err := d.Serve(ctx, o.Space); err != nil {
			return err
		}
		list, err := d.List(ctx, o.Space)
		if err == nil {
			err = taken(list, o)
		}
		if err != nil {
			return err
		}
		a, err = d.Open(ctx, o)
		return err
	})
	return a, err
}

func taken(list []Spawned, o Opening) error {
	if slices.ContainsFunc(list, func(a Spawned) bool { return a.Name == o.Name }) {
		return fmt.Errorf("%w: %s runs in %s already", ErrTaken, o.Name, o.Space)
	}
	return nil
}

// takenElsewhere looks for the name in the other runtimes' servers of the space.
func (r *Runtime) takenElsewhere(ctx context.Context, chosen string, o Opening) error {
	for _, n := range Runtimes() {
		if n == chosen {
			continue
		}
		d, err := driver(n, r.surroundings())
		if err != nil {
			return err
		}
		serves, err := served(ctx, d, o.Space)
		if err == nil && serves {
			var list []Spawned
			if list, err = d.List(ctx, o.Space); err == nil {
				err = taken(list, o)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// proven waits until the launcher has become the agent.
func (r *Runtime) proven(ctx context.Context, d Driver, a Spawned, word string) (pid int, err error) {
	for began := r.Now(); ; {
		p, ok, err := readProof(word)
		switch {
		case err != nil:
			return 0, err
		case ok && p.Error != "":
			return 0, fmt.Errorf("start %s: %s", a.Name, text.Line(p.Error))
		case ok:
			return p.PID, nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case r.Now().Sub(began) >= r.Timing.Start:
			return 0, fmt.Errorf("start %s: its program did not start in %s; its pane shows: %q", a.Name, r.Timing.Start, r.lastLines(d, a))
		}
		r.Pause(ctx, r.Timing.Every)
	}
}

// lastLines is the end of what a pane shows, for an error.
func (r *Runtime) lastLines(d Driver, a Spawned) string {
	ctx, cancel := context.WithTimeout(context.Background(), r.Timing.Close)
	defer cancel()
	s, err := d.Screen(ctx, a)
	if err != nil {
		return ""
	}
	const most = 200
	lines := strings.Fields(text.Line(s))
	s = strings.Join(lines, " ")
	return s[max(0, len(s)-most):]
}

// tearDown removes what a failed start has built, whatever became of the
// caller's context.
func (r *Runtime) tearDown(d Driver, a Spawned) error {
	ctx, cancel := context.WithTimeout(context.Background(), r.Timing.Close)
	defer cancel()
	return r.locked(a.Space, func() error {
		if err := d.Close(ctx, a); err != nil {
			return fmt.Errorf("take %s down: %w", a.Name, err)
		}
		return r.quit(ctx, d, a.Space)
	})
}

// quit ends a server in which nothing of ours runs any more.
func (r *Runtime) quit(ctx context.Context, d Driver, space string) error {
	list, err := d.List(ctx, space)
	if err != nil || len(list) > 0 {
		return err
	}
	return d.Quit(ctx, space)
}

// alive tells whether a process exists.
func alive(pid int) bool { return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
