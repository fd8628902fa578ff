package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sessionhub/lib/record"
)

func TestPruneKeepsTheIDs(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1", "b@p2")
	e := &record.EventPost{ID: "old", At: b.sent(), Kind: record.KindEnded, Body: json.RawMessage(`{"reason":"x"}`)}
	b.must(b.write(func(tx *Tx) error { return Event(tx, "tower", "a", e, b.now) }))
	b.pass(100 * 24 * time.Hour)
	n, err := b.s.Prune(context.Background(), b.now.Add(-90*24*time.Hour), b.now)
	if err != nil || n != 1 {
		t.Fatalf("pruned %d, %v", n, err)
	}
	if _, err := b.s.Session(context.Background(), "a", b.now); !errors.Is(err, ErrUnknown) {
		t.Errorf("a is still there: %v", err)
	}
	b.get("b")
	b.must(b.write(func(tx *Tx) error { return Event(tx, "tower", "b", e, b.now) }))
	if s := b.get("b"); len(s.Events) != 0 || s.Status == record.StatusEnded {
		t.Errorf("a pruned id was recorded again: %+v", s)
	}
}

func TestPruneGoesOnUntilAllIsGone(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1", "b@p2")
	const old = pruneStep*2 + 1
	b.must(b.write(func(tx *Tx) error {
		for i := range old {
			e := &record.EventPost{ID: fmt.Sprintf("old%d", i), At: b.sent(), Kind: record.KindState, Body: json.RawMessage(`{"agent_state":"idle"}`)}
			if err := Event(tx, "tower", []string{"a", "b"}[i%2], e, b.now); err != nil {
				return err
			}
		}
		return Report(tx, "tower", "a", record.SavedReport{ID: "r1", Report: record.Report{Done: "x"}}, b.now)
	}))
	b.pass(time.Second)
	b.beat("tower", "default", "b@p2")
	b.pass(100 * 24 * time.Hour)
	b.state("tower", "b", record.Working)
	if n, err := b.s.Prune(t.Context(), b.now.Add(-90*24*time.Hour), b.now); err != nil || n != 1 {
		t.Fatalf("pruned %d, %v", n, err)
	}
	books, err := b.s.Books(t.Context())
	if err != nil || len(books.Events) != 1 || len(books.Reports) != 0 {
		t.Errorf("left: %d events, %d reports, %v", len(books.Events), len(books.Reports), err)
	}
	if n := b.count(b.s.reader(t.Context()), "SELECT count(*) FROM pruned"); n != old+1 {
		t.Errorf("%d ids are kept, want %d", n, old+1)
	}
}

func TestPruneKeysForgetsOldOnes(t *testing.T) {
	b := newBook(t)
	once := func(key string) (ran bool) {
		b.must(b.write(func(tx *Tx) error {
			_, err := Once(tx, "machine:tower", key, []byte("hash"), b.now, func() error { ran = true; return nil })
			return err
		}))
		return ran
	}
	once("old")
	b.pass(29 * 24 * time.Hour)
	once("new")
	b.must(b.s.PruneKeys(t.Context(), b.now))
	if once("old") || once("new") {
		t.Error("a key was forgotten before its time")
	}
	b.pass(2 * 24 * time.Hour)
	b.must(b.s.PruneKeys(t.Context(), b.now))
	if !once("old") || once("new") {
		t.Error("a key of 31 days is known, or one of 2 days is not")
	}
}

// A backup that is made under load is sound, and has all that was acknowledged
// before it began.
func TestBackupUnderLoad(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var made atomic.Int64
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				e := &record.EventPost{ID: fmt.Sprintf("e%d-%d", w, i), At: b.sent(), Kind: record.KindState, Body: json.RawMessage(`{"agent_state":"idle"}`)}
				if err := b.write(func(tx *Tx) error { return Event(tx, "tower", "a", e, b.now) }); err != nil {
					t.Error(err)
				}
				made.Add(1)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	b.until("there is a load", func() bool { return made.Load() > 50 })
	for range 3 { // an older copy is replaced
		before := made.Load()
		b.must(b.s.Backup(t.Context(), path))
		copied, err := Open(t.Context(), path)
		b.must(err)
		books, err := copied.Books(t.Context())
		if err != nil || int64(len(books.Events)) < before {
			t.Errorf("%d events in the copy, %d were acknowledged before: %v", len(books.Events), before, err)
		}
		if wrong, err := copied.Check(t.Context()); err != nil || len(wrong) > 0 {
			t.Errorf("check: %q, %v", wrong, err)
		}
		b.must(copied.Close())
	}
	close(stop)
	wg.Wait()
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: want 0600", fi, err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestCheckFindsWhatMustNotBe(t *testing.T) {
	for want, statement := range map[string]string{
		"reference: ":                    "INSERT INTO reports (id, session, at, sent_at, machine, done, in_flight, waiting_on) VALUES ('r', 'none', 1, 1, '', '', '', '')",
		"ended without a reason: a":      "UPDATE sessions SET live = 0 WHERE id = 'a'",
		"live with an end: a":            "UPDATE sessions SET ended_at = 1 WHERE id = 'a'",
		"unknown state: a":               "UPDATE sessions SET agent_state = 'happy' WHERE id = 'a'",
		"named by an unknown source: a":  "DELETE FROM sources",
		"both here and past: a":          "INSERT INTO past_machines VALUES ('a', 'tower')",
		"recorded twice: e1":             "INSERT INTO pruned VALUES ('e1')",
		"no token's hash: t":             "INSERT INTO tokens (id, kind, name, scopes, hash, created_at) VALUES ('t', 'user', 'me', '', x'00', 1)",
		"integrity: row 1 missing from ": "", // an index that lacks a row, below
	} {
		t.Run(want, func(t *testing.T) {
			b := newBook(t)
			b.beat("tower", "default", "a@p1")
			b.state("tower", "a", record.Working) // e1
			path := filepath.Join(t.TempDir(), "copy.db")
			b.must(b.s.Backup(t.Context(), path))
			db, err := open(path, 1, nil) // without its rules
			b.must(err)
			if statement == "" {
				statement = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE INDEX events_session ON events (session, at)' WHERE name = 'events_session'"
				want = "integrity: "
			}
			_, err = db.Exec(statement)
			b.must(errors.Join(err, db.Close()))
			s, err := Open(t.Context(), path)
			b.must(err)
			defer s.Close()
			wrong, err := s.Check(t.Context())
			if err != nil || !slices.ContainsFunc(wrong, func(w string) bool { return strings.HasPrefix(w, want) }) {
				t.Errorf("wrong: %q, %v; want %q", wrong, err, want)
			}
		})
	}
}
