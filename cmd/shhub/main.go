// Command shhub is the hub of sessionhub.
package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hub/store"
)

func main() { front.Main(tool()) }

func tool() front.Tool {
	return front.Tool{
		Name:  "shhub",
		Short: "the hub of sessionhub: API and store",
		Long: `shhub keeps what all machines report, in one SQLite file, and answers shctl.
Anyone can host it: one binary, one file.`,
		Verbs: []front.Verb{
			serveVerb(),
			{Name: "token", Short: "make, list and revoke tokens", Verbs: []front.Verb{tokenAddVerb(), tokenListVerb(), tokenRevokeVerb()}},
			pairVerb(), backupVerb(), checkVerb(),
		},
		See: []string{"shctl(1)", "shwatch(1)", "shq(1)"},
	}
}

// dbFlag registers --db.
func dbFlag(fs *flag.FlagSet, db *string) {
	fs.StringVar(db, "db", "", "the database `file` (default: ~/.local/share/sessionhub/hub.db)")
}

// openStore opens the database; when it must exist, a missing one is an error
// instead of an empty hub.
func openStore(ctx context.Context, c *front.Call, db string, mustExist bool) (*store.Store, error) {
	path, err := dbPath(c, db)
	if err != nil {
		return nil, err
	}
	if mustExist {
		if _, err := os.Stat(path); err != nil {
			return nil, front.Fail(front.ExitConfig, err)
		}
	} else if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, path)
	if errors.Is(err, store.ErrForeign) || errors.Is(err, store.ErrNewer) {
		return nil, front.Fail(front.ExitConfig, err)
	}
	return s, err
}

func dbPath(c *front.Call, db string) (string, error) {
	if db != "" {
		return db, nil
	}
	if d := c.Getenv("XDG_DATA_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "sessionhub", "hub.db"), nil
	}
	home := c.Getenv("HOME")
	if home == "" {
		return "", front.Usage("no database: give --db, as HOME is not set")
	}
	return filepath.Join(home, ".local", "share", "sessionhub", "hub.db"), nil
}

// dbExits are the exit statuses of a verb that opens the database.
func dbExits() []front.Exit {
	return []front.Exit{{Code: front.ExitConfig, When: "the database is missing, foreign, or of a newer version"}}
}

// noArgs refuses arguments of a verb that takes none.
func noArgs(c *front.Call) error {
	if len(c.Args) > 0 {
		return front.Usage("no arguments are wanted, not %q", c.Args[0])
	}
	return nil
}
