package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func (b *book) count(r rower, query string) int64 {
	b.t.Helper()
	n, _, err := one(r, scanInt, query)
	b.must(err)
	return n
}

// until waits for a condition.
func (b *book) until(what string, cond func() bool) {
	b.t.Helper()
	for end := time.Now().Add(10 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// hold occupies the writer until the returned function is called.
func (b *book) hold() (release func()) {
	started, done := make(chan struct{}), make(chan struct{})
	finished := make(chan error, 1)
	go func() {
		finished <- b.write(func(*Tx) error { close(started); <-done; return nil })
	}()
	<-started
	return func() { close(done); b.must(<-finished) }
}

// Requests that wait share a transaction, and so the cost of a sync: the later
// see the earlier, which no reader sees yet.
func TestGroupCommit(t *testing.T) {
	b := newBook(t)
	const jobs = 20
	release := b.hold()
	var mu sync.Mutex
	most := int64(0)
	var wg sync.WaitGroup
	var waiting atomic.Int64
	for i := range jobs {
		wg.Go(func() {
			waiting.Add(1)
			b.must(b.write(func(tx *Tx) error {
				if err := tx.exec("INSERT INTO settings (name, value) VALUES (?, '')", fmt.Sprint(i)); err != nil {
					return err
				}
				unseen := b.count(tx, "SELECT count(*) FROM settings") - b.count(b.s.reader(context.Background()), "SELECT count(*) FROM settings")
				mu.Lock()
				most = max(most, unseen)
				mu.Unlock()
				return nil
			}))
		})
	}
	b.until("they wait for the writer", func() bool { return waiting.Load() == jobs })
	release()
	wg.Wait()
	if most < 2 {
		t.Error("no two requests shared a transaction")
	}
	if n := b.count(b.s.reader(context.Background()), "SELECT count(*) FROM settings"); n != jobs {
		t.Errorf("%d rows, want %d", n, jobs)
	}
}

func TestAFailedJobUndoesOnlyItself(t *testing.T) {
	b := newBook(t)
	insert := func(name string, fail func() error) func(tx *Tx) error {
		return func(tx *Tx) error {
			if err := tx.exec("INSERT INTO settings (name, value) VALUES (?, '')", name); err != nil {
				return err
			}
			return fail()
		}
	}
	broken := errors.New("broken")
	jobs := map[string]func() error{
		"good":  func() error { return nil },
		"bad":   func() error { return broken },
		"panic": func() error { panic("a bug") },
		"more":  func() error { return nil },
	}
	release := b.hold()
	var mu sync.Mutex
	results := map[string]error{}
	var wg sync.WaitGroup
	for name, fail := range jobs {
		wg.Go(func() {
			err := b.write(insert(name, fail))
			mu.Lock()
			defer mu.Unlock()
			results[name] = err
		})
	}
	release()
	wg.Wait()
	if results["good"] != nil || results["more"] != nil || !errors.Is(results["bad"], broken) ||
		results["panic"] == nil || !strings.Contains(results["panic"].Error(), "a bug") {
		t.Errorf("results %v", results)
	}
	if n := b.count(b.s.reader(context.Background()), "SELECT count(*) FROM settings WHERE name IN ('good', 'more')"); n != 2 {
		t.Errorf("%d of the good ones are there", n)
	}
	if n := b.count(b.s.reader(context.Background()), "SELECT count(*) FROM settings"); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}

// A caller that gave up before its turn has written nothing; one whose turn
// has come is carried out.
func TestACallerThatGivesUp(t *testing.T) {
	b := newBook(t)
	release := b.hold()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := b.s.Write(ctx, func(tx *Tx) error { return tx.exec("INSERT INTO settings (name, value) VALUES ('x', '')") })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	release()
	ctx, cancel = context.WithCancel(context.Background())
	err = b.s.Write(ctx, func(tx *Tx) error { cancel(); return tx.exec("INSERT INTO settings (name, value) VALUES ('y', '')") })
	if err != nil {
		t.Error(err)
	}
	if n := b.count(b.s.reader(context.Background()), "SELECT count(*) FROM settings WHERE name = 'y'"); n != 1 {
		t.Error("a request that had begun was not carried out")
	}
}

// The disk is full: the write fails and says so, what was there is intact, and
// the next one succeeds when there is room.
func TestAFullDisk(t *testing.T) {
	b := newBook(t)
	big := strings.Repeat("x", 1<<20)
	fill := func(name string) error {
		return b.write(func(tx *Tx) error { return tx.exec("INSERT INTO settings (name, value) VALUES (?, ?)", name, big) })
	}
	limit := func(pages int) {
		b.must(b.write(func(tx *Tx) error {
			_, err := all(tx, scanInt, fmt.Sprintf("PRAGMA max_page_count = %d", pages))
			return err
		}))
	}
	b.must(fill("before"))
	limit(1) // no more than there are
	release := b.hold()
	var wg sync.WaitGroup
	for _, name := range []string{"while", "beside"} { // which share a transaction
		wg.Go(func() {
			if err := fill(name); !errors.Is(err, ErrFull) {
				t.Errorf("%v, want ErrFull", err)
			}
		})
	}
	release()
	wg.Wait()
	limit(1 << 20)
	b.must(fill("after"))
	if n := b.count(b.s.reader(context.Background()), "SELECT count(*) FROM settings "); n != 2 {
		t.Errorf("%d rows, want those before and after", n)
	}
}

// Another process holds the database: the write fails as busy, not as broken.
func TestABusyDatabase(t *testing.T) {
	b := newBook(t)
	b.must(b.write(func(tx *Tx) error { _, err := all(tx, scanInt, "PRAGMA busy_timeout = 1"); return err }))
	other, err := open(b.path, 1, nil)
	b.must(err)
	defer other.Close()
	conn, err := other.Conn(context.Background())
	b.must(err)
	defer conn.Close()
	_, err = conn.ExecContext(context.Background(), "BEGIN IMMEDIATE")
	b.must(err)
	if err := b.write(func(*Tx) error { return nil }); !errors.Is(err, ErrBusy) {
		t.Errorf("%v, want ErrBusy", err)
	}
	_, err = conn.ExecContext(context.Background(), "ROLLBACK")
	b.must(err)
	b.must(b.write(func(*Tx) error { return nil }))
}

func TestAClosedStore(t *testing.T) {
	b := newBook(t)
	s, err := Open(context.Background(), b.path)
	b.must(err)
	b.must(s.Close())
	if err := s.Write(context.Background(), func(*Tx) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("%v, want ErrClosed", err)
	}
}
