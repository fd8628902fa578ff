package move

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sessionhub/lib/lock"
	"sessionhub/lib/move/conversation"
	"sessionhub/lib/move/tree"
	"sessionhub/lib/record"
	"sessionhub/lib/session"
	"sessionhub/lib/state"
)

// Role is which end of a move a machine is.
type Role string

// The ends.
const (
	Source Role = "source"
	Target Role = "target"
)

// Journal is moves/<id>.json: what an end is at, written before it is done, so
// that whoever comes after a crash knows what may have been done.
type Journal struct {
	V int `json:"v"`
	session.Journal
	Role  Role        `json:"role"`
	From  string      `json:"from"`
	Phase Phase       `json:"phase"`
	At    record.Time `json:"at"` // of the last change

	// Claim is what this end was asked to do; nil of a bundle that was applied by
	// hand, which no hub knows of.
	Claim *record.ClaimMove `json:"claim,omitempty"`
	Title string            `json:"title,omitempty"`
	// Detail is the failure that is to be posted, or was.
	Detail string `json:"detail,omitempty"`
	// Notes are what the hub does not have yet.
	Notes []string `json:"notes,omitempty"`

	// Of the source: where the session ran, the commit that was pushed, and the
	// sealed bundle.
	Cwd        string         `json:"cwd,omitempty"`
	Socket     string         `json:"socket,omitempty"`
	PaneID     string         `json:"pane_id,omitempty"`
	Transcript string         `json:"transcript,omitempty"`
	Packed     int64          `json:"packed,omitempty"` // bytes of the transcript in the bundle
	Top        string         `json:"top,omitempty"`    // of the work tree
	Left       string         `json:"left,omitempty"`   // what stays in it (tree.Captured.Sum)
	Head       string         `json:"head,omitempty"`
	Version    string         `json:"version,omitempty"` // of Claude Code
	Bundle     *record.Bundle `json:"bundle,omitempty"`

	// Of the target: what was changed, and where Claude was started.
	Steps      *tree.Steps           `json:"steps,omitempty"`
	Wrote      *conversation.Written `json:"wrote,omitempty"`
	NotCarried []record.NotCarried   `json:"not_carried,omitempty"`
	Launched   *Launched             `json:"launched,omitempty"`
}

// Launched is where Claude was started.
type Launched struct {
	Socket      string `json:"socket,omitempty"`
	WorkspaceID string `json:"workspace_id,omitempty"`
	PaneID      string `json:"pane_id,omitempty"`
	// Begun says that it was about to be started: where is not known then.
	Begun bool `json:"begun,omitempty"`
}

// held is a journal whose lock this process has.
type held struct {
	*Journal
	end     *End
	lock    *lock.Lock
	arrival *Arrival // what was checked, in this process
}

func (e *End) movesDir() (string, error) { return e.Dir.Sub(session.MovesDir) }

// open takes a move's lock and reads its journal; a move without one gets what
// fresh gives. It waits up to wait for who holds the lock.
func (e *End) open(id string, fresh *Journal) (*held, bool, error) {
	if err := record.CheckID("move", id); err != nil {
		return nil, false, err
	}
	dir, err := e.movesDir()
	if err != nil {
		return nil, false, err
	}
	l, err := lock.Acquire(filepath.Join(dir, id+".lock"), e.LockWait)
	if err != nil {
		return nil, false, err
	}
	h := &held{Journal: &Journal{}, end: e, lock: l}
	path := h.end.journalPath(id)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if fresh == nil {
			return nil, false, errors.Join(fs.ErrNotExist, l.Release())
		}
		h.Journal = fresh
		return h, false, nil
	}
	j, err := readJournal(path)
	if err != nil {
		return nil, false, errors.Join(err, l.Release())
	}
	h.Journal = j
	return h, true, nil
}

// readJournal reads a journal. One that this version does not understand is an
// error: nobody may go on with it by guess.
func readJournal(path string) (*Journal, error) {
	j := &Journal{}
	if err := state.ReadJSON(path, j); err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	switch {
	case j.V > record.Version:
		return nil, fmt.Errorf("journal %s is of a later version (%d) of these tools: update them", path, j.V)
	case j.ID != strings.TrimSuffix(filepath.Base(path), ".json") || j.Session == "":
		return nil, fmt.Errorf("journal %s is damaged: it is not that of the move", path)
	case !knows(j.Role, j.Phase):
		return nil, fmt.Errorf("journal %s is at a step that is not known here, %q of the %q: update these tools", path, j.Phase, j.Role)
	}
	return j, nil
}

func (e *End) journalPath(id string) string {
	return filepath.Join(string(e.Dir), session.MovesDir, id+".json")
}

// private is the folder of a move's files, 0700.
func (e *End) private(id string) string {
	return filepath.Join(string(e.Dir), session.MovesDir, id+".d")
}

func (h *held) release() { h.lock.Release() } // the kernel does it at the latest

// enter notes the phase that is about to be carried out.
func (h *held) enter(p Phase) error {
	h.Phase = p
	return h.save()
}

func (h *held) save() error {
	h.V, h.At = record.Version, record.At(h.end.Now())
	if err := state.ReplaceJSON(h.end.journalPath(h.ID), h.Journal); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Save keeps the steps of the work tree: it makes a held journal a tree.Journal.
func (h *held) Save(s tree.Steps) error {
	h.Steps = &s
	return h.save()
}

// close forgets a move that is over here, with its files.
func (h *held) close() error {
	if err := os.RemoveAll(h.end.private(h.ID)); err != nil {
		return err
	}
	path := h.end.journalPath(h.ID)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return state.SyncDir(filepath.Dir(path))
}

// Journals lists the moves that are not over here. One that can't be read is an
// error beside the others.
func (e *End) Journals() ([]Journal, error) {
	files, err := filepath.Glob(filepath.Join(string(e.Dir), session.MovesDir, "*.json"))
	if err != nil {
		return nil, err
	}
	var list []Journal
	for _, path := range files {
		j, rerr := readJournal(path)
		if _, serr := os.Lstat(path); errors.Is(serr, fs.ErrNotExist) {
			continue // over meanwhile
		}
		if rerr != nil {
			err = errors.Join(err, rerr)
			continue
		}
		list = append(list, *j)
	}
	return list, err
}
