package front

import (
	"context"
	"errors"
	"fmt"

	"sessionhub/lib/config"
	"sessionhub/lib/lock"
)

// The exit statuses of all tools: those of sysexits where it has one.
const (
	ExitFailed      = 1
	ExitUsage       = 64
	ExitData        = 65
	ExitUnavailable = 69
	ExitBusy        = 75
	ExitNotAllowed  = 77
	ExitConfig      = 78
	ExitInterrupted = 130
)

// Failure is an error with its exit status.
type Failure struct {
	Code int
	Err  error
}

// Fail gives an error an exit status.
func Fail(code int, err error) error { return &Failure{Code: code, Err: err} }

// Usage is a failure for wrong arguments.
func Usage(format string, args ...any) error { return Fail(ExitUsage, fmt.Errorf(format, args...)) }

// Error is the line of the cause.
func (f *Failure) Error() string {
	if f.Err == nil {
		return ""
	}
	return f.Err.Error()
}

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// coder is an error of a library that knows its exit status, such as the hub
// client's.
type coder interface{ ExitCode() int }

func exitCode(ctx context.Context, err error) int {
	var f *Failure
	var c coder
	switch {
	case errors.Is(err, errInterrupted): // whatever its verb makes of it
		return ExitInterrupted
	case errors.As(err, &f):
		return f.Code
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return ExitInterrupted
	case errors.As(err, &c):
		return c.ExitCode()
	case errors.Is(err, config.ErrInvalid), errors.Is(err, config.ErrNoToken):
		return ExitConfig
	case errors.Is(err, lock.ErrBusy):
		return ExitBusy
	}
	return ExitFailed
}
