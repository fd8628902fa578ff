package spawn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// Driver runs agents in one kind of terminal multiplexer. Its calls are bounded
// by their context.
type Driver interface {
	// Available tells the multiplexer's version, or why it can't be used.
	Available(ctx context.Context) (version string, err error)
	// Serve starts the server of a space unless one runs.
	Serve(ctx context.Context, space string) error
	// Open runs argv in a new pane of a space, in that directory, and names
	// workspace, tab and pane after the agent. What it built when it fails, it
	// takes down again.
	Open(ctx context.Context, o Opening) (Spawned, error)
	// List is the inventory of a space's agents, without their process ids where
	// those cost a call each. Without a server it is empty; a server that can't be
	// asked is an error, never an empty inventory.
	List(ctx context.Context, space string) ([]Spawned, error)
	// Process is the process id of an agent; 0 when it is gone.
	Process(ctx context.Context, a Spawned) (int, error)
	// Spaces lists the spaces that have a server.
	Spaces(ctx context.Context) ([]string, error)
	// Type types text and presses Enter in an agent's pane.
	Type(ctx context.Context, a Spawned, text string) error
	// Close ends what runs in an agent's pane, and the pane with it. One that is
	// gone already is no error.
	Close(ctx context.Context, a Spawned) error
	// Screen is what an agent's pane shows.
	Screen(ctx context.Context, a Spawned) (string, error)
	// Quit ends the server of a space when nothing runs in it.
	Quit(ctx context.Context, space string) error
}

// Opening is a pane to open.
type Opening struct {
	Space, Name, Cwd, Layout string
	Argv                     []string
	At                       record.Time
}

// Surroundings are what a driver needs of the process.
type Surroundings struct {
	Dir     state.Dir
	Getenv  func(string) string
	Environ []string
}

// registry are the drivers that were imported, by name.
type registry struct {
	mu   sync.Mutex
	open map[string]func(Surroundings) Driver
}

// drivers is the one piece of package state: drivers register themselves when
// their packages are imported.
var drivers registry

// Register makes a driver known. It is called by the driver's package when that
// is imported. A name that is taken is a mistake in a program, and panics.
func Register(name string, open func(Surroundings) Driver) {
	drivers.mu.Lock()
	defer drivers.mu.Unlock()
	if drivers.open == nil {
		drivers.open = map[string]func(Surroundings) Driver{}
	}
	if _, taken := drivers.open[name]; taken {
		panic("spawn: driver " + name + " is registered twice")
	}
	drivers.open[name] = open
}

// Runtimes are the names of the drivers that were imported, sorted.
func Runtimes() []string {
	drivers.mu.Lock()
	defer drivers.mu.Unlock()
	return slices.Sorted(maps.Keys(drivers.open))
}

// ErrRuntime says that a runtime is not known, or can't be used.
var ErrRuntime = errors.New("no such runtime")

func driver(name string, s Surroundings) (Driver, error) {
	drivers.mu.Lock()
	defer drivers.mu.Unlock()
	open, ok := drivers.open[name]
	if !ok {
		return nil, fmt.Errorf("%w: %q is none of %v", ErrRuntime, name, slices.Sorted(maps.Keys(drivers.open)))
	}
	return open(s), nil
}
