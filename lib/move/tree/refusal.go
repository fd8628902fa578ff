package tree

import (
	"errors"
	"fmt"

	"sessionhub/lib/git"
	"sessionhub/lib/text"
)

// Reason says which rule stands against a move.
type Reason string

// The reasons of a source, of a target, and of both.
const (
	NoWorkTree   Reason = "no work tree"
	Bare         Reason = "bare"
	NoOrigin     Reason = "no origin"
	Detached     Reason = "detached"
	Unborn       Reason = "unborn"
	UnderWay     Reason = "under way" // a merge, rebase, …
	Unmerged     Reason = "unmerged"
	Sparse       Reason = "sparse"
	Shallow      Reason = "shallow"
	Submodule    Reason = "submodule"
	Filter       Reason = "filter"
	Hidden       Reason = "hidden" // changes of paths that Git was told to overlook
	NoClone      Reason = "no clone"
	SeveralClone Reason = "several clones"
	Dirty        Reason = "dirty"
	InTheWay     Reason = "in the way"
	Diverged     Reason = "diverged"
	Elsewhere    Reason = "elsewhere" // the branch is checked out in another work tree
	NoSpace      Reason = "no space"
	Locked       Reason = "locked"
	OtherRemote  Reason = "other remote"
	Hostile      Reason = "hostile" // a name that leads out of the work tree
)

// Refusal is why a move is not made, said before anything was changed: what
// stands against it where, and a way out.
type Refusal struct {
	Reason Reason
	What   string
	Way    string
}

func (r *Refusal) Error() string { return r.What + ": " + r.Way }

// Refused reports whether err is a Refusal for this reason.
func Refused(err error, reason Reason) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Reason == reason
}

// refuse makes a Refusal; the arguments are for what, and are made safe to
// show where they are strings.
func refuse(reason Reason, way, what string, args ...any) *Refusal {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = show(s)
		}
	}
	return &Refusal{reason, fmt.Sprintf(what, args...), way}
}

// besides says how a session lands without touching its clone: Git lets no two
// work trees have one branch, so the clone must be on another.
func besides(ref, branch string) string {
	const way = "have the session land in a new work tree (--worktree)"
	if ref == branch {
		return "git switch to another branch there and " + way
	}
	return way
}

// show is a path in a message.
func show(path string) string { return text.Visible(text.Line(git.Quote(path))) }

// ErrChanged means that somebody worked in the tree while it was read.
var ErrChanged = errors.New("the work tree changed while it was read")
