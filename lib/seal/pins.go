package seal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// Pins are the keys of other machines in the state directory.
type Pins struct {
	Dir state.Dir
	Now func() time.Time
}

// Pin is one machine's key in keys.json; in keys.offered.json PinnedAt is when
// it was shown.
type Pin struct {
	record.MoveKey
	PinnedAt record.Time `json:"pinned_at"`
}

// maxOffered bounds keys.offered.json: whoever can hand over a bundle can add
// to it. The oldest go first.
const maxOffered = 64

// ChangedError says that a machine shows another key than the pinned one.
type ChangedError struct {
	Machine         string
	Pinned, Offered string // fingerprints
}

// Error names both fingerprints, and what a person can do.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("the key of %s has CHANGED: pinned is %s, now it shows %s: it was set up anew, or somebody poses as it; "+
		"compare with what shmove key prints there, then run: shmove key trust %s --fingerprint %s", e.Machine, e.Pinned, e.Offered, e.Machine, e.Offered)
}

// UnknownError says that a machine's key was never pinned.
type UnknownError struct {
	Machine     string
	Fingerprint string // "" when only the signer is known
	Signer      string
}

// Error names the fingerprint, and what a person can do.
func (e *UnknownError) Error() string {
	if e.Fingerprint == "" {
		return fmt.Sprintf("the key of %s is not known here; compare its signer %s with what shmove key prints there, then use --from %s", e.Machine, e.Signer, e.Signer)
	}
	return fmt.Sprintf("the key of %s is not known here, its fingerprint is %s; compare with what shmove key prints there, then run: shmove key trust %s --fingerprint %s",
		e.Machine, e.Fingerprint, e.Machine, e.Fingerprint)
}

// Lookup is the pinned key of a machine.
func (p *Pins) Lookup(machine string) (Pin, bool, error) {
	return lookup(p.Dir.Keys(), machine)
}

// Offered is the key that a machine showed last and that was not trusted.
func (p *Pins) Offered(machine string) (Pin, bool, error) {
	return lookup(p.Dir.KeysOffered(), machine)
}

func lookup(path, machine string) (Pin, bool, error) {
	all := map[string]Pin{}
	if err := state.ReadJSON(path, &all); err != nil {
		return Pin{}, false, err
	}
	pin, ok := all[machine]
	return pin, ok, nil
}

// Meet takes the key that a machine registered: the first is pinned, and any
// other after that is a *ChangedError.
func (p *Pins) Meet(machine string, key record.MoveKey) error {
	if err := check(machine, key); err != nil {
		return err
	}
	var changed error
	err := p.locked(func() error {
		pin, ok, err := p.Lookup(machine)
		switch {
		case err != nil:
			return err
		case !ok:
			return p.put(p.Dir.Keys(), machine, key, 0)
		case pin.Recipient == key.Recipient && pin.Signer == key.Signer:
			return nil
		}
		changed = &ChangedError{Machine: machine, Pinned: pin.Fingerprint, Offered: key.Fingerprint}
		return p.put(p.Dir.KeysOffered(), machine, key, maxOffered)
	})
	if err != nil {
		return err
	}
	return changed
}

// Trust pins a key by a person's word, in place of one that was pinned.
func (p *Pins) Trust(machine string, key record.MoveKey) error {
	if err := check(machine, key); err != nil {
		return err
	}
	return p.locked(func() error {
		if err := p.put(p.Dir.Keys(), machine, key, 0); err != nil {
			return err
		}
		return p.forget(machine)
	})
}

// Verify checks a bundle's signature, and that its signer is the pinned key of
// the machine that its manifest names. An unknown machine is an *UnknownError,
// another key a *ChangedError; both are kept for a person to trust.
func (p *Pins) Verify(m *record.Manifest, manifest, signature []byte) error {
	if err := Self(m, manifest, signature); err != nil {
		return err
	}
	pin, ok, err := p.Lookup(m.From)
	if err != nil {
		return err
	}
	if ok && pin.Signer == m.Signer {
		return nil
	}
	key := record.MoveKey{Recipient: m.FromRecipient, Signer: m.Signer, Fingerprint: record.Fingerprint(m.FromRecipient, m.Signer)}
	if err := CheckKey(key); err != nil { // it does not tell its recipient
		if ok {
			return fmt.Errorf("%w: the bundle is signed by %s, and the pinned key of %s is %s (signer %s)", ErrSignature, m.Signer, m.From, pin.Fingerprint, pin.Signer)
		}
		return &UnknownError{Machine: m.From, Signer: m.Signer}
	}
	if err := p.locked(func() error { return p.put(p.Dir.KeysOffered(), m.From, key, maxOffered) }); err != nil {
		return err
	}
	if ok {
		return &ChangedError{Machine: m.From, Pinned: pin.Fingerprint, Offered: key.Fingerprint}
	}
	return &UnknownError{Machine: m.From, Fingerprint: key.Fingerprint, Signer: m.Signer}
}

func check(machine string, key record.MoveKey) error {
	if err := record.CheckName("machine", machine); err != nil {
		return fmt.Errorf("%w: %w", ErrKey, err)
	}
	return CheckKey(key)
}

func (p *Pins) locked(f func() error) error {
	if err := p.Dir.Ensure(); err != nil {
		return err
	}
	return p.Dir.Locked(f)
}

// put writes a machine's key into a file of keys, which keeps at most limit of
// them (0: all).
func (p *Pins) put(path, machine string, key record.MoveKey, limit int) error {
	all := map[string]Pin{}
	if err := state.ReadJSON(path, &all); err != nil {
		return err
	}
	all[machine] = Pin{MoveKey: key, PinnedAt: record.At(p.Now())}
	for limit > 0 && len(all) > limit {
		names := make([]string, 0, len(all))
		for name := range all {
			if name != machine {
				names = append(names, name)
			}
		}
		delete(all, slices.MinFunc(names, func(a, b string) int {
			return strings.Compare(all[a].PinnedAt.String()+a, all[b].PinnedAt.String()+b)
		}))
	}
	return state.ReplaceJSON(path, all)
}

// forget drops what a machine showed.
func (p *Pins) forget(machine string) error {
	all := map[string]Pin{}
	if err := state.ReadJSON(p.Dir.KeysOffered(), &all); err != nil {
		return err
	}
	if _, ok := all[machine]; !ok {
		return nil
	}
	delete(all, machine)
	return state.ReplaceJSON(p.Dir.KeysOffered(), all)
}
