package move

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"sessionhub/lib/git"
	"sessionhub/lib/record"
	"sessionhub/lib/session"
)

// Out is the source's end: it ends a session here and gives it to the hub.
type Out struct {
	*End
	// Version is that of the session's own process.
	Version func(ctx context.Context, session string) (string, error)
}

// resumesHere ends the detail of a failure after the session was ended.
const resumesHere = "; the session resumes here"

// Run carries out a claim move_out. What it could not bring to an end the finish
// does. An error means that the claim was not begun, and is to be offered again.
func (o *Out) Run(ctx context.Context, c record.Claim) (record.Result, error) {
	m := c.Move
	j := &Journal{Role: Source, From: m.From, Claim: m, Cwd: m.Cwd}
	j.ID, j.Session, j.To = m.ID, m.Session, m.To
	if c.Session != nil {
		j.Title = c.Session.Title
	}
	h, old, err := o.open(m.ID, j)
	if err != nil {
		return record.Result{}, err
	}
	defer h.release()
	return o.run(ctx, h, old)
}

func (o *Out) run(ctx context.Context, h *held, old bool) (record.Result, error) {
	release, err := o.Desk.LeaseMoving(h.Session, "shmove out, move "+h.ID)
	if err != nil {
		return record.Result{}, err
	}
	defer release()
	p := SourceCheck
	if old {
		where, err := o.Desk.Running(ctx, h.Session)
		if err != nil {
			return record.Result{}, err
		}
		p = SourceAfterCrash(h.Phase, where != "")
	}
	for p != Over && p != SourceWait {
		h.Leaving = leaving(p)
		if err := h.enter(p); err != nil {
			return record.Result{}, err
		}
		o.reach(p, false)
		seen := o.do(ctx, h)
		o.reach(p, true)
		p = NextSource(p, seen)
	}
	res := record.Result{V: record.Version, ID: h.ID, State: record.RequestDone, Detail: "uploaded"}
	if h.Detail != "" {
		res.State, res.Detail = record.RequestFailed, h.Detail
	}
	if p == SourceWait {
		return res, errors.Join(h.enter(p), os.RemoveAll(o.private(h.ID)))
	}
	if !h.flushNotes(ctx) {
		h.Leaving = false
		return res, h.enter(Over)
	}
	return res, h.close()
}

// leaving reports whether a phase of the source keeps others off the session:
// its end is about to begin, or its new beginning is not over.
func leaving(p Phase) bool {
	switch p {
	case SourceCheck, SourceAsk, SourceRefuse, Over:
		return false
	}
	return true
}

// do carries a phase out and says what was seen.
func (o *Out) do(ctx context.Context, h *held) Seen {
	switch h.Phase {
	case SourceCheck:
		return o.outcome(h, o.check(ctx, h))
	case SourceAsk, SourceLanded, SourceGivenUp:
		return o.ask(ctx, h)
	case SourceEnd:
		return o.outcome(h, o.endSession(ctx, h))
	case SourcePack:
		return o.outcome(h, o.pack(ctx, h))
	case SourcePutAway:
		return o.outcome(h, in("put away", o.putAway(ctx, h)))
	case SourceUpload:
		return o.outcome(h, o.upload(ctx, h))
	case SourceRefuse, SourceGiveUp:
		return o.refuse(ctx, h)
	case SourceRestart:
		err := o.restart(ctx, h)
		if errors.Is(err, errNotKnown) { // the finish tries again
			o.tellFailed("restart", err)
			return Seen{Outcome: Lost}
		}
		if err != nil {
			h.note("restart failed: %v", err)
		}
	}
	return Seen{}
}

// check is everything that can fail while the session runs.
func (o *Out) check(ctx context.Context, h *held) error {
	if err := o.checkKeys(h); err != nil {
		return err
	}
	if err := o.checkPane(ctx, h); err != nil {
		return err
	}
	version, err := o.Version(ctx, h.Session)
	if err != nil {
		return in("build bundle", err)
	}
	if want := h.Claim.TargetClaude; want != "" && want != version {
		return versions(h.From, version, h.To, want)
	}
	dir := o.private(h.ID)
	if err := fresh(dir); err != nil {
		return in("build bundle", err)
	}
	l, err := o.Plan(ctx, o.packing(h, version), dir)
	if err != nil {
		return err
	}
	if asked, now := h.Claim.Git, l.Manifest.Git.Remote; asked != nil && !git.SameRemote(asked.Remote, now) {
		return inf("read repo", "it works in another repository now, %s, than %s was asked for: move again", now, h.To)
	}
	if err := o.try(l, h.Claim.Keys.To.Recipient); err != nil {
		return in("build bundle", err)
	}
	o.tell("build bundle", "%d MiB would travel; not carried: %s", l.Size>>20, notCarried(l.Manifest.NotCarried))
	did, err := l.Tree.Push(ctx)
	if err != nil {
		return in("push", err)
	}
	o.tell("push", "%s", did)
	h.Head, h.Transcript, h.Version = l.Manifest.Git.Head, l.Files.Transcript, version
	return o.checkPane(ctx, h) // a push can take minutes
}

// versions names both, and how to make them equal.
func versions(from, a, to, b string) error {
	return inf("claude version", "%s has Claude Code %s, and %s has %s: bring them to the same with `claude update` (or `claude install VERSION`), then move again", from, a, to, b)
}

// checkKeys: the target's key is the one that this machine knows it by.
func (o *Out) checkKeys(h *held) error {
	if err := errors.Join(o.keys(), o.Pins.Meet(h.To, h.Claim.Keys.To)); err != nil {
		return in("keys", err)
	}
	if have := h.Claim.Keys.From.Fingerprint; have != o.Keys.Public.Fingerprint {
		return inf("keys", "the hub has another key of this machine, %s: the watcher registers it anew within the hour, or after shwatch stop", have)
	}
	return nil
}

func (o *Out) checkPane(ctx context.Context, h *held) error {
	g := o.Desk.Endable(ctx, h.Session, h.Claim.StopBackground)
	if g.Answer != session.Open {
		return inf("check pane", "%s", g.Why)
	}
	h.Socket, h.PaneID = g.Socket, g.PaneID
	if g.Cwd != "" { // the hub's is a while old, and cleaned for people's eyes
		h.Cwd = g.Cwd
	}
	return nil
}

func (o *Out) packing(h *held, version string) Packing {
	return Packing{Move: h.ID, Session: h.Session, Cwd: h.Cwd, Recipient: h.Claim.Keys.To.Recipient, Claude: version}
}

// ask reads the move.
func (o *Out) ask(ctx context.Context, h *held) Seen {
	m, err := o.state(ctx, h.ID)
	if err != nil {
		if h.Phase == SourceAsk {
			h.Detail = clean(inf("end session", "whether the move still stands can't be read: %w", err).Error())
		}
		o.tellFailed(string(h.Phase), err)
		return Seen{}
	}
	return Seen{Hub: m.State, Mine: h.Detail != "" && m.Detail == h.Detail}
}

func (o *Out) endSession(ctx context.Context, h *held) error {
	e, err := o.Desk.End(ctx, h.Session, h.Claim.StopBackground, func() error { return nil })
	switch {
	case err != nil:
		return in("end session", err)
	case !e.Typed:
		return inf("end session", "%s", e.Gate.Why)
	case !e.Gone:
		return inf("end session", "it did not end within 30 seconds, and stays here: %s", e.Why)
	}
	o.tell("end session", "/exit in pane %s", e.Gate.PaneID)
	return nil
}

// pack writes the real bundle, now that nobody writes to the transcript.
func (o *Out) pack(ctx context.Context, h *held) error {
	dir := o.private(h.ID)
	if err := fresh(dir); err != nil {
		return in("build bundle", err)
	}
	patches, scratch := filepath.Join(dir, "patches"), filepath.Join(dir, "scratch")
	for _, d := range []string{patches, scratch} {
		if err := fresh(d); err != nil {
			return in("build bundle", err)
		}
	}
	l, err := o.Plan(ctx, o.packing(h, h.Version), patches)
	if err != nil {
		return err
	}
	if h.Head != "" && l.Manifest.Git.Head != h.Head {
		return inf("build bundle", "somebody committed since the push: move again")
	}
	m, b, err := o.seal(ctx, l, h.Claim.Keys.To.Recipient, filepath.Join(dir, "bundle.age"), scratch)
	if err != nil {
		return err
	}
	h.Bundle, h.Transcript, h.Packed = b, l.Files.Transcript, m.Entries[0].Size // the transcript is the first
	h.Top = l.Tree.Top
	if h.Left, err = l.Tree.Sum(); err != nil {
		return in("build bundle", err)
	}
	o.tell("seal", "%d entries in %d bytes", len(m.Entries), b.Size)
	return nil
}

func (o *Out) upload(ctx context.Context, h *held) error {
	if h.Bundle == nil {
		return inf("upload", "there is no bundle")
	}
	if err := o.goneOn(ctx, h); err != nil {
		return in("upload", err)
	}
	f, err := os.Open(filepath.Join(o.private(h.ID), "bundle.age"))
	if err != nil {
		return in("upload", err)
	}
	defer f.Close()
	if _, err := o.Hub.UploadBundle(ctx, h.ID, *h.Bundle, f); err != nil {
		return in("upload", err)
	}
	o.tell("upload", "%d bytes", h.Bundle.Size)
	return nil
}

// refuse posts a failure.
func (o *Out) refuse(ctx context.Context, h *held) Seen {
	if h.Detail == "" {
		h.Detail = "interrupted while the session was about to be ended"
	}
	if h.Phase == SourceGiveUp {
		h.Detail = clean(h.Detail) + resumesHere
		if err := h.save(); err != nil {
			o.tellFailed("journal", err)
		}
	}
	outcome, err := o.postSeveral(ctx, record.MoveResult{ID: h.ID, State: record.MoveFailed, Detail: h.Detail})
	if err != nil {
		o.tellFailed("post", err)
	}
	return Seen{Outcome: outcome}
}

// launch resumes the session of a journal.
func (h *held) launch(dir string) session.Launch {
	label := clean(h.Title)
	if label == "" {
		label = h.Session[:min(8, len(h.Session))]
	}
	const agentID = 12 // of a move's id, whose end is random
	return session.Launch{
		Dir: dir, Label: "sessionhub: " + label, Name: "sessionhub-" + h.ID[max(0, len(h.ID)-agentID):], Args: []string{"--resume", h.Session},
	}
}
