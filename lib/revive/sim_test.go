package revive

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/claude/transcript"
)

// worker is a session in a simulated day: it answers now and then, and an
// outage stops it.
type worker struct {
	Session
	busyUntil time.Time // when its turn ends, one way or the other
}

// day is a simulated day of 20 sessions beside an API that comes and goes.
type simulated struct {
	t       *testing.T
	rnd     *rand.Rand
	now     time.Time
	workers []*worker
	down    [][2]time.Time
	ledger  Ledger
	lim     Limits
	resumes []time.Time
}

func newSimulated(t *testing.T, seed uint64, lim Limits) *simulated {
	d := &simulated{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), now: at(t, "06:00"), lim: lim}
	for i := range 20 {
		d.workers = append(d.workers, &worker{Session: Session{ID: fmt.Sprintf("session-%02d", i), Short: fmt.Sprintf("s%02d", i), Cwd: "/", State: "working", Spoke: true}})
	}
	for from := d.now; from.Before(d.now.Add(20 * time.Hour)); {
		from = from.Add(time.Duration(10+d.rnd.IntN(100)) * time.Minute)
		to := from.Add(time.Duration(1+d.rnd.IntN(90)) * time.Minute)
		d.down = append(d.down, [2]time.Time{from, to})
		from = to
	}
	return d
}

func (d *simulated) isDown(at time.Time) bool {
	for _, o := range d.down {
		if !at.Before(o[0]) && at.Before(o[1]) {
			return true
		}
	}
	return false
}

// minute lets every worker work for a minute.
func (d *simulated) minute() {
	for _, w := range d.workers {
		switch {
		case w.State != "working":
		case !d.isDown(d.now):
			w.Progress, w.Error, w.busyUntil = d.now, nil, time.Time{}
		case w.busyUntil.IsZero():
			w.busyUntil = d.now.Add(time.Duration(2+d.rnd.IntN(4)) * time.Minute) // Claude Code's own tries
		case d.now.After(w.busyUntil):
			const text = "API Error: 529 Overloaded."
			w.State, w.Detail, w.Updated, w.busyUntil = claude.JobBlocked, text, d.now, time.Time{}
			w.Error = &transcript.APIError{Kind: "server_error", Status: 529, Text: text, At: d.now}
		}
	}
}

func (d *simulated) sessions() []Session {
	var list []Session
	for _, w := range d.workers {
		list = append(list, w.Session)
	}
	return list
}

// pass is one run of the tool, and checks every breaker.
func (d *simulated) pass() {
	jitter := func() float64 { return d.rnd.Float64()*2 - 1 }
	d.ledger.Observe(d.sessions(), d.now, jitter)
	open := d.ledger.Outage != nil
	run := 0
	for _, dec := range Decide(d.sessions(), d.ledger, d.now, d.lim) {
		if dec.Decision != Resume {
			continue
		}
		w := d.workers[0]
		for _, o := range d.workers {
			if o.ID == dec.Session {
				w = o
			}
		}
		if w.State != claude.JobBlocked {
			d.t.Fatalf("%s: resumed while it is %s", d.now, w.State)
		}
		if n := len(d.ledger.Attempts[w.ID]); n >= d.lim.MaxAttempts {
			d.t.Fatalf("%s: attempt %d", d.now, n+1)
		}
		d.ledger.Launched(dec, d.now, false, jitter())
		w.State, w.Updated = "working", d.now
		d.resumes = append(d.resumes, d.now)
		run++
	}
	if open && run > 1 {
		d.t.Fatalf("%s: %d try at once in an outage", d.now, run)
	}
	if d.lim.MaxPerRun > 0 && run > d.lim.MaxPerRun {
		d.t.Fatalf("%s: %d in one run", d.now, run)
	}
	today := 0
	for _, at := range d.resumes {
		if at.After(d.now.Add(-day)) {
			today++
		}
	}
	if today > d.lim.MaxPerDay {
		d.t.Fatalf("%s: %d in 24 hours", d.now, today)
	}
}

// 24 hours of an outage that comes and goes, with 20 sessions: every breaker
// holds at every moment, and when the API stays up all come back that the cap
// of the day allows.
func TestADayOfAFlappingOutage(t *testing.T) {
	total := 0
	for seed := range uint64(12) {
		lim := modern()
		lim.MaxPerDay = []int{50, 50, 1000}[seed%3]
		lim.MaxPerRun = []int{0, 5, 0}[seed%3]
		d := newSimulated(t, seed, lim)
		for i := range 24 * 60 {
			d.minute()
			if i%15 == 7 {
				d.pass()
			}
			d.now = d.now.Add(time.Minute)
		}
		total += len(d.resumes)
		for _, w := range d.workers {
			if w.State != "working" && len(d.resumes) < lim.MaxPerDay {
				t.Errorf("seed %d: %s is still %s, though only %d were resumed; breaker %+v", seed, w.ID, w.State, len(d.resumes), d.ledger.Outage)
			}
		}
	}
	t.Logf("%d resumes in 12 days", total)
}
