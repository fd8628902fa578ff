package revive

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/record"
)

// Ledger is what was done so far, kept in revive.json.
type Ledger struct {
	// Attempts are the resumes of a session since it last made progress or was
	// refused anew.
	Attempts map[string][]record.Time `json:"attempts"`
	Resumes  []record.Time            `json:"resumes"` // of all sessions, in the last 24 hours
	Sessions map[string]*Memory       `json:"sessions,omitempty"`
	Outage   *Breaker                 `json:"outage,omitempty"` // nil while none is known
	Drift    map[string]record.Time   `json:"drift,omitempty"`  // when a text was last told
}

// Memory is what is known of a session besides its attempts.
type Memory struct {
	Refusals  int          `json:"refusals,omitempty"` // of resumes, one after another
	Refused   *record.Time `json:"refused,omitempty"`  // last
	NotBefore *record.Time `json:"not_before,omitempty"`
	Resumed   *record.Time `json:"resumed,omitempty"` // last
	Why       string       `json:"why,omitempty"`
	Outage    bool         `json:"outage,omitempty"` // what it was resumed from
	Intent    *Intent      `json:"intent,omitempty"`
}

// Intent is a resume that was begun: it is written before the session is
// stopped, as the stop wipes out why it was blocked.
type Intent struct {
	At     record.Time  `json:"at"`
	Why    string       `json:"why"`
	Outage bool         `json:"outage,omitempty"`
	Reset  *record.Time `json:"reset_at,omitempty"`
}

// Breaker is the memory of an outage, which all sessions share: while it is
// open, one resume at a time tries whether it is over.
type Breaker struct {
	Fails int         `json:"fails"`
	Since record.Time `json:"since"`
	Next  record.Time `json:"next"`
}

// The waits after a refusal: 1, 2, 4 … 60 minutes, each up to a fifth longer
// or shorter, so that machines do not come back at once (field report A09).
const (
	firstWait  = time.Minute
	longWait   = time.Hour
	jitterPart = 0.2
)

// backoff is the wait after the nth refusal. jitter is between -1 and 1.
func backoff(n int, jitter float64) time.Duration {
	d := longWait
	if n < 1 {
		return 0
	}
	if n <= 6 {
		d = firstWait << (n - 1)
	}
	return time.Duration(float64(d) * (1 + jitterPart*jitter))
}

// The ages at which the ledger forgets.
const (
	day        = 24 * time.Hour
	memoryAge  = 30 * day
	intentAge  = 7 * day
	attemptAge = 30 * day
)

func (l *Ledger) memory(session string) *Memory {
	if l.Sessions == nil {
		l.Sessions = map[string]*Memory{}
	}
	if l.Sessions[session] == nil {
		l.Sessions[session] = &Memory{}
	}
	return l.Sessions[session]
}

func (l *Ledger) intent(session string) *Intent {
	if m := l.Sessions[session]; m != nil {
		return m.Intent
	}
	return nil
}

// lastAttempt is when a session was last resumed; zero when it was not.
func (l *Ledger) lastAttempt(session string) time.Time {
	if m := l.Sessions[session]; m != nil && m.Resumed != nil {
		return m.Resumed.Time
	}
	if a := l.Attempts[session]; len(a) > 0 {
		return a[len(a)-1].Time
	}
	return time.Time{}
}

// Observe takes in what became of the resumes so far. A session that the model
// answered since has made progress: its history is over, and so is an outage.
// One that was stopped anew without that was refused: the attempt counts
// neither as failed nor as progress, but each refusal makes the next wait
// longer (field report A05). jitter gives numbers between -1 and 1.
func (l *Ledger) Observe(sessions []Session, now time.Time, jitter func() float64) {
	refused, since := false, time.Time{}
	for _, s := range sessions {
		if l.Outage != nil && s.Progress.After(l.Outage.Since.Time) {
			l.Outage = nil
		}
		last := l.lastAttempt(s.ID)
		if m := l.Sessions[s.ID]; m != nil && m.Refused != nil && m.Refused.After(last) {
			last = m.Refused.Time
		}
		switch {
		case last.IsZero():
		case s.Progress.After(last):
			delete(l.Attempts, s.ID)
			delete(l.Sessions, s.ID)
		case s.Error != nil && s.Error.At.After(last):
			outage := l.refuse(s, jitter)
			if outage && s.Error.At.After(since) {
				refused, since = true, s.Error.At
			}
		}
		// It runs again, whoever did it; or it is blocked as before, as the stop
		// failed: a later one is its person's.
		if s.State != claude.JobStopped && l.intent(s.ID) != nil {
			l.memory(s.ID).Intent = nil
		}
	}
	if refused {
		l.trip(since, jitter())
	}
	l.forget(now)
}

// refuse notes that a resumed session was stopped anew, and tells whether by
// an outage.
func (l *Ledger) refuse(s Session, jitter func() float64) (outage bool) {
	m := l.memory(s.ID)
	delete(l.Attempts, s.ID)
	m.Resumed, m.Intent = nil, nil
	m.Refusals++
	at := record.At(s.Error.At)
	m.Refused = &at
	outage = CauseOf(*s.Error).Class == Outage
	next := record.At(s.Error.At)
	if !outage { // an outage's wait is the breaker's
		next = record.At(s.Error.At.Add(backoff(m.Refusals, jitter())))
	}
	m.NotBefore = &next
	return outage
}

// trip opens the breaker, or makes its wait longer.
func (l *Ledger) trip(at time.Time, jitter float64) {
	if l.Outage == nil {
		l.Outage = &Breaker{Since: record.At(at)}
	}
	l.Outage.Fails++
	l.Outage.Next = record.At(at.Add(backoff(l.Outage.Fails, jitter)))
}

// forget drops what is too old to matter. Times in the future are of a clock
// that was wrong, and go, too.
func (l *Ledger) forget(now time.Time) {
	tooOld := func(age time.Duration) func(record.Time) bool {
		return func(t record.Time) bool { return t.Before(now.Add(-age)) || t.After(now.Add(skew)) }
	}
	l.Resumes = slices.DeleteFunc(l.Resumes, tooOld(day))
	for id, a := range l.Attempts {
		if a = slices.DeleteFunc(a, tooOld(attemptAge)); len(a) == 0 {
			delete(l.Attempts, id)
		} else {
			l.Attempts[id] = a
		}
	}
	for id, m := range l.Sessions {
		if m.Intent != nil && m.Intent.At.After(now.Add(skew)) { // the session is stopped all the same
			m.Intent.At = record.At(now)
		}
		if m.Intent != nil && tooOld(intentAge)(m.Intent.At) {
			m.Intent = nil
		}
		if m.Resumed != nil && tooOld(memoryAge)(*m.Resumed) {
			m.Resumed = nil
		}
		if m.NotBefore != nil && (m.NotBefore.Before(now.Add(-memoryAge)) || m.NotBefore.After(now.Add(2*longWait))) {
			m.NotBefore = nil
		}
		if m.Intent == nil && m.Resumed == nil && m.NotBefore == nil {
			delete(l.Sessions, id)
		}
	}
	if b := l.Outage; b != nil && (b.Since.Before(now.Add(-day)) && b.Next.Before(now.Add(-day)) || b.Next.After(now.Add(2*longWait))) {
		l.Outage = nil
	}
	for text, at := range l.Drift {
		if tooOld(memoryAge)(at) {
			delete(l.Drift, text)
		}
	}
}

// Intend notes that a session is about to be resumed.
func (l *Ledger) Intend(d Decision, now time.Time) {
	m := l.memory(d.Session)
	if m.Intent == nil { // else the first one's reason stands: the stop wiped it out
		m.Intent = &Intent{At: record.At(now), Why: d.Why, Outage: d.outage, Reset: d.ResetAt}
	}
}

// Launched notes that a session was resumed, or may have been: then what it was
// stopped for is still owed, and known. While an outage is known, the next one
// waits until this one shows what comes of it.
func (l *Ledger) Launched(d Decision, now time.Time, unsure bool, jitter float64) {
	at := record.At(now)
	if l.Attempts == nil {
		l.Attempts = map[string][]record.Time{}
	}
	l.Attempts[d.Session] = append(l.Attempts[d.Session], at)
	l.Resumes = append(l.Resumes, at)
	m := l.memory(d.Session)
	m.Resumed, m.Why, m.Outage, m.NotBefore = &at, d.Why, d.outage, nil
	if !unsure {
		m.Intent = nil
	}
	if d.outage && l.Outage != nil {
		l.Outage.Next = record.At(now.Add(backoff(l.Outage.Fails, jitter)))
	}
}

// NewDrift notes the texts that are not understood and returns those that were
// not told in the last 24 hours.
func (l *Ledger) NewDrift(decisions []Decision, now time.Time) []string {
	var list []string
	for _, d := range decisions {
		if d.Drift == "" {
			continue
		}
		if last, ok := l.Drift[d.Drift]; ok && now.Sub(last.Time) < day && !last.After(now.Add(skew)) {
			continue
		}
		if l.Drift == nil {
			l.Drift = map[string]record.Time{}
		}
		l.Drift[d.Drift] = record.At(now)
		list = append(list, d.Drift)
	}
	return list
}

// Forget drops the history of a session, or of all with "". It returns how
// many sessions it forgot. A resume that was begun stays: the session may be
// stopped, and nothing else knows that it is to go on.
func (l *Ledger) Forget(session string) int {
	ids := map[string]bool{}
	for id := range l.Attempts {
		ids[id] = true
	}
	for id := range l.Sessions {
		ids[id] = true
	}
	if session != "" && !ids[session] {
		return 0
	}
	if session != "" {
		ids = map[string]bool{session: true}
	} else {
		l.Resumes, l.Outage, l.Drift = nil, nil, nil
	}
	for id := range ids {
		delete(l.Attempts, id)
		if owed := l.intent(id); owed != nil {
			l.Sessions[id] = &Memory{Intent: owed}
		} else {
			delete(l.Sessions, id)
		}
	}
	return len(ids)
}

// Known are the sessions that the ledger has a history of, whose id begins
// with prefix.
func (l *Ledger) Known(prefix string) []string {
	var list []string
	add := func(id string) {
		if len(id) >= len(prefix) && id[:len(prefix)] == prefix && !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	for id := range l.Attempts {
		add(id)
	}
	for id := range l.Sessions {
		add(id)
	}
	slices.Sort(list)
	return list
}

func (l *Ledger) empty() bool {
	return len(l.Attempts) == 0 && len(l.Resumes) == 0 && len(l.Sessions) == 0 && l.Outage == nil && len(l.Drift) == 0
}

// check refuses a ledger that somebody's hand has broken.
func (l *Ledger) check() error {
	for id := range l.Attempts {
		if id == "" || filepath.Base(id) != id {
			return fmt.Errorf("attempts has the session %q", id)
		}
	}
	for id, m := range l.Sessions {
		if m == nil {
			return fmt.Errorf("sessions has nothing of %q", id)
		}
	}
	return nil
}
