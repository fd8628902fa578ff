package queue

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sessionhub/lib/lock"
	"sessionhub/lib/state"
)

// Withdraw takes a record back that nobody has taken over yet: it still lies in
// queue.jsonl, or in a spilled file of its own. done is false when it lies there
// no more. Everything else stays as it is, to the byte.
func (q *Queue) Withdraw(id string) (done bool, err error) {
	if _, err := os.Stat(string(q.Dir)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	l, err := lock.Acquire(q.Dir.QueueLock(), LockWait)
	if err != nil {
		return false, err
	}
	defer l.Release()
	done, err = q.withdrawFrom(q.Dir.Queue(), id)
	if err != nil || done {
		return done, err
	}
	spilled, err := names(q.Dir.Spill())
	if err != nil {
		return false, err
	}
	for _, name := range spilled {
		if done, err = q.withdrawFrom(filepath.Join(q.Dir.Spill(), name), id); err != nil || done {
			return done, err
		}
	}
	return false, nil
}

// withdrawFrom rewrites a file without a record, or removes it when it holds
// nothing else. A crash leaves the old content or the new.
func (q *Queue) withdrawFrom(path, id string) (bool, error) {
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("withdraw a record: %w", err)
	}
	var kept []byte
	for line := range bytes.Lines(old) {
		if !isRecord(line, id) {
			kept = append(kept, line...)
		}
	}
	switch {
	case len(kept) == len(old):
		return false, nil
	case len(kept) == 0 && filepath.Dir(path) == q.Dir.Spill():
		return true, os.Remove(path)
	}
	return true, state.Replace(path, kept)
}
