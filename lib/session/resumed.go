package session

import (
	"path/filepath"
	"time"

	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// resumedFor is how long a resume is remembered: herdr reports the session some
// seconds after Claude started, and a second request in between must not start
// a second copy.
const resumedFor = 2 * time.Minute

// resumed is resumed.json: when sessions were resumed, for 2 minutes. It is a
// file, so that a restart does not forget.
type resumed struct {
	Sessions map[string]record.Time `json:"sessions"`
}

func (d *Desk) resumedPath() string { return filepath.Join(string(d.Dir), "resumed.json") }

// JustResumed reports whether the session was resumed here within the last two
// minutes.
func (d *Desk) JustResumed(id string) bool {
	var r resumed
	if err := state.ReadJSON(d.resumedPath(), &r); err != nil {
		return false // the lease and the registry still guard
	}
	at, ok := r.Sessions[id]
	age := d.Now().Sub(at.Time)
	return ok && age >= 0 && age < resumedFor
}

// NoteResumed remembers that the session is resumed now.
func (d *Desk) NoteResumed(id string) error {
	return d.Dir.Locked(func() error {
		var r resumed
		if err := state.ReadJSON(d.resumedPath(), &r); err != nil || r.Sessions == nil {
			r.Sessions = map[string]record.Time{}
		}
		now := d.Now()
		for s, at := range r.Sessions {
			if now.Sub(at.Time) > resumedFor {
				delete(r.Sessions, s)
			}
		}
		r.Sessions[id] = record.At(now)
		return state.ReplaceJSON(d.resumedPath(), r)
	})
}
