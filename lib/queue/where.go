package queue

import (
	"encoding/json"
	"path/filepath"

	"sessionhub/lib/jsonl"
)

// Place is where a record is.
type Place int

// The places, in the order in which a record goes through them.
const (
	Waiting Place = iota // in queue.jsonl, or spilled
	Taken                // in a segment, to be sent
	Aside                // in queue.bad.jsonl
	Gone                 // in none of these: delivered or superseded
)

// Where looks for a record. The places are searched in the order in which a
// record moves, so that none is missed that moves meanwhile.
func (q *Queue) Where(id string) (Place, error) {
	paths := []string{q.Dir.Queue()}
	spilled, err := names(q.Dir.Spill())
	if err != nil {
		return Gone, err
	}
	for _, n := range spilled {
		paths = append(paths, filepath.Join(q.Dir.Spill(), n))
	}
	if found, err := holds(paths, id); err != nil || found {
		return Waiting, err
	}
	segments, err := q.Segments()
	if err != nil {
		return Gone, err
	}
	paths = paths[:0]
	for _, n := range segments {
		paths = append(paths, filepath.Join(q.Dir.Sending(), n))
	}
	if found, err := holds(paths, id); err != nil || found {
		return Taken, err
	}
	place := Gone
	err = eachAside(q.Dir.Bad(), func(l jsonl.Line) error {
		var a aside
		if json.Unmarshal(l.Bytes, &a) == nil && isRecord([]byte(a.Line), id) {
			place = Aside
		}
		return nil
	})
	return place, err
}

// holds reports whether one of some files has a record.
func holds(paths []string, id string) (found bool, err error) {
	for _, p := range paths {
		err := eachLine(p, func(l jsonl.Line) error {
			found = found || isRecord(l.Bytes, id)
			return nil
		})
		if err != nil || found {
			return found, err
		}
	}
	return false, nil
}

func isRecord(line []byte, id string) bool {
	var head struct {
		ID string `json:"id"`
	}
	return json.Unmarshal(line, &head) == nil && head.ID == id
}
