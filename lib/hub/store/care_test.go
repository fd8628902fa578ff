package store

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"sessionhub/lib/record"
)

func TestPruneKeepsTheIDs(t *testing.T) {
	b := newBook(t)
	b.beat("tower", "default", "a@p1", "b@p2")
	e := &record.EventPost{ID: "old", At: b.sent(), Kind: record.KindEnded, Body: json.RawMessage(`{"reason":"x"}`)}
	b.must(b.write(func(tx *Tx) error { return Event(tx, "tower", "a", e, b.now) }))
	b.pass(100 * 24 * time.Hour)
	n, err := b.s.Prune(context.Background(), b.now.Add(-90*24*time.Hour), b.now)
	if err != nil || n != 1 {
		t.Fatalf("pruned %d, %v", n, err)
	}
	if _, err := b.s.Session(context.Background(), "a", b.now); !errors.Is(err, ErrUnknown) {
		t.Errorf("a is still there: %v", err)
	}
	b.get("b")
	b.must(b.write(func(tx *Tx) error { return Event(tx, "tower", "b", e, b.now) }))
	if s := b.get("b"); len(s.Events) != 0 || s.Status == record.StatusEnded {
		t.Errorf("a pruned id was recorded again: %+v", s)
	}
}
