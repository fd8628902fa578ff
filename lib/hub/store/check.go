package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// invariants are queries that find what must not be.
func invariants() []struct{ name, query string } {
	return []struct{ name, query string }{
		{"integrity", "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'"},
		{"reference", "SELECT * FROM pragma_foreign_key_check"},
		{"ended without a reason", "SELECT id FROM sessions WHERE live = 0 AND (ended_reason = '' OR ended_at = 0)"},
		{"live with an end", "SELECT id FROM sessions WHERE live = 1 AND (ended_reason <> '' OR ended_at <> 0)"},
		{"an open ask of a session that is over", "SELECT a.id FROM asks a JOIN sessions s ON s.id = a.session WHERE a.state = 'open' AND (s.live = 0 OR s.machine <> a.machine)"},
		{"an open ask with an end", "SELECT id FROM asks WHERE (state = 'open') <> (ended_at = 0)"},
		{"unknown state", "SELECT id FROM sessions WHERE agent_state NOT IN ('working', 'blocked', 'idle', 'done', 'unknown')"},
		{"named by an unknown source", `SELECT id FROM sessions s WHERE named_by IS NOT NULL
			AND NOT EXISTS (SELECT 1 FROM sources WHERE machine = s.machine AND herdr_session = s.named_by)`},
		{"both here and past", "SELECT s.id FROM sessions s JOIN past_machines p ON p.session = s.id AND p.machine = s.machine"},
		{"a move of an unknown state", `SELECT id FROM moves WHERE state NOT IN
			('requested', 'checking', 'packing', 'uploaded', 'unpacking', 'starting', 'done', 'failed', 'cancelled')`},
		{"an open move with an end", "SELECT id FROM moves WHERE (state IN ('done', 'failed', 'cancelled')) <> (ended_at > 0)"},
		{"a move without a deadline", "SELECT id FROM moves WHERE (deadline = 0) <> (ended_at > 0 OR state = 'starting')"},
		{"an uploaded move without a bundle", "SELECT id FROM moves WHERE state IN (" + inFlight() + ", 'done') AND bundle_sha256 = ''"},
		{"a step of a move that is over", `SELECT r.id FROM requests r JOIN moves m ON m.id = r.move
			WHERE r.ended_at = 0 AND (m.ended_at > 0) <> (r.action = 'move_finish')`},
		{"two steps of a move at once", "SELECT move FROM requests WHERE move <> '' AND ended_at = 0 GROUP BY move HAVING count(*) > 1"},
		{"a move finished twice", "SELECT move FROM requests WHERE action = 'move_finish' GROUP BY move HAVING count(*) > 1"},
		{"recorded twice", "SELECT id FROM events WHERE id IN (SELECT id FROM reports) OR id IN (SELECT id FROM pruned)"},
		{"recorded twice", "SELECT id FROM reports WHERE id IN (SELECT id FROM pruned)"},
		{"no token's hash", "SELECT id FROM tokens WHERE length(hash) <> 32"},
	}
}

// Check lists what is wrong with the database; nothing when it is sound.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	var wrong []string
	for _, in := range invariants() {
		list, err := all(s.reader(ctx), scanWords, in.query)
		if err != nil {
			return nil, fmt.Errorf("check: %s: %w", in.name, classify(err))
		}
		for _, l := range list {
			wrong = append(wrong, in.name+": "+l)
		}
	}
	return wrong, nil
}

// scanWords reads a row of any shape as one line.
func scanWords(rows *sql.Rows) (string, error) {
	cols, err := rows.Columns()
	if err != nil {
		return "", err
	}
	vals, ptrs := make([]sql.NullString, len(cols)), make([]any, len(cols))
	for i := range vals {
		ptrs[i] = &vals[i]
	}
	err = rows.Scan(ptrs...)
	words := make([]string, len(vals))
	for i, v := range vals {
		words[i] = v.String
	}
	return strings.Join(words, " "), err
}

// Books are the ids of what was recorded: each is there once, or it is a bug.
type Books struct {
	Events  []string // in the order of their arrival
	Reports []string
	Keys    []string // idempotency keys
}

// Books reads the ids of all that was recorded and not pruned since.
func (s *Store) Books(ctx context.Context) (Books, error) {
	var b Books
	str := func(rows *sql.Rows) (v string, err error) { return v, rows.Scan(&v) }
	for query, list := range map[string]*[]string{
		"SELECT id FROM events ORDER BY seq": &b.Events, "SELECT id FROM reports ORDER BY seq": &b.Reports, "SELECT key FROM keys": &b.Keys,
	} {
		var err error
		if *list, err = all(s.reader(ctx), str, query); err != nil {
			return b, fmt.Errorf("books: %w", classify(err))
		}
	}
	return b, nil
}
