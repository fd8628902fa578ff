//go:build !linux

package herdr

import (
	"context"
	"errors"
)

// ServerPID would be the process that listens at a socket. What is asked of it,
// its environment, only Linux shows.
func ServerPID(context.Context, string) (int, error) { return 0, errors.ErrUnsupported }
