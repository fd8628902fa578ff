package doctor

import (
	"testing"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/state"
)

// Who starts claude and asks at once is told to ask again, not to start claude.
func TestFiringOfAYoungSession(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for age, want := range map[time.Duration]string{
		time.Second: "a session began just now, and its hooks have 5s to run: ask again then",
		time.Hour:   "no hook ran in s in /src",
	} {
		d := &Doctor{
			Dir: state.Dir(t.TempDir()), ClaudeHome: claude.Home(t.TempDir()), Now: func() time.Time { return now },
			Registry: func() ([]claude.Process, error) {
				return []claude.Process{{SessionID: "s", Cwd: "/src", StartedAt: now.Add(-age).UnixMilli()}}, nil
			},
		}
		if f := d.firing(t.Context(), nil); f.Why != want {
			t.Errorf("%s old: %q, want %q", age, f.Why, want)
		}
	}
}
