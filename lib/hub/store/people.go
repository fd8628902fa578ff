package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"sessionhub/lib/record"
)

// Machines lists the machines by name.
func (s *Store) Machines(ctx context.Context, now time.Time) ([]record.Machine, error) {
	list, err := all(s.reader(ctx), func(rows *sql.Rows) (m record.Machine, err error) {
		var seen int64
		err = rows.Scan(&m.Machine, &seen, &m.SkewMS, &m.HerdrVersion, &m.ToolsVersion, &m.Recorded, &m.Fingerprint, &m.Live)
		m.LastSeenAt, m.Stale = at(seen), now.UnixMilli()-seen > StaleAfter.Milliseconds()
		return m, err
	}, `SELECT name, last_seen, skew_ms, herdr_version, tools_version, recorded, coalesce(json_extract(nullif(move_key, ''), '$.fingerprint'), ''),
		(SELECT count(*) FROM sessions WHERE machine = name AND live = 1) FROM machines ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("machines: %w", err)
	}
	return list, nil
}

const instructionsName = "instructions"

// Instructions are the standing rules; the zero value when there are none.
func (s *Store) Instructions(ctx context.Context) (record.Instructions, error) {
	raw, ok, err := one(s.reader(ctx), func(rows *sql.Rows) (v string, err error) { return v, rows.Scan(&v) },
		"SELECT value FROM settings WHERE name = ?", instructionsName)
	if err != nil || !ok {
		return record.Instructions{}, err
	}
	var in record.Instructions
	return in, json.Unmarshal([]byte(raw), &in)
}

// SetInstructions replaces the standing rules.
func SetInstructions(tx *Tx, in record.Instructions) error {
	raw, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return tx.exec("INSERT OR REPLACE INTO settings (name, value) VALUES (?,?)", instructionsName, string(raw))
}

// MachineKnown reports whether a machine was ever heard of.
func (s *Store) MachineKnown(ctx context.Context, name string) (bool, error) {
	_, known, err := one(s.reader(ctx), scanInt, "SELECT 1 FROM machines WHERE name = ?", name)
	if err != nil {
		err = fmt.Errorf("machine: %w", err)
	}
	return known, err
}
