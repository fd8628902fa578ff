package watch

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"sessionhub/lib/record"
	"sessionhub/lib/runlog"
)

// plan is when what is due next; a zero time is never.
type plan struct {
	pass    time.Time
	compare time.Time
	beat    time.Time
	backoff time.Duration // 0 while deliveries succeed
	retry   time.Duration // until a pane that waits to be identified is looked at again
	last    time.Time     // the last pass
	alone   time.Time     // since when there is nothing to watch
	wall    time.Time     // the clock at the last turn, to notice its jumps
}

// at brings a deed forward to t.
func (p *plan) at(deed *time.Time, t time.Time) {
	if deed.IsZero() || t.Before(*deed) {
		*deed = t
	}
}

// next is the earliest time that something is due.
func (p *plan) next() time.Time {
	var n time.Time
	for _, t := range []time.Time{p.pass, p.compare, p.beat} {
		if !t.IsZero() && (n.IsZero() || t.Before(n)) {
			n = t
		}
	}
	return n
}

// due takes a deed that is due off the plan.
func due(deed *time.Time, now time.Time) bool {
	if deed.IsZero() || deed.After(now) {
		return false
	}
	*deed = time.Time{}
	return true
}

const (
	// clockCheck is how often a watcher compares its two clocks, to send a
	// heartbeat soon after a laptop woke, where the system does not tell it.
	clockCheck = 10 * time.Second
	// jump is how far the clocks must part to count: more than any slewing.
	jump = 5 * time.Second
	// retryFirst and retryLast bound the looks at a pane whose Claude has no
	// session yet: herdr learns it 0.1 to 0.4 s after the start (finding 6 of
	// the Claude captures), but a trust prompt can stand for hours.
	retryFirst = 100 * time.Millisecond
	retryLast  = 10 * time.Second
)

// Run watches until the context ends, or there has been nothing to watch for
// Timing.Alone. It returns nil in both cases.
func (w *Watcher) Run(ctx context.Context) error {
	if err := w.start(); err != nil {
		return err
	}
	if err := runlog.Truncate(w.Dir.WatcherLog()); err != nil {
		w.Log.Failure("log: %v", err)
	}
	wakes := w.watchFiles()
	defer wakes.close()
	tick := w.Timing.Tick
	if wakes.err != nil {
		tick = w.Timing.BlindTick
		w.Log.Failure("no file watch (%v): looking every %s instead", wakes.err, tick)
		w.status.NoWatch = wakes.err.Error()
	}
	w.errands = w.startErrands(ctx)
	defer w.errands.stop()
	defer w.startChild(ctx)()
	now := w.Now()
	w.plan = plan{pass: now, beat: now, wall: now, last: now.Add(-time.Hour)}
	clock := make(chan struct{}, 1)
	closeClock, told := watchClock(func() {
		select {
		case clock <- struct{}{}:
		default:
		}
	})
	defer closeClock()
	every := tick
	if !told {
		every = min(tick, clockCheck)
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	lastTick := now
	for {
		w.turn(ctx)
		wakes.watchClaude()
		if ctx.Err() != nil || w.idle() {
			return nil
		}
		timer := time.NewTimer(max(time.Until(w.plan.next()), 0))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-wakes.c[wakeQueue]:
			w.wake(wakeQueue)
		case <-wakes.c[wakeLook]:
			w.wake(wakeLook)
		case <-w.Learned:
			w.plan.at(&w.plan.beat, w.Now())
		case <-clock:
			w.checkClock()
		case <-ticker.C:
			w.checkClock()
			if now := w.Now(); now.Sub(lastTick) >= tick-every/2 {
				lastTick = now
				w.tick()
			}
			if w.Owns != nil && !w.Owns() {
				w.Log.Printf("the state directory was replaced: ending, so that a new watcher can serve it")
				return nil
			}
		}
		timer.Stop()
	}
}

// startChild keeps the child running; the answer ends it.
func (w *Watcher) startChild(ctx context.Context) (stop func()) {
	if w.Child == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { w.Child.Run(ctx) })
	return func() {
		cancel()
		done.Wait()
	}
}

// turn does what is due.
func (w *Watcher) turn(ctx context.Context) {
	if due(&w.plan.beat, w.Now()) {
		w.plan.at(&w.plan.beat, w.Now().Add(w.Timing.Heartbeat))
		w.Beat(ctx)
	}
	if due(&w.plan.compare, w.Now()) {
		w.Compare(ctx)
	}
	if due(&w.plan.pass, w.Now()) {
		w.plan.last = w.Now()
		if _, err := w.Pass(ctx); err != nil {
			w.fail("queue: %v", err)
			w.backOff()
		}
	}
}

// afterPass plans what a pass leaves to do.
func (w *Watcher) afterPass(p *pass, res Result) {
	if res.Err != nil {
		w.backOff()
		return
	}
	w.plan.backoff = 0
	w.beatIfUntold()
	if p.states {
		w.plan.at(&w.plan.compare, w.Now().Add(w.Timing.Settle))
		w.afterStates(p.hub, p.rested)
	}
	if !p.waits {
		w.plan.retry = 0
		return
	}
	w.plan.retry = min(max(w.plan.retry*5/4, retryFirst), retryLast)
	w.plan.at(&w.plan.pass, w.Now().Add(w.plan.retry))
}

// backOff plans the next pass after one that may succeed later: jittered, so
// that many machines don't come back to a hub at once (field report A55).
func (w *Watcher) backOff() {
	w.plan.backoff = min(max(2*w.plan.backoff, w.Timing.RetryMin), w.Timing.RetryMax)
	jittered := w.plan.backoff/2 + rand.N(w.plan.backoff/2+1)
	w.plan.pass = w.Now().Add(jittered)
	w.saveStatus()
}

func (w *Watcher) wake(k wakeKind) {
	now := w.Now()
	switch k {
	case wakeLook:
		w.plan.at(&w.plan.compare, now.Add(w.Timing.PassGap))
	case wakeQueue:
		w.plan.retry = 0
		if w.plan.backoff == 0 {
			soonest := w.plan.last.Add(w.Timing.PassGap)
			w.plan.at(&w.plan.pass, later(now, soonest))
		}
	}
}

// tick is the fallback for what no wake told.
func (w *Watcher) tick() {
	now := w.Now()
	if w.plan.backoff == 0 {
		w.plan.at(&w.plan.pass, now)
	}
	for _, s := range w.servers {
		if s.replaced() {
			w.plan.at(&w.plan.beat, now)
		}
	}
	if err := runlog.Truncate(w.Dir.WatcherLog()); err != nil {
		w.Log.Failure("log: %v", err)
	}
}

// checkClock notices a sleep or a jump of the clock: the wall clock and the
// monotonic one have parted. One heartbeat follows at once.
func (w *Watcher) checkClock() {
	now := w.Now()
	mono, wall := now.Sub(w.plan.wall), now.Round(0).Sub(w.plan.wall.Round(0))
	w.plan.wall = now
	w.clockMoved(mono, wall)
}

// clockMoved plans a heartbeat when the two clocks have parted by more than
// jump since they were compared last.
func (w *Watcher) clockMoved(mono, wall time.Duration) {
	d := wall - mono
	if d <= jump && d >= -jump {
		return
	}
	now := w.Now()
	w.Log.Printf("the clock jumped by %s: heartbeat now", d.Round(time.Second))
	w.plan.beat, w.plan.backoff = now, 0
	w.plan.at(&w.plan.pass, now)
}

// idle reports whether a watcher that once had a server has had nothing to
// watch for long enough to end.
func (w *Watcher) idle() bool {
	now := w.Now()
	if !w.had() || w.alive() || len(w.outside) > 0 || w.queued() {
		w.plan.alone = time.Time{}
		return false
	}
	if w.plan.alone.IsZero() {
		w.plan.alone = now
	}
	if now.Sub(w.plan.alone) < w.Timing.Alone {
		return false
	}
	w.Log.Printf("no herdr server and no session for %s: ending", w.Timing.Alone)
	return true
}

func (w *Watcher) queued() bool {
	if st, err := os.Stat(w.Dir.Queue()); err == nil && st.Size() > 0 {
		return true
	}
	segments, err := w.Queue.Segments()
	return err != nil && !errors.Is(err, os.ErrNotExist) || len(segments) > 0
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Snapshot is what a heartbeat of the server at socket would say.
func (w *Watcher) Snapshot(ctx context.Context, socket string) (record.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	look, err := w.Looker.Look(ctx, socket)
	if err != nil {
		return record.Snapshot{}, err
	}
	return w.snapshot(look.HerdrSession, look.Version, look.Live, look.Unidentified), nil
}
