// Command shmove moves a running session to another machine.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/bundle"
	"sessionhub/lib/config"
	"sessionhub/lib/seal"
	"sessionhub/lib/state"
)

func main() {
	// Bundles are packed beside a person's work: a small heap is worth more than
	// the few collections that it costs.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	front.Main(tool())
}

const gcPercent = 25

func tool() front.Tool {
	return front.Tool{
		Name:  "shmove",
		Short: "move a session to another machine",
		Long: `A session travels in a bundle: a signed PAX tar, compressed by zstd and sealed by
age for the one machine that is to have it. Stock tools can read one:

  age -d -i ~/.config/sessionhub/move.key b.age | tar --zstd -t`,
		Verbs: []front.Verb{
			keyVerb(), packVerb(), sealVerb(), openVerb(), checkVerb(), applyVerb(), undoVerb(),
			outVerb(), inVerb(), finishVerb(), recoverVerb(), listVerb(), restoreVerb(),
		},
		See: []string{"shctl(1)", "age(1)", "tar(1)"},
	}
}

// keyFiles is told by the verbs that use this machine's keys.
func keyFiles() []string {
	return []string{
		"move.key    beside config.toml: this machine's age identity, made when it is missing",
		"move.sign   beside config.toml: the key that it signs with, made when it is missing",
	}
}

// loadKeys loads this machine's keys, or makes them.
func loadKeys(c *front.Call) (*seal.Keys, error) {
	return seal.Load(filepath.Dir(config.Path(c.Getenv)))
}

func pins(c *front.Call) (*seal.Pins, error) {
	dir, err := state.Default(c.Getenv)
	if err != nil {
		return nil, front.Fail(front.ExitConfig, err)
	}
	return &seal.Pins{Dir: dir, Now: time.Now}, nil
}

// coded gives the errors of bundles and keys their exit status.
func coded(err error) error {
	var changed *seal.ChangedError
	var unknown *seal.UnknownError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &changed), errors.As(err, &unknown), errors.Is(err, seal.ErrSignature):
		return front.Fail(front.ExitNotAllowed, err)
	case errors.Is(err, seal.ErrKeyFile):
		return front.Fail(front.ExitConfig, err)
	case errors.Is(err, bundle.ErrUnsound), errors.Is(err, seal.ErrSealed), errors.Is(err, seal.ErrKey):
		return front.Fail(front.ExitData, err)
	}
	return err
}

// binary refuses to write a bundle to a terminal.
func binary(c *front.Call) error {
	if c.Terminal() {
		return front.Usage("the output is not for a terminal: send it to a file or a pipe")
	}
	return nil
}

// untilInterrupted runs f, and gives up on it when the context ends: reading a
// pipe that nobody writes to can't be interrupted. What f made has no name.
func untilInterrupted(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// input is the file that is the only argument, or standard input.
func input(c *front.Call) (io.ReadCloser, error) {
	switch {
	case len(c.Args) > 1:
		return nil, front.Usage("one file is wanted, not %d", len(c.Args))
	case len(c.Args) == 1 && c.Args[0] != "-":
		return os.Open(c.Args[0])
	case c.Interactive():
		return nil, front.Usage("no file is named, and standard input is a terminal")
	}
	return io.NopCloser(c.Stdin), nil
}
