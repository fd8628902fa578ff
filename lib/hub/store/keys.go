package store

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrIDTaken is returned for an event or report whose id another record has.
var ErrIDTaken = errors.New("another record has this id")

// ErrKeyReused is returned for an idempotency key that came with another
// request before.
var ErrKeyReused = errors.New("this idempotency key came with another request before")

// Once runs f unless the key was used by this owner before, in the same
// transaction that remembers it. Only a success is remembered. Repeated
// requests do nothing and succeed; the same key with another request fails
// with ErrKeyReused.
func Once(tx *Tx, owner, key string, hash []byte, now time.Time, f func() error) (repeated bool, err error) {
	old, ok, err := one(tx, func(rows *sql.Rows) (b []byte, err error) { return b, rows.Scan(&b) },
		"SELECT hash FROM keys WHERE owner = ? AND key = ?", owner, key)
	if err != nil {
		return false, fmt.Errorf("idempotency: %w", err)
	}
	if ok {
		if !bytes.Equal(old, hash) {
			return false, ErrKeyReused
		}
		return true, nil
	}
	if err := f(); err != nil {
		return false, err
	}
	if err := tx.exec("INSERT INTO keys (owner, key, hash, at) VALUES (?,?,?,?)", owner, key, hash, now.UnixMilli()); err != nil {
		return false, fmt.Errorf("idempotency: %w", err)
	}
	return false, nil
}

// Recorded counts one record of a machine's queue.
func Recorded(tx *Tx, machine string, now time.Time) error {
	return tx.exec(`INSERT INTO machines (name, last_seen, recorded) VALUES (?1, ?2, 1)
		ON CONFLICT (name) DO UPDATE SET last_seen = ?2, recorded = recorded + 1`, machine, now.UnixMilli())
}
