package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sessionhub/lib/queue"
	"sessionhub/lib/record"
)

// Sessions is what `shctl status --json` says.
func (w *World) Sessions(args ...string) ([]record.Session, error) {
	out, err := w.Tool("shctl", append([]string{"status", "--json"}, args...)...)
	if err != nil {
		return nil, err
	}
	return Decode[record.Session](out)
}

// Session is one session, whatever became of it.
func (w *World) Session(id string) (record.Session, error) {
	out, err := w.Tool("shctl", "show", "--json", id)
	if err != nil {
		return record.Session{}, err
	}
	list, err := Decode[record.Session](out)
	if err != nil || len(list) != 1 {
		return record.Session{}, fmt.Errorf("show %s: %d records, %w", id, len(list), err)
	}
	return list[0], nil
}

// Decode reads JSON lines.
func Decode[T any](out []byte) ([]T, error) {
	var list []T
	for line := range bytes.Lines(out) {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// Books compares what was made with what arrived: every record that the
// queue took was delivered or superseded, and every delivered one is recorded
// at the hub.
type Books struct {
	queue.Stat
	Recorded int64
}

// Books reads the books.
func (w *World) Books() (Books, error) {
	var b Books
	out, err := w.Tool("shq", "stat")
	if err != nil {
		return b, err
	}
	if err := json.Unmarshal(out, &b.Stat); err != nil {
		return b, err
	}
	machines, err := w.Machines()
	if err != nil {
		return b, err
	}
	for _, m := range machines {
		b.Recorded += m.Recorded
	}
	return b, nil
}

// Waiting is how many records wait.
func (b Books) Waiting() int64 { return b.Queued + b.Sending + b.Spilled }

// Summary is a line per session, for people.
func Summary(list []record.Session) string {
	if len(list) == 0 {
		return "  (no sessions)\n"
	}
	var b strings.Builder
	for _, s := range list {
		pane := ""
		if s.Herdr != nil {
			pane = s.Herdr.PaneID
		}
		fmt.Fprintf(&b, "  %-8s %-5s %.8s  %s\n", s.AgentState, pane, s.Session, s.Status)
	}
	return b.String()
}
