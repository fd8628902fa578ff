package record

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// The actions of a move, in the order in which they are asked: of the target,
// the source, the target, and of the source again.
const (
	ActionMoveCheck  Action = "move_check"  // could this machine take the session?
	ActionMoveOut    Action = "move_out"    // push, end the session, seal and upload
	ActionMoveIn     Action = "move_in"     // download, unpack and start
	ActionMoveFinish Action = "move_finish" // archive after done, else restart
)

// OfMove reports whether an action is a step of a move.
func (a Action) OfMove() bool {
	switch a {
	case ActionMoveCheck, ActionMoveOut, ActionMoveIn, ActionMoveFinish:
		return true
	}
	return false
}

// ToCloud is the target of a move that is no machine.
const ToCloud = "cloud"

// BundleHeader is the header of an upload with the SHA-256 of its content in
// lower-case hex.
const BundleHeader = "X-Content-SHA256"

// ProblemMove is the type of the problem that answers what does not fit how a
// move stands; the problem has the move.
const ProblemMove = "urn:sessionhub:problem:move"

// MovePost is the body of POST /v1/sessions/{id}/moves.
type MovePost struct {
	To string `json:"to"` // a machine, or ToCloud
	// Worktree: where the target's clone is in use, a work tree of its own is made.
	Worktree bool `json:"worktree,omitempty"`
	// StopBackground: background work of the session is ended, not waited for.
	StopBackground bool `json:"stop_background,omitempty"`
}

// Validate checks the request of a person.
func (p *MovePost) Validate() error { return CheckName("to", p.To) }

// MoveKeys are the keys of both ends, as they registered them last.
type MoveKeys struct {
	From MoveKey `json:"from"`
	To   MoveKey `json:"to"`
}

// ClaimMove is the move of a claim. State is how the move stands: for
// move_finish it says how it ended.
type ClaimMove struct {
	ID             string    `json:"id"`
	Session        string    `json:"session"`
	From           string    `json:"from"`
	To             string    `json:"to"`
	State          MoveState `json:"state"`
	Detail         string    `json:"detail"`
	Keys           MoveKeys  `json:"keys"`
	Worktree       bool      `json:"worktree,omitempty"`
	StopBackground bool      `json:"stop_background,omitempty"`
	TargetClaude   string    `json:"target_claude,omitempty"` // its version on the target, as move_check found it
	Bundle         *Bundle   `json:"bundle,omitempty"`
	Cwd            string    `json:"cwd"` // of the session on the source, when the move was asked for
	Git            *Git      `json:"git,omitempty"`
}

// Validate checks what a machine builds paths and decisions on.
func (m *ClaimMove) Validate() error {
	for _, id := range []struct{ field, value string }{{"move.id", m.ID}, {"move.session", m.Session}} {
		if err := CheckID(id.field, id.value); err != nil {
			return err
		}
	}
	for _, name := range []struct{ field, value string }{{"move.from", m.From}, {"move.to", m.To}} {
		if err := CheckName(name.field, name.value); err != nil {
			return err
		}
	}
	if err := m.State.check("move.state"); err != nil {
		return err
	}
	for _, k := range []*MoveKey{&m.Keys.From, &m.Keys.To} {
		if err := k.Validate(); err != nil {
			return fmt.Errorf("move.keys: %w", err)
		}
	}
	if m.Bundle != nil {
		return m.Bundle.Validate()
	}
	return nil
}

func (s MoveState) check(field string) error {
	switch s {
	case MoveRequested, MoveChecking, MovePacking, MoveUploaded, MoveUnpacking, MoveStarting, MoveDone, MoveFailed, MoveCancelled:
		return nil
	case "":
		return fmt.Errorf("%q is missing", field)
	}
	return fmt.Errorf("%q is %q, which is no state of a move", field, cut(string(s)))
}

// sumLength is the length of a SHA-256 in hex.
const sumLength = 2 * sha256.Size

// Validate checks size and hash.
func (b *Bundle) Validate() error {
	if b.Size <= 0 {
		return fmt.Errorf(`"size" is %d`, b.Size)
	}
	if len(b.SHA256) != sumLength || strings.Trim(b.SHA256, "0123456789abcdef") != "" {
		return fmt.Errorf(`"sha256" is not %d digits of lower-case hex`, sumLength)
	}
	return nil
}

// MoveResult is the body of POST /v1/moves/{id}/result: how one end of a move
// got on. Without a state it only adds notes.
type MoveResult struct {
	V      int       `json:"v"`
	ID     string    `json:"id"`
	State  MoveState `json:"state,omitempty"` // starting, done or failed
	Detail string    `json:"detail,omitempty"`
	Notes  []string  `json:"notes,omitempty"`
	Expect MoveState `json:"expect,omitempty"` // the state that the sender takes the move to be in
}

// maxResultNotes bounds the notes of one result.
const maxResultNotes = 20

// Validate checks what a machine posts.
func (r *MoveResult) Validate() error {
	if r.V != Version {
		return fmt.Errorf(`"v" is %d, not %d`, r.V, Version)
	}
	if err := CheckID("id", r.ID); err != nil {
		return err
	}
	switch r.State {
	case MoveStarting, MoveDone, MoveFailed:
	case "":
		if len(r.Notes) == 0 {
			return errors.New(`"state" and "notes" are both missing`)
		}
	default:
		return fmt.Errorf(`"state" is %q, none of starting, done, failed`, cut(string(r.State)))
	}
	if len(r.Notes) > maxResultNotes {
		return fmt.Errorf(`"notes" has %d entries, over the limit of %d`, len(r.Notes), maxResultNotes)
	}
	if r.Expect == "" {
		return nil
	}
	return r.Expect.check("expect")
}

// maxKey bounds a recipient or signer in bytes: post-quantum ones have 2,000.
const maxKey = 8 << 10

// signerBytes is the length of an Ed25519 public key.
const signerBytes = 32

// Fingerprint is what people compare of a machine's keys.
func Fingerprint(recipient, signer string) string {
	sum := sha256.Sum256([]byte(recipient + "\n" + signer))
	return "SHA256:" + base64.StdEncoding.EncodeToString(sum[:])
}

// Validate checks the form of both keys, and that the fingerprint is theirs.
func (k *MoveKey) Validate() error {
	for _, f := range []struct{ field, value string }{{"recipient", k.Recipient}, {"signer", k.Signer}, {"fingerprint", k.Fingerprint}} {
		if f.value == "" {
			return fmt.Errorf("%q is missing", f.field)
		}
		if len(f.value) > maxKey {
			return fmt.Errorf("%q is longer than %d bytes", f.field, maxKey)
		}
	}
	if !strings.HasPrefix(k.Recipient, "age1") || strings.Trim(k.Recipient, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return errors.New(`"recipient" is no age recipient (age1…)`)
	}
	if b, err := base64.StdEncoding.Strict().DecodeString(k.Signer); err != nil || len(b) != signerBytes {
		return fmt.Errorf(`"signer" is not %d bytes in base64`, signerBytes)
	}
	if k.Fingerprint != Fingerprint(k.Recipient, k.Signer) {
		return errors.New(`"fingerprint" is not that of recipient and signer`)
	}
	return nil
}
