package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// PairingTime is how long a pairing code is good for (contract §6).
const PairingTime = 10 * time.Minute

// Pairing is what a pairing code gives to the machine that redeems it.
type Pairing struct {
	Machine string   // its name; "" lets the machine choose one that is new
	User    string   // also a token for this user; "" for none
	Scopes  []string // of the user's token
}

// Paired is what a redeemed code gave.
type Paired struct {
	Machine      string
	MachineToken string
	UserToken    string // "" when there is none
}

// ErrBadCode is returned for a pairing code that is unknown, redeemed or
// expired: which of them is not told.
var ErrBadCode = errors.New("the code is not good: it is mistyped, used already, or older than 10 minutes")

// ErrMachineKnown is returned when a machine chose the name of another.
var ErrMachineKnown = errors.New("a machine of that name is known")

const (
	// codeAlphabet is Crockford's base 32: no letter that looks like a digit.
	codeAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	codeLength   = 10 // 50 bits: not to be guessed in ten minutes
	codeGroup    = 5
)

// AddPairing makes a pairing code, such as "K7MWQ-2XHRT". Only its hash is
// stored.
func (s *Store) AddPairing(ctx context.Context, p Pairing, now time.Time) (code string, expires time.Time, err error) {
	var b [codeLength]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", expires, fmt.Errorf("make a code: %w", err)
	}
	for i := range b {
		b[i] = codeAlphabet[int(b[i])%len(codeAlphabet)]
	}
	expires = now.Add(PairingTime)
	err = s.Write(ctx, func(tx *Tx) error {
		if err := tx.exec("DELETE FROM pairings WHERE expires_at < ?", now.UnixMilli()); err != nil {
			return err
		}
		return tx.exec("INSERT INTO pairings (hash, machine, user, scopes, expires_at) VALUES (?,?,?,?,?)",
			codeHash(string(b[:])), p.Machine, p.User, strings.Join(p.Scopes, " "), expires.UnixMilli())
	})
	if err != nil {
		return "", expires, fmt.Errorf("add a pairing: %w", err)
	}
	return string(b[:codeGroup]) + "-" + string(b[codeGroup:]), expires, nil
}

// codeHash is the hash of a code as people type it: case, blanks and dashes
// don't matter, and O, I and L are read as the digits that they look like.
func codeHash(code string) []byte {
	code = strings.NewReplacer("-", "", " ", "", "\t", "", "O", "0", "I", "1", "L", "1").Replace(strings.ToUpper(code))
	sum := sha256.Sum256([]byte(code))
	return sum[:]
}

// Redeem takes a pairing code, once, for a machine that calls itself machine.
// A name that the code does not fix must be new, so that a code can't make one
// machine pass for another.
func Redeem(tx *Tx, code, machine string, now time.Time) (Paired, error) {
	type row struct {
		p       Pairing
		expires int64
	}
	r, ok, err := one(tx, func(rows *sql.Rows) (r row, err error) {
		var scopes string
		err = rows.Scan(&r.p.Machine, &r.p.User, &scopes, &r.expires)
		r.p.Scopes = strings.Fields(scopes)
		return r, err
	}, "SELECT machine, user, scopes, expires_at FROM pairings WHERE hash = ?", codeHash(code))
	if err != nil {
		return Paired{}, fmt.Errorf("pair: %w", err)
	}
	if !ok || r.expires < now.UnixMilli() {
		return Paired{}, ErrBadCode
	}
	name := r.p.Machine
	if name == "" {
		name = machine
		known, err := machineKnown(tx, name)
		if err != nil {
			return Paired{}, fmt.Errorf("pair: %w", err)
		}
		if known {
			return Paired{}, ErrMachineKnown // the code stays good for another name
		}
	}
	return r.p.give(tx, name, codeHash(code), now)
}

func machineKnown(tx *Tx, name string) (bool, error) {
	_, known, err := one(tx, scanInt, `SELECT 1 FROM tokens WHERE kind = ?1 AND name = ?2 AND revoked_at IS NULL
		UNION ALL SELECT 1 FROM machines WHERE name = ?2`, KindMachine, name)
	return known, err
}

// give makes the tokens and ends the code.
func (p Pairing) give(tx *Tx, name string, hash []byte, now time.Time) (Paired, error) {
	out := Paired{Machine: name}
	err := tx.exec("DELETE FROM pairings WHERE hash = ?", hash)
	if err == nil {
		out.MachineToken, err = addToken(tx, Token{Kind: KindMachine, Name: name}, now)
	}
	if err == nil && p.User != "" {
		out.UserToken, err = addToken(tx, Token{Kind: KindUser, Name: p.User, Scopes: p.Scopes}, now)
	}
	if err != nil {
		return Paired{}, fmt.Errorf("pair: %w", err)
	}
	return out, nil
}
