package move

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"sessionhub/lib/move/conversation"
	"sessionhub/lib/record"
	"sessionhub/lib/session"
)

// archiveTries is how often a session's files are archived before a person is
// told to do it (the seed's 3).
const archiveTries = 3

// archives is the folder of the archives, moved/.
func (e *End) archives() string { return filepath.Join(string(e.Dir), "moved") }

// away is where the files of a move's session are archived.
func (e *End) away(h *held) string { return filepath.Join(e.archives(), h.ID) }

// isAway reports whether any of them are.
func (e *End) isAway(h *held) bool {
	_, err := conversation.Read(e.away(h))
	return err == nil
}

// putAway archives the session's files before the bundle leaves: what is resumed
// by hand from now on finds nothing to go on with.
func (o *Out) putAway(ctx context.Context, h *held) error {
	if err := o.goneOn(ctx, h); err != nil {
		return err
	}
	if err := o.shelve(ctx, h); err != nil {
		return err
	}
	o.tell("put away", "%s", o.away(h))
	return nil
}

// goneOn is an error when somebody resumed the session by hand after it was
// packed, or may have: no bundle has what was said since, and it would run in
// two places.
func (e *End) goneOn(ctx context.Context, h *held) error {
	where, err := e.running(ctx, h.Session)
	if err != nil {
		return err
	}
	if where != "" {
		return fmt.Errorf("it was gone on with here meanwhile, and runs %s", where)
	}
	packed := h.Transcript
	if conversation.HasArchived(e.away(h)) {
		if _, err := os.Lstat(h.Transcript); err == nil {
			return errors.New("it was gone on with here meanwhile: it has a new transcript")
		}
		packed = filepath.Join(e.away(h), conversation.TranscriptName)
	}
	st, err := os.Stat(packed)
	if err == nil && st.Size() != h.Packed {
		err = errors.New("it was gone on with here meanwhile: its transcript is another than was packed")
	}
	return err
}

// shelve archives the files of the journal's transcript.
func (e *End) shelve(ctx context.Context, h *held) (err error) {
	a := conversation.Archived{Move: h.ID, Session: h.Session, Transcript: h.Transcript, To: h.To, At: record.At(e.Now()), Top: h.Top, Left: h.Left}
	for try := 1; ; try++ {
		if err = conversation.Archive(e.Home, a, e.away(h)); err == nil || try == archiveTries {
			return err
		}
		e.Pause(ctx, time.Duration(try)*time.Second)
	}
}

// archive has the session's files out of Claude's sight once the move is done,
// so that it can't be resumed here as well.
func (e *End) archive(ctx context.Context, h *held) error {
	if h.Transcript == "" && conversation.HasArchived(e.away(h)) {
		return nil // the result of an earlier finish was lost, and the session may be back since
	}
	where, err := e.running(ctx, h.Session)
	if err != nil {
		return err
	}
	if where != "" {
		return fmt.Errorf("it runs here, %s: end it", where)
	}
	if h.Transcript == "" {
		f, err := conversation.Find(e.Home, h.Session, h.Cwd)
		if err != nil {
			return err
		}
		h.Transcript = f.Transcript
	}
	if err := e.shelve(ctx, h); err != nil {
		return err
	}
	e.tell("archive", "%s", e.away(h))
	return conversation.Prune(e.archives(), e.Now(), func(move string) bool { return move == h.ID || !e.underWay(move) })
}

// archivedMore reports whether the archived transcript has more than what went
// to the other machine.
func (e *End) archivedMore(h *held) bool {
	st, err := os.Stat(filepath.Join(e.away(h), conversation.TranscriptName))
	return err == nil && h.Packed > 0 && st.Size() != h.Packed
}

// restart puts the session's files back and resumes it where it was, unless it
// runs already. It is for a move that the hub has recorded as failed.
func (e *End) restart(ctx context.Context, h *held) error {
	if e.isAway(h) {
		if _, err := conversation.Restore(e.Home, e.away(h)); err != nil {
			return fmt.Errorf("its files can't be put back from %s: %w", e.away(h), err)
		}
	}
	where, err := e.running(ctx, h.Session)
	if err != nil {
		return err
	}
	if where != "" {
		e.tell("restart", "it runs already %s", where)
		return nil
	}
	// One that a killed process started is not known at once.
	if e.Desk.JustResumed(h.Session) && e.taken(ctx, h.Session) {
		e.tell("restart", "it was resumed already")
		return nil
	}
	at, err := e.Desk.Relaunch(ctx, h.Socket, h.PaneID, h.launch(h.Cwd), func() error { return e.Desk.NoteResumed(h.Session) })
	if err != nil {
		return err
	}
	if e.Desk.AwaitPrompt(ctx, at) == session.Ended {
		return fmt.Errorf("claude ended at once in pane %s; claude --resume %s resumes it", at.PaneID, h.Session)
	}
	e.tell("restart", "in pane %s", at.PaneID)
	return nil
}

// Archives lists what went to other machines, or is on its way, the newest first.
func (e *End) Archives() ([]conversation.Archived, error) { return conversation.Archives(e.archives()) }

// ErrUnderWay is the error of restoring a session whose move is not over.
var ErrUnderWay = errors.New("its move is not over here: it may still start on the other machine")

// Restore brings a session back that went to another machine, so that it can be
// resumed here: for when it is lost there. One that is on its way is restored
// only if anyway is given.
func (e *End) Restore(id string, anyway bool) (conversation.Archived, error) {
	if err := record.CheckID("move", id); err != nil {
		return conversation.Archived{}, err
	}
	if !anyway && e.underWay(id) {
		return conversation.Archived{}, ErrUnderWay
	}
	return conversation.Restore(e.Home, filepath.Join(e.archives(), id))
}

// left is what a session left in a clone when it went away last, "" for none.
func (e *End) left(session, clone string) string {
	list, _ := e.Archives() // without them its changes are anybody's
	for _, a := range list {
		if a.Session == session && sameFolder(a.Top, clone) {
			return a.Left
		}
	}
	return ""
}

// underWay reports whether a move has a journal here, or may have one.
func (e *End) underWay(id string) bool {
	_, err := os.Lstat(e.journalPath(id))
	return !errors.Is(err, fs.ErrNotExist)
}
