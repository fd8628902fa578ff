package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
)

func pairVerb() front.Verb {
	var db, machine, user, scope string
	var asJSON bool
	return front.Verb{
		Name: "pair", Args: "[flags]", Short: "make a code that hooks up one more machine",
		Long: `Prints a code for "shinstall join URL" on another machine. It is good once, for
10 minutes, and gives that machine its token. Without --machine the other
machine chooses a name that is new here; with it the name is fixed, and may be
that of a machine that is set up anew. With --user it also gives a token for
that user, so that shctl works there.`,
		Flags: func(fs *flag.FlagSet) {
			dbFlag(fs, &db)
			fs.StringVar(&machine, "machine", "", "the other machine's `name`")
			fs.StringVar(&user, "user", "", "also a token for this `user`")
			fs.StringVar(&scope, "scope", "read,ask", "the user token's `scopes`")
			fs.BoolVar(&asJSON, "json", false, "JSON, with the time of expiry")
		},
		Run: func(ctx context.Context, c *front.Call) error {
			p, err := newPairing(machine, user, scope)
			if err == nil {
				err = noArgs(c)
			}
			if err != nil {
				return err
			}
			s, err := openStore(ctx, c, db, true)
			if err != nil {
				return err
			}
			defer s.Close()
			code, expires, err := s.AddPairing(ctx, p, time.Now())
			if err != nil {
				return err
			}
			if asJSON {
				return front.PrintJSON(c.Stdout, struct {
					Code      string      `json:"code"`
					ExpiresAt record.Time `json:"expires_at"`
				}{code, record.At(expires)})
			}
			fmt.Fprintf(c.Stderr, "good once, until %s; on the other machine: shinstall join URL\n", expires.Local().Format("15:04"))
			_, err = fmt.Fprintln(c.Stdout, code)
			return err
		},
		Examples: []front.Example{{Line: "shhub pair --user me", For: "hook up a laptop on which I use shctl, too"}},
		Exits:    dbExits(),
	}
}

func newPairing(machine, user, scope string) (store.Pairing, error) {
	p := store.Pairing{Machine: machine}
	if machine != "" {
		if _, err := newToken(machine, "", ""); err != nil {
			return p, err
		}
	}
	if user != "" {
		t, err := newToken("", user, scope)
		if err != nil {
			return p, err
		}
		p.User, p.Scopes = t.Name, t.Scopes
	}
	return p, nil
}
