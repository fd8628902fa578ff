// Package queue is the queue of records between whoever has something to
// report and the watcher that delivers it: files in the state directory.
//
// Appending takes one lock for microseconds and writes once; it never waits
// for a network. Delivering takes the whole file over by a rename, so no lock
// is held while anything is sent. A crash at any instruction leaves a record
// where the next pass finds it (delivery is at least once; the record's id
// lets the hub record it once). What the queue does not promise: a record
// appended with Fast may be lost by a power failure, never by a crash.
package queue

import (
	"errors"
	"os"
	"time"

	"sessionhub/lib/state"
)

// LockWait is how long an append waits for queue.lock before it spills. A
// holder needs microseconds, so after this time it is stopped, or the file
// system's locks don't work (field report A36).
const LockWait = 2 * time.Second

// Durability says whether an append syncs to disk before it returns.
type Durability int

// Hooks append Fast, as the next heartbeat heals what a power failure takes.
const (
	Fast Durability = iota
	Durable
)

// Queue is the queue of one state directory.
type Queue struct {
	Dir state.Dir

	// LockWait replaces the package's LockWait when it is not zero.
	LockWait time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Write writes to an open file; nil is its Write method. Tests let it
	// fail or write less.
	Write func(f *os.File, b []byte) (int, error)
	// Step is called after every file operation with its name (Steps lists
	// them). Tests crash there. Nil in production.
	Step func(name string)
}

// The operations on files that Step is told of.
const (
	StepLocked        = "locked"
	StepNewlineFixed  = "newline-fixed"
	StepAppended      = "appended"
	StepUnlocked      = "unlocked"
	StepSynced        = "synced"
	StepSpillWritten  = "spill-written"
	StepSpilled       = "spilled"
	StepTaken         = "taken"
	StepSpillTaken    = "spill-taken"
	StepAsideWritten  = "aside-written"
	StepAsideSynced   = "aside-synced"
	StepCounted       = "counted"
	StepRewriteSynced = "rewrite-synced"
	StepRewritten     = "rewritten"
	StepRemoved       = "removed"
)

// Steps is every name that Step can be called with.
func Steps() []string {
	return []string{
		StepLocked, StepNewlineFixed, StepAppended, StepUnlocked, StepSynced, StepSpillWritten, StepSpilled,
		StepTaken, StepSpillTaken, StepAsideWritten, StepAsideSynced, StepCounted,
		StepRewriteSynced, StepRewritten, StepRemoved,
	}
}

func (q *Queue) step(name string) {
	if q.Step != nil {
		q.Step(name)
	}
}

func (q *Queue) now() time.Time {
	if q.Now == nil {
		return time.Now()
	}
	return q.Now()
}

func (q *Queue) write(f *os.File, b []byte) (int, error) {
	if q.Write == nil {
		return f.Write(b)
	}
	return q.Write(f, b)
}

// ErrTooLong is wrapped by the refusal of a record over record.MaxItem.
var ErrTooLong = errors.New("record too long")
