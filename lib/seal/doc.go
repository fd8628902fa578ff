// Package seal has this machine's keys for moves: an age identity, for which
// others seal bundles, and an Ed25519 key, with which it signs its own; and
// the keys of other machines, pinned on first use (contract §2, §4, §7).
package seal

import (
	"errors"
	"fmt"

	"filippo.io/age"

	"sessionhub/lib/record"
)

// Context is what signatures are bound to, so that none made for another
// purpose counts.
const Context = "sessionhub bundle v1"

// The errors that a caller decides on.
var (
	ErrKeyFile   = errors.New("unusable key file")     // with what to do about it
	ErrSealed    = errors.New("can't open the bundle") // it is cut, changed, or not sealed for this machine
	ErrSignature = errors.New("bad signature")         // the manifest is not what its signer signed
	ErrKey       = errors.New("not a move key")        // a key record or a recipient makes no sense
)

// maxRecipient bounds a recipient in bytes; a hybrid one has some 2,000.
const maxRecipient = 4096

// CheckKey checks a key record that came from elsewhere: that both keys are
// well-formed and the fingerprint is theirs.
func CheckKey(k record.MoveKey) error {
	if _, err := parseRecipient(k.Recipient); err != nil {
		return err
	}
	if _, err := parseSigner(k.Signer); err != nil {
		return err
	}
	if k.Fingerprint != record.Fingerprint(k.Recipient, k.Signer) {
		return fmt.Errorf("%w: its fingerprint is not that of its keys", ErrKey)
	}
	return nil
}

// parseRecipient takes hybrid and X25519 recipients: those of keys that a
// machine can have.
func parseRecipient(s string) (age.Recipient, error) {
	if len(s) <= maxRecipient {
		if r, err := age.ParseHybridRecipient(s); err == nil {
			return r, nil
		}
		if r, err := age.ParseX25519Recipient(s); err == nil {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%w: the recipient is no age recipient (age1pq1… or age1…)", ErrKey)
}

// CheckRecipient checks that s is an age recipient that a machine can have.
func CheckRecipient(s string) error {
	_, err := parseRecipient(s)
	return err
}
