package control

import (
	"context"
	"errors"
	"net/url"
	"time"

	"sessionhub/lib/mailbox"
	"sessionhub/lib/record"
	"sessionhub/lib/session"
)

// mailed is the step of a message that was left in a mailbox. Unlike what was
// typed, what became of it can be found out.
const mailed = "left in its mailbox"

const (
	// lieFor is how long a message lies in the mailbox of a session that works.
	// Then it is taken back and said to be busy, so that its owner can take it back
	// as well; the hub offers it again 15 s after it did last.
	lieFor = 12 * time.Second
	// countFor is how long it counts there: less than what is left of the hub's
	// lease of 30 s when a poll is killed, so that nothing is given any more when
	// the hub lets somebody else decide.
	countFor = 18 * time.Second
	// armWait is how long a session's hook may take to begin at a turn's end.
	armWait = 2 * time.Second
	// noneFor is how long nobody may wait between two hooks of a session.
	noneFor = 1500 * time.Millisecond
	// handsWait is how long a hook may have a message in its hands: it prints and
	// syncs one file.
	handsWait = 10 * time.Second
	// mailEvery is how often the mailbox is looked at meanwhile.
	mailEvery = 20 * time.Millisecond
)

// message brings a person's message to a session: typed into its pane when that
// is at its prompt, else by its mailbox. Neither its text nor a part of it gets
// into a detail.
func (d *Doer) message(ctx context.Context, c record.Claim) record.Result {
	m := d.mail(c)
	if r, over := m.earlier(ctx); over {
		return r
	}
	meaning := session.Message
	if c.AsCommand {
		meaning = session.Command
	}
	text, unfit := session.Prepare(c.Text, meaning)
	if unfit != nil {
		refused := record.Result{State: record.RequestRefused, Detail: unfit.Error()}
		if waits, err := m.box.Waits(); c.AsCommand || !waits || err != nil {
			return refused
		}
		return m.leave(ctx, refused, session.Gate{}) // what can't be typed can be read
	}
	said, err := d.Desk.Say(ctx, c.Session.Session, text, d.begin(c, "typed"))
	switch {
	case err != nil:
		return failed("%v", err)
	case !said.Typed && c.AsCommand:
		return closed(said.Gate)
	case !said.Typed && (said.Gate.Reason == session.Twice || said.Gate.Reason == session.Continued):
		return closed(said.Gate)
	case !said.Typed:
		return m.leave(ctx, closed(said.Gate), said.Gate)
	case said.Seen:
		return record.Result{State: record.RequestDelivered, Detail: "in pane " + said.Gate.PaneID}
	case said.Err != nil:
		return failed("unknown, typed maybe: %v", said.Err)
	}
	return failed("typed, not seen to arrive; look at pane %s", said.Gate.PaneID)
}

// closed is the result of a message for which the gate was not open.
func closed(g session.Gate) record.Result {
	r := record.Result{State: record.RequestRefused, Detail: g.Why}
	switch {
	case g.Answer == session.Busy:
		r.State = record.ResultBusy
	case g.Reason == session.Elsewhere, g.Reason == session.Background:
		r.State = record.ResultBusy // it runs, and may have a hook that waits later
	}
	return r
}

// noHook is a result's detail where a hook that waits would help.
func noHook(why string, g session.Gate) string {
	if g.Reason == session.Elsewhere || g.Reason == session.Background {
		return why + "; no hook of it waits for messages now: shinstall hooks sets that up, from its next turn on"
	}
	return why
}

// mail is a message on its way through a session's mailbox.
type mail struct {
	d     *Doer
	c     record.Claim
	box   mailbox.Box
	proof *proof
}

func (d *Doer) mail(c record.Claim) *mail {
	return &mail{
		d: d, c: c, box: mailbox.Box{Dir: d.Dir, Session: c.Session.Session},
		proof: &proof{home: d.Desk.Home, session: c.Session.Session, cwd: c.Session.Cwd, id: c.ID},
	}
}

// earlier takes up what an earlier process, or an earlier try, left behind. over
// is false when nothing was given, and nothing lies there any more.
func (m *mail) earlier(ctx context.Context) (r record.Result, over bool) {
	mark, given, err := m.takeBack(ctx)
	switch {
	case err != nil:
		return unclear(err), true
	case given:
		if err := m.d.begin(m.c, mailed)(); err != nil { // its result must be kept
			return failed("%v", err), true
		}
		return m.arrives(ctx, mark), true
	}
	return r, false
}

// leave leaves the message in the mailbox and waits until it was given. Otherwise
// it takes it back again, and the result is the one that the pane had, unless
// the session is over.
func (m *mail) leave(ctx context.Context, otherwise record.Result, g session.Gate) record.Result {
	text, err := session.Prepare(m.c.Text, session.Letter)
	if err != nil {
		return record.Result{State: record.RequestRefused, Detail: err.Error()}
	}
	if waits, err := m.armed(ctx); err != nil || !waits {
		if err != nil {
			return failed("%v", err)
		}
		otherwise.Detail = noHook(otherwise.Detail, g)
		return otherwise
	}
	m.proof.skip()
	if err := m.d.begin(m.c, mailed)(); err != nil {
		return failed("%v", err)
	}
	now := m.d.Now()
	err = m.box.Put(mailbox.Letter{ID: m.c.ID, Text: text, Sent: m.sent(now), From: m.from(), Until: record.At(now.Add(countFor))})
	if err != nil {
		return failed("%v", err)
	}
	nobody, err := m.lies(ctx, now.Add(lieFor))
	if err != nil {
		return failed("%v", err)
	}
	mark, given, err := m.takeBack(ctx)
	switch {
	case err != nil:
		return unclear(err)
	case given:
		return m.arrives(ctx, mark)
	case nobody:
		return m.left(ctx)
	}
	return busyMail(otherwise.Detail)
}

// busyMail is the result of a message that a session's hook waits for, and that
// Claude Code can't take now.
func busyMail(why string) record.Result {
	return record.Result{State: record.ResultBusy, Detail: why + "; its mailbox gives it when it is at its prompt"}
}

// left is the result of a message whose session had a hook that waited, and has
// none any more.
func (m *mail) left(ctx context.Context) record.Result {
	where, err := m.d.Desk.Running(ctx, m.c.Session.Session)
	switch {
	case err != nil:
		return record.Result{State: record.ResultBusy, Detail: err.Error()}
	case where == "":
		return record.Result{State: record.RequestRefused, Detail: "it ended before it took the message, which was taken back"}
	}
	return record.Result{State: record.ResultBusy, Detail: "its hook that waits for messages has just ended; it runs " + where}
}

// armed reports whether a hook of the session waits, or begins to in a moment.
// The mailbox of a session that runs nowhere is not waited for.
func (m *mail) armed(ctx context.Context) (bool, error) {
	for end := m.d.Now().Add(armWait); ; m.d.Desk.Pause(ctx, mailEvery) {
		waits, err := m.box.Waits()
		if waits || err != nil {
			return waits, err
		}
		if ctx.Err() != nil || !m.d.Now().Before(end) || !m.box.Known() {
			return false, nil
		}
	}
}

// lies waits while the message lies in the mailbox. nobody reports that no hook
// waits there any more.
func (m *mail) lies(ctx context.Context, end time.Time) (nobody bool, err error) {
	since := m.d.Now()
	for ; m.box.Lies(m.c.ID) && ctx.Err() == nil && m.d.Now().Before(end); m.d.Desk.Pause(ctx, mailEvery) {
		waits, err := m.box.Waits()
		switch {
		case err != nil:
			return false, err
		case waits:
			since = m.d.Now()
		case m.d.Now().Sub(since) >= noneFor:
			return true, nil
		}
	}
	return false, nil
}

// takeBack takes the message back, or finds out that it was given.
func (m *mail) takeBack(ctx context.Context) (mark mailbox.Mark, given bool, err error) {
	for end := m.d.Now().Add(handsWait); ; m.d.Desk.Pause(ctx, mailEvery) {
		held := m.box.InHands(m.c.ID)
		if mark, given, err = m.box.Given(m.c.ID); given || err != nil {
			return mark, given, err
		}
		back, err := m.box.Withdraw(m.c.ID)
		if back || err != nil {
			return mark, false, err
		}
		if !held && !m.box.InHands(m.c.ID) && !m.box.Lies(m.c.ID) {
			return m.box.Given(m.c.ID) // it is nowhere, if no hook gave it in between
		}
		switch {
		case ctx.Err() != nil:
			return mark, false, errLater
		case !m.d.Now().Before(end):
			return mark, false, errInHands
		}
	}
}

var (
	// errInHands says that a hook took a message, and neither gave it nor ended.
	errInHands = errors.New("unknown, given maybe: its hook took it, and does not say what became of it")
	// errLater says the same of a hook that the poll's end left no time.
	errLater = errors.New("its hook has just taken it")
)

// unclear is the result of a message that can't be taken back now. It is looked
// for again when its poll was only to end.
func unclear(err error) record.Result {
	if errors.Is(err, errLater) {
		return record.Result{State: record.ResultBusy, Detail: err.Error()}
	}
	return failed("%v", err)
}

// sent is when its owner sent the message.
func (m *mail) sent(now time.Time) record.Time {
	if m.c.AskedAt.IsZero() { // a hub that does not tell
		return record.At(now)
	}
	return m.c.AskedAt
}

// from is what the message came through, for the model.
func (m *mail) from() string {
	conf, err := m.d.Config()
	if err != nil {
		return ""
	}
	u, err := url.Parse(conf.ServerURL)
	if err != nil || u.Host == "" {
		return ""
	}
	return "the hub at " + u.Host
}

// Sweep takes back messages that a killed process left in mailboxes.
func (d *Doer) Sweep() error { return mailbox.Sweep(d.Dir, d.Now(), keepEntries) }
