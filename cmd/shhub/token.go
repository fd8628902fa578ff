package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
)

func tokenAddVerb() front.Verb {
	var db, machine, user, scope string
	return front.Verb{
		Name: "add", Args: "[flags]", Short: "make a token and print it, this once",
		Long: `A machine's token acts as that machine and nothing else. A user's token has
scopes: read (see), ask (ask machines to do things), answer (answer what Claude
asks; who holds it can run what Claude proposes, so keep it off machines where
agents run as the same user). The token is stored hashed; it can't be shown again.`,
		Flags: func(fs *flag.FlagSet) {
			dbFlag(fs, &db)
			fs.StringVar(&machine, "machine", "", "the machine's `name`")
			fs.StringVar(&user, "user", "", "the user's `name`")
			fs.StringVar(&scope, "scope", "read,ask", "a user token's `scopes`")
		},
		Run: func(ctx context.Context, c *front.Call) error {
			t, err := newToken(machine, user, scope)
			if err == nil {
				err = noArgs(c)
			}
			if err != nil {
				return err
			}
			s, err := openStore(ctx, c, db, false)
			if err != nil {
				return err
			}
			defer s.Close()
			secret, err := s.AddToken(ctx, t, time.Now())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.Stdout, secret)
			return err
		},
		Examples: []front.Example{
			{Line: "shhub token add --machine tower > ~/.config/sessionhub/token", For: "a machine's"},
			{Line: "shhub token add --user me > ~/.config/sessionhub/user-token", For: "its owner's"},
		},
		Exits: dbExits(),
	}
}

func newToken(machine, user, scope string) (store.Token, error) {
	if (machine == "") == (user == "") {
		return store.Token{}, front.Usage("either --machine or --user is wanted")
	}
	if machine != "" {
		if err := record.CheckName("machine", machine); err != nil {
			return store.Token{}, front.Usage("%w", err)
		}
		return store.Token{Kind: store.KindMachine, Name: machine}, nil
	}
	if err := record.CheckName("user", user); err != nil {
		return store.Token{}, front.Usage("%w", err)
	}
	scopes := strings.FieldsFunc(scope, func(r rune) bool { return r == ',' || r == ' ' })
	for _, s := range scopes {
		if !slices.Contains([]string{"read", "ask", "answer"}, s) {
			return store.Token{}, front.Usage("--scope: %q is none of read, ask, answer", s)
		}
	}
	if len(scopes) == 0 {
		return store.Token{}, front.Usage("--scope: a token without scopes is of no use")
	}
	return store.Token{Kind: store.KindUser, Name: user, Scopes: scopes}, nil
}

func tokenListVerb() front.Verb {
	var db string
	return front.Verb{
		Name: "list", Args: "[flags]", Short: "list the tokens, without their secrets",
		Flags: func(fs *flag.FlagSet) { dbFlag(fs, &db) },
		Run: func(ctx context.Context, c *front.Call) error {
			s, err := openStore(ctx, c, db, true)
			if err != nil {
				return err
			}
			defer s.Close()
			list, err := s.Tokens(ctx)
			if err != nil {
				return err
			}
			for _, t := range list {
				if err := front.PrintJSON(c.Stdout, t); err != nil {
					return err
				}
			}
			return nil
		},
		Exits: dbExits(),
	}
}

func tokenRevokeVerb() front.Verb {
	var db string
	return front.Verb{
		Name: "revoke", Args: "[flags] ID", Short: "end a token at once",
		Long:  "Ends a token. A hub that runs refuses it from its next request on.",
		Flags: func(fs *flag.FlagSet) { dbFlag(fs, &db) },
		Run: func(ctx context.Context, c *front.Call) error {
			if len(c.Args) != 1 {
				return front.Usage("one token's id is wanted; shhub token list shows them")
			}
			s, err := openStore(ctx, c, db, true)
			if err != nil {
				return err
			}
			defer s.Close()
			err = s.RevokeToken(ctx, c.Args[0], time.Now())
			if errors.Is(err, store.ErrUnknown) {
				return front.Fail(front.ExitData, fmt.Errorf("there is no token %q; shhub token list shows them", c.Args[0]))
			}
			if err != nil {
				return err
			}
			return front.PrintJSON(c.Stdout, map[string]string{"id": c.Args[0], "state": "revoked"})
		},
		Exits: append(dbExits(), front.Exit{Code: front.ExitData, When: "there is no such token"}),
	}
}
