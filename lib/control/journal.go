package control

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"sessionhub/lib/mailbox"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// journaled is requests/<id>.json: a request whose first step that can't be undone
// is about to be taken, or was. It never holds a text.
type journaled struct {
	ID      string         `json:"id"`
	Action  record.Action  `json:"action"`
	Session string         `json:"session,omitempty"`
	Step    string         `json:"step"` // "typed", "started", mailed: what may have happened
	At      record.Time    `json:"at"`
	Result  *record.Result `json:"result,omitempty"` // what the hub is to be told
}

const (
	requestsDir = "requests"
	// keepEntries is how long an entry outlives a hub that never asks for it.
	keepEntries = 8 * 24 * time.Hour
)

func (d *Doer) entryPath(id string) (string, error) {
	if err := record.CheckID("id", id); err != nil {
		return "", err
	}
	return filepath.Join(string(d.Dir), requestsDir, id+".json"), nil
}

// begin is called right before the first step that can't be undone: it notes
// it, synced to disk.
func (d *Doer) begin(c record.Claim, step string) func() error {
	return func() error {
		if _, err := d.Dir.Sub(requestsDir); err != nil {
			return err
		}
		path, err := d.entryPath(c.ID)
		if err != nil {
			return err
		}
		e := journaled{ID: c.ID, Action: c.Action, Step: step, At: record.At(d.Now())}
		if c.Session != nil {
			e.Session = c.Session.Session
		}
		return state.ReplaceJSON(path, e)
	}
}

// begun is the entry of a claim that was begun before, nil when it was not.
func (d *Doer) begun(id string) (*journaled, error) {
	path, err := d.entryPath(id)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	e := journaled{Step: "carried out"} // a torn entry says that much
	if err := state.ReadJSON(path, &e); err != nil {
		return &journaled{Step: "carried out"}, nil
	}
	return &e, nil
}

// keepResult puts the result of a claim that was begun into its entry, until
// the hub has it.
func (d *Doer) keepResult(id string, r record.Result) error {
	e, err := d.begun(id)
	if err != nil || e == nil || e.Result != nil {
		return err
	}
	e.Result = &r
	path, err := d.entryPath(id)
	if err != nil {
		return err
	}
	return state.ReplaceJSON(path, e)
}

// Settled forgets a claim whose result the hub has, or will not take any more,
// and what is left of it in a mailbox.
func (d *Doer) Settled(id string) error {
	e, err := d.begun(id)
	if err != nil {
		return err
	}
	if e != nil && e.Step == mailed {
		err = mailbox.Box{Dir: d.Dir, Session: e.Session}.Forget(id)
	}
	return errors.Join(err, d.forget(id))
}

// forget removes a claim's entry.
func (d *Doer) forget(id string) error {
	path, err := d.entryPath(id)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget request: %w", err)
	}
	return nil
}

// Unposted lists the results that the hub may not have: a process that died
// could not post them. Entries that nobody asks for any more are removed.
func (d *Doer) Unposted() ([]record.Result, error) {
	files, err := os.ReadDir(filepath.Join(string(d.Dir), requestsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("requests: %w", err)
	}
	var list []record.Result
	for _, f := range files {
		path := filepath.Join(string(d.Dir), requestsDir, f.Name())
		var e journaled
		if err := state.ReadJSON(path, &e); err != nil {
			continue
		}
		if d.Now().Sub(e.At.Time) > keepEntries {
			if err := os.Remove(path); err != nil {
				return list, fmt.Errorf("requests: %w", err)
			}
			continue
		}
		if e.Result != nil {
			list = append(list, *e.Result)
		}
	}
	return list, nil
}
