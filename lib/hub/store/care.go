package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

const (
	// keyLife is how long idempotency keys other than the ids of events and
	// reports are remembered (contract §2).
	keyLife = 30 * 24 * time.Hour
	// pruneStep bounds how many rows one transaction forgets, so that a night's
	// work never holds up a machine's records for long.
	pruneStep = 500
)

// Prune forgets, in small steps, events and ended sessions from before a time,
// and idempotency keys whose time is over. The ids of events and reports are kept for ever, so
// that one that is sent again is still known.
func (s *Store) Prune(ctx context.Context, before, now time.Time) (sessions int64, err error) {
	const (
		over    = "SELECT id FROM sessions WHERE live = 0 AND ended_at < ?1"
		events  = "SELECT id FROM events WHERE at < ?1 OR session IN (" + over + ") ORDER BY seq LIMIT ?2"
		bare    = " AND NOT EXISTS (SELECT 1 FROM events e WHERE e.session = sessions.id) AND NOT EXISTS (SELECT 1 FROM reports r WHERE r.session = sessions.id)"
		reports = "SELECT id FROM reports WHERE session IN (" + over + ") ORDER BY seq LIMIT ?2"
	)
	for _, step := range []struct{ keep, forget string }{
		{"INSERT INTO pruned " + events + " ON CONFLICT DO NOTHING", "DELETE FROM events WHERE id IN (" + events + ")"},
		{"INSERT INTO pruned " + reports + " ON CONFLICT DO NOTHING", "DELETE FROM reports WHERE id IN (" + reports + ")"},
		{"", "DELETE FROM asks WHERE id IN (SELECT id FROM asks WHERE state <> 'open' AND ended_at < ?1 LIMIT ?2)"},
		{"", "DELETE FROM requests WHERE seq IN (SELECT seq FROM requests WHERE ended_at > 0 AND ended_at < ?1 LIMIT ?2)"},
		{"", `DELETE FROM moves WHERE seq IN (SELECT seq FROM moves WHERE ended_at > 0 AND ended_at < ?1
			AND NOT EXISTS (SELECT 1 FROM requests r WHERE r.move = moves.id) LIMIT ?2)`},
		{"", "DELETE FROM sessions WHERE id IN (" + over + bare + " LIMIT ?2)"},
	} {
		if sessions, err = s.forget(ctx, step.keep, step.forget, before.UnixMilli()); err != nil {
			return 0, fmt.Errorf("prune: %w", err)
		}
	}
	return sessions, s.PruneKeys(ctx, now)
}

// forget runs a pair of statements until nothing is left to forget, and counts
// what the second took away.
func (s *Store) forget(ctx context.Context, keep, forget string, before int64) (total int64, err error) {
	for {
		var n int64
		err := s.Write(ctx, func(tx *Tx) (err error) {
			if keep != "" {
				if err := tx.exec(keep, before, pruneStep); err != nil {
					return err
				}
			}
			n, err = tx.affect(forget, before, pruneStep)
			return err
		})
		if total += n; err != nil || n < pruneStep {
			return total, err
		}
	}
}

// PruneKeys forgets idempotency keys whose time is over.
func (s *Store) PruneKeys(ctx context.Context, now time.Time) error {
	_, err := s.forget(ctx, "", "DELETE FROM keys WHERE (owner, key) IN (SELECT owner, key FROM keys WHERE at < ?1 LIMIT ?2)", now.Add(-keyLife).UnixMilli())
	if err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	return nil
}

// ErrTarget is wrapped by what Backup says of a path that it writes nothing to.
var ErrTarget = errors.New("nothing was written")

// Backup writes a consistent copy to path (0600) while the hub runs: to a
// temporary name, synced, then renamed. An existing file is replaced if it is a
// database, or empty; any other, and the store's own, is ErrTarget.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := s.backup(ctx, path); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

func (s *Store) backup(ctx context.Context, path string) error {
	if err := s.replaceable(path); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*") // 0600; SQLite accepts an empty file
	if err != nil {
		return err
	}
	tmp := f.Name()
	defer os.Remove(tmp) // of no use once it was renamed
	defer f.Close()
	if _, err := s.read.ExecContext(ctx, "VACUUM INTO ?", tmp); err != nil {
		return classify(err)
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// replaceable refuses a path whose file a backup must not take the place of.
// Replaced under a hub that runs, its own database would be in no folder any
// more: all that it records from then on would be lost with it.
func (s *Store) replaceable(path string) error {
	at, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, own := range []string{s.path, s.path + "-wal", s.path + "-shm"} {
		if o, err := os.Stat(own); err == nil && os.SameFile(o, at) {
			return fmt.Errorf("%s is the database itself: %w", path, ErrTarget)
		}
	}
	if !at.Mode().IsRegular() {
		return fmt.Errorf("%s is no file: %w", path, ErrTarget)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, len(sqliteHead))
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if n > 0 && string(head[:n]) != sqliteHead {
		return fmt.Errorf("%s is there and is no backup: %w", path, ErrTarget)
	}
	return nil
}

// sqliteHead begins every database of SQLite (its file format, 1.3).
const sqliteHead = "SQLite format 3\x00"
