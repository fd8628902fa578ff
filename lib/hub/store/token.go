package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"sessionhub/lib/record"
)

// The kinds of tokens, and how each begins.
const (
	KindMachine   = "machine"
	KindUser      = "user"
	prefixMachine = "shm_"
	prefixUser    = "shu_"
)

// tokenBytes is how much of a token is random.
const tokenBytes = 32

// Token is a token without its secret, which is stored hashed only.
type Token struct {
	ID        string       `json:"id"`
	Kind      string       `json:"kind"`
	Name      string       `json:"name"`
	Scopes    []string     `json:"scopes,omitempty"`
	CreatedAt record.Time  `json:"created_at"`
	RevokedAt *record.Time `json:"revoked_at,omitempty"`
}

// Owner is the scope of the token's idempotency keys.
func (t Token) Owner() string { return t.Kind + ":" + t.Name }

// Has reports whether a user token has a scope.
func (t Token) Has(scope string) bool {
	for _, s := range t.Scopes {
		if s == scope {
			return true
		}
	}
	return false
}

// AddToken makes a token and returns its secret, this once.
func (s *Store) AddToken(ctx context.Context, t Token, now time.Time) (secret string, err error) {
	err = s.Write(ctx, func(tx *Tx) error {
		secret, err = addToken(tx, t, now)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("add a token: %w", err)
	}
	return secret, nil
}

func addToken(tx *Tx, t Token, now time.Time) (secret string, err error) {
	var b [tokenBytes]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	prefix := prefixMachine
	if t.Kind == KindUser {
		prefix = prefixUser
	}
	secret = prefix + base64.RawURLEncoding.EncodeToString(b[:])
	sum := sha256.Sum256([]byte(secret))
	id := hex.EncodeToString(sum[:4])
	return secret, tx.exec("INSERT INTO tokens (id, kind, name, scopes, hash, created_at) VALUES (?,?,?,?,?,?)",
		id, t.Kind, t.Name, strings.Join(t.Scopes, " "), sum[:], now.UnixMilli())
}

// RevokeToken ends a token at once. ErrUnknown when there is none of that id.
func (s *Store) RevokeToken(ctx context.Context, id string, now time.Time) error {
	err := s.Write(ctx, func(tx *Tx) error {
		n, err := tx.affect("UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?", now.UnixMilli(), id)
		if err == nil && n == 0 {
			err = ErrUnknown
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("revoke token %s: %w", id, err)
	}
	return nil
}

// Tokens lists all tokens, the oldest first.
func (s *Store) Tokens(ctx context.Context) ([]Token, error) {
	list, err := all(s.reader(ctx), func(rows *sql.Rows) (Token, error) { return scanToken(rows) },
		"SELECT id, kind, name, scopes, created_at, revoked_at FROM tokens ORDER BY created_at, id")
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	return list, nil
}

// FindToken is the token of a secret, ErrUnknown when there is none or it was
// revoked. It is asked for each request, so a change counts at once. The
// look-up is by a hash of 32 random bytes, so its time tells nothing; the
// hashes are compared in constant time all the same.
func (s *Store) FindToken(ctx context.Context, secret string) (Token, error) {
	sum := sha256.Sum256([]byte(secret))
	var hash []byte
	t, ok, err := one(s.reader(ctx), func(rows *sql.Rows) (Token, error) { return scanToken(rows, &hash) },
		"SELECT id, kind, name, scopes, created_at, revoked_at, hash FROM tokens WHERE hash = ? AND revoked_at IS NULL", sum[:])
	if err != nil {
		return Token{}, fmt.Errorf("token: %w", err)
	}
	if !ok || subtle.ConstantTimeCompare(hash, sum[:]) != 1 {
		return Token{}, ErrUnknown
	}
	return t, nil
}

func scanToken(rows *sql.Rows, more ...any) (t Token, err error) {
	var created int64
	var revoked sql.NullInt64
	var scopes string
	err = rows.Scan(append([]any{&t.ID, &t.Kind, &t.Name, &scopes, &created, &revoked}, more...)...)
	t.Scopes, t.CreatedAt = strings.Fields(scopes), at(created)
	if revoked.Valid {
		r := at(revoked.Int64)
		t.RevokedAt = &r
	}
	return t, err
}
