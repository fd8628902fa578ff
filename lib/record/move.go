package record

import (
	"errors"
	"fmt"
)

// MoveState is how a move stands.
type MoveState string

// The states of a move. From MoveStarting on only the target ends it, and no
// deadline gives the session back to its source.
const (
	MoveRequested MoveState = "requested"
	MoveChecking  MoveState = "checking" // the target is asked whether it could
	MovePacking   MoveState = "packing"  // the source pushes, ends the session, seals, uploads
	MoveUploaded  MoveState = "uploaded" // the hub has the whole bundle
	MoveUnpacking MoveState = "unpacking"
	MoveStarting  MoveState = "starting"
	MoveDone      MoveState = "done"
	MoveFailed    MoveState = "failed"
	MoveCancelled MoveState = "cancelled"
)

// Ended reports whether nothing changes the state any more; notes may follow.
func (s MoveState) Ended() bool {
	return s == MoveDone || s == MoveFailed || s == MoveCancelled
}

// Bundle is what the hub says of a bundle that it has whole.
type Bundle struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Transfer is a bundle's way to the hub or from it, while it is under way.
type Transfer struct {
	Done int64 `json:"done"` // bytes
	Size int64 `json:"size"`
}

// Move is a session's way to another machine, as the hub tells it.
type Move struct {
	ID           string    `json:"id"`
	Session      string    `json:"session"`
	From         string    `json:"from"`
	To           string    `json:"to"`
	State        MoveState `json:"state"`
	Detail       string    `json:"detail"`
	Notes        []string  `json:"notes"`
	CreatedAt    Time      `json:"created_at"`
	StepDeadline *Time     `json:"step_deadline,omitempty"`
	EndedAt      *Time     `json:"ended_at,omitempty"`
	Bundle       *Bundle   `json:"bundle,omitempty"`
	Transfer     *Transfer `json:"transfer,omitempty"`
}

// MoveKey is what a machine registers for moves, and what others pin:
// an age recipient, an Ed25519 public key as base64 of its 32 bytes, and
// "SHA256:" with the base64 of SHA-256(recipient, newline, signer).
type MoveKey struct {
	Recipient   string `json:"recipient"`
	Signer      string `json:"signer"`
	Fingerprint string `json:"fingerprint"`
}

// Manifest is the first entry of a bundle, and what its signature covers: by
// size, mode and SHA-256 it binds every other entry.
type Manifest struct {
	V         int    `json:"v"`
	Move      string `json:"move"`
	Session   string `json:"session"`
	From      string `json:"from"`      // the source machine's name
	Recipient string `json:"recipient"` // the age recipient that the bundle is for
	Signer    string `json:"signer"`    // base64 of the source's Ed25519 public key
	// FromRecipient is the source's own age recipient, if it told: with the
	// signer it makes the fingerprint that a person compares.
	FromRecipient string `json:"from_recipient,omitempty"`

	At     Time   `json:"at"`
	Claude string `json:"claude"` // the version that wrote the transcript

	Git ManifestGit `json:"git"`
	// Dir is the session's directory relative to the work tree's top, "." for
	// the top itself; Cwd is its absolute path on the source.
	Dir string `json:"dir"`
	Cwd string `json:"cwd"`
	// Transcript is its absolute path on the source: lines name the folder beside it.
	Transcript string `json:"transcript,omitempty"`

	Entries    []ManifestEntry `json:"entries"`
	NotCarried []NotCarried    `json:"not_carried"`
}

// ManifestGit says which commit of which repository the patches stand on.
type ManifestGit struct {
	Remote string `json:"remote"` // without user and password
	Branch string `json:"branch"`
	Head   string `json:"head"`
	// Top is the work tree's path on the source: of several clones on the
	// target, the one at the like path is taken.
	Top string `json:"top"`
	// Upstream is the branch of origin that Branch follows, such as "main";
	// empty when it follows none, or one of another remote.
	Upstream string `json:"upstream,omitempty"`
	// IntentToAdd are the paths of `git add -N`, relative to the top. Paths
	// that are not UTF-8 are quoted as Git does.
	IntentToAdd []string `json:"intent_to_add,omitempty"`
	// Filters are the filters that files pass through ("lfs"), Submodules the
	// paths of those that are checked out: a target lacks neither.
	Filters    []string `json:"filters,omitempty"`
	Submodules []string `json:"submodules,omitempty"`
}

// ManifestEntry is one entry of the tar after manifest and signature.
type ManifestEntry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	Mode   uint32 `json:"mode"`             // permission bits
	SHA256 string `json:"sha256,omitempty"` // hex; of a link: none
	Link   string `json:"link,omitempty"`   // target of a symbolic link
}

// Signature is the second entry of a bundle: Ed25519ph over the bytes of the
// manifest before it. Signer is the manifest's; both are base64.
type Signature struct {
	V         int    `json:"v"`
	Signer    string `json:"signer"`
	Signature string `json:"signature"`
}

// NotCarried is what stays on the source, and why.
type NotCarried struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Validate checks the fields that others build paths and decisions on. The
// names of entries are the bundle reader's to check.
func (m *Manifest) Validate() error {
	if m.V != Version {
		return fmt.Errorf(`"v" is %d, not %d`, m.V, Version)
	}
	for _, id := range []struct{ field, value string }{{"move", m.Move}, {"session", m.Session}} {
		if err := CheckID(id.field, id.value); err != nil {
			return err
		}
	}
	if err := CheckName("from", m.From); err != nil {
		return err
	}
	for _, text := range []struct{ field, value string }{
		{"recipient", m.Recipient}, {"signer", m.Signer}, {"claude", m.Claude}, {"dir", m.Dir}, {"cwd", m.Cwd},
		{"git.remote", m.Git.Remote}, {"git.branch", m.Git.Branch}, {"git.head", m.Git.Head}, {"git.top", m.Git.Top},
	} {
		if text.value == "" {
			return fmt.Errorf("%q is missing", text.field)
		}
		if len(text.value) > maxDir {
			return fmt.Errorf("%q is longer than %d bytes", text.field, maxDir)
		}
	}
	if m.At.IsZero() {
		return errors.New(`"at" is missing`)
	}
	return nil
}
