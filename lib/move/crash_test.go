package move

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/record"
)

// clock is the hub's, which a test moves.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// killed is what a killed process leaves: nothing but its files.
type killed struct{}

// point is a moment of a move.
type point struct {
	phase Phase
	done  bool
}

// points are all moments at which something may go wrong, in the order in which
// they come: of a move that goes well, and of one that fails at its target.
func points() []point {
	var list []point
	for _, p := range []Phase{
		SourceCheck, SourceAsk, SourceEnd, SourcePack, SourcePutAway, SourceUpload,
		TargetCheck, TargetApply, TargetClaim, TargetStart, TargetDone, FinishArchive,
	} {
		list = append(list, point{p, false}, point{p, true})
	}
	return list
}

// backPoints are those of a move that its target can't carry out.
func backPoints() []point {
	var list []point
	for _, p := range []Phase{TargetUndo, TargetRefuse, FinishRestart} {
		list = append(list, point{p, false}, point{p, true})
	}
	return list
}

// worked is work that may be killed; then the claim's lease lapses.
func (m *machine) worked(c *clock) (did bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(killed); !ok {
				panic(r)
			}
			m.p.single()
			c.pass(40 * time.Second) // the lease lapses, and the claim is offered again
			did = true
		}
	}()
	return m.work()
}

// single fails when some session runs twice, also when it does on one machine.
func (p *pair) single() {
	p.t.Helper()
	for _, m := range []*machine{p.tower, p.laptop} {
		table, err := claude.NewTable()
		if err != nil {
			p.t.Fatal(err)
		}
		list, err := m.end.Home.Live(table)
		if err != nil && !errors.Is(err, claude.ErrNoRegistry) {
			p.t.Fatal(err)
		}
		if n := len(slices.DeleteFunc(list, func(l claude.Process) bool { return l.SessionID != p.id })); n > 1 {
			p.t.Fatalf("it runs %d times at %s: %+v", n, m.name, m.steps)
		}
	}
	if at := p.runs(p.id); at == "both" {
		p.t.Fatalf("it runs in two places\ntower %+v\nlaptop %+v", p.tower.steps, p.laptop.steps)
	}
}

// settles lets both machines work until nothing is left to do, with time
// passing where they wait for it.
func (p *pair) settles(c *clock, mv record.Move) record.Move {
	p.t.Helper()
	for rounds := 0; ; rounds++ {
		for p.tower.worked(c) || p.laptop.worked(c) {
			p.single()
		}
		p.hub.SetFault(hubtest.None)
		mv = p.now(mv.ID)
		if mv.State.Ended() && len(p.tower.leftovers())+len(p.laptop.leftovers()) == 0 {
			return mv
		}
		if rounds == 40 {
			p.t.Fatalf("it does not settle: %+v\ntower %+v %v\nlaptop %+v %v", mv, p.tower.steps, p.tower.leftovers(), p.laptop.steps, p.laptop.leftovers())
		}
		for _, m := range []*machine{p.tower, p.laptop} { // the watcher's, now and then
			if _, err := m.end.Recover(p.t.Context(), m.out()); err != nil {
				p.t.Logf("recover at %s: %v", m.name, err)
			}
		}
		p.single()
		c.pass(20 * time.Second)
		p.tower.beat() // both live
		p.laptop.beat()
	}
}

// sound checks what holds once a move is over, however it went: the session is
// in one place, with everything, and runs there or can be resumed.
func (p *pair) sound(mv record.Move, towerBefore, laptopBefore string) {
	p.t.Helper()
	at := p.runs(p.id)
	switch mv.State {
	case record.MoveDone:
		if p.transcripts(p.id) != "laptop" || at == "tower" {
			p.t.Errorf("done (%s), but it runs at %q, its transcript is at %q", mv.Detail, at, p.transcripts(p.id))
		}
		if got := p.laptop.status(); got != strings.Replace(towerBefore, "? .env\n", "", 1) {
			p.t.Errorf("the laptop's status:\n%s\nwant\n%s", got, towerBefore)
		}
	case record.MoveFailed:
		if p.transcripts(p.id) != "tower" || at != "tower" {
			p.t.Errorf("failed (%s, notes %v), but it runs at %q, its transcript is at %q\ntower %+v", mv.Detail, mv.Notes, at, p.transcripts(p.id), p.tower.steps)
		}
		if got := p.laptop.status(); got != laptopBefore {
			p.t.Errorf("the laptop's clone is not what it was:\n%s\nwant\n%s", got, laptopBefore)
		}
	default:
		p.t.Errorf("the move is %s", mv.State)
	}
	if got := p.tower.status(); got != towerBefore {
		p.t.Errorf("the tower's clone is not what it was:\n%s\nwant\n%s", got, towerBefore)
	}
}

// started is a pair with a session that is to move, on a hub whose clock the
// test owns.
func started(t *testing.T, c *clock) (p *pair, mv record.Move, tower, laptop string) {
	t.Helper()
	p = newPairAt(t, hubtest.StartAt(t, c.now), doubles(t))
	p.id = p.tower.claude("remember the number 4711")
	p.tower.dirty()
	tower, laptop = p.tower.status(), p.laptop.status()
	return p, p.ask(p.id, record.MovePost{To: "laptop"}), tower, laptop
}

// on does something once, at a moment of the move.
func (p *pair) on(at point, do func()) {
	once := sync.Once{}
	for _, m := range []*machine{p.tower, p.laptop} {
		m.end.at = func(phase Phase, done bool) {
			p.single()
			if phase == at.phase && done == at.done {
				once.Do(do)
			}
		}
	}
}

// Killed at any moment on either side, the session is in one place in the end,
// with everything, and both clones are what they should be.
func TestKilledAtEveryStep(t *testing.T) {
	for _, at := range points() {
		t.Run(fmt.Sprintf("%s/%t", at.phase, at.done), func(t *testing.T) {
			t.Parallel()
			c := &clock{}
			p, mv, tower, laptop := started(t, c)
			hit := false
			p.on(at, func() { hit = true; panic(killed{}) })
			mv = p.settles(c, mv)
			if !hit {
				t.Error("that moment never came")
			}
			p.sound(mv, tower, laptop)
			t.Logf("%s: %s %v", mv.State, mv.Detail, mv.Notes)
		})
	}
}

// The same where the target can't take it, and all is put back.
func TestKilledOnTheWayBack(t *testing.T) {
	for _, at := range backPoints() {
		t.Run(fmt.Sprintf("%s/%t", at.phase, at.done), func(t *testing.T) {
			t.Parallel()
			c := &clock{}
			p, mv, tower, laptop := started(t, c)
			hit := false
			p.on(at, func() { hit = true; panic(killed{}) })
			next := p.laptop.end.at
			p.laptop.end.at = func(phase Phase, done bool) {
				next(phase, done)
				switch in := filepath.Join(p.laptop.clone, "notes"); {
				case phase == TargetApply && !done: // what was free a moment ago
					p.write(in, "todo.txt", "theirs\n")
				case phase == TargetApply:
					if err := os.RemoveAll(in); err != nil {
						t.Error(err)
					}
				}
			}
			mv = p.settles(c, mv)
			if !hit || mv.State != record.MoveFailed {
				t.Errorf("that moment never came, or %+v", mv)
			}
			p.sound(mv, tower, laptop)
			t.Logf("%s: %s %v", mv.State, mv.Detail, mv.Notes)
		})
	}
}

// The hub is gone, or its answers are, from any moment on for a while.
func TestTheHubIsGoneAtEveryStep(t *testing.T) {
	for _, f := range []struct {
		name  string
		fault hubtest.Fault
	}{{"down", hubtest.Unavailable}, {"answers lost", hubtest.DropAnswer}, {"not routed to", hubtest.NoRoute}} {
		for _, at := range points() {
			if at.done {
				continue // the next moment comes to the same
			}
			t.Run(fmt.Sprintf("%s/%s", f.name, at.phase), func(t *testing.T) {
				t.Parallel()
				c := &clock{}
				p, mv, tower, laptop := started(t, c)
				calls := 0
				p.on(at, func() {
					p.hub.SetFault(f.fault)
					back := func() { p.hub.SetFault(hubtest.None) }
					for _, m := range []*machine{p.tower, p.laptop} {
						next := m.end.at
						m.end.at = func(phase Phase, done bool) {
							if calls++; calls > 3 { // phases later
								back()
							}
							next(phase, done)
						}
						pause := m.end.Pause
						m.end.Pause = func(ctx context.Context, d time.Duration) {
							if calls++; calls > 3 {
								back()
							}
							pause(ctx, d)
						}
					}
				})
				mv = p.settles(c, mv)
				p.sound(mv, tower, laptop)
				t.Logf("%s: %s %v", mv.State, mv.Detail, mv.Notes)
			})
		}
	}
}

// The hub gives a step up at any moment of it.
func TestTimedOutAtEveryStep(t *testing.T) {
	for _, at := range points() {
		if at.done {
			continue // the next moment comes to the same
		}
		t.Run(fmt.Sprintf("%s/%t", at.phase, at.done), func(t *testing.T) {
			t.Parallel()
			c := &clock{}
			p, mv, tower, laptop := started(t, c)
			p.on(at, func() { c.pass(11 * time.Minute) })
			mv = p.settles(c, mv)
			p.sound(mv, tower, laptop)
			t.Logf("%s: %s %v", mv.State, mv.Detail, mv.Notes)
		})
	}
}
