//go:build !linux && !darwin

package doctor

import "errors"

// FileSystem can't be told on this system.
func FileSystem(string) (name string, remote bool, err error) {
	return "", false, errors.ErrUnsupported
}
