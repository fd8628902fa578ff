package move

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sessionhub/lib/bundle"
	"sessionhub/lib/move/conversation"
	"sessionhub/lib/move/tree"
	"sessionhub/lib/record"
	"sessionhub/lib/session"
)

// In is the target's end: it takes a session over.
type In struct{ *End }

// Check answers a claim move_check: could this machine take the session? All
// that can fail here without the bundle is asked before the source ends
// anything.
func (i *In) Check(ctx context.Context, c record.Claim) record.Result {
	m := c.Move
	res := record.Result{V: record.Version, ID: c.ID, State: record.RequestDone}
	detail, version, err := i.couldTake(ctx, m)
	if res.Detail, res.Claude = detail, version; err != nil {
		res.State, res.Detail = record.RequestFailed, clean(err.Error())
	}
	return res
}

func (i *In) couldTake(ctx context.Context, m *record.ClaimMove) (detail, version string, err error) {
	if have := m.Keys.To.Fingerprint; have != i.Keys.Public.Fingerprint {
		return "", "", inf("keys", "the hub has another key of %s, %s: the watcher registers it anew within the hour, or after shwatch stop", i.Machine, have)
	}
	if err := i.Pins.Meet(m.From, m.Keys.From); err != nil {
		return "", "", in("keys", err)
	}
	if version, err = i.Claude(ctx); err != nil {
		return "", "", in("claude version", err)
	}
	if err := i.Desk.Servers(ctx); err != nil {
		return "", version, in("herdr", err)
	}
	if err := conversation.Absent(i.Home, m.Session); err != nil {
		return "", version, in("transcript", err)
	}
	if m.Git == nil || m.Git.Remote == "" {
		return "", version, inf("read repo", "the session's directory on %s is in no Git work tree with a remote, as far as the hub knows; of a session that began just now it knows within a minute", m.From)
	}
	clone, err := i.findClone(ctx, m)
	if err != nil {
		return "", version, in("find clone", err)
	}
	git := record.ManifestGit{Remote: m.Git.Remote, Branch: m.Git.Branch, Head: m.Git.Head, Top: m.Cwd}
	t := tree.Target{Clone: clone, In: &tree.Incoming{Move: m.ID, Git: git, Dir: "."}}
	if err := i.place(ctx, &t, record.Manifest{Move: m.ID, Session: m.Session, Git: git}, Where{Worktree: m.Worktree}); err != nil {
		return "", version, err
	}
	return "it would go on in " + clone, version, nil
}

// findClone knows where the session runs, not where its work tree begins: with
// several clones the folders above are tried.
func (i *In) findClone(ctx context.Context, m *record.ClaimMove) (string, error) {
	clone, err := tree.FindClone(ctx, i.Roots, m.Git.Remote, m.Cwd)
	for dir := m.Cwd; tree.Refused(err, tree.SeveralClone) && filepath.Dir(dir) != dir; {
		dir = filepath.Dir(dir)
		if c, e := tree.FindClone(ctx, i.Roots, m.Git.Remote, dir); e == nil {
			return c, nil
		}
	}
	return clone, err
}

// Run carries out a claim move_in.
func (i *In) Run(ctx context.Context, c record.Claim) (record.Result, error) {
	m := c.Move
	j := &Journal{Role: Target, From: m.From, Claim: m}
	j.ID, j.Session, j.To = m.ID, m.Session, m.To
	if c.Session != nil {
		j.Title = c.Session.Title
	}
	h, old, err := i.open(m.ID, j)
	if err != nil {
		return record.Result{}, err
	}
	defer h.release()
	return i.run(ctx, h, old)
}

func (i *In) run(ctx context.Context, h *held, old bool) (record.Result, error) {
	release, err := i.Desk.LeaseMoving(h.Session, "shmove in, move "+h.ID)
	if err != nil {
		return record.Result{}, err
	}
	release = sync.OnceFunc(release)
	defer release()
	p := TargetCheck
	if !old && h.Claim.State == record.MoveStarting && conversation.Absent(i.Home, h.Session) != nil {
		// It was started here, and the journal is lost: a failure would start it at
		// the source, too.
		p = TargetDone
	}
	if old {
		here, err := i.here(ctx, h)
		if err != nil {
			return record.Result{}, err
		}
		if p = TargetAfterCrash(h.Phase, here); p != h.Phase && h.Detail == "" {
			h.Detail = "interrupted while it was at: " + string(h.Phase)
		}
	}
	pause, settle := postWait, i.Now().Add(settleWait)
	for p != Over {
		h.Leaving = p == TargetClaim || p == TargetClaimed || p == TargetStart // nobody else resumes it meanwhile
		if err := h.enter(p); err != nil {
			return record.Result{}, err
		}
		if p == TargetDone { // it runs here like any other
			release()
		}
		i.reach(p, false)
		seen := i.do(ctx, h)
		i.reach(p, true)
		next := NextTarget(p, seen)
		if next == p { // the hub did not answer: nobody else ends the move, so it waits
			if ctx.Err() != nil || i.Now().After(settle) {
				return record.Result{}, fmt.Errorf("%w: shmove recover goes on", ErrUnsettled)
			}
			i.Pause(ctx, pause)
			pause = min(2*pause, maxPostWait)
		}
		p = next
	}
	res := record.Result{V: record.Version, ID: h.ID, State: record.RequestDone, Detail: h.Detail}
	if h.Phase != TargetDone {
		res.State = record.RequestFailed
		return res, h.closeOrKeep()
	}
	if err := h.settle(); err != nil {
		i.tellFailed("settle", err)
	}
	return res, h.close()
}

// here reports, after a crash, whether the session runs here, or may be
// starting, or was gone on with. One that was about to be started is given the
// time to be known: a second start would make a second copy.
func (i *In) here(ctx context.Context, h *held) (bool, error) {
	if h.Wrote != nil {
		if same, err := h.Wrote.Untouched(); err != nil || !same {
			return true, err
		}
	}
	if h.Launched == nil {
		where, err := i.Desk.Running(ctx, h.Session)
		return where != "", err
	}
	if i.taken(ctx, h.Session) {
		return true, nil
	}
	return i.Desk.MayRun(ctx, h.Session), nil
}

func (i *In) do(ctx context.Context, h *held) Seen {
	switch h.Phase {
	case TargetCheck:
		return i.outcome(h, i.check(ctx, h))
	case TargetApply:
		return i.outcome(h, i.apply(ctx, h))
	case TargetClaim:
		o, err := i.post(ctx, record.MoveResult{ID: h.ID, State: record.MoveStarting, Expect: record.MoveUnpacking})
		if err != nil {
			i.tellFailed("start", err)
		}
		if o == Failed {
			h.Detail = clean(in("start", err).Error())
		}
		return Seen{Outcome: o}
	case TargetClaimed:
		m, err := i.state(ctx, h.ID)
		if err != nil {
			i.tellFailed("start", err)
		}
		return Seen{Hub: m.State}
	case TargetStart:
		return i.start(ctx, h)
	case TargetUndo:
		h.Detail += i.takeBack(ctx, h)
	case TargetRefuse:
		return i.end(ctx, h, record.MoveFailed)
	case TargetDone:
		return i.end(ctx, h, record.MoveDone)
	}
	return Seen{}
}

// takeBack undoes what was applied, and says how that went. Of a session that
// was gone on with here everything stays; what can't be put back now is left to a
// person.
func (i *In) takeBack(ctx context.Context, h *held) string {
	back, err := i.undo(ctx, h)
	if errors.Is(err, errRunsHere) || errors.Is(err, conversation.ErrGoneOn) {
		err = errors.Join(err, h.settle())
		h.Steps, h.Wrote = nil, nil
	}
	if err != nil {
		back = "; " + clean(err.Error())
	}
	if h.toTakeBack() {
		back += fmt.Sprintf("; shmove undo --move %s on %s tries again", h.ID, i.Machine)
	}
	return back
}

// check downloads, opens and looks; nothing outside the private folder changes.
func (i *In) check(ctx context.Context, h *held) error {
	a, err := i.arrive(ctx, h)
	if err != nil {
		return err
	}
	h.arrival, h.NotCarried = a, a.Manifest.NotCarried
	i.tell("check", "%s can take it", a.Target.Clone)
	return nil
}

func (i *In) arrive(ctx context.Context, h *held) (*Arrival, error) {
	c := h.Claim
	if err := errors.Join(i.keys(), i.Pins.Meet(h.From, c.Keys.From)); err != nil {
		return nil, in("open", err)
	}
	if c.Bundle == nil {
		return nil, inf("download", "the hub names no bundle")
	}
	dir := i.private(h.ID)
	if err := fresh(dir); err != nil {
		return nil, in("download", err)
	}
	path := filepath.Join(dir, "bundle.age")
	if err := i.download(ctx, h, path); err != nil {
		return nil, in("download", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, in("open", err)
	}
	defer f.Close()
	r, err := i.Keys.Open(f)
	if err != nil {
		return nil, in("open", err)
	}
	m, err := i.Unpack(r, dir, bundle.Options{
		Verify: i.Pins.Verify, Recipient: i.Keys.Public.Recipient, Move: h.ID, Session: h.Session, From: h.From,
	})
	if err != nil {
		return nil, err
	}
	return i.Arrive(ctx, m, dir, Where{Worktree: c.Worktree})
}

func (i *In) download(ctx context.Context, h *held, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = i.Hub.DownloadBundle(ctx, h.ID, *h.Claim.Bundle, f)
	return errors.Join(err, f.Close())
}

// apply follows check in the same process: after a crash nothing is applied.
func (i *In) apply(ctx context.Context, h *held) error {
	return i.Apply(ctx, h.arrival, h)
}

// start resumes the session here. Lost is what may run.
func (i *In) start(ctx context.Context, h *held) Seen {
	if where, err := i.Desk.Running(ctx, h.Session); err == nil && where != "" {
		h.Detail = clean(fmt.Sprintf("it was resumed by hand, and runs %s", where)) // a second copy would go another way
		return Seen{}
	}
	var at session.Launched
	h.Launched = &Launched{Begun: true}
	at, err := i.Desk.Launch(ctx, h.launch(h.Cwd), func() error {
		return errors.Join(h.save(), i.Desk.NoteResumed(h.Session))
	})
	h.Launched = &Launched{Begun: true, Socket: at.Socket, WorkspaceID: at.WorkspaceID, PaneID: at.PaneID}
	if serr := h.save(); serr != nil {
		i.tellFailed("journal", serr)
	}
	if err == nil {
		var detail string
		if detail, err = i.started(ctx, h, at); err == nil {
			h.Detail = detail
			i.tell("start", "in pane %s", at.PaneID)
			return Seen{}
		}
	}
	h.Detail = clean(in("start", err).Error())
	i.Tell(Step{Step: "start", Detail: h.Detail})
	if at.PaneID == "" || i.Desk.Discard(ctx, at, h.Session) {
		if same, uerr := h.Wrote.Untouched(); uerr == nil && same {
			h.Launched = nil
			return Seen{Outcome: Failed}
		}
	}
	h.Detail += fmt.Sprintf("; Claude may be running in pane %s on %s; check it there", at.PaneID, i.Machine)
	return Seen{Outcome: Lost}
}

// started waits until the session runs here, and gives the detail of a move that
// is done. A Claude that ended at once, such as one that finds no conversation,
// is an error.
func (i *In) started(ctx context.Context, h *held, at session.Launched) (string, error) {
	detail := fmt.Sprintf("it goes on in %s, pane %s", h.Cwd, at.PaneID)
	prompt := i.Desk.AwaitPrompt(ctx, at)
	if prompt == session.Asking {
		detail += "; it asks something there: is its folder trusted?"
	} else if !i.taken(ctx, h.Session) {
		return "", i.Desk.WhyEnded(ctx, at)
	}
	if prompt == session.NotReady {
		detail += "; it is not at its prompt yet"
	}
	if len(h.NotCarried) > 0 {
		detail += "; not carried: " + notCarried(h.NotCarried)
	}
	return clean(detail), nil
}

// taken waits until Claude's registry names the session: herdr knows a Claude
// some moments earlier.
func (e *End) taken(ctx context.Context, id string) bool {
	for end := e.Now().Add(takenWait); ; e.Pause(ctx, takenEvery) {
		if where, err := e.Desk.Running(ctx, id); err == nil && where != "" {
			return true
		}
		if !e.Now().Before(end) {
			return false
		}
	}
}

const (
	// takenWait bounds the wait for a session that was resumed to be known: 1.5 s
	// were seen under load.
	takenWait  = 15 * time.Second
	takenEvery = 100 * time.Millisecond
)

// end posts how the move ended here, once.
func (i *In) end(ctx context.Context, h *held, state record.MoveState) Seen {
	if state == record.MoveDone && h.Detail == "" {
		h.Detail = "it is on " + i.Machine
	}
	o, err := i.post(ctx, record.MoveResult{ID: h.ID, State: state, Detail: clean(h.Detail)})
	switch o {
	case Lost:
		i.tellFailed("post", fmt.Errorf("session %s is not settled yet, and waits here for the hub: %w", h.Session, err))
	case Failed:
		i.tellFailed("post", fmt.Errorf("the hub has another end of the move: %w", err))
	}
	return Seen{Outcome: o}
}

// settleWait bounds how long an end waits for the hub before it leaves the rest
// to recover.
const settleWait = 10 * time.Minute

// ErrUnsettled is the error of a move whose end the hub does not know yet.
var ErrUnsettled = errors.New("the hub is out of reach")
