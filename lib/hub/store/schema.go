package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// application marks the file as the hub's (PRAGMA application_id): "shub".
const application = 0x73687562

// ErrNewer is returned for a database that a newer hub wrote.
var ErrNewer = errors.New("the database is of a newer version of shhub: update shhub")

// ErrForeign is returned for a database that is not the hub's.
var ErrForeign = errors.New("the database is not a hub's")

// migrations bring the schema from one version to the next. Only ever append:
// databases in use hold the version they have reached. Times are Unix
// milliseconds; columns named sent_* are by the sender's clock, all others by
// the hub's.
func migrations() []string {
	return []string{`
CREATE TABLE tokens (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, scopes TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE, created_at INTEGER NOT NULL, revoked_at INTEGER
);
CREATE TABLE machines (
  name TEXT PRIMARY KEY, last_seen INTEGER NOT NULL, skew_ms INTEGER NOT NULL DEFAULT 0,
  herdr_version TEXT NOT NULL DEFAULT '', tools_version TEXT NOT NULL DEFAULT '', recorded INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE sources (
  machine TEXT NOT NULL, herdr_session TEXT NOT NULL, last_seen INTEGER NOT NULL, PRIMARY KEY (machine, herdr_session)
);
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, machine TEXT NOT NULL,
  herdr_session TEXT NOT NULL DEFAULT '', pane_id TEXT NOT NULL DEFAULT '', workspace_id TEXT NOT NULL DEFAULT '', other_panes TEXT NOT NULL DEFAULT '',
  named_by TEXT, named_at INTEGER NOT NULL DEFAULT 0, sent_named INTEGER NOT NULL DEFAULT 0,
  live INTEGER NOT NULL, ended_reason TEXT NOT NULL DEFAULT '', ended_at INTEGER NOT NULL DEFAULT 0, sent_ended INTEGER NOT NULL DEFAULT 0,
  retired INTEGER NOT NULL DEFAULT 0,
  agent_state TEXT NOT NULL DEFAULT 'unknown', background INTEGER NOT NULL DEFAULT 0, note TEXT NOT NULL DEFAULT '',
  since INTEGER NOT NULL, started_at INTEGER NOT NULL, last_seen INTEGER NOT NULL,
  touched_at INTEGER NOT NULL DEFAULT 0, sent_touched INTEGER NOT NULL DEFAULT 0,
  title TEXT NOT NULL DEFAULT '', title_hint TEXT NOT NULL DEFAULT '', cwd TEXT NOT NULL DEFAULT '', git TEXT NOT NULL DEFAULT '',
  first_prompt TEXT NOT NULL DEFAULT '', model TEXT NOT NULL DEFAULT '', transcript_path TEXT NOT NULL DEFAULT '', digest TEXT NOT NULL DEFAULT ''
);
CREATE INDEX sessions_live ON sessions (machine, named_by) WHERE live = 1;
CREATE INDEX sessions_ended ON sessions (ended_at) WHERE live = 0;
CREATE TABLE events (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  at INTEGER NOT NULL, sent_at INTEGER NOT NULL, machine TEXT NOT NULL, source TEXT NOT NULL, kind TEXT NOT NULL,
  agent_state TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '', late INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE past_machines (
  session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE, machine TEXT NOT NULL, PRIMARY KEY (session, machine)
) WITHOUT ROWID;
CREATE INDEX events_session ON events (session, seq);
CREATE TABLE reports (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  at INTEGER NOT NULL, sent_at INTEGER NOT NULL, machine TEXT NOT NULL,
  done TEXT NOT NULL, in_flight TEXT NOT NULL, waiting_on TEXT NOT NULL, late INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX reports_session ON reports (session, seq);
CREATE TABLE pruned (id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE keys (
  owner TEXT NOT NULL, key TEXT NOT NULL, hash BLOB NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE INDEX keys_at ON keys (at);
CREATE TABLE inbox_read (
  session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE, kind TEXT NOT NULL, since INTEGER NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (session, kind)
) WITHOUT ROWID;
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
`, `
CREATE TABLE pairings (
  hash BLOB PRIMARY KEY, machine TEXT NOT NULL, user TEXT NOT NULL, scopes TEXT NOT NULL, expires_at INTEGER NOT NULL
) WITHOUT ROWID;
`, `
CREATE TABLE requests (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, machine TEXT NOT NULL, session TEXT NOT NULL, action TEXT NOT NULL, body TEXT NOT NULL,
  state TEXT NOT NULL, detail TEXT NOT NULL DEFAULT '', url TEXT NOT NULL DEFAULT '', attempt INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, ended_at INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER NOT NULL DEFAULT 0, offered_at INTEGER NOT NULL DEFAULT 0, lease_until INTEGER NOT NULL DEFAULT 0,
  result TEXT NOT NULL DEFAULT '', read INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX requests_open ON requests (machine, seq) WHERE ended_at = 0;
CREATE INDEX requests_ended ON requests (ended_at) WHERE ended_at > 0;
`, `
CREATE TABLE asks (
  id TEXT PRIMARY KEY, session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE, machine TEXT NOT NULL, body TEXT NOT NULL,
  state TEXT NOT NULL, how TEXT NOT NULL DEFAULT '', answer TEXT NOT NULL DEFAULT '', at INTEGER NOT NULL, ended_at INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX asks_session ON asks (session, ended_at);
CREATE INDEX asks_open ON asks (at) WHERE state = 'open';
`, `
CREATE TABLE moves (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
  worktree INTEGER NOT NULL, stop_background INTEGER NOT NULL, cwd TEXT NOT NULL, git TEXT NOT NULL,
  state TEXT NOT NULL, detail TEXT NOT NULL DEFAULT '', notes TEXT NOT NULL DEFAULT '[]', result TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL, deadline INTEGER NOT NULL, ended_at INTEGER NOT NULL DEFAULT 0, out_at INTEGER NOT NULL DEFAULT 0,
  bundle_size INTEGER NOT NULL DEFAULT 0, bundle_sha256 TEXT NOT NULL DEFAULT '',
  origin TEXT UNIQUE, hash BLOB, read INTEGER NOT NULL DEFAULT 0, target_claude TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX moves_open ON moves (session) WHERE ended_at = 0;
CREATE INDEX moves_ended ON moves (ended_at) WHERE ended_at > 0;
ALTER TABLE machines ADD COLUMN move_key TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN move TEXT NOT NULL DEFAULT '';
CREATE INDEX requests_move ON requests (move) WHERE move <> '';
`}
}

// SchemaVersion is the version that this program writes.
func SchemaVersion() int { return len(migrations()) }

// create makes an empty file with the rights that tokens need.
func create(path string) error {
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return fmt.Errorf("open %s: it is no regular file", path)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	return f.Close()
}

func migrate(ctx context.Context, db *sql.DB, steps []string) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := migrateLocked(ctx, conn, steps); err != nil {
		if _, rerr := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); rerr != nil {
			err = errors.Join(err, rerr)
		}
		return err
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

func migrateLocked(ctx context.Context, conn *sql.Conn, steps []string) error {
	version, err := checkOwner(ctx, conn)
	if err != nil {
		return err
	}
	if version > len(steps) {
		return ErrNewer
	}
	for i := version; i < len(steps); i++ {
		if _, err := conn.ExecContext(ctx, steps[i]); err != nil {
			return fmt.Errorf("migrate to version %d: %w", i+1, err)
		}
	}
	_, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", application, len(steps)))
	return err
}

// checkOwner refuses a file that is not a hub's and returns its version.
func checkOwner(ctx context.Context, conn *sql.Conn) (version int, err error) {
	var app, tables int
	if err := conn.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return 0, err
	}
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return 0, err
	}
	if app != application && tables > 0 {
		return 0, ErrForeign
	}
	return version, nil
}
