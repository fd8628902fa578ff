//go:build !linux

package doctor

import "errors"

// Environ can't be read on this system.
func Environ(int) ([]string, error) { return nil, errors.ErrUnsupported }
