package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sessionhub/lib/jsonl"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// Counters are the totals of the books since the state directory began. After
// a crash at the very end of a pass they may count that pass twice: the books
// themselves are the ids at the hub and in queue.bad.jsonl.
type Counters struct {
	Delivered  int64 `json:"delivered"`
	Superseded int64 `json:"superseded"`
	SetAside   int64 `json:"set_aside"`
}

// Count adds to counters.json.
func (q *Queue) Count(more Counters) error {
	if more == (Counters{}) {
		return nil
	}
	return q.Dir.Locked(func() error {
		var c Counters
		if err := state.ReadJSON(q.Dir.Counters(), &c); err != nil {
			c = Counters{} // a broken total must not stop deliveries
		}
		c.Delivered += more.Delivered
		c.Superseded += more.Superseded
		c.SetAside += more.SetAside
		if err := state.ReplaceJSON(q.Dir.Counters(), c); err != nil {
			return err
		}
		q.step(StepCounted)
		return nil
	})
}

// Stat is what shq stat prints. Counts are lines; Bytes is what waits.
type Stat struct {
	Queued     int64        `json:"queued"`
	Sending    int64        `json:"sending"`
	Spilled    int64        `json:"spilled"`
	SetAside   int64        `json:"set_aside"`
	Delivered  int64        `json:"delivered"`
	Superseded int64        `json:"superseded"`
	Bytes      int64        `json:"bytes"`
	Oldest     *record.Time `json:"oldest,omitempty"`
}

// Stat counts what waits, what was set aside and what was delivered. It takes
// no lock and changes nothing.
func (q *Queue) Stat() (Stat, error) {
	var s Stat
	for dir, n := range map[string]*int64{q.Dir.Sending(): &s.Sending, q.Dir.Spill(): &s.Spilled} {
		list, err := names(dir)
		if err != nil {
			return Stat{}, err
		}
		for _, name := range list {
			if err := s.count(filepath.Join(dir, name), n); err != nil {
				return Stat{}, err
			}
		}
	}
	if err := s.count(q.Dir.Queue(), &s.Queued); err != nil {
		return Stat{}, err
	}
	if err := eachAside(q.Dir.Bad(), func(jsonl.Line) error { s.SetAside++; return nil }); err != nil {
		return Stat{}, err
	}
	var c Counters
	if err := state.ReadJSON(q.Dir.Counters(), &c); err != nil {
		c = Counters{} // broken totals must not hide what waits
	}
	s.Delivered, s.Superseded = c.Delivered, c.Superseded
	return s, nil
}

func (s *Stat) count(path string, n *int64) error {
	if st, err := os.Stat(path); err == nil {
		s.Bytes += st.Size()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("stat the queue: %w", err)
	}
	return eachLine(path, func(l jsonl.Line) error {
		if len(bytes.TrimSpace(l.Bytes)) == 0 {
			return nil
		}
		*n++
		var head struct {
			At record.Time `json:"at"`
		}
		if json.Unmarshal(l.Bytes, &head) == nil && !head.At.IsZero() && (s.Oldest == nil || head.At.Before(s.Oldest.Time)) {
			s.Oldest = &head.At
		}
		return nil
	})
}
