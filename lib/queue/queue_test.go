package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sessionhub/lib/jsonl"
	"sessionhub/lib/lock"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

func newQueue(t *testing.T) *Queue {
	t.Helper()
	return &Queue{Dir: state.Dir(filepath.Join(t.TempDir(), "state"))}
}

func report(t *testing.T, text string) record.Item {
	t.Helper()
	s := NewStamp(time.Now())
	it, err := record.NewItem(s.ID, s.At, record.SourceCLI, record.KindReport, record.Report{Done: text})
	if err != nil {
		t.Fatal(err)
	}
	it.Session = "s1"
	return it
}

func mustAppend(t *testing.T, q *Queue, items ...record.Item) {
	t.Helper()
	if err := q.Append(Durable, items...); err != nil {
		t.Fatal(err)
	}
}

// drain takes everything over and returns the ids in order and the bad lines.
func drain(t *testing.T, q *Queue) (ids []string, bad []Bad) {
	t.Helper()
	if err := q.TakeOver(); err != nil {
		t.Fatal(err)
	}
	segments, err := q.Segments()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range segments {
		entries, b, err := q.ReadSegment(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			ids = append(ids, e.Item.ID)
		}
		bad = append(bad, b...)
	}
	return ids, bad
}

func TestAppendThenTakeOver(t *testing.T) {
	q := newQueue(t)
	a, b, c := report(t, "a"), report(t, "b"), report(t, "c")
	mustAppend(t, q, a, b)
	if st, err := os.Stat(q.Dir.Queue()); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("queue.jsonl: %v, %v", st, err)
	}
	ids, bad := drain(t, q)
	if strings.Join(ids, " ") != a.ID+" "+b.ID || len(bad) != 0 {
		t.Errorf("ids %q, bad %v", ids, bad)
	}
	mustAppend(t, q, c)
	if ids, _ := drain(t, q); len(ids) != 3 || ids[2] != c.ID {
		t.Errorf("a later segment comes later: %q", ids)
	}
}

// Field report A33: record and newline written apart weld records together,
// and the reader fails for ever.
func TestA33TornLineIsSetAsideAlone(t *testing.T) {
	q := newQueue(t)
	a, b := report(t, "a"), report(t, "b")
	mustAppend(t, q, a)
	f, err := os.OpenFile(q.Dir.Queue(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"v":1,"id":"to`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	mustAppend(t, q, b)
	ids, bad := drain(t, q)
	if strings.Join(ids, " ") != a.ID+" "+b.ID {
		t.Errorf("ids %q", ids)
	}
	if len(bad) != 1 || string(bad[0].Line) != `{"v":1,"id":"to` {
		t.Errorf("bad %+v", bad)
	}
}

// Field report A34: rotation raced with append. The take-over is a rename
// under the lock, and nobody appends without the lock.
func TestA34TakeOverRacesWithAppends(t *testing.T) {
	q := newQueue(t)
	const writers, each = 4, 100
	var wg sync.WaitGroup
	want := make(chan string, writers*each)
	for range writers {
		wg.Go(func() {
			for range each {
				it := report(t, "x")
				if err := q.Append(Fast, it); err != nil {
					t.Error(err)
				}
				want <- it.ID
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done); close(want) }()
	for running := true; running; {
		if err := q.TakeOver(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
			running = false
		default:
		}
	}
	ids, bad := drain(t, q)
	seen := map[string]int{}
	for _, id := range ids {
		seen[id]++
	}
	for id := range want {
		if seen[id] != 1 {
			t.Errorf("%s is there %d times", id, seen[id])
		}
	}
	if len(bad) != 0 {
		t.Errorf("bad %v", bad)
	}
}

func TestForeignLines(t *testing.T) {
	q := newQueue(t)
	good := report(t, "a")
	line, err := good.Line()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Dir.Ensure(); err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{
		"not JSON":           "hello",
		"another object":     `{"a":1}`,
		"an array":           `[1]`,
		"a later version":    strings.Replace(string(line), `"v":1`, `"v":2`, 1),
		"an unknown source":  strings.Replace(string(line), `"cli"`, `"tv"`, 1),
		"a wrong type":       strings.Replace(string(line), `"session":"s1"`, `"session":7`, 1),
		"no subject":         strings.Replace(string(line), `"session":"s1",`, ``, 1),
		"ten megabytes":      `{"x":"` + strings.Repeat("y", 10<<20) + `"}`,
		"bytes, not text":    "\xff\xfe\x00",
		"an id with a slash": strings.Replace(string(line), good.ID, "../../etc", 1),
	}
	var file bytes.Buffer
	for _, l := range lines {
		file.WriteString(l + "\n\n  \n")
	}
	file.Write(append(line, '\n'))
	if err := os.WriteFile(q.Dir.Queue(), file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	ids, bad := drain(t, q)
	if len(ids) != 1 || ids[0] != good.ID {
		t.Errorf("ids %q", ids)
	}
	if len(bad) != len(lines) {
		t.Errorf("%d bad lines, want %d", len(bad), len(lines))
	}
	if err := q.SetAside(bad); err != nil {
		t.Fatal(err)
	}
	if err := q.SetAside(bad); err != nil { // as after a crash before the segment was settled
		t.Fatal(err)
	}
	n := 0
	if err := eachAside(q.Dir.Bad(), func(l jsonl.Line) error {
		n++
		var a aside
		if err := json.Unmarshal(l.Bytes, &a); err != nil || a.Reason == "" || a.At.IsZero() || a.Line == "" && len(a.Base64) == 0 {
			t.Errorf("line %.80s: %v", l.Bytes, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if n != len(lines) {
		t.Errorf("%d lines in queue.bad.jsonl, want %d", n, len(lines))
	}
}

func TestLastLineWithoutNewlineCounts(t *testing.T) {
	q := newQueue(t)
	it := report(t, "a")
	line, _ := it.Line()
	if err := q.Dir.Ensure(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(q.Dir.Queue(), line, 0o600); err != nil {
		t.Fatal(err)
	}
	if ids, bad := drain(t, q); len(ids) != 1 || len(bad) != 0 {
		t.Errorf("ids %q, bad %v", ids, bad)
	}
}

// Field report A36: a lock that never comes. The record goes into a file of
// its own, and the next pass takes it.
func TestA36SpillsWhenTheLockIsHeld(t *testing.T) {
	q := newQueue(t)
	q.LockWait = 20 * time.Millisecond
	if err := q.Dir.Ensure(); err != nil {
		t.Fatal(err)
	}
	l, err := lock.Try(q.Dir.QueueLock())
	if err != nil {
		t.Fatal(err)
	}
	it := report(t, "a")
	mustAppend(t, q, it)
	l.Release()
	s, err := q.Stat()
	if err != nil || s.Spilled != 1 || s.Queued != 0 || s.Oldest == nil {
		t.Errorf("stat %+v, %v", s, err)
	}
	if ids, _ := drain(t, q); len(ids) != 1 || ids[0] != it.ID {
		t.Errorf("ids %q", ids)
	}
}

// A full disk: the old content is intact, the error is one line, and the next
// append works.
func TestFullDisk(t *testing.T) {
	for name, part := range map[string]int{"nothing written": 0, "half a line": 20} {
		t.Run(name, func(t *testing.T) {
			q := newQueue(t)
			a, b := report(t, "a"), report(t, "b")
			mustAppend(t, q, a)
			before, _ := os.ReadFile(q.Dir.Queue())
			q.Write = func(f *os.File, p []byte) (int, error) {
				n, err := f.Write(p[:part])
				return n, errors.Join(err, syscall.ENOSPC)
			}
			err := q.Append(Fast, b)
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("got %v", err)
			}
			if after, _ := os.ReadFile(q.Dir.Queue()); !bytes.Equal(after, before) {
				t.Errorf("the content changed: %q", after)
			}
			q.Write = nil
			mustAppend(t, q, b)
			if ids, bad := drain(t, q); len(ids) != 2 || len(bad) != 0 {
				t.Errorf("ids %q, bad %v", ids, bad)
			}
		})
	}
}

func TestShortWriteIsTakenBack(t *testing.T) {
	q := newQueue(t)
	mustAppend(t, q, report(t, "a"))
	q.Write = func(f *os.File, p []byte) (int, error) { return f.Write(p[:7]) }
	if err := q.Append(Fast, report(t, "b")); err == nil {
		t.Error("a short write passed")
	}
	if ids, bad := drain(t, q); len(ids) != 1 || len(bad) != 0 {
		t.Errorf("ids %q, bad %v", ids, bad)
	}
}

func TestTooLongIsRefusedWhole(t *testing.T) {
	q := newQueue(t)
	err := q.Append(Fast, report(t, "a"), report(t, strings.Repeat("x", record.MaxItem)))
	if !errors.Is(err, ErrTooLong) || strings.Contains(err.Error(), "xxxx") {
		t.Errorf("got %.200v", err)
	}
	if _, err := os.Stat(q.Dir.Queue()); err == nil {
		t.Error("something was appended")
	}
}

func TestSettleKeepsTheRest(t *testing.T) {
	q := newQueue(t)
	a, b := report(t, "a"), report(t, "b")
	mustAppend(t, q, a, b)
	drain(t, q)
	segments, _ := q.Segments()
	entries, _, err := q.ReadSegment(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Settle(segments[0], [][]byte{entries[1].Line}); err != nil {
		t.Fatal(err)
	}
	if ids, _ := drain(t, q); len(ids) != 1 || ids[0] != b.ID {
		t.Errorf("ids %q", ids)
	}
	if err := q.Settle(segments[0], nil); err != nil {
		t.Fatal(err)
	}
	if left, _ := q.Segments(); len(left) != 0 {
		t.Errorf("segments %q", left)
	}
}

func TestSegmentsAreBounded(t *testing.T) {
	q := newQueue(t)
	for range maxSegments + 5 {
		mustAppend(t, q, report(t, "a"))
		if err := q.TakeOver(); err != nil {
			t.Fatal(err)
		}
	}
	segments, _ := q.Segments()
	s, _ := q.Stat()
	if len(segments) != maxSegments || s.Queued != 5 || s.Sending != maxSegments {
		t.Errorf("%d segments, %+v", len(segments), s)
	}
}

func TestStampsSortByTime(t *testing.T) {
	base := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	prev := ""
	for i := range 5000 {
		s := NewStamp(base.Add(time.Duration(i) * time.Microsecond))
		if s.ID <= prev {
			t.Fatalf("%s after %s", s.ID, prev)
		}
		if len(s.ID) != 36 || s.ID[14] != '7' || !strings.ContainsRune("89ab", rune(s.ID[19])) {
			t.Fatalf("%s is no UUIDv7", s.ID)
		}
		prev = s.ID
	}
	if a, b := NewStamp(base), NewStamp(base); a.ID == b.ID {
		t.Error("two stamps of one moment are equal")
	}
}

func FuzzParse(f *testing.F) {
	it := record.Item{V: 1, ID: "a", Source: record.SourceCLI, Kind: record.KindReport, Session: "s", Body: json.RawMessage(`{"done":"x"}`), At: record.At(time.Unix(1700000000, 0))}
	line, _ := it.Line()
	f.Add(line)
	f.Add([]byte(`{"v":1,"body":`))
	f.Fuzz(func(t *testing.T, b []byte) {
		it, reason := parse(b, false)
		if reason == "" && it.ID != "" {
			if _, err := it.Line(); err != nil {
				t.Errorf("a record that was read can't be written: %v", err)
			}
		}
		if strings.ContainsAny(reason, "\n\x1b") {
			t.Errorf("reason %q", reason)
		}
		if slow := json.Unmarshal(b, new(record.Item)); slow != nil && reason == "" && it.ID != "" {
			t.Errorf("the fast decoder accepts what encoding/json refuses: %v", slow)
		}
	})
}
