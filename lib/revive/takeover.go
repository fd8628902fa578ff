package revive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/record"
)

// OldLedger is where the session watchdog, which this replaces, kept its
// ledger.
func OldLedger(h claude.Home) string {
	return filepath.Join(string(h), "session-watchdog", "ledger.json")
}

// taken is the ledger, or the old one as long as there is none. The old one's file
// stays as it is.
func (r *Reviver) taken() (l Ledger, err error) {
	if _, err := os.Stat(ledgerFile(r.Dir)); err == nil {
		return ReadLedger(r.Dir)
	}
	old := OldLedger(r.Home)
	b, err := os.ReadFile(old)
	if errors.Is(err, fs.ErrNotExist) {
		return Ledger{}, nil
	}
	if err != nil {
		return l, fmt.Errorf("take the old ledger over: %w", err)
	}
	st, err := os.Stat(old)
	if err != nil {
		return l, fmt.Errorf("take the old ledger over: %w", err)
	}
	if l, err = readOld(b, st.ModTime()); err != nil {
		return Ledger{}, fmt.Errorf("take %s over: %w; remove it to begin anew", old, err)
	}
	return l, nil
}

// readOld reads an old ledger: attempts are counts, without times; resumes are
// Unix times or texts.
func readOld(b []byte, written time.Time) (Ledger, error) {
	var old struct {
		Attempts map[string]json.RawMessage `json:"attempts"`
		Resumes  []json.RawMessage          `json:"resumes"`
	}
	if err := json.Unmarshal(b, &old); err != nil {
		return Ledger{}, record.Explain(err)
	}
	l := Ledger{Attempts: map[string][]record.Time{}}
	for id, raw := range old.Attempts {
		var n int
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil {
			n = len(list)
		} else if json.Unmarshal(raw, &n) != nil {
			continue
		}
		for range min(n, 100) {
			l.Attempts[id] = append(l.Attempts[id], record.At(written))
		}
	}
	for _, raw := range old.Resumes {
		if at, ok := oldTime(raw); ok {
			l.Resumes = append(l.Resumes, record.At(at))
		}
	}
	return l, l.check()
}

func oldTime(raw json.RawMessage) (time.Time, bool) {
	var seconds float64
	if json.Unmarshal(raw, &seconds) == nil {
		whole, part := math.Modf(seconds)
		return time.Unix(int64(whole), int64(part*1e9)), seconds > 0
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return time.Time{}, false
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05.999999", time.DateTime} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
