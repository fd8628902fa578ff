package control

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"sessionhub/lib/record"
	"sessionhub/lib/session"
	"sessionhub/lib/state"
	"sessionhub/lib/text"
)

const (
	// resumedFor is how long a resume is remembered: herdr reports the session
	// some seconds after Claude started, and a second request in between must
	// not start a second copy.
	resumedFor = 2 * time.Minute
	// labelTitle is how much of a title a workspace's label shows, in characters.
	labelTitle = 40
)

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
	case c.Session.Status == record.StatusLive && !d.justResumed(c.Session.Session):
		return failed("looks live but pane not found")
	}
	return d.resume(ctx, c)
}

// resume resumes a session that runs nowhere on this machine, in a new
// workspace (field reports A10 to A12: never a second copy).
func (d *Doer) resume(ctx context.Context, c record.Claim) record.Result {
	id := c.Session.Session
	if d.justResumed(id) {
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
		if err := d.noteResumed(id); err != nil {
			return err
		}
		return d.begin(c, "started")()
	})
	if err != nil {
		return failed("%v", err)
	}
	return d.linked(ctx, at, "resumed in a new herdr workspace")
}

// resumed is resumed.json: when sessions were resumed, for 2 minutes. It is a
// file, so that a restart does not forget.
type resumed struct {
	Sessions map[string]record.Time `json:"sessions"`
}

func (d *Doer) resumedPath() string { return filepath.Join(string(d.Dir), "resumed.json") }

func (d *Doer) justResumed(id string) bool {
	var r resumed
	if err := state.ReadJSON(d.resumedPath(), &r); err != nil {
		return false // the lease and the registry still guard
	}
	at, ok := r.Sessions[id]
	age := d.Now().Sub(at.Time)
	return ok && age >= 0 && age < resumedFor
}

func (d *Doer) noteResumed(id string) error {
	return d.Dir.Locked(func() error {
		var r resumed
		if err := state.ReadJSON(d.resumedPath(), &r); err != nil || r.Sessions == nil {
			r.Sessions = map[string]record.Time{}
		}
		now := d.Now()
		for s, at := range r.Sessions {
			if now.Sub(at.Time) > resumedFor {
				delete(r.Sessions, s)
			}
		}
		r.Sessions[id] = record.At(now)
		return state.ReplaceJSON(d.resumedPath(), r)
	})
}
