package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"sessionhub/lib/record"
)

// maxBatch bounds a transaction, and so how long its first request waits.
const maxBatch = 256

// Errors of the database that a caller can tell from a fault of the hub.
var (
	// ErrClosed is returned for writes after Close.
	ErrClosed = errors.New("the store is closed")
	// ErrBusy is returned when another process held the database for too long.
	ErrBusy = errors.New("the database is in use by another process")
	// ErrFull is returned when the disk is full. What was acknowledged is safe.
	ErrFull = errors.New("the disk of the database is full")
	// ErrDamaged is returned when the file's content makes no sense.
	ErrDamaged = errors.New("the database is damaged")
)

type job struct {
	f   func(tx *Tx) error
	res chan error
}

// Tx is a write transaction. Statements are prepared once and kept.
type Tx struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	save  string // the query that saves a session
	known bool   // the job's record was there before
	effects
}

// effects are what follows a job once it is committed.
type effects struct {
	told   []string      // sessions that the job changed
	moved  []record.Move // moves that it changed
	placed []string      // files of bundles that it put in place, which go if it fails
}

func (e *effects) add(o effects) {
	e.told, e.moved, e.placed = append(e.told, o.told...), append(e.moved, o.moved...), append(e.placed, o.placed...)
}

// Known reports whether the record of this job was recorded before, so that
// nothing of it was.
func (tx *Tx) Known() bool { return tx.known }

// tell notes that people may see a session differently from now on.
func (tx *Tx) tell(session string) { tx.told = append(tx.told, session) }

// Write runs f in a transaction and returns when it is on disk. An error of f
// undoes what f did and nothing else. The context bounds the wait for the
// writer; what has begun is carried out.
func (s *Store) Write(ctx context.Context, f func(tx *Tx) error) error {
	j := job{f: f, res: make(chan error, 1)}
	select {
	case s.jobs <- j:
	case <-s.quit:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	return <-j.res
}

// OnChange sets who is told, after a commit, which sessions people see
// differently now, or see new events or reports of.
func (s *Store) OnChange(f func(sessions []string)) { s.changed.Store(&f) }

// OnMove sets who is told, after a commit, how moves stand that it changed.
func (s *Store) OnMove(f func(moves []record.Move)) { s.moves.Store(&f) }

// run is the writer. It ends with Close.
func (s *Store) run(tx *Tx) {
	defer close(s.done)
	defer tx.close()
	for {
		select {
		case <-s.quit:
			return
		case j := <-s.jobs:
			s.batch(tx, s.gather(j))
		}
	}
}

// gather adds to the first job those that wait already.
func (s *Store) gather(first job) []job {
	jobs := []job{first}
	for len(jobs) < maxBatch {
		select {
		case j := <-s.jobs:
			jobs = append(jobs, j)
		default:
			return jobs
		}
	}
	return jobs
}

// batch carries jobs out in one transaction. When it can't be committed all
// of them have failed.
func (s *Store) batch(tx *Tx, jobs []job) {
	results, all, err := tx.attempt(jobs)
	if err == nil {
		s.follow(all)
	} else {
		removeFiles(all.placed)
	}
	for i, j := range jobs {
		if err != nil {
			results[i] = fmt.Errorf("store: %w", classify(err))
		}
		j.res <- results[i]
	}
}

// follow does what follows a commit: those who watch are told, and bundles
// that nobody needs any more are removed.
func (s *Store) follow(e effects) {
	if f := s.changed.Load(); f != nil && len(e.told) > 0 {
		slices.Sort(e.told)
		(*f)(slices.Compact(e.told))
	}
	for _, m := range e.moved {
		if m.State.Ended() && m.Bundle != nil {
			removeFiles([]string{s.bundlePath(m.ID)})
		}
	}
	if f := s.moves.Load(); f != nil && len(e.moved) > 0 {
		(*f)(e.moved)
	}
}

// attempt carries jobs out and commits. An error is that of all of them.
func (tx *Tx) attempt(jobs []job) (results []error, e effects, err error) {
	results = make([]error, len(jobs))
	if err := tx.exec("BEGIN IMMEDIATE"); err != nil {
		return results, e, err
	}
	for i, j := range jobs {
		results[i], err = tx.nested(j.f)
		if results[i] == nil || err != nil {
			e.add(tx.effects)
		} else {
			removeFiles(tx.placed)
		}
		if err != nil {
			return results, e, tx.rollback(err)
		}
	}
	if err := tx.exec("COMMIT"); err != nil {
		return results, e, tx.rollback(err)
	}
	return results, e, nil
}

// rollback ends a transaction that failed. SQLite ends it by itself when the
// disk is full or fails.
func (tx *Tx) rollback(cause error) error {
	if err := tx.exec("ROLLBACK"); err != nil && !strings.Contains(err.Error(), "no transaction is active") {
		return errors.Join(cause, err)
	}
	return cause
}

// nested runs f in a savepoint, so that its failure is its own. fatal is a
// failure of the whole transaction.
func (tx *Tx) nested(f func(tx *Tx) error) (err, fatal error) {
	tx.effects, tx.known = effects{}, false
	if err := tx.exec("SAVEPOINT job"); err != nil {
		return nil, err
	}
	if err = tx.guard(f); err != nil {
		err = classify(err)
		if tx.exec("ROLLBACK TO job") != nil {
			return nil, err // it took the transaction with it
		}
	}
	return err, tx.exec("RELEASE job")
}

// guard makes a panic of one job its error: the writer serves all others, and
// a request that is sent again must not end the hub again.
func (tx *Tx) guard(f func(tx *Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("store: panic: %v", p)
		}
	}()
	return f(tx)
}

// classify adds to an error of SQLite what a caller can decide by.
func classify(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	const primary = 0xff // extended codes keep the kind in the low byte
	switch e.Code() & primary {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%w: %w", ErrBusy, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %w", ErrFull, err)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", ErrForeign, err)
	}
	return err
}

func (tx *Tx) stmt(query string) (*sql.Stmt, error) {
	if st, ok := tx.stmts[query]; ok {
		return st, nil
	}
	st, err := tx.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	tx.stmts[query] = st
	return st, nil
}

func (tx *Tx) exec(query string, args ...any) error {
	_, err := tx.affect(query, args...)
	return err
}

// affect is exec with the number of rows that changed. It takes no context: a
// caller that gave up must not undo what others wait for in the same
// transaction.
func (tx *Tx) affect(query string, args ...any) (int64, error) {
	st, err := tx.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (tx *Tx) query(query string, args ...any) (*sql.Rows, error) {
	st, err := tx.stmt(query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(context.Background(), args...)
}

func (tx *Tx) close() {
	for _, st := range tx.stmts {
		st.Close()
	}
	tx.conn.Close()
}
