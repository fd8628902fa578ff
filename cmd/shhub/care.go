package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hub/store"
)

func backupVerb() front.Verb {
	var db string
	return front.Verb{
		Name: "backup", Args: "[flags] FILE", Short: "write a consistent copy while the hub runs",
		Long: `Writes a copy of the database to FILE (0600), whole or not at all; an older FILE
is replaced. To restore it, stop the hub and put the copy in the database's
place. Bundles of moves that are under way are not in it: such a move fails when
a restored hub starts, and its session is restarted where it was.`,
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
			if err := s.Backup(ctx, c.Args[0]); err != nil {
				return err
			}
			return front.PrintJSON(c.Stdout, map[string]string{"backup": c.Args[0]})
		},
		Examples: []front.Example{{Line: "shhub backup hub-$(date +%F).db", For: "from cron"}},
		Exits:    dbExits(),
	}
}

func checkVerb() front.Verb {
	var db string
	return front.Verb{
		Name: "check", Args: "[flags]", Short: "tell whether the database is sound",
		Long: `Checks the file's integrity, its references and what must hold of sessions, and
counts what was recorded. The bundles of moves that are under way must be there;
stray files beside them are counted, and go when the hub starts.`,
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
			return fmt.Errorf("%d things are wrong: stop the hub, keep this file, and restore the last backup", len(r.Wrong))
		},
		Exits: append(dbExits(), front.Exit{Code: front.ExitFailed, When: "it is not; what is wrong is printed"}),
	}
}

// checkResult is what shhub check prints.
type checkResult struct {
	Sound   bool     `json:"sound"`
	Wrong   []string `json:"wrong"`
	Schema  int      `json:"schema"`
	Events  int      `json:"events"`
	Reports int      `json:"reports"`
	Bundles int      `json:"bundles"` // of moves that are under way
	Strays  int      `json:"strays"`  // files that no move needs
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
	r.Bundles, r.Strays, err = s.Bundles(ctx)
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
