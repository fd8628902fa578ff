package control

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sessionhub/lib/record"
	"sessionhub/lib/session"
	"sessionhub/lib/text"
)

// shortID is how much of an id makes a name.
const shortID = 8

// start starts a new session in a directory below the person's home.
func (d *Doer) start(ctx context.Context, c record.Claim) record.Result {
	conf, err := d.Config()
	switch {
	case err != nil:
		return failed("this machine's configuration can't be read: %v", err)
	case !conf.RemoteStart:
		return failed("remote_start is off on this machine")
	}
	dir, err := d.below(c.Start.Dir)
	if err != nil {
		return failed("%v", err)
	}
	prompt := ""
	if c.Start.Prompt != "" {
		if prompt, err = session.Prepare(c.Start.Prompt, session.Message); err != nil {
			return failed("the first prompt: %v", err)
		}
	}
	at, err := d.Desk.Launch(ctx, session.Launch{
		Dir: dir, Label: "sessionhub: new in " + text.Line(filepath.Base(dir)), Name: "sessionhub-new-" + short(c.ID),
		Args: []string{"--remote-control"}, Socket: c.Start.Herdr,
	}, d.begin(c, "started"))
	if err != nil {
		return failed("%v", err)
	}
	if prompt == "" {
		return d.linked(ctx, at, "started in a new herdr workspace")
	}
	unsent := d.firstPrompt(ctx, at, prompt)
	res := d.linked(ctx, at, "started in a new herdr workspace")
	if unsent != "" {
		res.Detail = strings.TrimPrefix(res.Detail+"; ", "; ") + "the first prompt was not sent: " + unsent
	}
	return res
}

// linked waits for the link of a session that was just started.
func (d *Doer) linked(ctx context.Context, at session.Launched, what string) record.Result {
	switch d.Desk.AwaitPrompt(ctx, at) {
	case session.Asking:
		return done("", "%s, and asks something in pane %s: is its folder trusted?", what, at.PaneID)
	case session.Ended:
		return failed("%v", d.Desk.WhyEnded(ctx, at))
	}
	if url := d.Desk.AwaitLink(ctx, at); url != "" {
		return done(url, "")
	}
	return done("", "%s, link not seen", what)
}

// firstPrompt types a session's first prompt once it is at its prompt. It never
// answers what Claude Code asks. The answer is why it was not sent, "" if it
// was.
func (d *Doer) firstPrompt(ctx context.Context, at session.Launched, prompt string) string {
	switch d.Desk.AwaitPrompt(ctx, at) {
	case session.Asking:
		return "Claude asks something in pane " + at.PaneID + ": is its folder trusted?"
	case session.Ended:
		return "Claude ended"
	case session.NotReady:
		return "Claude was not ready in time"
	}
	s, ok := d.Desk.AwaitSession(ctx, at)
	if !ok {
		return "its session is not known yet"
	}
	d.Desk.AwaitGate(ctx, s.Session)                                             // what is drawn comes some moments after what herdr tells
	said, err := d.Desk.Say(ctx, s.Session, prompt, func() error { return nil }) // the launch is noted already
	switch {
	case err != nil:
		return err.Error()
	case !said.Typed:
		return said.Gate.Why
	case !said.Seen:
		return "typed, not seen to arrive"
	}
	return ""
}

// below is a directory as the person means it: real, and inside the home.
func (d *Doer) below(dir string) (string, error) {
	given := text.Line(dir)
	if dir == "~" || strings.HasPrefix(dir, "~/") {
		dir = filepath.Join(d.Home, strings.TrimPrefix(dir, "~"))
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%s is no absolute path and does not begin with ~", given)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("%s: there is no such directory on this machine", given)
	}
	if st, err := os.Stat(real); err != nil || !st.IsDir() {
		return "", fmt.Errorf("%s is no directory", given)
	}
	home, err := filepath.EvalSymlinks(d.Home)
	if err != nil {
		return "", fmt.Errorf("the home directory: %w", err)
	}
	if rel, err := filepath.Rel(home, real); err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", fmt.Errorf("%s is outside the home directory, where nothing is started from afar", given)
	}
	return real, nil
}

// short is the beginning of an id, in what herdr takes as a name. The end of a
// UUIDv7 is random, its beginning is the time.
func short(id string) string {
	id = strings.ToLower(strings.ReplaceAll(id, "-", ""))
	return id[max(0, len(id)-shortID):]
}
