package queue

import (
	"os"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/record"
)

// A clock that was set back must not put later records before earlier ones.
func TestSegmentsKeepTheirOrderWhenTheClockIsSetBack(t *testing.T) {
	q := newQueue(t)
	now := time.Now()
	q.Now = func() time.Time { return now }
	var want []string
	for range 4 {
		it := report(t, "x")
		mustAppend(t, q, it)
		want = append(want, it.ID)
		if err := q.TakeOver(); err != nil {
			t.Fatal(err)
		}
		now = now.Add(-time.Hour)
	}
	if ids, _ := drain(t, q); strings.Join(ids, " ") != strings.Join(want, " ") {
		t.Errorf("order %q, want %q", ids, want)
	}
}

// A batch that a kill in the middle of its write could leave in part goes into
// a file of its own, whole or not at all.
func TestALargeBatchIsAFileOfItsOwn(t *testing.T) {
	q := newQueue(t)
	var items []record.Item
	for range 3 {
		items = append(items, report(t, strings.Repeat("x", 100_000)))
	}
	mustAppend(t, q, items...)
	mustAppend(t, q, items[:1]...)
	s, err := q.Stat()
	if err != nil || s.Spilled != 3 || s.Queued != 1 {
		t.Errorf("stat %+v, %v", s, err)
	}
}

// Spilled files never meet, whatever ids their records have.
func TestSpilledFilesNeverMeet(t *testing.T) {
	q := newQueue(t)
	it := report(t, strings.Repeat("x", 200_000))
	mustAppend(t, q, it, it)
	mustAppend(t, q, it, it)
	if ids, _ := drain(t, q); len(ids) != 4 {
		t.Errorf("%d records, want 4", len(ids))
	}
}

// What is no file does not stop what is.
func TestFoldersInThePlaceOfFiles(t *testing.T) {
	q := newQueue(t)
	mustAppend(t, q, report(t, "a"))
	if err := q.TakeOver(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{q.Dir.Queue(), q.Dir.Sending() + "/zz.jsonl", q.Dir.Spill() + "/zz.jsonl"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.TakeOver(); err == nil || !strings.Contains(err.Error(), "is no file") {
		t.Errorf("got %v", err)
	}
	if list, err := q.Segments(); err != nil || len(list) != 1 {
		t.Errorf("segments %q, %v", list, err)
	}
}
