package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sessionhub/lib/lock"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
	"sessionhub/lib/text"
)

// HeldError says who acts on a session at the moment.
type HeldError struct{ By string }

func (e *HeldError) Error() string {
	if e.By == "" {
		return "somebody else acts on it at the moment"
	}
	return "somebody else acts on it at the moment: " + e.By
}

// MovingError says that a session is on its way to another machine: until the
// move has ended, nothing else may be done with it here.
type MovingError struct{ Move, To string }

func (e *MovingError) Error() string {
	return fmt.Sprintf("it is being moved to %s: shctl move --status %s tells how that stands", text.Line(e.To), e.Move)
}

// Lease takes the right to act on a session, for who. Two deeds on one session
// never overlap, on this machine; the kernel gives the lease back when its
// holder dies. A *HeldError says who has it, a *MovingError that the session is
// leaving this machine.
func (d *Desk) Lease(session, who string) (release func(), err error) {
	release, err = d.LeaseMoving(session, who)
	if err != nil {
		return nil, err
	}
	if err := d.moving(session); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// Journal is what others than its writer need to know of moves/<id>.json.
type Journal struct {
	ID      string `json:"id"`
	Session string `json:"session"`
	To      string `json:"to"`
	// Leaving says that the session is being ended here, or was, for the move.
	Leaving bool `json:"leaving,omitempty"`
}

// moving is a *MovingError while a journal says that the session is leaving.
func (d *Desk) moving(session string) error {
	files, err := filepath.Glob(filepath.Join(string(d.Dir), MovesDir, "*.json"))
	if err != nil {
		return err
	}
	for _, path := range files {
		var j Journal
		if err := state.ReadJSON(path, &j); err != nil {
			return fmt.Errorf("a move's journal can't be read, and it may be this session that moves: %s: %w", path, err)
		}
		if j.Session == session && j.Leaving {
			return &MovingError{Move: j.ID, To: j.To}
		}
	}
	return nil
}

// MovesDir is the folder of the journals in the state directory.
const MovesDir = "moves"

// LeaseMoving is Lease for who moves the session.
func (d *Desk) LeaseMoving(session, who string) (release func(), err error) {
	if err := record.CheckID("session", session); err != nil {
		return nil, err
	}
	dir, err := d.Dir.Sub("leases")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, session+".lock")
	l, err := lock.Try(path)
	if errors.Is(err, lock.ErrBusy) {
		by, _ := os.ReadFile(path) // a label, not what the lease rests on
		first, _, _ := strings.Cut(string(by), "\n")
		return nil, &HeldError{By: text.Line(first)}
	}
	if err != nil {
		return nil, fmt.Errorf("lease: %w", err)
	}
	if err := l.Write(fmt.Sprintf("%s\n%s\n", who, record.At(d.Now()))); err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return func() { l.Release() }, nil // the kernel does it at the latest
}
