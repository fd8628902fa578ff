// Package store keeps what the hub knows in SQLite: WAL, synchronous=FULL, so
// an acknowledged write survives a power failure. One goroutine writes; it
// puts the requests that wait into one transaction, so that many machines
// share the cost of a sync. Readers have connections of their own.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	_ "modernc.org/sqlite" // registers the driver
)

const (
	// busyWait is how long a connection waits for another process, such as
	// `shhub token` beside a running serve.
	busyWait = 5 * time.Second
	// readers is how many reads run side by side.
	readers = 4
	// maxBatch bounds a transaction, and so how long its first request waits.
	maxBatch = 256
)

// ErrClosed is returned for writes after Close.
var ErrClosed = errors.New("the store is closed")

// Store is an open database. It is safe for use by several goroutines.
type Store struct {
	path  string
	read  *sql.DB
	write *sql.DB
	jobs  chan job
	quit  chan struct{}
	done  chan struct{}
}

type job struct {
	ctx context.Context
	f   func(tx *Tx) error
	res chan error
}

// Tx is a write transaction. Statements are prepared once and kept.
type Tx struct {
	ctx   context.Context
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	save  string // the query that saves a session
}

// Open opens the database at path, making it if it is missing (0600), and
// brings its schema up to date. It refuses a database of a newer version and
// one that is not the hub's.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := create(path); err != nil {
		return nil, err
	}
	write, err := open(path, 1)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, write); err != nil {
		write.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	read, err := open(path, readers)
	if err != nil {
		write.Close()
		return nil, err
	}
	s := &Store{path: path, read: read, write: write, jobs: make(chan job), quit: make(chan struct{}), done: make(chan struct{})}
	conn, err := write.Conn(ctx)
	if err != nil {
		s.read.Close()
		s.write.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	go s.run(&Tx{conn: conn, stmts: make(map[string]*sql.Stmt)})
	return s, nil
}

func open(path string, conns int) (*sql.DB, error) {
	q := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyWait.Milliseconds()),
		"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)",
	}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// Close ends the writer after the transaction under way.
func (s *Store) Close() error {
	close(s.quit)
	<-s.done
	return errors.Join(s.write.Close(), s.read.Close())
}

// Write runs f in a transaction and returns when it is on disk. An error of f
// undoes what f did and nothing else.
func (s *Store) Write(ctx context.Context, f func(tx *Tx) error) error {
	j := job{ctx: ctx, f: f, res: make(chan error, 1)}
	select {
	case s.jobs <- j:
	case <-s.quit:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	return <-j.res // from here on it is carried out, whoever waits
}

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
	tx.ctx = context.Background() // a caller that gave up must not undo others
	results := make([]error, len(jobs))
	err := tx.exec("BEGIN IMMEDIATE")
	if err == nil {
		for i, j := range jobs {
			results[i] = tx.nested(j.f)
		}
		if err = tx.exec("COMMIT"); err != nil {
			err = errors.Join(err, tx.exec("ROLLBACK"))
		}
	}
	for i, j := range jobs {
		if err != nil {
			results[i] = fmt.Errorf("store: %w", err)
		}
		j.res <- results[i]
	}
}

// nested runs f in a savepoint, so that its failure is its own.
func (tx *Tx) nested(f func(tx *Tx) error) error {
	if err := tx.exec("SAVEPOINT job"); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	err := f(tx)
	if err != nil {
		if rerr := tx.exec("ROLLBACK TO job"); rerr != nil {
			err = errors.Join(err, rerr)
		}
	}
	if rerr := tx.exec("RELEASE job"); rerr != nil {
		err = errors.Join(err, rerr)
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

// affect is exec with the number of rows that changed.
func (tx *Tx) affect(query string, args ...any) (int64, error) {
	st, err := tx.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(tx.ctx, args...)
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
	return st.QueryContext(tx.ctx, args...)
}

func (tx *Tx) close() {
	for _, st := range tx.stmts {
		st.Close()
	}
	tx.conn.Close()
}

// rower is what both kinds of transaction can be read through.
type rower interface {
	query(query string, args ...any) (*sql.Rows, error)
}

// reader reads outside a write transaction.
type reader struct {
	ctx context.Context
	db  *sql.DB
}

func (r reader) query(query string, args ...any) (*sql.Rows, error) {
	return r.db.QueryContext(r.ctx, query, args...)
}

func (s *Store) reader(ctx context.Context) reader { return reader{ctx: ctx, db: s.read} }

// all scans every row with scan.
func all[T any](r rower, scan func(rows *sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := r.query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []T{}
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// one scans the only row; ok is false without one.
func one[T any](r rower, scan func(rows *sql.Rows) (T, error), query string, args ...any) (v T, ok bool, err error) {
	list, err := all(r, scan, query, args...)
	if err != nil || len(list) == 0 {
		return v, false, err
	}
	return list[0], true, nil
}
