package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/bundle"
	"sessionhub/lib/seal"
)

func openVerb() front.Verb {
	var from string
	return front.Verb{
		Name: "open", Args: "[flags] [FILE]", Short: "open a sealed bundle, and check all of it",
		Long: `Opens a bundle that was sealed for this machine and writes it, a tar compressed by
zstd, once all of it was checked: signature, recipient, names and hashes. Before that
nothing comes out; what is wrong, cut or longer than it says gives no output at all.

Its signer must be --from, or else the pinned key of the machine that its manifest
names. That of an unknown machine, or a changed one, is refused and named.`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&from, "from", "", "the `signer` of the bundle, as shmove key prints it there")
		},
		Run: func(ctx context.Context, c *front.Call) error { return openBundle(ctx, c, from) },
		Examples: []front.Example{
			{Line: "shmove open session.age | tar --zstd -tv", For: "what is in it?"},
		},
		Files: append(keyFiles(), "keys.json   the pinned keys of other machines"),
		Exits: []front.Exit{
			{Code: front.ExitData, When: "the bundle is unsound, cut, or not sealed for this machine"},
			{Code: front.ExitNotAllowed, When: "its signer is not known here, is another one, or did not sign this"},
			{Code: front.ExitConfig, When: "a key file is of no use, or others can read it"},
		},
	}
}

func openBundle(ctx context.Context, c *front.Call, from string) error {
	if err := binary(c); err != nil {
		return err
	}
	keys, err := loadKeys(c)
	if err != nil {
		return coded(err)
	}
	p, err := pins(c)
	if err != nil {
		return err
	}
	verify := p.Verify
	if from != "" {
		verify = seal.By(from)
	}
	in, err := input(c)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := p.Dir.Ensure(); err != nil {
		return err
	}
	return untilInterrupted(ctx, func() error {
		return coded(openStream(c.Stdout, in, keys, string(p.Dir), bundle.Options{Verify: verify, Recipient: keys.Public.Recipient}))
	})
}

func openStream(w io.Writer, in io.Reader, keys *seal.Keys, dir string, opt bundle.Options) error {
	plain, err := keys.Open(in)
	if err != nil {
		return err
	}
	held, err := bundle.Hold(plain, dir, opt)
	if err != nil {
		return err
	}
	return errors.Join(held.Copy(w), closed(held))
}

func closed(h *bundle.Held) error {
	if err := h.Close(); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	return nil
}
