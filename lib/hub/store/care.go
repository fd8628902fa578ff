package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// keyLife is how long idempotency keys other than the ids of events and
// reports are remembered (contract §2).
const keyLife = 30 * 24 * time.Hour

// Prune forgets sessions that ended, and events, before a time; and
// idempotency keys whose time is over. The ids of events and reports are kept
// for ever, so that one that is sent again is still known.
func (s *Store) Prune(ctx context.Context, before, now time.Time) (sessions int64, err error) {
	cut := before.UnixMilli()
	err = s.Write(ctx, func(tx *Tx) error {
		const over = "(SELECT id FROM sessions WHERE live = 0 AND ended_at < ?1)"
		for _, q := range []string{
			"INSERT OR IGNORE INTO pruned SELECT id FROM events WHERE at < ?1 OR session IN " + over,
			"INSERT OR IGNORE INTO pruned SELECT id FROM reports WHERE session IN " + over,
			"DELETE FROM events WHERE at < ?1 OR session IN " + over,
			"DELETE FROM reports WHERE session IN " + over,
			"DELETE FROM inbox_read WHERE at < ?1",
		} {
			if err := tx.exec(q, cut); err != nil {
				return err
			}
		}
		n, err := tx.affect("DELETE FROM sessions WHERE live = 0 AND ended_at < ?1", cut)
		sessions = n
		return err
	})
	if err == nil {
		err = s.PruneKeys(ctx, now)
	}
	if err != nil {
		return 0, fmt.Errorf("prune: %w", err)
	}
	return sessions, nil
}

// PruneKeys forgets idempotency keys whose time is over.
func (s *Store) PruneKeys(ctx context.Context, now time.Time) error {
	return s.Write(ctx, func(tx *Tx) error {
		return tx.exec("DELETE FROM keys WHERE at < ?", now.Add(-keyLife).UnixMilli())
	})
}

// Backup writes a consistent copy to path while the hub runs: to a temporary
// name, synced, then renamed. An existing file is replaced.
func (s *Store) Backup(ctx context.Context, path string) error {
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer os.Remove(tmp)
	if err := create(tmp); err != nil { // for its rights
		return fmt.Errorf("backup: %w", err)
	}
	if _, err := s.read.ExecContext(ctx, "VACUUM INTO ?", tmp); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	f, err := os.OpenFile(tmp, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

// Check lists what is wrong with the database; nothing when it is sound.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	lines := func(rows *sql.Rows) (string, error) {
		cols, err := rows.Columns()
		if err != nil {
			return "", err
		}
		vals, ptrs := make([]sql.NullString, len(cols)), make([]any, len(cols))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		err = rows.Scan(ptrs...)
		words := make([]string, len(vals))
		for i, v := range vals {
			words[i] = v.String
		}
		return strings.Join(words, " "), err
	}
	var wrong []string
	for name, query := range map[string]string{
		"integrity":              "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
		"foreign key":            "SELECT * FROM pragma_foreign_key_check",
		"ended without a reason": "SELECT id FROM sessions WHERE live = 0 AND (ended_reason = '' OR ended_at = 0)",
		"live with an end":       "SELECT id FROM sessions WHERE live = 1 AND ended_at <> 0",
		"recorded twice":         "SELECT id FROM events WHERE id IN (SELECT id FROM reports)",
	} {
		list, err := all(s.reader(ctx), lines, query)
		if err != nil {
			return nil, fmt.Errorf("check: %w", err)
		}
		for _, l := range list {
			wrong = append(wrong, name+": "+l)
		}
	}
	return wrong, nil
}

// Books is what was recorded of whom: for tests and for `shhub check`.
type Books struct {
	Events  []string // ids, in the order of their arrival
	Reports []string
	Keys    []string // idempotency keys
}

// Books reads the ids of all that was recorded.
func (s *Store) Books(ctx context.Context) (Books, error) {
	var b Books
	str := func(rows *sql.Rows) (v string, err error) { return v, rows.Scan(&v) }
	for query, list := range map[string]*[]string{
		"SELECT id FROM events ORDER BY seq": &b.Events, "SELECT id FROM reports ORDER BY seq": &b.Reports, "SELECT key FROM keys": &b.Keys,
	} {
		var err error
		if *list, err = all(s.reader(ctx), str, query); err != nil {
			return b, fmt.Errorf("books: %w", err)
		}
	}
	return b, nil
}
