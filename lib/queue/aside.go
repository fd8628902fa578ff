package queue

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unicode/utf8"

	"sessionhub/lib/jsonl"
	"sessionhub/lib/record"
)

// Bad is a line that can't be delivered, and why.
type Bad struct {
	Reason  string
	Line    []byte
	Segment string // where it stood
	Offset  int64
}

// aside is a line of queue.bad.jsonl. Base64 holds a line that is not UTF-8,
// which JSON text could not give back.
type aside struct {
	At      record.Time `json:"at"`
	Reason  string      `json:"reason"`
	Line    string      `json:"line,omitempty"`
	Base64  []byte      `json:"line_base64,omitempty"`
	Segment string      `json:"segment,omitempty"`
	Offset  int64       `json:"offset"`
	SHA256  string      `json:"sha256"`
}

// maxAsideLine bounds a line of queue.bad.jsonl that is read to find where it
// came from. Beyond it a crash at the wrong moment may keep a line twice.
const maxAsideLine = 64 << 20

// SetAside keeps lines in queue.bad.jsonl, durably, before they leave the
// queue. A line that a crashed pass set aside already is not kept twice.
func (q *Queue) SetAside(bad []Bad) error {
	if len(bad) == 0 {
		return nil
	}
	return q.Dir.Locked(func() error {
		known, err := q.knownAside(bad)
		if err != nil {
			return err
		}
		var buf bytes.Buffer
		for _, b := range bad {
			a := q.aside(b)
			if known[a.key()] {
				continue
			}
			line, err := json.Marshal(a)
			if err != nil {
				return fmt.Errorf("set a line aside: %w", err)
			}
			buf.Write(append(line, '\n'))
		}
		if buf.Len() == 0 {
			return nil
		}
		return q.appendBad(buf.Bytes())
	})
}

func (q *Queue) aside(b Bad) aside {
	sum := sha256.Sum256(b.Line)
	a := aside{At: record.At(q.now()), Reason: b.Reason, Segment: b.Segment, Offset: b.Offset, SHA256: hex.EncodeToString(sum[:])}
	if utf8.Valid(b.Line) {
		a.Line = string(b.Line)
	} else {
		a.Base64 = b.Line
	}
	return a
}

func (a aside) key() string { return fmt.Sprintf("%s/%d/%s", a.Segment, a.Offset, a.SHA256) }

// knownAside finds which lines of these segments are set aside already.
func (q *Queue) knownAside(bad []Bad) (map[string]bool, error) {
	known := make(map[string]bool)
	err := eachAside(q.Dir.Bad(), func(l jsonl.Line) error {
		var a aside
		if json.Unmarshal(l.Bytes, &a) == nil {
			known[a.key()] = true
		}
		return nil
	})
	return known, err
}

func eachAside(path string, f func(jsonl.Line) error) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read queue.bad.jsonl: %w", err)
	}
	defer file.Close()
	r := jsonl.NewReader(file, maxAsideLine)
	for line, err := r.Next(); err == nil; line, err = r.Next() {
		if err := f(line); err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue) appendBad(b []byte) error {
	f, err := os.OpenFile(q.Dir.Bad(), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("set a line aside: %w", err)
	}
	defer f.Close()
	size, torn, err := tail(f)
	if err == nil && torn {
		b = append([]byte{'\n'}, b...)
	}
	if err == nil {
		err = q.writeWhole(f, b, size)
	}
	q.step(StepAsideWritten)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("set a line aside: %w", err)
	}
	q.step(StepAsideSynced)
	return nil
}
