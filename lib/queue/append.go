package queue

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"sessionhub/lib/lock"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// Append puts items on the queue, all or none. When the lock can't be had in
// LockWait the items go into a file of their own in queue.spill, which the
// next pass takes too. On an error the old content is intact.
func (q *Queue) Append(d Durability, items ...record.Item) error {
	if len(items) == 0 {
		return nil
	}
	var buf bytes.Buffer
	for _, it := range items {
		line, err := it.Line()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrTooLong, err)
		}
		buf.Write(line)
		buf.WriteByte('\n')
	}
	if err := q.Dir.Ensure(); err != nil {
		return err
	}
	if buf.Len() > maxWrite {
		return q.spill(buf.Bytes())
	}
	wait := q.LockWait
	if wait == 0 {
		wait = LockWait
	}
	l, err := lock.Acquire(q.Dir.QueueLock(), wait)
	if errors.Is(err, lock.ErrBusy) {
		return q.spill(buf.Bytes())
	}
	if err != nil {
		return err
	}
	q.step(StepLocked)
	f, err := q.appendLocked(buf.Bytes())
	if uerr := l.Release(); err == nil {
		err = uerr
	}
	if err != nil {
		return fmt.Errorf("append to the queue: %w", err)
	}
	defer f.Close()
	q.step(StepUnlocked)
	if d == Fast {
		return nil
	}
	return q.sync(f)
}

// maxWrite bounds what is appended in one call: a process that is killed in
// the middle of a larger one leaves a part of it, so a large batch goes into a
// file of its own, which a rename makes whole at once.
const maxWrite = record.MaxItem + 1

// appendLocked writes b at the end of the queue in one call and returns the
// open file.
func (q *Queue) appendLocked(b []byte) (*os.File, error) {
	f, err := os.OpenFile(q.Dir.Queue(), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	size, torn, err := tail(f)
	if err == nil && torn {
		// A torn line must not swallow the next one (field report A33).
		b = append([]byte{'\n'}, b...)
		q.step(StepNewlineFixed)
	}
	if err == nil {
		err = q.writeWhole(f, b, size)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	q.step(StepAppended)
	return f, nil
}

// tail is the size of a file and whether its last line lacks a newline.
func tail(f *os.File) (size int64, torn bool, err error) {
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return 0, false, err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], st.Size()-1); err != nil {
		return 0, false, err
	}
	return st.Size(), last[0] != '\n', nil
}

// writeWhole writes b in one call, or nothing of it: what a short write left
// is cut off again.
func (q *Queue) writeWhole(f *os.File, b []byte, size int64) error {
	n, err := q.write(f, b)
	if err == nil && n == len(b) {
		return nil
	}
	if err == nil {
		err = io.ErrShortWrite
	}
	if n > 0 {
		if terr := f.Truncate(size); terr != nil {
			return errors.Join(err, terr)
		}
	}
	return err
}

// sync makes an append durable: the file, and its name, which a hook may have
// made without syncing it.
func (q *Queue) sync(f *os.File) error {
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync the queue: %w", err)
	}
	if err := state.SyncDir(string(q.Dir)); err != nil {
		return err
	}
	q.step(StepSynced)
	return nil
}

// spill writes b as a file of its own, under a name that nothing else has. It
// is durable at once: it is rare.
func (q *Queue) spill(b []byte) error {
	id := NewStamp(q.now()).ID
	dir, err := q.Dir.Sub("queue.spill")
	if err != nil {
		return err
	}
	tmp := filepath.Join(dir, "."+id)
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	err = q.writeWhole(f, b, 0)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	q.step(StepSpillWritten)
	if err == nil {
		err = os.Rename(tmp, filepath.Join(dir, id+".jsonl"))
	}
	if err != nil {
		if rerr := os.Remove(tmp); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
		return fmt.Errorf("spill: %w", err)
	}
	q.step(StepSpilled)
	return state.SyncDir(dir)
}
