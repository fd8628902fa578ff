package move

import (
	"fmt"
	"strings"
	"testing"

	"sessionhub/lib/record"
)

// world is everything that counts of a move: the hub's record, what each end's
// journal says, and where the session is.
type world struct {
	hub     record.MoveState
	failure string // whose failure the hub recorded: source, target, hub

	source, target Phase // "" before the claim came
	finished       bool  // the source's finish was carried out

	runsAtSource, runsAtTarget bool
	// What the files are: the source's transcript is live or archived, and the same
	// as was packed or gone on with by a person; the
	// target's is absent, written, or gone on with by a person.
	archived, more bool
	copied, goneOn bool
	applied        bool // the target's clone was changed

	late Phase // of whom a call is still on its way, though nobody waits for it

	crashes, losses, times int // what may still go wrong
}

// step is a world that may follow, and what led there.
type step struct {
	how string
	to  world
}

// result posts an end of the move at the hub, by its rules.
func (w world) post(who string, state record.MoveState) (world, bool) {
	switch {
	case w.hub.Ended():
		return w, w.hub == state && w.failure == who // the same again
	case who == "source" && w.hub != record.MovePacking:
		return w, false
	case who == "target" && w.hub != record.MoveUnpacking && w.hub != record.MoveStarting:
		return w, false
	}
	w.hub, w.failure = state, who
	return w, true
}

// next are all worlds that may follow.
func (w world) next() []step {
	var out []step
	add := func(how string, to world) { out = append(out, step{how, to}) }

	// The hub: a step takes too long, a person cancels.
	timed := w.hub == record.MovePacking || w.hub == record.MoveUploaded || w.hub == record.MoveUnpacking
	if timed && w.times > 0 {
		n := w
		n.times--
		n.hub, n.failure = record.MoveFailed, "hub"
		add("the hub: timed out", n)
	}
	if w.hub == record.MovePacking && w.times > 0 {
		n := w
		n.times--
		n.hub, n.failure = record.MoveCancelled, "hub"
		add("a person cancels", n)
	}
	if w.source == "" && w.hub == record.MovePacking {
		n := w
		n.source = SourceCheck
		add("the source takes its claim", n)
	}
	if w.target == "" && w.hub == record.MoveUploaded {
		n := w
		n.target, n.hub = TargetCheck, record.MoveUnpacking
		add("the target takes its claim", n)
	}
	idle := w.source == "" || w.source == Over || w.source == SourceWait
	if w.hub.Ended() && !w.finished && idle {
		out = append(out, w.finish()...)
	}

	if w.late != "" {
		n, _ := effect(w.late)(w)
		n.late = ""
		add("late: "+string(w.late), n)
	}

	// A person goes on with the session where it runs, or ends it.
	if w.runsAtSource {
		n := w
		n.runsAtSource = false
		add("a person ends it at the source", n)
	}
	if !w.runsAtSource && !w.archived { // before it is put away, or once it is back
		n := w
		n.runsAtSource, n.more = true, true
		add("a person resumes it at the source", n)
	}
	if w.runsAtTarget && !w.goneOn {
		n := w
		n.goneOn = true
		add("a person goes on at the target", n)
	}
	if w.runsAtTarget && w.goneOn {
		n := w
		n.runsAtTarget = false
		add("a person ends it at the target", n)
	}

	out = append(out, w.sourceSteps()...)
	out = append(out, w.targetSteps()...)

	if w.crashes > 0 {
		if w.source != "" && w.source != Over && w.source != SourceWait {
			n := w
			n.crashes--
			n.source = SourceAfterCrash(w.source, w.runsAtSource)
			add("the source crashes at "+string(w.source), n)
		}
		if w.target != "" && w.target != Over {
			n := w
			n.crashes--
			n.target = TargetAfterCrash(w.target, w.runsAtTarget || w.goneOn)
			add("the target crashes at "+string(w.target), n)
		}
	}
	return out
}

// outcomes are the ways of a deed: it goes well, it fails without effect, and,
// while answers may be lost, its effect is there or not and nobody knows.
func (w world) outcomes(how string, done func(world) world, then func(world, Outcome) world, crash func(world) (world, bool)) []step {
	out := []step{
		{how + ": ok", then(done(w), OK)},
		{how + ": failed", then(w, Failed)},
	}
	if w.crashes > 0 { // done, and down before that was known
		n := done(w)
		n.crashes--
		if n, ok := crash(n); ok {
			out = append(out, step{how + ": done, then a crash", n})
		}
	}
	return out
}

func (w world) crashSource() (world, bool) {
	w.source = SourceAfterCrash(w.source, w.runsAtSource)
	return w, true
}

func (w world) crashTarget() (world, bool) {
	w.target = TargetAfterCrash(w.target, w.runsAtTarget || w.goneOn)
	return w, true
}

// call asks the hub: the answer comes, or is lost with or without the effect.
func (w world) call(how string, phase Phase, then func(world, Seen) world) []step {
	n, ok := effect(phase)(w)
	outcome := OK
	if !ok {
		outcome = Failed
	}
	out := []step{{how, then(n, Seen{Outcome: outcome})}}
	if w.losses > 0 {
		n.losses--
		out = append(out, step{how + ": its answer is lost", then(n, Seen{Outcome: Lost})})
		w.losses--
		out = append(out, step{how + ": it is lost", then(w, Seen{Outcome: Lost})})
		if w.late == "" {
			w.late = phase
			out = append(out, step{how + ": it is late", then(w, Seen{Outcome: Lost})})
		}
	}
	return out
}

// effect is what a phase's call does at the hub, and whether it may.
func effect(p Phase) func(world) (world, bool) {
	swap := func(n world, from, to record.MoveState) (world, bool) {
		if n.hub == from {
			n.hub = to
		}
		return n, n.hub == to
	}
	return func(n world) (world, bool) {
		switch p {
		case SourceUpload:
			return swap(n, record.MovePacking, record.MoveUploaded)
		case TargetClaim:
			return swap(n, record.MoveUnpacking, record.MoveStarting)
		case TargetRefuse:
			return n.post("target", record.MoveFailed)
		case TargetDone:
			return n.post("target", record.MoveDone)
		}
		return n.post("source", record.MoveFailed)
	}
}

// read asks for the move.
func (w world) read(how, who string, then func(world, Seen) world) []step {
	out := []step{{how + ": " + string(w.hub), then(w, Seen{Hub: w.hub, Mine: w.failure == who})}}
	if w.losses > 0 {
		w.losses--
		out = append(out, step{how + ": out of reach", then(w, Seen{})})
	}
	return out
}

func (w world) sourceSteps() []step {
	p := w.source
	then := func(n world, s Seen) world { n.source = NextSource(p, s); return n }
	outcome := func(n world, o Outcome) world { return then(n, Seen{Outcome: o}) }
	nothing := func(n world) world { return n }
	how := "the source: " + string(p)
	switch p {
	case SourceCheck:
		return w.outcomes(how, nothing, outcome, world.crashSource)
	case SourcePack:
		return w.outcomes(how, func(n world) world { n.more = false; return n }, outcome, world.crashSource)
	case SourcePutAway:
		if w.runsAtSource || w.more {
			return []step{{how + ": it was gone on with", outcome(w, Failed)}}
		}
		return w.outcomes(how, func(n world) world { n.archived = true; return n }, outcome, world.crashSource)
	case SourceAsk, SourceLanded, SourceGivenUp:
		return w.read(how, "source", then)
	case SourceEnd:
		return w.outcomes(how, func(n world) world { n.runsAtSource = false; return n }, outcome, world.crashSource)
	case SourceUpload, SourceRefuse, SourceGiveUp:
		return w.call(how, p, then)
	case SourceRestart:
		return w.outcomes(how, func(n world) world { n.runsAtSource, n.archived = true, false; return n }, outcome, world.crashSource)
	}
	return nil
}

func (w world) targetSteps() []step {
	p := w.target
	then := func(n world, s Seen) world { n.target = NextTarget(p, s); return n }
	outcome := func(n world, o Outcome) world { return then(n, Seen{Outcome: o}) }
	how := "the target: " + string(p)
	switch p {
	case TargetCheck:
		return w.outcomes(how, func(n world) world { return n }, outcome, world.crashTarget)
	case TargetApply:
		steps := w.outcomes(how, func(n world) world { n.applied, n.copied = true, true; return n }, outcome, world.crashTarget)
		half := w
		half.applied = true
		return append(steps, step{how + ": failed half way", then(half, Seen{Outcome: Failed})})
	case TargetClaim, TargetRefuse, TargetDone:
		return w.call(how, p, then)
	case TargetClaimed:
		return w.read(how, "target", then)
	case TargetStart:
		steps := w.outcomes(how, func(n world) world { n.runsAtTarget = true; return n }, outcome, world.crashTarget)
		n := w
		n.runsAtTarget = true
		return append(steps, step{how + ": it may run", then(n, Seen{Outcome: Lost})})
	case TargetUndo:
		return w.outcomes(how, func(n world) world { n.applied, n.copied = false, false; return n },
			func(n world, o Outcome) world {
				n.applied, n.copied = false, false // what can't be put back is kept and named; the transcript goes first
				return outcome(n, o)
			}, world.crashTarget)
	}
	return nil
}

// finish is the source's, once the move has ended.
func (w world) finish() []step {
	var out []step
	switch p := Finish(w.hub); p {
	case FinishArchive:
		n := w
		n.finished, n.archived = true, true
		out = append(out, step{"the finish archives", n})
	case FinishRestart:
		n := w
		n.finished, n.runsAtSource, n.archived = true, true, false
		out = append(out, step{"the finish restarts", n})
		n = w
		n.finished, n.archived = true, false // it says so in the notes, and a person resumes it
		out = append(out, step{"the finish can't restart", n})
	}
	return out
}

// wrong says what must never be.
func (w world) wrong() string {
	switch {
	case w.runsAtSource && w.runsAtTarget:
		return "it runs in two places"
	case w.goneOn && !w.copied:
		return "what a person did at the target is lost"
	case w.hub != record.MovePacking && !w.hub.Ended() && w.more:
		return "it left, and what a person did at the source stayed"
	case w.copied && w.hub == record.MoveFailed && w.failure == "target":
		return "the move failed, and a copy stayed at the target"
	case w.runsAtTarget && w.hub != record.MoveStarting && w.hub != record.MoveDone:
		return "it runs at the target, and the hub says " + string(w.hub)
	case w.runsAtSource && w.hub == record.MoveDone:
		return "it runs at the source, and the hub says done"
	}
	return ""
}

// stuck says what is wrong with a world in which nothing happens any more.
func (w world) stuck() string {
	switch {
	case !w.hub.Ended():
		return "the move never ends"
	case !w.finished:
		return "no finish came"
	case w.hub == record.MoveDone && (!w.copied || !w.archived):
		return "done, but not there"
	case w.hub != record.MoveDone && w.archived:
		return "not done, and it can be resumed nowhere"
	case w.hub != record.MoveDone && (w.copied || w.applied):
		return "not done, but something of it stayed at the target"
	}
	return ""
}

// Every interleaving of both ends, the hub and a person, with up to two
// crashes, three calls lost or late and two timeouts at any point: the session runs in at
// most one place, and every end leaves it where a person can go on with it.
func TestNoInterleavingRunsASessionTwice(t *testing.T) {
	start := world{hub: record.MovePacking, runsAtSource: true, crashes: 2, losses: 3, times: 2}
	from := map[world]step{start: {}}
	queue := []world{start}
	ends := map[record.MoveState]int{}
	for len(queue) > 0 {
		w := queue[0]
		queue = queue[1:]
		if why := w.wrong(); why != "" {
			t.Fatalf("%s:\n%s", why, path(from, w))
		}
		steps := w.next()
		// What may always happen does not keep a move alive.
		if !alive(steps) {
			ends[w.hub]++
			if why := w.stuck(); why != "" {
				t.Fatalf("%s:\n%s", why, path(from, w))
			}
		}
		for _, s := range steps {
			if _, seen := from[s.to]; !seen {
				from[s.to] = step{s.how, w}
				queue = append(queue, s.to)
			}
		}
	}
	t.Logf("%d worlds; ends: %v", len(from), ends)
	if len(from) < 1000 || len(ends) != 3 {
		t.Error("that is not everything")
	}
}

func alive(steps []step) bool {
	for _, s := range steps {
		if !strings.HasPrefix(s.how, "a person") {
			return true
		}
	}
	return false
}

// path tells how a world came about.
func path(from map[world]step, w world) string {
	line := fmt.Sprintf("%+v", w)
	for {
		s := from[w]
		if s.how == "" {
			return line
		}
		line = s.how + "\n" + line
		w = s.to
	}
}
