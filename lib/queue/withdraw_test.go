package queue

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"sessionhub/lib/lock"
)

func TestWithdraw(t *testing.T) {
	q := newQueue(t)
	a, b := report(t, "a"), report(t, "b")
	if done, err := q.Withdraw(a.ID); done || err != nil {
		t.Errorf("of no queue: %v, %v", done, err)
	}
	mustAppend(t, q, a)
	f, err := os.OpenFile(q.Dir.Queue(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("no JSON \xff at all, " + a.ID + "\n{\"id\":\"torn"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	mustAppend(t, q, b)
	before, err := os.ReadFile(q.Dir.Queue())
	if err != nil {
		t.Fatal(err)
	}
	if done, err := q.Withdraw(a.ID); !done || err != nil {
		t.Fatalf("%v, %v", done, err)
	}
	after, err := os.ReadFile(q.Dir.Queue())
	if _, want, _ := strings.Cut(string(before), "\n"); err != nil || string(after) != want {
		t.Errorf("%q became %q, %v", before, after, err)
	}
	if done, err := q.Withdraw(a.ID); done || err != nil {
		t.Errorf("once more: %v, %v", done, err)
	}
	if err := q.TakeOver(); err != nil {
		t.Fatal(err)
	}
	if done, err := q.Withdraw(b.ID); done || err != nil {
		t.Errorf("of a segment: %v, %v", done, err)
	}
}

func TestWithdrawOfASpilledRecord(t *testing.T) {
	q := newQueue(t)
	q.LockWait = time.Millisecond
	if err := q.Dir.Ensure(); err != nil {
		t.Fatal(err)
	}
	l, err := lock.Try(q.Dir.QueueLock())
	if err != nil {
		t.Fatal(err)
	}
	a := report(t, "a")
	mustAppend(t, q, a)
	if _, err := q.Withdraw(a.ID); !errors.Is(err, lock.ErrBusy) {
		t.Errorf("while somebody holds the lock: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if done, err := q.Withdraw(a.ID); !done || err != nil {
		t.Errorf("%v, %v", done, err)
	}
	if s, err := q.Stat(); err != nil || s.Spilled != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// Others append meanwhile, and lose nothing.
func TestWithdrawWhileOthersAppend(t *testing.T) {
	q := newQueue(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if err := q.Append(Fast, report(t, "kept")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 50 {
		it := report(t, "withdrawn")
		mustAppend(t, q, it)
		if done, err := q.Withdraw(it.ID); !done || err != nil {
			t.Errorf("%v, %v", done, err)
		}
	}
	wg.Wait()
	if s, err := q.Stat(); err != nil || s.Queued != 200 {
		t.Errorf("%+v, %v", s, err)
	}
}

// A record is found wherever it is.
func TestWhere(t *testing.T) {
	q := newQueue(t)
	it := report(t, "a")
	want := func(place Place) {
		t.Helper()
		if got, err := q.Where(it.ID); err != nil || got != place {
			t.Errorf("%v, %v, want %v", got, err, place)
		}
	}
	want(Gone)
	mustAppend(t, q, report(t, "other"), it)
	want(Waiting)
	if err := q.TakeOver(); err != nil {
		t.Fatal(err)
	}
	want(Taken)
	segments, err := q.Segments()
	if err != nil || len(segments) != 1 {
		t.Fatalf("%v, %v", segments, err)
	}
	line, err := it.Line()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.SetAside([]Bad{{Reason: "no use", Line: line, Segment: segments[0]}}); err != nil {
		t.Fatal(err)
	}
	want(Taken)
	if err := q.Settle(segments[0], nil); err != nil {
		t.Fatal(err)
	}
	want(Aside)
	if err := os.Remove(q.Dir.Bad()); err != nil {
		t.Fatal(err)
	}
	want(Gone)
}

// One that moves on is never taken for gone.
func TestWhereWhileItMoves(t *testing.T) {
	q := newQueue(t)
	for range 30 {
		it := report(t, "a")
		mustAppend(t, q, it)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := q.TakeOver(); err != nil {
				t.Error(err)
			}
		})
		for range 20 {
			if place, err := q.Where(it.ID); err != nil || place != Waiting && place != Taken {
				t.Errorf("%v, %v", place, err)
			}
		}
		wg.Wait()
	}
}
