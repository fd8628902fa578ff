package world

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/creack/pty"

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

// Balance reports whether every delivered record is recorded, and nothing else. A
// record whose answer was lost when the hub was killed is recorded, and may be
// superseded by a later one all the same: it is in both books.
func (b Books) Balance() bool {
	both := b.Recorded - b.Delivered
	return both >= 0 && both <= b.Superseded
}

// Waiting is how many records wait.
func (b Books) Waiting() int64 { return b.Queued + b.Sending + b.Spilled }

// Terminal runs a tool in a terminal of 100×30 and returns what a person
// sees, indented, without colours.
func (w *World) Terminal(name string, args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(w.Bin, name), args...)
	cmd.Env = w.Env("NO_COLOR=1")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 100, Rows: 30})
	if err != nil {
		return "", err
	}
	defer tty.Close()
	out, rerr := io.ReadAll(tty)
	if err := cmd.Wait(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, out)
	}
	if rerr != nil && !errors.Is(rerr, syscall.EIO) { // how a terminal ends on Linux
		return "", rerr
	}
	var b strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(string(out), "\r", "")) {
		b.WriteString("  " + line)
	}
	return b.String(), nil
}
