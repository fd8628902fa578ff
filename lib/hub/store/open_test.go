package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// sqlFile makes a database of somebody's with a few statements.
func sqlFile(t *testing.T, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "it's 100% a \"file\"?#.db")
	db, err := open(path, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestOpenRefusesWhatIsNotItsOwn(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database\n", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	hub := filepath.Join(t.TempDir(), "hub.db")
	s, err := Open(context.Background(), hub)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(context.Background(), func(tx *Tx) error { return tx.exec("PRAGMA user_version = 4711") }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		want       error
	}{
		{"a text", text, ErrForeign},
		{"another program's database", sqlFile(t, "CREATE TABLE notes (n TEXT)", "PRAGMA user_version = 1"), ErrForeign},
		{"a newer hub's", hub, ErrNewer},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, err := os.ReadFile(c.path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Open(context.Background(), c.path)
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if err == nil {
				s.Close()
			}
			if after, err := os.ReadFile(c.path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("it was changed, or %v", err)
			}
		})
	}
	if _, err := Open(context.Background(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Open(context.Background(), filepath.Join(t.TempDir(), "none", "hub.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestOpenMakesAPrivateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a file?#100%.db")
	s, err := Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, f := range []string{path, path + "-wal", path + "-shm"} {
		if fi, err := os.Stat(f); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, fi, err)
		}
	}
}

// An acknowledged record survives power loss: WAL with full syncs, on the
// connection that writes.
func TestTheWriterIsDurable(t *testing.T) {
	b := newBook(t)
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1"} {
		b.must(b.write(func(tx *Tx) error {
			got, _, err := one(tx, scanWords, "PRAGMA "+pragma)
			if got != want {
				t.Errorf("%s is %s, want %s", pragma, got, want)
			}
			return err
		}))
	}
}

func TestMigrationsRunOnceAndWhole(t *testing.T) {
	ctx := context.Background()
	db, err := open(filepath.Join(t.TempDir(), "hub.db"), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	steps := []string{"CREATE TABLE a (x INTEGER)", "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7", "CREATE TABLE b (z INTEGER); nonsense"}
	if err := migrate(ctx, db, steps[:1]); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO a (x) VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := migrate(ctx, db, steps[:2]); err != nil {
			t.Fatal(err)
		}
	}
	if err := migrate(ctx, db, steps); err == nil {
		t.Error("a step that fails is no error")
	}
	var version, y, tables int
	row := db.QueryRow("SELECT (SELECT user_version FROM pragma_user_version), (SELECT y FROM a), (SELECT count(*) FROM sqlite_schema WHERE name = 'b')")
	if err := row.Scan(&version, &y, &tables); err != nil || version != 2 || y != 7 || tables != 0 {
		t.Errorf("version %d, y %d, %d tables of the failed step, %v", version, y, tables, err)
	}
	if err := migrate(ctx, db, steps[:1]); !errors.Is(err, ErrNewer) {
		t.Errorf("an older program: %v", err)
	}
}

func TestReadersSeeWhatAnotherProcessWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hub.db")
	var stores [2]*Store
	for i := range stores {
		var err error
		if stores[i], err = Open(context.Background(), path); err != nil {
			t.Fatal(err)
		}
		defer stores[i].Close()
	}
	secret, err := stores[0].AddToken(context.Background(), Token{Kind: KindUser, Name: "me", Scopes: []string{"read"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if tok, err := stores[1].FindToken(context.Background(), secret); err != nil || tok.Name != "me" || !tok.Has("read") || tok.Has("ask") {
		t.Errorf("token %+v, %v", tok, err)
	}
}

// serve and token start at the same moment on a file that is not there yet.
func TestOpenByManyAtOnce(t *testing.T) {
	for range 5 {
		path := filepath.Join(t.TempDir(), "hub.db")
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				s, err := Open(context.Background(), path)
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
