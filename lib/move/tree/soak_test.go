//go:build soak

package tree

import (
	"flag"
	"testing"
)

// The properties, more often than a normal run has time for.
func TestSoakThereAndBack(t *testing.T) { often(t, thereAndBack) }

func TestSoakUndoLosesNothing(t *testing.T) { often(t, undoLosesNothing) }

func TestSoakComesBack(t *testing.T) { often(t, comesBack) }

func often(t *testing.T, property func(*testing.T)) {
	checks := flag.Lookup("rapid.checks")
	was := checks.Value.String()
	if err := checks.Value.Set("2000"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = checks.Value.Set(was) }()
	property(t)
}
