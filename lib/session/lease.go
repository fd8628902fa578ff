package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sessionhub/lib/lock"
	"sessionhub/lib/record"
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

// Lease takes the right to act on a session, for who. Two deeds on one session
// never overlap, on this machine; the kernel gives the lease back when its
// holder dies. A *HeldError says who has it.
func (d *Desk) Lease(session, who string) (release func(), err error) {
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
