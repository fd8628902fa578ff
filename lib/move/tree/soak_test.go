//go:build soak

package tree

import "testing"

// The properties, more often than a normal run has time for.
func TestSoakThereAndBack(t *testing.T) { tries(t, 2000, thereAndBack) }

func TestSoakUndoLosesNothing(t *testing.T) { tries(t, 2000, undoLosesNothing) }

func TestSoakComesBack(t *testing.T) { tries(t, 2000, comesBack) }
