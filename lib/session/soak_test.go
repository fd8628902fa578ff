//go:build soak

package session

import (
	"testing"

	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/herdr/herdrtest"
)

func TestSoakRandomTries(t *testing.T) {
	r := roomAt(t, herdrtest.Start(t, herdrtest.WithPath(claudetest.Build(t)), herdrtest.WithTimings(herdrtest.RealTimings())))
	r.tries(200)
}
