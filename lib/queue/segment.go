package queue

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"sessionhub/lib/jsonl"
	"sessionhub/lib/lock"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

const ext = ".jsonl"

// maxSegments bounds the segments that wait: with a hub that stays out of
// reach the records stay in queue.jsonl instead of making a file a pass.
const maxSegments = 256

// Entry is a record in a segment.
type Entry struct {
	Segment string
	Line    []byte // as it stands in the segment
	Item    record.Item
}

// TakeOver makes segments of what is queued and spilled. The queue itself is
// taken by one rename under the lock; lock.ErrBusy means that the lock was
// not to be had, and nothing is lost by that.
func (q *Queue) TakeOver() error {
	dir, err := q.Dir.Sub("queue.sending")
	if err != nil {
		return err
	}
	waiting, err := names(dir)
	if err != nil || len(waiting) >= maxSegments {
		return err
	}
	if err := q.takeSpilled(dir); err != nil {
		return err
	}
	st, err := os.Stat(q.Dir.Queue())
	if errors.Is(err, fs.ErrNotExist) || err == nil && st.Size() == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("take over the queue: %w", err)
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("take over the queue: queue.jsonl is no file: remove it")
	}
	name, err := q.segmentName()
	if err != nil {
		return err
	}
	l, err := lock.Acquire(q.Dir.QueueLock(), LockWait)
	if err != nil {
		return err
	}
	err = os.Rename(q.Dir.Queue(), filepath.Join(dir, name))
	q.step(StepTaken)
	if uerr := l.Release(); err == nil {
		err = uerr
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("take over the queue: %w", err)
	}
	return nil
}

// segmentName is a name for a new segment that sorts behind those that wait,
// also when the clock was set back since they were taken.
func (q *Queue) segmentName() (string, error) {
	waiting, err := q.Segments()
	if err != nil {
		return "", err
	}
	at := q.now()
	if n := len(waiting); n > 0 {
		if last := stampTime(waiting[n-1]); !at.After(last) {
			at = last.Add(time.Millisecond)
		}
	}
	return NewStamp(at).ID + ext, nil
}

func (q *Queue) takeSpilled(dir string) error {
	spilled, err := names(q.Dir.Spill())
	if err != nil {
		return err
	}
	for _, name := range spilled {
		if err := os.Rename(filepath.Join(q.Dir.Spill(), name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("take over a spilled record: %w", err)
		}
		q.step(StepSpillTaken)
	}
	return nil
}

// names lists the .jsonl files of a folder in order; temporary files begin
// with a dot. A missing folder is empty.
func names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", filepath.Base(dir), err)
	}
	var out []string
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ext) && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out, nil
}

// Segments lists the segments that wait, oldest first.
func (q *Queue) Segments() ([]string, error) { return names(q.Dir.Sending()) }

// ReadSegment reads a segment: the records in it and the lines that are none.
// Memory is that of the segment.
func (q *Queue) ReadSegment(name string) ([]Entry, []Bad, error) {
	b, err := os.ReadFile(filepath.Join(q.Dir.Sending(), name))
	if err != nil {
		return nil, nil, fmt.Errorf("read a segment: %w", err)
	}
	lines := splitLines(b)
	parseLines(lines)
	entries := make([]Entry, 0, len(lines))
	var bad []Bad
	for i := range lines {
		switch l := &lines[i]; {
		case l.reason != "":
			bad = append(bad, Bad{Reason: l.reason, Line: l.bytes, Segment: name, Offset: l.offset})
		case l.item.ID != "":
			entries = append(entries, Entry{Segment: name, Line: l.bytes, Item: l.item})
		}
	}
	return entries, bad, nil
}

// Settle takes the settled records out of a segment: the whole file when
// nothing is kept, else it is rewritten atomically with the kept lines.
func (q *Queue) Settle(segment string, keep [][]byte) error {
	path := filepath.Join(q.Dir.Sending(), segment)
	if len(keep) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("settle a segment: %w", err)
		}
		q.step(StepRemoved)
		return nil
	}
	t, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o600), renameio.IgnoreUmask())
	if err != nil {
		return fmt.Errorf("settle a segment: %w", err)
	}
	defer t.Cleanup()
	w := bufio.NewWriterSize(t, 64<<10)
	for _, line := range keep {
		w.Write(line)
		w.WriteByte('\n') // Flush returns the first error of these
	}
	if err := errors.Join(w.Flush(), t.Sync()); err != nil {
		return fmt.Errorf("settle a segment: %w", err)
	}
	q.step(StepRewriteSynced)
	if err := t.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("settle a segment: %w", err)
	}
	q.step(StepRewritten)
	return state.SyncDir(q.Dir.Sending())
}

// Lines calls f for every line that waits: segments, then spilled records,
// then the queue. It changes nothing and takes no lock, so a record that is
// taken over meanwhile may be shown twice, or not at all.
func (q *Queue) Lines(f func(line jsonl.Line) error) error {
	paths, err := q.waitingFiles()
	if err != nil {
		return err
	}
	for _, p := range paths {
		if err := eachLine(p, f); err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue) waitingFiles() ([]string, error) {
	var paths []string
	for _, dir := range []string{q.Dir.Sending(), q.Dir.Spill()} {
		list, err := names(dir)
		if err != nil {
			return nil, err
		}
		for _, n := range list {
			paths = append(paths, filepath.Join(dir, n))
		}
	}
	return append(paths, q.Dir.Queue()), nil
}

func eachLine(path string, f func(jsonl.Line) error) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // taken over, or sent, meanwhile
	}
	if err != nil {
		return fmt.Errorf("read the queue: %w", err)
	}
	defer file.Close()
	for r := jsonl.NewReader(file, record.MaxItem); ; {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the queue: %w", err)
		}
		if err := f(line); err != nil {
			return err
		}
	}
}
