package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/record"
	"sessionhub/lib/seal"
)

func keyVerb() front.Verb {
	return front.Verb{
		Name: "key", Short: "print this machine's keys for moves, and make them first if there are none",
		Long: `Prints {recipient, signer, fingerprint}: what others seal for, what they check this
machine's signature with, and what two people compare by another way. The age
identity is made hybrid, safe against quantum computers as well; an X25519 one that
you put there yourself is taken, too.`,
		Run:   showKey,
		Verbs: []front.Verb{trustVerb()},
		Files: keyFiles(),
		Examples: []front.Example{
			{Line: "shmove key | ssh laptop shmove key trust tower", For: "let laptop take bundles of this machine, tower"},
			{Line: "shmove key | jq -r .recipient", For: "what others seal for"},
		},
		Exits: []front.Exit{{Code: front.ExitConfig, When: "a key file is of no use, or others can read it"}},
	}
}

func showKey(_ context.Context, c *front.Call) error {
	if len(c.Args) > 0 {
		return front.Usage("%q is none of trust", c.Args[0])
	}
	keys, err := loadKeys(c)
	if err != nil {
		return coded(err)
	}
	for _, path := range keys.Created {
		fmt.Fprintf(c.Stderr, "shmove: made %s\n", path)
	}
	return front.PrintJSON(c.Stdout, keys.Public)
}

func trustVerb() front.Verb {
	var fingerprint string
	return front.Verb{
		Name: "trust", Args: "[flags] MACHINE", Short: "accept a machine's key, or its changed key",
		Long: `Pins the key of a machine. The key is what its own shmove key prints, on standard
input; without input it is the one that the machine showed when it was refused, and
--fingerprint must say which. Compare the fingerprint by another way than the one
that the key came by: who can put a key in place of another can read what is sealed
for it.`,
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&fingerprint, "fingerprint", "", "the `fingerprint` that the key must have, as SHA256:…")
		},
		Run:   func(ctx context.Context, c *front.Call) error { return trust(ctx, c, fingerprint) },
		Files: []string{"keys.json           the pinned keys", "keys.offered.json   keys that were shown and refused"},
		Examples: []front.Example{
			{Line: "ssh laptop shmove key | shmove key trust laptop", For: "a key that ssh vouches for"},
		},
		Exits: []front.Exit{
			{Code: front.ExitData, When: "the input is no key, or there is none"},
			{Code: front.ExitNotAllowed, When: "the key has another fingerprint"},
			{Code: front.ExitBusy, When: "the pins are being changed"},
		},
	}
}

// maxKeyInput bounds a key record; one has some 2 KiB.
const maxKeyInput = 64 << 10

func trust(ctx context.Context, c *front.Call, fingerprint string) error {
	if len(c.Args) != 1 {
		return front.Usage("one machine is wanted, not %d", len(c.Args))
	}
	machine := c.Args[0]
	if err := record.CheckName("machine", machine); err != nil {
		return front.Fail(front.ExitUsage, err)
	}
	p, err := pins(c)
	if err != nil {
		return err
	}
	key, err := givenKey(ctx, c)
	if err != nil {
		return err
	}
	if key == nil {
		if key, err = offeredKey(p, machine, fingerprint); err != nil {
			return err
		}
	}
	if fingerprint != "" && key.Fingerprint != fingerprint {
		return front.Fail(front.ExitNotAllowed, fmt.Errorf("the key of %s has the fingerprint %s, not %s: nothing was changed", machine, key.Fingerprint, fingerprint))
	}
	if err := p.Trust(machine, *key); err != nil {
		return coded(err)
	}
	return front.PrintJSON(c.Stdout, key)
}

// givenKey is the key on standard input; nil without any.
func givenKey(ctx context.Context, c *front.Call) (*record.MoveKey, error) {
	if c.Interactive() {
		return nil, nil
	}
	b, err := io.ReadAll(io.LimitReader(c.Input(ctx), maxKeyInput+1))
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	if b = bytes.TrimSpace(b); len(b) == 0 {
		return nil, nil
	}
	var key record.MoveKey
	if len(b) > maxKeyInput || json.Unmarshal(b, &key) != nil {
		return nil, front.Fail(front.ExitData, fmt.Errorf("standard input is not the JSON that shmove key prints"))
	}
	if err := seal.CheckKey(key); err != nil {
		return nil, front.Fail(front.ExitData, err)
	}
	return &key, nil
}

// offeredKey is the key that the machine showed, which a person must have
// compared.
func offeredKey(p *seal.Pins, machine, fingerprint string) (*record.MoveKey, error) {
	pin, ok, err := p.Offered(machine)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, front.Fail(front.ExitData, fmt.Errorf("%s has shown no key that waits for trust: give what shmove key prints there on standard input", machine))
	case fingerprint == "":
		return nil, front.Usage("%s showed the key %s: compare it with what shmove key prints there, then add --fingerprint %s", machine, pin.Fingerprint, pin.Fingerprint)
	}
	return &pin.MoveKey, nil
}
