package revive

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/claude/transcript"
	"sessionhub/lib/record"
)

// Session is a background session as its files and processes tell of it.
type Session struct {
	ID       string
	Short    string // of its job
	Name     string
	Cwd      string
	State    string
	Detail   string
	Needs    string
	Updated  time.Time            // when its state was written
	PIDs     []int                // of its processes that live
	Attended string               // who holds it on a screen, "" for nobody
	DirGone  bool                 // Cwd does not exist
	Unlisted bool                 // Claude Code does not list it
	Unread   string               // why its transcript can't be read, "" when it can
	Error    *transcript.APIError // that ended its last turn; nil when none did
	Spoke    bool                 // its transcript has messages
	Progress time.Time            // when the model last said something
}

// Limits are the circuit breakers.
type Limits struct {
	MaxAttempts int // resumes of a session for one stop
	MaxPerDay   int // resumes of all sessions in 24 hours
	MaxPerRun   int // resumes in one pass; 0 is all
	// KeepsID says that this Claude Code resumes a session under its own id
	// when its process was stopped first, as 2.1.332 does. An older one makes
	// another session, so only a session whose process is gone can be resumed.
	KeepsID bool
}

// DefaultLimits are those of the seed.
func DefaultLimits() Limits { return Limits{MaxAttempts: 1, MaxPerDay: 50} }

// What is decided of a session.
const (
	Resume = "resume"
	Wait   = "wait" // it will be resumed
	Leave  = "leave"
)

// Decision is what is decided of a session, and why.
type Decision struct {
	Session  string       `json:"session"`
	Short    string       `json:"short"`
	Name     string       `json:"name"`
	Cwd      string       `json:"cwd"`
	Decision string       `json:"decision"`
	Why      string       `json:"why"`
	ResetAt  *record.Time `json:"reset_at,omitempty"` // what it waits for, or waited for
	Resumed  *bool        `json:"resumed,omitempty"`  // whether a resume was carried out
	Error    string       `json:"error,omitempty"`    // why it was not
	Drift    string       `json:"drift,omitempty"`    // a text that was not understood

	outage  bool
	keepsID bool
	stopped bool
	pids    []int
	since   time.Time // of the stop
	updated time.Time // state.json, when it was read
}

// Status is what waits for what, and what was done lately.
type Status struct {
	Sessions   []Decision   `json:"sessions"` // those that are stopped
	Resumed    int          `json:"resumed"`  // in the last 24 hours
	MaxPerDay  int          `json:"max_per_day"`
	LastResume *record.Time `json:"last_resume,omitempty"`
	Outage     *Breaker     `json:"outage,omitempty"`
	Drift      []string     `json:"drift,omitempty"`
}

// margin is how long after a stated reset a session is resumed: the service
// answers "limit" for some time after it (field report A05), and stated times
// are rounded down to the minute.
const margin = time.Minute

// Decide decides what to do with the background sessions at now, in whose zone
// a text without one is read. The oldest stop comes first.
func Decide(sessions []Session, l Ledger, now time.Time, lim Limits) []Decision {
	list := make([]Decision, 0, len(sessions))
	owner := newest(sessions)
	for _, s := range sessions {
		d := decide(s, l, now, lim)
		if d.Decision != Leave && owner[s.ID] != s.Short {
			d = d.leave("a newer job has the same session")
		}
		list = append(list, d)
	}
	slices.SortStableFunc(list, func(a, b Decision) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.Short, b.Short))
	})
	shareOut(list, l, now, lim)
	return list
}

// newest names, for each session, its newest job.
func newest(sessions []Session) map[string]string {
	job, at := map[string]string{}, map[string]time.Time{}
	for _, s := range sessions {
		if _, ok := job[s.ID]; !ok || s.Updated.After(at[s.ID]) {
			job[s.ID], at[s.ID] = s.Short, s.Updated
		}
	}
	return job
}

// shareOut holds the resumes to what all sessions share: the caps, and one
// trial at a time while an outage lasts.
func shareOut(list []Decision, l Ledger, now time.Time, lim Limits) {
	run, trials := 0, 0
	today := 0
	for _, t := range l.Resumes {
		if t.After(now.Add(-day)) {
			today++
		}
	}
	for i := range list {
		d := &list[i]
		if d.Decision != Resume {
			continue
		}
		switch {
		case d.outage && l.Outage != nil && trials > 0:
			d.wait("the outage: another session tries first", l.Outage.Next.Time)
		case lim.MaxPerRun > 0 && run >= lim.MaxPerRun:
			d.wait(fmt.Sprintf("%d are resumed in one run at most", lim.MaxPerRun), time.Time{})
		case today+run >= lim.MaxPerDay:
			d.wait(fmt.Sprintf("%d were resumed in 24 hours", today+run), time.Time{})
		default:
			run++
			if d.outage {
				trials++
			}
		}
	}
}

func decide(s Session, l Ledger, now time.Time, lim Limits) Decision {
	d := Decision{Session: s.ID, Short: s.Short, Name: s.Name, Cwd: s.Cwd, pids: s.PIDs, since: s.Updated, updated: s.Updated, keepsID: lim.KeepsID}
	intent := l.intent(s.ID)
	d.stopped = s.State == claude.JobBlocked || s.State == claude.JobStopped && intent != nil
	if why := staysAsItIs(s, intent, lim); why != "" {
		return d.leave(why)
	}
	var c Cause
	if intent != nil && s.State == claude.JobStopped {
		c = Cause{Class: Limit, What: intent.Why}
		if intent.Outage {
			c.Class = Outage
		}
		if intent.Reset != nil {
			c.Reset = intent.Reset.Time
		}
	} else {
		c, d.since = causeOf(s, now.Location())
	}
	d.Drift = c.Drift
	switch c.Class {
	case Native, Person:
		return d.leave(c.What)
	case Unknown:
		if c.Drift != "" {
			return d.leave("its text is not understood")
		}
		return d.leave("it waits for its person")
	}
	if s.DirGone {
		return d.leave("its directory is gone")
	}
	if n := len(l.Attempts[s.ID]); n >= lim.MaxAttempts {
		return d.leave(fmt.Sprintf("it was resumed %s without any effect", times(n)))
	}
	d.outage = c.Class == Outage
	d.Decision, d.Why = Resume, c.What
	if !c.Reset.IsZero() {
		at := record.At(c.Reset)
		d.ResetAt = &at
	}
	if until := waitUntil(s, c, l); until.After(now) {
		d.Decision = Wait
		if d.ResetAt == nil || until.After(d.ResetAt.Add(2*margin)) {
			at := record.At(until)
			d.ResetAt = &at
		}
	}
	return d
}

// staysAsItIs tells why a session is none of those that can be resumed; "" when
// it may be one.
func staysAsItIs(s Session, intent *Intent, lim Limits) string {
	switch {
	case s.ID == "":
		return "its session's id is not known"
	case s.State == claude.JobStopped && intent == nil:
		return "it was stopped"
	case s.State != claude.JobBlocked && s.State != claude.JobStopped:
		return "it is " + cmp.Or(s.State, "in no state that is known")
	case s.Unread != "":
		return "its transcript can't be read: " + s.Unread
	case s.Unlisted:
		return "Claude Code does not list it"
	case s.Attended != "":
		return s.Attended
	case s.State == claude.JobBlocked && s.Spoke && s.Error == nil:
		return "it went on, and waits for its person"
	case s.State == claude.JobStopped && s.Progress.After(intent.At.Time):
		return "it went on, and was stopped"
	case len(s.PIDs) > 0 && !lim.KeepsID:
		return "its process lives, and this Claude Code can't take it over"
	}
	return vetoed(s)
}

// vetoed tells that a text names a person, which wins over every cause. The
// text of the API's own error is no word of a person.
func vetoed(s Session) string {
	if s.Error != nil && straight(s.Error.Text) == straight(s.Detail) {
		return ""
	}
	if WaitsForPerson(s.Detail) || s.Error == nil && WaitsForPerson(s.Needs) {
		return "it waits for its person"
	}
	return ""
}

// causeOf is what stopped a blocked session, and when. Where there is no
// transcript, what state.json says must do.
func causeOf(s Session, local *time.Location) (Cause, time.Time) {
	if s.Error != nil {
		e := *s.Error
		e.At = e.At.In(local)
		return CauseOf(e), e.At
	}
	told := s.Updated.In(local)
	c := CauseOfText(s.Detail, told)
	if c.Class == Unknown && c.Drift == "" {
		c = CauseOfText(s.Needs, told)
	}
	return c, told
}

// waitUntil is when a session may be resumed.
func waitUntil(s Session, c Cause, l Ledger) time.Time {
	var until time.Time
	if !c.Reset.IsZero() {
		until = c.Reset.Add(margin)
	}
	if m := l.Sessions[s.ID]; m != nil && m.NotBefore != nil && m.NotBefore.After(until) {
		until = m.NotBefore.Time
	}
	if c.Class == Outage && l.Outage != nil && l.Outage.Next.After(until) {
		until = l.Outage.Next.Time
	}
	return until
}

func (d Decision) leave(why string) Decision {
	d.Decision, d.Why = Leave, why
	return d
}

func (d *Decision) wait(why string, until time.Time) {
	d.Decision, d.Why = Wait, d.Why+"; "+why
	if !until.IsZero() {
		at := record.At(until)
		d.ResetAt = &at
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Stopped tells whether the session is blocked, or stopped in the middle of a
// resume: one that works, is done or was stopped by hand is not.
func (d Decision) Stopped() bool { return d.stopped }
