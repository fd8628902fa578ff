package main

import (
	"context"
	"errors"
	"flag"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hub/store"
)

func backupVerb() front.Verb {
	var db string
	return front.Verb{
		Name: "backup", Args: "[flags] FILE", Short: "write a consistent copy while the hub runs",
		Long: `Writes a copy of the database to FILE (0600), whole or not at all; an older backup
is replaced, any other file is not.

To restore it, stop the hub, move hub.db, hub.db-wal and hub.db-shm away, copy FILE
to hub.db, and start the hub. A -wal file that stays beside a copy damages it.

Bundles of moves that are under way are not in it: such a move fails when a
restored hub starts, and its session is restarted where it was.`,
		Flags: func(fs *flag.FlagSet) { dbFlag(fs, &db) },
		Run: func(ctx context.Context, c *front.Call) error {
			if len(c.Args) != 1 {
				return front.Usage("one FILE is wanted")
			}
			s, err := openStore(ctx, c, db, true)
			if err != nil {
				return err
			}
			defer s.Close()
			err = s.Backup(ctx, c.Args[0])
			if errors.Is(err, store.ErrTarget) {
				return front.Fail(front.ExitData, err)
			}
			if err != nil {
				return err
			}
			return front.PrintJSON(c.Stdout, map[string]string{"backup": c.Args[0]})
		},
		Examples: []front.Example{{Line: "shhub backup hub-$(date +%F).db", For: "now"}},
		Exits:    append(dbExits(), front.Exit{Code: front.ExitData, When: "FILE is the database itself, or is there and is no backup"}),
	}
}

func checkVerb() front.Verb {
	var db string
	return front.Verb{
		Name: "check", Args: "[flags]", Short: "tell whether the database is sound",
		Long: `Checks the file's integrity, its references and what must hold of sessions, and
counts what was recorded, and the bundles of moves that are under way. A move
whose bundle is missing fails when the hub starts, and stray files go then.`,
		Flags: func(fs *flag.FlagSet) { dbFlag(fs, &db) },
		Run: func(ctx context.Context, c *front.Call) error {
			if err := noArgs(c); err != nil {
				return err
			}
			r, err := check(ctx, c, db)
			if err != nil {
				return err
			}
			if err := front.PrintJSON(c.Stdout, r); err != nil || r.Sound {
				return err
			}
			return errors.New("it is not sound: stop the hub, move the file and its -wal and -shm away, keep them, and restore the last backup (shhub backup --help)")
		},
		Exits: append(dbExits(), front.Exit{Code: front.ExitFailed, When: "it is not; what is wrong is printed"}),
	}
}

// bundles are those of moves that are under way. Neither what is missing nor
// what is a stray makes a database unsound: a hub that starts deals with both.
type bundles struct {
	Waiting int `json:"waiting"`
	Missing int `json:"missing"`
	Strays  int `json:"strays"`
}

// checkResult is what shhub check prints.
type checkResult struct {
	Sound   bool     `json:"sound"`
	Wrong   []string `json:"wrong"`
	Schema  int      `json:"schema"`
	Events  int      `json:"events"`
	Reports int      `json:"reports"`
	Bundles bundles  `json:"bundles"`
}

func check(ctx context.Context, c *front.Call, db string) (checkResult, error) {
	r := checkResult{Wrong: []string{}, Schema: store.SchemaVersion()}
	s, err := openStore(ctx, c, db, true)
	if damaged(&r, err) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	defer s.Close()
	wrong, err := s.Check(ctx)
	r.Wrong = append(r.Wrong, wrong...)
	if damaged(&r, err) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	books, err := s.Books(ctx)
	if damaged(&r, err) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	files, err := s.Bundles(ctx)
	r.Bundles = bundles(files)
	r.Events, r.Reports, r.Sound = len(books.Events), len(books.Reports), len(r.Wrong) == 0
	return r, err
}

// damaged notes an error that is the database's own.
func damaged(r *checkResult, err error) bool {
	if !errors.Is(err, store.ErrDamaged) {
		return false
	}
	r.Wrong = append(r.Wrong, err.Error())
	return true
}
