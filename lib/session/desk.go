// Package session acts on sessions that run in panes: it types into them,
// starts them and resumes them. All typing goes through one gate, as each way
// around it was seen to put text into the wrong place.
package session

import (
	"context"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/herdr"
	"sessionhub/lib/presence"
	"sessionhub/lib/state"
)

// Herdr is what this package needs of a herdr client.
type Herdr interface {
	presence.Herdr
	Pane(ctx context.Context, paneID string) (herdr.Pane, error)
	Agent(ctx context.Context, target string) (herdr.Agent, error)
	Read(ctx context.Context, p herdr.ReadParams) (herdr.Screen, error)
	PromptAgent(ctx context.Context, p herdr.Prompt) (herdr.Agent, error)
	SendKeys(ctx context.Context, paneID string, keys ...string) error
	CreateWorkspace(ctx context.Context, w herdr.NewWorkspace) (herdr.Created, error)
	CloseWorkspace(ctx context.Context, workspaceID string) error
	StartAgent(ctx context.Context, s herdr.Start) (herdr.Started, error)
}

// Desk acts on the sessions of this machine. It is safe for use by several
// goroutines.
type Desk struct {
	Dir     state.Dir
	Home    claude.Home
	Sockets func() []string // the herdr servers known, the one used last first
	Client  func(socket string) Herdr
	Getenv  func(string) string
	Now     func() time.Time
	Pause   func(ctx context.Context, d time.Duration) // waits
	Timing  Timing
}

// Timing is how long the desk waits for what.
type Timing struct {
	Look    time.Duration // for one inventory of one server
	Screen  time.Duration // for one reading of a screen
	Arrive  time.Duration // until a message is seen to have arrived
	Link    time.Duration // for a Remote Control link
	Detect  time.Duration // for herdr to see a Claude that was started
	Ready   time.Duration // for it to be at its prompt then
	Retry   time.Duration // for a shell that is busy starting up
	Every   time.Duration // between two looks
	Settled time.Duration // how old a prompt must be where no registry tells
	Still   time.Duration // between the two looks of the gate
	Exit    time.Duration // for a process to be gone after /exit
	Dead    time.Duration // for one to be gone after its pane was closed
}

// DefaultTiming is the timing of real use: the control loop's limits of 15 s,
// and what a real herdr and Claude Code were seen to take.
func DefaultTiming() Timing {
	return Timing{
		Look:   4 * time.Second,
		Screen: 2 * time.Second,
		Arrive: 10 * time.Second,
		Link:   15 * time.Second,
		Detect: 15 * time.Second,
		Ready:  15 * time.Second,
		Retry:  10 * time.Second, // a shell start-up that runs something (finding 34)
		Every:  100 * time.Millisecond,
		// herdr says idle for up to 0.72 s after a prompt (finding 15).
		Settled: time.Second,
		// A key is on the screen some 50 ms after it was pressed; 0.15 s were seen
		// after a paste (finding 49).
		Still: 200 * time.Millisecond,
		Exit:  30 * time.Second, // the limit of moves
		Dead:  5 * time.Second,  // 0.6 to 1.3 s were seen (finding 40)
	}
}

// until looks until seen says so, the limit is over or the context ends.
func (d *Desk) until(ctx context.Context, limit time.Duration, seen func(ctx context.Context) bool) bool {
	end := d.Now().Add(limit)
	for {
		if seen(ctx) {
			return true
		}
		if ctx.Err() != nil || !d.Now().Before(end) {
			return false
		}
		d.Pause(ctx, d.Timing.Every)
	}
}

// Pause waits, or ends early with the context.
func Pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
