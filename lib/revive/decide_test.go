package revive

import (
	"strings"
	"testing"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/claude/transcript"
	"sessionhub/lib/record"
)

const five = "You've hit your 5-hour limit · resets 1am (Europe/Stockholm)"

// at is a moment of the night of 30 November 2026 in Stockholm; "+" is the
// next day.
func at(t testing.TB, clock string) time.Time {
	t.Helper()
	clock, next := strings.CutPrefix(clock, "+")
	day := "2026-11-30 "
	if next {
		day = "2026-12-01 "
	}
	return stockholm(t, day+clock+":00")
}

// limited is a session that the 5-hour limit stopped at 22:13, until 1:00.
func limited(t testing.TB) Session {
	told := at(t, "22:13")
	return Session{
		ID: "f57081b5-862c-4c19-a678-d96bc355d660", Short: "f57081b5", Name: "nightly", Cwd: "/home/dev/src/app",
		State: claude.JobBlocked, Detail: five, Needs: "rate limited — wait and retry · " + five, Updated: told, Spoke: true,
		Error: &transcript.APIError{Kind: "rate_limit", Status: 429, Limit: true, LimitType: "five_hour", ResetsAt: at(t, "+01:00"), Text: five, At: told},
	}
}

// dropped is a session that the network stopped at a time.
func dropped(id string, when time.Time) Session {
	const text = "API Error: Connection dropped (ECONNRESET). Check the gateway set in ANTHROPIC_BASE_URL, then try again."
	return Session{
		ID: id, Short: id, Cwd: "/home/dev/src/app", State: claude.JobBlocked, Detail: text, Updated: when, Spoke: true,
		Error: &transcript.APIError{Kind: "server_error", Text: text, At: when},
	}
}

func modern() Limits {
	l := DefaultLimits()
	l.KeepsID = true
	return l
}

func one(t testing.TB, s Session, l Ledger, now time.Time, lim Limits) Decision {
	t.Helper()
	list := Decide([]Session{s}, l, now, lim)
	if len(list) != 1 {
		t.Fatalf("%d decisions", len(list))
	}
	return list[0]
}

func TestDecide(t *testing.T) {
	for _, c := range []struct {
		name   string
		now    string
		change func(s *Session)
		limits func(l *Limits)
		want   string
		why    string
	}{
		{name: "before the reset", now: "+00:30", want: Wait, why: "5-hour limit"},
		{name: "at the reset, within the margin", now: "+01:00", want: Wait},
		{name: "a minute after the reset", now: "+01:01", want: Resume, why: "5-hour limit"},
		{name: "the transcript's reset is surer than the text's", now: "+01:01", change: func(s *Session) { s.Error.ResetsAt = at(t, "+02:00") }, want: Wait},
		{name: "the text is used when the API tells no reset", now: "+00:59", change: func(s *Session) { s.Error.ResetsAt = time.Time{} }, want: Wait},
		{name: "the text, after it", now: "+01:02", change: func(s *Session) { s.Error.ResetsAt = time.Time{} }, want: Resume},
		{name: "no reset told: the next run", now: "22:15", change: func(s *Session) {
			s.Error.ResetsAt, s.Error.Text, s.Detail = time.Time{}, "You've hit your 5-hour limit", "You've hit your 5-hour limit"
		}, want: Resume},
		{name: "a reset beyond the window is held to it", now: "+03:15", change: func(s *Session) { s.Error.ResetsAt = at(t, "+22:00") }, want: Resume},
		{name: "without a transcript, the file's text and time", now: "+01:02", change: noTranscript, want: Resume},
		{name: "without a transcript, before", now: "+00:50", change: noTranscript, want: Wait},
		{name: "the old shape has no needs", now: "+01:02", change: func(s *Session) { noTranscript(s); s.Needs = "" }, want: Resume},
		{name: "working", now: "+01:02", change: func(s *Session) { s.State = "working" }, want: Leave, why: "it is working"},
		{name: "done", now: "+01:02", change: func(s *Session) { s.State = "done" }, want: Leave, why: "it is done"},
		{name: "failed", now: "+01:02", change: func(s *Session) { s.State = "failed" }, want: Leave, why: "it is failed"},
		{name: "stopped by hand", now: "+01:02", change: func(s *Session) { s.State, s.Detail = claude.JobStopped, "stopped" }, want: Leave, why: "it was stopped"},
		{name: "made progress since", now: "+01:02", change: func(s *Session) { s.Error, s.Progress = nil, at(t, "+01:01") }, want: Leave, why: "it went on"},
		{name: "in a terminal", now: "+01:02", change: func(s *Session) { s.Attended = "it runs in a terminal" }, want: Leave, why: "terminal"},
		{name: "the directory is gone", now: "+01:02", change: func(s *Session) { s.DirGone = true }, want: Leave, why: "its directory is gone"},
		{name: "alive", now: "+01:02", change: func(s *Session) { s.PIDs = []int{42} }, want: Resume},
		{name: "alive, with an older Claude Code", now: "+01:02", change: func(s *Session) { s.PIDs = []int{42} }, limits: func(l *Limits) { l.KeepsID = false }, want: Leave, why: "can't take it over"},
		{name: "dead, with an older Claude Code", now: "+01:02", limits: func(l *Limits) { l.KeepsID = false }, want: Resume},
		{name: "Claude Code does not list it", now: "+01:02", change: func(s *Session) { s.Unlisted = true }, want: Leave, why: "does not list"},
		{name: "no id", now: "+01:02", change: func(s *Session) { s.ID = "" }, want: Leave, why: "id is not known"},
		{name: "a question", now: "+01:02", change: func(s *Session) {
			s.Error, s.Spoke, s.Detail, s.Needs = nil, false, "Which database should I use?", "Which database should I use?"
		}, want: Leave, why: "waits for its person"},
		{name: "the veto wins over a limit in the same text", now: "+01:02", change: func(s *Session) {
			noTranscript(s)
			s.Detail = "Waiting for your decision: you've hit your 5-hour limit · resets 1am"
		}, want: Leave, why: "waits for its person"},
		{name: "input needed", now: "+01:02", change: func(s *Session) { noTranscript(s); s.Detail = "Input needed; usage limit reached" }, want: Leave, why: "person"},
		{name: "permission", now: "+01:02", change: func(s *Session) { noTranscript(s); s.Detail = "permission to run; API error" }, want: Leave, why: "person"},
		{name: "login", now: "+01:02", change: func(s *Session) {
			s.Error = &transcript.APIError{Kind: "authentication_failed", Status: 401, Text: "API Error: 401 OAuth token has expired", At: s.Updated}
		}, want: Leave, why: "log in"},
		{name: "credit", now: "+01:02", change: func(s *Session) {
			s.Error = &transcript.APIError{Kind: "billing_error", Status: 400, Text: "Credit balance is too low", At: s.Updated}
		}, want: Leave, why: "pay"},
		{name: "a spend limit that only an admin can raise", now: "+02:00", change: func(s *Session) {
			s.Error.Text = "You've hit your individual spend limit · ask your admin to raise it · your 5-hour limit resets 12am"
		}, want: Leave, why: "pay"},
		{name: "too long", now: "+01:02", change: func(s *Session) {
			s.Error = &transcript.APIError{Kind: "invalid_request", Status: 400, Text: "Prompt is too long", At: s.Updated}
		}, want: Leave, why: "refuses"},
		{name: "an outage: the next run", now: "22:14", change: func(s *Session) { *s = dropped("a", at(t, "22:13")) }, want: Resume, why: "network"},
		{name: "a passing 429", now: "22:14", change: func(s *Session) {
			s.Error = &transcript.APIError{Kind: "rate_limit", Status: 429, Text: "API Error: Request rejected (429)", At: s.Updated}
		}, want: Resume, why: "rate limit"},
		{name: "a wording that is not understood", now: "+01:02", change: func(s *Session) { noTranscript(s); s.Detail, s.Needs = "Your quota took a holiday", "" }, want: Leave, why: "not understood"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, lim := limited(t), modern()
			if c.change != nil {
				c.change(&s)
			}
			if c.limits != nil {
				c.limits(&lim)
			}
			d := one(t, s, Ledger{}, at(t, c.now), lim)
			if d.Decision != c.want || !strings.Contains(d.Why, c.why) {
				t.Errorf("%s: %s, want %s: %s", d.Decision, d.Why, c.want, c.why)
			}
			if d.Decision == Wait && (d.ResetAt == nil || !d.ResetAt.After(at(t, "22:13"))) {
				t.Errorf("it waits for nothing: %+v", d)
			}
		})
	}
}

func noTranscript(s *Session) { s.Error, s.Spoke = nil, false }

func TestOldestStopFirstAndCaps(t *testing.T) {
	var list []Session
	for _, id := range []string{"cccc", "aaaa", "bbbb"} {
		list = append(list, dropped(id, at(t, map[string]string{"aaaa": "21:00", "bbbb": "20:00", "cccc": "22:00"}[id])))
	}
	now := at(t, "23:00")
	lim := modern()
	lim.MaxPerRun = 2
	got := Decide(list, Ledger{}, now, lim)
	if got[0].Session != "bbbb" || got[0].Decision != Resume || got[1].Decision != Resume || got[2].Session != "cccc" || got[2].Decision != Wait {
		t.Errorf("per run: %+v", got)
	}
	lim = modern()
	lim.MaxPerDay = 3
	l := Ledger{Resumes: []record.Time{record.At(now.Add(-25 * time.Hour)), record.At(now.Add(-23 * time.Hour)), record.At(now.Add(-time.Hour))}}
	got = Decide(list, l, now, lim)
	if got[0].Decision != Resume || got[1].Decision != Wait || !strings.Contains(got[1].Why, "3 were resumed in 24 hours") {
		t.Errorf("per day: %+v", got)
	}
}

// Field report A04: a text that stays where it is never resumes a session
// again and again, and a conversation is resumed once, however many jobs have it.
func TestA04AStopIsResumedOnce(t *testing.T) {
	s, l, now := limited(t), Ledger{}, at(t, "+01:02")
	l.Launched(one(t, s, l, now, modern()), now, false, 0)
	for range 100 {
		now = now.Add(15 * time.Minute)
		l.Observe([]Session{s}, now, still)
		if d := one(t, s, l, now, modern()); d.Decision != Leave || !strings.Contains(d.Why, "once without any effect") {
			t.Fatalf("at %s: %+v", now, d)
		}
	}
	old, young := limited(t), limited(t)
	old.Short, old.Updated = "00000000", old.Updated.Add(-time.Hour)
	for _, d := range Decide([]Session{old, young}, Ledger{}, at(t, "+01:02"), modern()) {
		if want := map[string]string{"00000000": Leave, "f57081b5": Resume}[d.Short]; d.Decision != want {
			t.Errorf("%s: %s, want %s", d.Short, d.Decision, want)
		}
	}
}

func still() float64 { return 0 }

// Field report A05: minutes after its reset the service still says "limit". The
// session waits anew, each time longer, and is not given up. Field report A03:
// a limit's answer to the resume itself is no failure.
func TestA05ASecondRefusalWaitsAnew(t *testing.T) {
	s, l := limited(t), Ledger{}
	now := at(t, "+01:02")
	var waits []time.Duration
	for range 8 {
		d := one(t, s, l, now, modern())
		if d.Decision != Resume {
			t.Fatalf("at %s: %+v", now, d)
		}
		l.Launched(d, now, false, 0)
		refused := now.Add(10 * time.Second)
		e := *s.Error
		e.At = refused // and the same reset, which is over
		s.Error, s.Updated = &e, refused
		l.Observe([]Session{s}, refused.Add(time.Second), still)
		d = one(t, s, l, refused.Add(time.Second), modern())
		if d.Decision != Wait {
			t.Fatalf("it is not put off: %+v", d)
		}
		now = d.ResetAt.Time
		waits = append(waits, now.Sub(refused).Round(time.Minute))
	}
	want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}
	for i := range want {
		if waits[i] != want[i]*time.Minute {
			t.Errorf("wait %d is %s, want %d minutes", i+1, waits[i], want[i])
		}
	}
	// A new reset in the refusal counts.
	e := *s.Error
	e.At, e.ResetsAt = now, now.Add(3*time.Hour)
	s.Error = &e
	if d := one(t, s, l, now.Add(time.Hour+time.Minute), modern()); d.Decision != Wait || !d.ResetAt.Equal(e.ResetsAt.UTC().Truncate(time.Millisecond)) {
		t.Errorf("the new reset: %+v", d)
	}
}

// Field report A06: Claude Code's own continuation, or a person, was faster.
// Field report A07: nothing is taken on trust: a session that did not go on is
// resumed.
func TestA06A07WhatWentOnIsLeftAlone(t *testing.T) {
	s, now := limited(t), at(t, "+01:02")
	s.PIDs = []int{42} // alive, and yet it does not go on
	if d := one(t, s, Ledger{}, now, modern()); d.Decision != Resume {
		t.Errorf("a session that waits for its reset: %+v", d)
	}
	s.Error, s.Progress = nil, now.Add(-20*time.Second)
	if d := one(t, s, Ledger{}, now, modern()); d.Decision != Leave {
		t.Errorf("a session that went on: %+v", d)
	}
}

func TestAttemptsBeginAnewWithProgress(t *testing.T) {
	s, l, now := limited(t), Ledger{}, at(t, "+01:02")
	l.Launched(one(t, s, l, now, modern()), now, false, 0)
	// It works, answers, and the next limit stops it.
	s.Progress = now.Add(time.Hour)
	e := *s.Error
	e.At, e.ResetsAt = now.Add(2*time.Hour), now.Add(4*time.Hour)
	s.Error = &e
	later := now.Add(5 * time.Hour)
	l.Observe([]Session{s}, later, still)
	if d := one(t, s, l, later, modern()); d.Decision != Resume || len(l.Attempts) != 0 {
		t.Errorf("%+v, attempts %v", d, l.Attempts)
	}
}

// The ledger's intent outlives the stop, which wipes out why a session was
// blocked; a person's stop is another thing.
func TestAResumeThatFailedAfterTheStopIsTriedAgain(t *testing.T) {
	s, l, now := limited(t), Ledger{}, at(t, "+01:02")
	l.Intend(one(t, s, l, now, modern()), now)
	s.State, s.Detail, s.Needs, s.Updated = claude.JobStopped, "stopped", "", now
	for range 3 { // a launch that fails is no attempt
		now = now.Add(15 * time.Minute)
		l.Observe([]Session{s}, now, still)
		d := one(t, s, l, now, modern())
		if d.Decision != Resume || d.Why != "5-hour limit" {
			t.Fatalf("%+v", d)
		}
		l.Intend(d, now)
	}
	working := s
	working.State = "working" // somebody resumed it by hand
	l.Observe([]Session{working}, now, still)
	if d := one(t, s, l, now, modern()); d.Decision != Leave {
		t.Errorf("stopped by hand after that: %+v", d)
	}
}

// Field report A09: an outage of hours is waited out with longer and longer
// waits, one session trying for all, and its end is taken up at once.
func TestA09AnOutageHasOneBreaker(t *testing.T) {
	now, l := at(t, "20:00"), Ledger{}
	list := []Session{dropped("aaaa", now.Add(-3*time.Minute)), dropped("bbbb", now.Add(-2*time.Minute)), dropped("cccc", now.Add(-time.Minute))}
	resumed := func() (ids []string) {
		for _, d := range Decide(list, l, now, modern()) {
			if d.Decision == Resume {
				ids = append(ids, d.Session)
				l.Launched(d, now, false, 0)
			}
		}
		return ids
	}
	refuse := func(ids []string) {
		for i := range list {
			for _, id := range ids {
				if list[i].ID == id {
					list[i] = dropped(id, now.Add(30*time.Second))
				}
			}
		}
		now = now.Add(time.Minute)
		l.Observe(list, now, still)
	}
	if ids := resumed(); len(ids) != 3 {
		t.Fatalf("nothing is known of an outage yet, but only %v were resumed", ids)
	}
	refuse([]string{"aaaa", "bbbb", "cccc"})
	if l.Outage == nil || l.Outage.Fails != 1 {
		t.Fatalf("%+v", l.Outage)
	}
	var tries []string
	for range 6 {
		now = l.Outage.Next.Time
		ids := resumed()
		if len(ids) != 1 {
			t.Fatalf("%v try at once", ids)
		}
		tries = append(tries, ids...)
		refuse(ids)
	}
	if l.Outage.Fails != 7 || l.Outage.Next.Sub(now) < 55*time.Minute {
		t.Errorf("%+v at %s", l.Outage, now)
	}
	if tries[0] == tries[1] || tries[1] == tries[2] {
		t.Errorf("the same session tries again and again: %v", tries)
	}
	// The next one gets an answer: all go on.
	now = l.Outage.Next.Time
	ids := resumed()
	for i := range list {
		if list[i].ID == ids[0] {
			list[i].State, list[i].Error, list[i].Progress = "working", nil, now.Add(time.Minute)
		}
	}
	now = now.Add(15 * time.Minute)
	l.Observe(list, now, still)
	if l.Outage != nil || len(resumed()) != 2 {
		t.Errorf("the outage is over: %+v", l.Outage)
	}
}

func TestDriftIsToldOnceADay(t *testing.T) {
	var l Ledger
	list := []Decision{{Drift: "x"}, {Drift: "x"}, {}}
	now := at(t, "20:00")
	if got := l.NewDrift(list, now); len(got) != 1 {
		t.Errorf("%v", got)
	}
	if got := l.NewDrift(list, now.Add(23*time.Hour)); len(got) != 0 {
		t.Errorf("again: %v", got)
	}
	if got := l.NewDrift(list, now.Add(25*time.Hour)); len(got) != 1 {
		t.Errorf("the next day: %v", got)
	}
}

// A clock that was days ahead for one run blocks nothing for days.
func TestAClockThatJumped(t *testing.T) {
	s, l := limited(t), Ledger{}
	future := at(t, "+01:02").AddDate(0, 1, 0)
	l.Resumes = []record.Time{record.At(future)}
	l.Outage = &Breaker{Fails: 3, Since: record.At(future), Next: record.At(future)}
	l.Attempts = map[string][]record.Time{s.ID: {record.At(future)}}
	l.Observe([]Session{s}, at(t, "+01:02"), still)
	if len(l.Resumes) != 0 || l.Outage != nil || len(l.Attempts) != 0 {
		t.Errorf("%+v", l)
	}
}
