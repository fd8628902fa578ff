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
	"sync"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // registers the driver

	"sessionhub/lib/record"
)

const (
	// busyWait is how long a connection waits for another process, such as
	// `shhub token` beside a running serve.
	busyWait = 5 * time.Second
	// readers is how many reads run side by side.
	readers = 4
)

// Store is an open database. It is safe for use by several goroutines.
type Store struct {
	read    *sql.DB
	reads   sync.Map // of prepared statements by query
	write   *sql.DB
	jobs    chan job
	quit    chan struct{}
	done    chan struct{}
	path    string // of the database
	changed atomic.Pointer[func(sessions []string)]
	moves   atomic.Pointer[func(moves []record.Move)]
	closing sync.Once
	closed  error
}

// Open opens the database at path, making it if it is missing (0600), and
// brings its schema up to date. It refuses a database of a newer version
// (ErrNewer) and a file that is not the hub's (ErrForeign), and leaves both as
// they are.
func Open(ctx context.Context, path string) (*Store, error) {
	fail := func(err error) (*Store, error) { return nil, fmt.Errorf("open %s: %w", path, classify(err)) }
	if err := create(path); err != nil {
		return nil, err
	}
	if err := inspect(ctx, path); err != nil {
		return fail(err)
	}
	write, err := open(path, 1, durable())
	if err != nil {
		return fail(err)
	}
	if err := migrate(ctx, write, migrations()); err != nil {
		return fail(errors.Join(err, write.Close()))
	}
	conn, err := write.Conn(ctx)
	if err != nil {
		return fail(errors.Join(err, write.Close()))
	}
	read, err := open(path, readers, durable())
	if err != nil {
		return fail(errors.Join(err, write.Close()))
	}
	s := &Store{path: path, read: read, write: write, jobs: make(chan job), quit: make(chan struct{}), done: make(chan struct{})}
	go s.run(&Tx{conn: conn, stmts: make(map[string]*sql.Stmt)})
	return s, nil
}

// durable are the settings of every connection of the hub.
func durable() []string {
	return []string{"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)"}
}

func open(path string, conns int, settings []string) (*sql.DB, error) {
	pragmas := append([]string{fmt.Sprintf("busy_timeout(%d)", busyWait.Milliseconds())}, settings...)
	q := url.Values{"_pragma": pragmas, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// inspect refuses a file that is not the hub's, or that a newer hub wrote,
// before anything of it is changed.
func inspect(ctx context.Context, path string) error {
	db, err := open(path, 1, nil)
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	_, err = conn.ExecContext(ctx, "BEGIN") // another process may be making it right now
	if err == nil {
		var version int
		if version, err = checkOwner(ctx, conn); err == nil && version > SchemaVersion() {
			err = ErrNewer
		}
		conn.ExecContext(ctx, "ROLLBACK") // nothing was changed
	}
	return errors.Join(err, conn.Close(), db.Close())
}

// Close ends the writer after the transaction under way. A second call does
// nothing.
func (s *Store) Close() error {
	s.closing.Do(func() {
		close(s.quit)
		<-s.done
		s.closed = errors.Join(s.write.Close(), s.read.Close())
	})
	return s.closed
}

// rower is what both kinds of transaction can be read through.
type rower interface {
	query(query string, args ...any) (*sql.Rows, error)
}

// reader reads outside a write transaction. Statements are prepared once: the
// hub has few of them.
type reader struct {
	ctx   context.Context
	store *Store
}

func (r reader) query(query string, args ...any) (*sql.Rows, error) {
	st, ok := r.store.reads.Load(query)
	if !ok {
		fresh, err := r.store.read.PrepareContext(r.ctx, query)
		if err != nil {
			return nil, err
		}
		if st, ok = r.store.reads.LoadOrStore(query, fresh); ok {
			fresh.Close() // another was first
		}
	}
	return st.(*sql.Stmt).QueryContext(r.ctx, args...)
}

func (s *Store) reader(ctx context.Context) reader { return reader{ctx: ctx, store: s} }

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
