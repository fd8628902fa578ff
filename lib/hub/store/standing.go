package store

import (
	"database/sql"
	"errors"
	"fmt"
)

// ErrNotYours is returned to a machine that writes of a session that runs on
// another machine and never ran on this one.
var ErrNotYours = errors.New("the session is another machine's")

// standing is what a session is to a machine that writes of it.
type standing int

const (
	// owner: the session runs there, or did last.
	owner standing = iota
	// left: it has left that machine, or nobody holds it at the moment and a
	// snapshot will say where it runs. What is written of it is late: it goes
	// into the history and changes nothing.
	left
)

// standingOf tells what a session is to a machine, or ErrNotYours.
func standingOf(tx *Tx, s *session, machine string, now int64) (standing, error) {
	if s.machine == machine {
		return owner, nil
	}
	_, was, err := one(tx, scanInt, "SELECT 1 FROM past_machines WHERE session = ? AND machine = ?", s.id, machine)
	if err != nil || was {
		return left, err
	}
	free, err := abandoned(tx, s, now)
	if err == nil && !free {
		err = ErrNotYours
	}
	return left, err
}

// abandoned reports whether another machine's snapshot may take the session:
// it is over, or its source is silent.
func abandoned(tx *Tx, s *session, now int64) (bool, error) {
	if !s.live {
		return true, nil
	}
	source := s.herdrSession
	if s.namedBy.Valid {
		source = s.namedBy.String
	}
	seen, _, err := one(tx, scanInt, "SELECT last_seen FROM sources WHERE machine = ? AND herdr_session = ?", s.machine, source)
	return s.silent(seen, now), err
}

// skewOf is a machine's clock minus the hub's in milliseconds, 0 when it is
// not known.
func skewOf(tx *Tx, machine string) (int64, error) {
	skew, _, err := one(tx, scanInt, "SELECT skew_ms FROM machines WHERE name = ?", machine)
	return skew, err
}

func scanInt(rows *sql.Rows) (n int64, err error) { return n, rows.Scan(&n) }

// owned reads a session that a machine writes of. ok is false when what it
// writes is late.
func owned(tx *Tx, machine, id string, now int64) (s session, ok bool, err error) {
	s, known, err := getSession(tx, id)
	if err != nil {
		return s, false, fmt.Errorf("session: %w", err)
	}
	if !known {
		return s, false, ErrUnknown
	}
	st, err := standingOf(tx, &s, machine, now)
	return s, st == owner, err
}
