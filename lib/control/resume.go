package control

import (
	"context"
	"os"
	"path/filepath"

	"sessionhub/lib/record"
	"sessionhub/lib/session"
	"sessionhub/lib/text"
)

// labelTitle is how much of a title a workspace's label shows, in characters.
const labelTitle = 40

// remoteControl gives a session's link: of the pane that runs it, or of a new
// workspace in which it is resumed when it is over.
func (d *Doer) remoteControl(ctx context.Context, c record.Claim) record.Result {
	r, err := d.Desk.RemoteControl(ctx, c.Session.Session, d.begin(c, "typed"))
	switch {
	case err != nil:
		return failed("%v", err)
	case r.URL != "":
		return done(r.URL, "")
	case r.Typed:
		return done("", "sent, link not seen")
	case r.Gate.Reason == session.Blocked:
		return failed("waiting on a prompt in the pane")
	case r.Gate.Reason != session.Absent:
		return failed("%s", r.Gate.Why)
	case c.Session.Status == record.StatusLive && !d.Desk.JustResumed(c.Session.Session):
		return failed("looks live but pane not found")
	}
	return d.resume(ctx, c)
}

// resume resumes a session that runs nowhere on this machine, in a new
// workspace (field reports A10 to A12: never a second copy).
func (d *Doer) resume(ctx context.Context, c record.Claim) record.Result {
	id := c.Session.Session
	if d.Desk.JustResumed(id) {
		return failed("just resumed; try again in a moment")
	}
	where, err := d.Desk.Running(ctx, id)
	switch {
	case err != nil:
		return failed("%v", err)
	case where != "":
		return failed("it runs already, %s", where)
	}
	if _, ok := d.Desk.Home.Transcript(id); !ok {
		return failed("this machine has no transcript of it")
	}
	dir := c.Session.Cwd
	if st, err := os.Stat(dir); !filepath.IsAbs(dir) || err != nil || !st.IsDir() {
		return failed("its directory %s is not there", text.Line(dir))
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return failed("its directory: %v", err)
	}
	title := text.Cut(text.Line(c.Session.Title), labelTitle)
	if title == "" {
		title = id[:min(shortID, len(id))]
	}
	at, err := d.Desk.Launch(ctx, session.Launch{
		Dir: dir, Label: "sessionhub: " + title, Name: "sessionhub-" + short(c.ID), Args: []string{"--resume", id, "--remote-control"},
	}, func() error {
		if err := d.Desk.NoteResumed(id); err != nil {
			return err
		}
		return d.begin(c, "started")()
	})
	if err != nil {
		return failed("%v", err)
	}
	return d.linked(ctx, at, "resumed in a new herdr workspace")
}
