package mailbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"sessionhub/lib/claude/entry"
	"sessionhub/lib/lock"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// Timing is how long a waiting hook waits for what.
type Timing struct {
	Named    time.Duration // until the registry names the hook's session
	Handover time.Duration // for an older waiter to leave
	Tick     time.Duration // the fallback beside working watches
	Blind    time.Duration // the same without them
}

// DefaultTiming is the timing of real use.
func DefaultTiming() Timing {
	return Timing{Named: 3 * time.Second, Handover: 5 * time.Second, Tick: time.Minute, Blind: 2 * time.Second}
}

// every is how often is looked at what nothing tells of, for seconds at most.
const every = 20 * time.Millisecond

// Waiter is one run of `shq hook mailbox`, in the background of a Claude Code.
type Waiter struct {
	Dir    state.Dir
	Home   string // Claude Code's folder
	Claude int    // its process
	Now    func() time.Time
	Stderr io.Writer // what Claude Code gives to the model
	Log    func(error)
	Timing Timing

	box     Box
	began   string          // when Claude's process began
	refused map[string]bool // what was told of already
}

// Run waits until messages lie in the session's mailbox and Claude Code is at its
// prompt, and prints them. given is true when it did: the process is to exit with
// status 2 at once, which wakes the session. Otherwise it ends because a newer
// waiter of the same Claude Code took its place, Claude Code ended, or the
// context did, by the SIGTERM that Claude Code sends at its end.
func (w *Waiter) Run(ctx context.Context, session string) (given bool, err error) {
	if err := record.CheckID("session_id", session); err != nil {
		return false, err
	}
	w.box, w.refused = Box{Dir: w.Dir, Session: session}, map[string]bool{}
	var alive bool
	if w.began, alive = entry.Began(w.Claude); !alive || w.Claude <= 1 {
		return false, errors.New("which Claude Code it waits for is not known: CLAUDE_PID names no process")
	}
	if !w.named(ctx) {
		return false, nil
	}
	if err := w.box.open(); err != nil {
		return false, err
	}
	seat, err := w.sit()
	if err != nil {
		return false, err
	}
	defer seat.leave()
	wake, stop := w.watch(seat)
	defer stop()
	l, err := w.takeOver(seat)
	if l == nil || err != nil {
		return false, err
	}
	defer l.Release()
	if err := w.putBack(); err != nil {
		return false, err
	}
	debug.FreeOSMemory() // what follows may take days, and needs little
	return w.wait(ctx, seat, wake)
}

// named waits until the registry says that Claude runs the hook's session. On a
// loaded machine the hook of a turn's end may begin after /clear gave Claude
// another one: then it is nobody's, and must not take the place of that one's.
func (w *Waiter) named(ctx context.Context) bool {
	other := false
	for end := time.Now().Add(w.Timing.Named); ctx.Err() == nil; time.Sleep(every) {
		e, ok := entry.Read(w.Home, w.Claude)
		switch {
		case ok && e.Session == w.box.Session, !w.registered():
			return true
		case ok:
			other = true
		}
		if time.Now().After(end) {
			return !other
		}
	}
	return false
}

// registered reports whether this Claude Code keeps a registry.
func (w *Waiter) registered() bool {
	_, err := os.Stat(entry.Path(w.Home, w.Claude))
	return !errors.Is(err, fs.ErrNotExist)
}

// takeOver takes the mailbox's lock from the waiter before, which leaves when it
// sees that its seat is another's. Nil without an error: a newer one sits there.
func (w *Waiter) takeOver(s *seat) (*lock.Lock, error) {
	for end := time.Now().Add(w.Timing.Handover); ; time.Sleep(every) {
		l, err := lock.Try(w.box.lock())
		switch {
		case err == nil && l.Stands():
			return l, l.Write(fmt.Sprintf("%d\nfor Claude Code %d, since %s\n", os.Getpid(), w.Claude, record.At(w.Now())))
		case err == nil:
			l.Release() // its folder was swept away
			err = w.box.open()
		}
		switch {
		case err != nil && !errors.Is(err, lock.ErrBusy):
			return nil, err
		case !s.mine() || !entry.Runs(w.Claude, w.began):
			return nil, nil
		case time.Now().After(end):
			return nil, fmt.Errorf("another Claude Code's hook waits for messages to session %s: %w", w.box.Session, lock.ErrBusy)
		}
	}
}

// putBack puts what a killed waiter took and did not give back into the mailbox.
// Who holds the lock is alone with what was taken.
func (w *Waiter) putBack() error {
	ids, err := w.box.ids(w.box.path(takenDir), letterExt)
	if err != nil {
		return err
	}
	for _, id := range ids {
		_, given, err := w.box.Given(id)
		if err == nil && given {
			err = os.Remove(w.box.taken(id))
		} else if err == nil {
			err = os.Rename(w.box.taken(id), w.box.letter(id))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("mailbox: %w", err)
		}
	}
	return nil
}

// wait waits for something to give.
func (w *Waiter) wait(ctx context.Context, s *seat, wake *wakes) (bool, error) {
	ended, stop := entry.WatchEnd(w.Claude)
	defer stop()
	for {
		if !entry.Runs(w.Claude, w.began) || !s.mine() {
			return false, nil
		}
		lies, err := w.lies()
		if err != nil {
			return false, err
		}
		tick := w.Timing.Tick
		if wake == nil || ended == nil {
			tick = w.Timing.Blind
		}
		if len(lies) > 0 {
			if !wake.registry(w) { // Claude's status decides from now on
				tick = w.Timing.Blind
			}
			if w.atPrompt() {
				given, err := w.give(lies)
				if given || err != nil {
					return given, err
				}
				continue // they were taken back
			}
		}
		timer := time.NewTimer(tick)
		select {
		case <-ctx.Done():
		case <-ended:
		case <-wake.c():
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return false, nil
		}
	}
}

// atPrompt reports whether Claude rests at its prompt in this session. What it is
// given while it works would wait in its memory, where nobody can take it back;
// what lies in a file can be. Without a registry nobody knows better.
func (w *Waiter) atPrompt() bool {
	e, ok := entry.Read(w.Home, w.Claude)
	if !ok {
		return !w.registered()
	}
	return e.Session == w.box.Session && e.Parked == "" && (e.Status == entry.Idle || e.Status == entry.Shell)
}

// lies lists the messages that count now, the oldest first. What does not count
// is told once, and left for whoever left it.
func (w *Waiter) lies() ([]Letter, error) {
	ids, err := w.box.ids(w.box.path(), letterExt)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	if err := w.box.sound(); err != nil {
		w.refuse("", err)
		return nil, nil
	}
	var list []Letter
	for _, id := range ids {
		l, err := w.box.read(w.box.letter(id), id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			w.refuse(id, err)
		case w.Now().Before(l.Until.Time):
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b Letter) int {
		return cmp.Or(a.Sent.Compare(b.Sent.Time), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// refuse tells, once, why a message is not given; "" is all of them.
func (w *Waiter) refuse(id string, err error) {
	if !w.refused[id] {
		w.refused[id] = true
		w.Log(fmt.Errorf("message %s is not given: %w", id, err))
	}
}

// give takes messages, prints them and notes that they were given: in this order,
// so that whoever finds one that was taken and not noted knows that Claude Code
// never had it, as it heeds nothing but the exit that follows.
func (w *Waiter) give(list []Letter) (bool, error) {
	if err := w.box.sound(); err != nil { // it may be another since it was looked at
		w.refuse("", err)
		return false, nil
	}
	var taken []Letter
	for _, l := range list {
		err := os.Rename(w.box.letter(l.ID), w.box.taken(l.ID))
		if errors.Is(err, fs.ErrNotExist) {
			continue // taken back
		}
		if err != nil {
			return false, fmt.Errorf("take message %s: %w", l.ID, err)
		}
		now, err := w.box.read(w.box.taken(l.ID), l.ID)
		if err != nil {
			w.refuse(l.ID, err)
		}
		if err != nil || !w.Now().Before(now.Until.Time) { // it is another since it was looked at
			return false, w.putBack()
		}
		taken = append(taken, now)
	}
	for _, l := range taken {
		if _, err := io.WriteString(w.Stderr, l.Framed()); err != nil {
			return false, errors.Join(fmt.Errorf("print message %s: %w", l.ID, err), w.putBack())
		}
	}
	for _, l := range taken {
		m := Mark{V: record.Version, ID: l.ID, At: record.At(w.Now()), Claude: w.Claude, Began: w.began}
		if err := state.ReplaceJSON(w.box.mark(l.ID), m); err != nil {
			return false, errors.Join(err, w.unmark(taken)) // and exit otherwise: they are put back by the next one
		}
	}
	for _, l := range taken {
		if err := os.Remove(w.box.taken(l.ID)); err != nil {
			w.Log(fmt.Errorf("message %s: %w", l.ID, err)) // the mark counts
		}
	}
	return len(taken) > 0, nil
}

// unmark takes the marks of messages back that are not given after all, as not
// each of them could be marked.
func (w *Waiter) unmark(list []Letter) error {
	var errs []error
	for _, l := range list {
		st, err := os.Lstat(w.box.mark(l.ID))
		if err == nil && st.Mode().IsRegular() {
			err = os.Remove(w.box.mark(l.ID))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("mailbox: %w", err))
		}
	}
	return errors.Join(errs...)
}
