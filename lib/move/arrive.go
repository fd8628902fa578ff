package move

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sessionhub/lib/bundle"
	"sessionhub/lib/claude"
	"sessionhub/lib/git"
	"sessionhub/lib/move/conversation"
	"sessionhub/lib/move/tree"
	"sessionhub/lib/record"
)

// Arrival is a bundle that was verified and unpacked here, and where it is to go.
type Arrival struct {
	Manifest record.Manifest
	Dir      string // where it lies unpacked
	Target   tree.Target
}

// unpackedDir is where a bundle lies within a move's private folder.
const unpackedDir = "in"

// Unpack verifies a bundle whole and unpacks it into the move's private folder.
// Nothing is written elsewhere.
func (e *End) Unpack(r io.Reader, private string, opt bundle.Options) (record.Manifest, error) {
	opt.Limit = e.Limit
	if err := os.MkdirAll(private, 0o700); err != nil {
		return record.Manifest{}, in("open", err)
	}
	dir := filepath.Join(private, unpackedDir)
	if err := os.RemoveAll(dir); err != nil {
		return record.Manifest{}, in("open", err)
	}
	m, err := bundle.Extract(r, dir, opt)
	return m, in("open", err)
}

// Where is what a person may say of the place: all may be left out.
type Where struct {
	Clone    string // in place of searching
	Worktree bool   // a clone that is in use, or dirty, gets a fresh work tree
}

// Arrive checks that what was unpacked can go on here, and changes nothing.
func (e *End) Arrive(ctx context.Context, m record.Manifest, private string, w Where) (*Arrival, error) {
	version, err := e.Claude(ctx)
	if err != nil {
		return nil, in("claude version", err)
	}
	if version != m.Claude {
		return nil, versions(m.From, m.Claude, e.Machine, version)
	}
	if err := conversation.Absent(e.Home, m.Session); err != nil {
		return nil, in("transcript", err)
	}
	a := &Arrival{Manifest: m, Dir: filepath.Join(private, unpackedDir)}
	if a.Target.In, err = tree.Unpacked(a.Dir, &a.Manifest); err != nil {
		return nil, in("open", err)
	}
	if a.Target.Clone = w.Clone; w.Clone == "" {
		if a.Target.Clone, err = tree.FindClone(ctx, e.Roots, m.Git.Remote, m.Git.Top); err != nil {
			return nil, in("find clone", err)
		}
	}
	return a, e.place(ctx, &a.Target, m, w)
}

// place checks the clone; one that can't take the session as it is gets a fresh
// work tree beside it where that is allowed.
func (e *End) place(ctx context.Context, t *tree.Target, m record.Manifest, w Where) error {
	t.Left, t.MaxUntracked = e.left(m.Session, t.Clone), e.MaxUntracked
	err := e.clone(ctx, t)
	var against *against
	if err == nil || !w.Worktree || !errors.As(err, &against) || !against.mendable() {
		return err
	}
	t.Worktree = worktreeFor(t.Clone, m)
	return e.clone(ctx, t)
}

// worktreeFor names a folder beside the clone for the session.
func worktreeFor(clone string, m record.Manifest) string {
	id := m.Move[max(0, len(m.Move)-6):] // its end is random
	return fmt.Sprintf("%s-%s-%s", strings.TrimRight(clone, "/"), strings.Map(plain, m.Git.Branch), id)
}

func plain(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
		return r
	}
	return '-'
}

// against is what stands against a clone.
type against struct {
	clone string
	list  []*tree.Refusal
	inUse string // the pane that uses it
}

func (a *against) Error() string {
	var why []string
	for _, r := range a.list {
		why = append(why, r.Error())
	}
	if a.inUse != "" {
		why = append(why, fmt.Sprintf("%s is in use by a session in pane %s", a.clone, a.inUse))
	}
	return strings.Join(why, "; ")
}

// mendable reports whether a work tree of its own would do.
func (a *against) mendable() bool {
	for _, r := range a.list {
		switch r.Reason {
		case tree.Dirty, tree.InTheWay, tree.UnderWay, tree.Unmerged, tree.Locked:
		default:
			return false
		}
	}
	return true
}

// clone looks at a clone with what arrives. One in which another session works
// must not change its branch: its next commit would land on the moved one. Nor
// are changes put aside there.
func (e *End) clone(ctx context.Context, t *tree.Target) error {
	list, err := t.Check(ctx)
	if err != nil {
		return in("check clone", err)
	}
	a := &against{clone: t.Clone, list: list}
	if at, ok := git.Read(ctx, t.Clone); t.Worktree == "" && (!ok || at.Branch != t.In.Git.Branch || t.Aside) {
		if a.inUse, err = e.Desk.InUse(ctx, t.Clone); err != nil {
			return in("check clone", err)
		}
	}
	if r := e.leftIn(t); r != nil {
		a.list = append(a.list, r)
	}
	if len(a.list) > 0 || a.inUse != "" {
		return in("check clone", a)
	}
	return in("check clone", e.trusted(t.Clone, filepath.Join(t.Clone, t.In.Dir)))
}

// leftIn is a refusal when an earlier move's changes could not be taken out of
// the clone: taking them back later would take those of this one, too.
func (e *End) leftIn(t *tree.Target) *tree.Refusal {
	list, _ := e.Journals() // those that can be read
	for _, j := range list {
		if j.Role == Target && j.Phase == Over && j.ID != t.In.Move && j.Steps != nil && j.Steps.Worktree == "" && t.Worktree == "" && sameFolder(j.Steps.Clone, t.Clone) {
			return &tree.Refusal{Reason: tree.Locked, What: clean(t.Clone) + " has changes of a move that could not be taken back", Way: "shmove undo --move " + j.ID}
		}
	}
	return nil
}

func sameFolder(a, b string) bool {
	x, xerr := os.Stat(a)
	y, yerr := os.Stat(b)
	return xerr == nil && yerr == nil && os.SameFile(x, y)
}

// trusted: Claude asks before it starts in a folder that it does not know.
// Trust in a repository covers its linked work trees (seen with 2.1.332).
func (e *End) trusted(clone, dir string) error {
	ok, err := claude.Trusted(e.Home, dir, clone)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%s is not trusted by Claude Code here: run claude in it once, and accept", clone)
	}
	return nil
}

// Apply brings the session in: the work tree, then the conversation. On an
// error everything was taken back, or the error says what was not. h keeps what
// was done; it stays open.
func (e *End) Apply(ctx context.Context, a *Arrival, h *held) error {
	done, err := a.Target.Apply(ctx, h)
	if err != nil {
		return err
	}
	if done.Steps.Aside != nil {
		e.tell("put aside", "the changes that the session had left here give way to those that it brings")
	}
	e.tell("apply", "in %s", done.Top)
	h.Cwd = done.Cwd
	m := a.Manifest
	w := conversation.Plan(e.Home, m.Session, done.Cwd)
	h.Wrote = &w
	places := conversation.Places{OldTop: m.Git.Top, NewTop: done.Top, OldSidecar: strings.TrimSuffix(m.Transcript, ".jsonl")}
	if err := w.Write(e.Home, a.Dir, done.Cwd, places, h.save); err != nil {
		return in("write transcript", err)
	}
	e.tell("write transcript", "%s", w.Transcript)
	return nil
}

var errRunsHere = errors.New("the session runs here")

// undo takes back what Apply did, and says how the clone is now. A session that
// was gone on with here keeps everything. What could not be taken back is in the
// journal still (toTakeBack).
func (e *End) undo(ctx context.Context, h *held) (string, error) {
	if where, err := e.Desk.Running(ctx, h.Session); err == nil && where != "" {
		return "", inf("undo", "%w, %s: nothing is taken back while it does", errRunsHere, where)
	}
	if h.Wrote != nil {
		if err := h.Wrote.Remove(e.Home); err != nil {
			return "", in("undo", err)
		}
		h.Wrote = nil
		if err := h.save(); err != nil {
			return "", in("undo", err)
		}
	}
	if h.Steps == nil || h.Steps.Over {
		return "", nil // or it was put back by who failed, and said so
	}
	u, err := tree.Undo(ctx, *h.Steps, h)
	if err != nil {
		return "; putting the clone back failed: " + clean(err.Error()), nil
	}
	h.Steps = nil
	return "; " + u.String(), nil
}

// toTakeBack reports whether something that a move brought in is here still.
func (h *held) toTakeBack() bool { return h.Wrote != nil || h.Steps != nil && !h.Steps.Over }

// settle removes what taking back would need.
func (h *held) settle() error {
	if h.Steps == nil {
		return nil
	}
	return tree.Settle(*h.Steps, h)
}

// closeOrKeep forgets a move that is over, unless something is to be taken back:
// then undo, by hand, finds its journal.
func (h *held) closeOrKeep() error {
	if !h.toTakeBack() {
		return h.close()
	}
	h.Leaving = false
	return h.enter(Over)
}

// notCarried lists what stayed on the source.
func notCarried(list []record.NotCarried) string {
	if len(list) == 0 {
		return "nothing"
	}
	const most = 10
	var names []string
	for i, n := range list {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(list)-most))
			break
		}
		names = append(names, clean(n.Path))
	}
	return strings.Join(names, ", ")
}
