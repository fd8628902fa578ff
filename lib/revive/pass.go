package revive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/lock"
	"sessionhub/lib/state"
)

// Reviver makes passes over the background sessions of one Claude home.
type Reviver struct {
	Dir    state.Dir
	Home   claude.Home
	Claude Claude
	Table  func() (claude.Table, error)
	Now    func() time.Time // its zone is that of texts without one
	Pause  func(ctx context.Context, d time.Duration)
	Jitter func() float64 // between -1 and 1
	Limits Limits
	Prompt string // what a resumed session is told
	// Lease takes the right to act on a session, as for every other deed.
	Lease func(session, who string) (release func(), err error)
	Tell  func(d Decision, at time.Time) error // tells the hub of a resume
}

// Report is what came of a pass.
type Report struct {
	Decisions []Decision
	Drift     []string // texts that are not understood, each once in 24 hours
	Failed    bool     // a resume was tried and failed
}

// Look decides without doing anything. What it says is what a Pass would do.
func (r *Reviver) Look(ctx context.Context) (Report, Ledger, error) {
	if err := r.Claude.Find(); err != nil {
		return Report{}, Ledger{}, err
	}
	l, err := r.taken()
	if err != nil {
		return Report{}, l, err
	}
	list, err := r.decisions(ctx, &l)
	rep := Report{Decisions: list}
	for _, d := range list {
		if d.Drift != "" {
			rep.Drift = append(rep.Drift, d.Drift)
		}
	}
	return rep, l, err
}

// Pass resumes what is to be resumed. A second pass at the same time gets
// lock.ErrBusy.
func (r *Reviver) Pass(ctx context.Context) (Report, error) {
	if err := r.Claude.Find(); err != nil {
		return Report{}, err
	}
	if err := r.Dir.Ensure(); err != nil {
		return Report{}, err
	}
	held, err := lock.Try(lockFile(r.Dir))
	if err != nil {
		return Report{}, err
	}
	defer held.Release()
	l, err := r.taken()
	if err != nil {
		return Report{}, err
	}
	before, _ := os.ReadFile(ledgerFile(r.Dir))
	list, err := r.decisions(ctx, &l)
	if err != nil {
		return Report{}, err
	}
	rep := Report{Decisions: list, Drift: l.NewDrift(list, r.Now())}
	if after, _ := json.Marshal(l); len(before) > 0 && !bytes.Equal(bytes.TrimSpace(before), after) || len(before) == 0 && !l.empty() {
		if err := r.save(&l); err != nil {
			return rep, err
		}
	}
	for i := range list {
		if list[i].Decision == Resume && ctx.Err() == nil {
			err = errors.Join(err, r.resume(ctx, &list[i], &l))
			rep.Failed = rep.Failed || list[i].Error != ""
		}
	}
	return rep, errors.Join(err, ctx.Err())
}

// decisions reads the sessions and decides. The ledger takes in what became of
// earlier resumes. Claude Code is only asked when a session may have to be
// resumed: asking starts a runtime of some 400 MB.
func (r *Reviver) decisions(ctx context.Context, l *Ledger) ([]Decision, error) {
	list, err := r.Home.Jobs()
	if err != nil {
		return nil, err
	}
	lim := r.Limits
	var agents []Agent
	if anyCandidate(list, l) {
		if agents, err = r.Claude.Agents(ctx); err != nil {
			return nil, err
		}
		v, err := r.Claude.Version(ctx)
		if err != nil {
			return nil, err
		}
		lim.KeepsID = keepsID(v)
	}
	sessions, err := r.gather(list, agents)
	if err != nil {
		return nil, err
	}
	now := r.Now()
	l.Observe(sessions, now, r.Jitter)
	return Decide(sessions, *l, now, lim), nil
}

func anyCandidate(list map[string]claude.Job, l *Ledger) bool {
	for _, j := range list {
		if j.State == claude.JobBlocked || l.intent(j.Session) != nil {
			return true
		}
	}
	return false
}

// keepsID tells whether a version was seen to resume a stopped session under
// its own id: 2.1.332 and later.
func keepsID(version string) bool {
	var major, minor, patch int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); n < 3 {
		return false
	}
	switch {
	case major != 2:
		return major > 2
	case minor != 1:
		return minor > 1
	}
	return patch >= 332
}

// resume carries one resume out. What went wrong with it stands in the
// decision; an error is of the ledger, and ends the pass's claim to safety.
func (r *Reviver) resume(ctx context.Context, d *Decision, l *Ledger) error {
	no := false
	d.Resumed = &no
	release, err := r.Lease(d.Session, "shrevive")
	if err != nil {
		d.Error = err.Error()
		return nil
	}
	defer release()
	if why := r.changed(d); why != "" {
		d.Decision, d.Why, d.Resumed = Leave, why, nil
		return nil
	}
	l.Intend(*d, r.Now())
	if err := r.save(l); err != nil {
		d.Error = "nothing was done: " + err.Error()
		return err
	}
	at := r.Now() // before the launch: its answer is later, however fast it comes
	err = r.launch(ctx, d)
	unsure := errors.Is(err, ErrUnsure)
	if err != nil {
		d.Error = err.Error()
	}
	if err != nil && !unsure {
		return nil // no attempt; the intent stands
	}
	l.Launched(*d, at, unsure, r.Jitter())
	err = r.save(l)
	if unsure {
		return err
	}
	yes := true
	d.Resumed = &yes
	if err := r.Tell(*d, at); err != nil {
		d.Error = "resumed, but the hub was not told: " + err.Error()
	}
	return err
}

// changed tells what happened to a session since it was decided on.
func (r *Reviver) changed(d *Decision) string {
	j, err := r.Home.Job(d.Short)
	if err != nil {
		return "its job is gone"
	}
	if !j.Updated.Equal(d.updated) {
		return "it changed meanwhile: it is " + j.State
	}
	return ""
}

// goneLimit is how long a stopped session may take to be gone, looked at every
// goneEvery. The service was seen to take up to 2.4 s on a busy machine.
const (
	goneLimit = 20 * time.Second
	goneEvery = 50 * time.Millisecond
)

// launch stops the session's process, if it has one, and resumes it. Without
// the stop a copy would be made.
func (r *Reviver) launch(ctx context.Context, d *Decision) error {
	alive, err := r.alive(d)
	if err != nil {
		return err
	}
	if alive {
		if err := r.Claude.Stop(ctx, d.Short); err != nil {
			return err
		}
		if err := r.ended(ctx, d); err != nil {
			return err
		}
	}
	name := d.Name
	if d.keepsID { // with its saved options, the name among them
		name = ""
	}
	short, err := r.Claude.Resume(ctx, *d, name, r.Prompt)
	if err != nil || short == d.Short {
		return err
	}
	if d.keepsID { // the process lived after all
		err := r.Claude.Stop(ctx, short)
		return errors.Join(fmt.Errorf("%w: Claude Code made a copy, %s, which was stopped", ErrUnsure, short), err)
	}
	// An older Claude Code goes on under another id. What is left of the old
	// one would be found blocked for ever.
	if err := r.Claude.Stop(ctx, d.Short); err != nil {
		d.Error = fmt.Sprintf("resumed as %s, but the old job was not stopped: %v", short, err)
	}
	return nil
}

// alive looks anew whether a session runs: the service, when it starts for the
// first resume after a crash, may start others again. It keeps what it finds in
// the decision.
func (r *Reviver) alive(d *Decision) (bool, error) {
	t, err := r.Table()
	if err != nil {
		return false, err
	}
	live, err := r.Home.Live(t)
	if err != nil && !errors.Is(err, claude.ErrNoRegistry) {
		return false, err
	}
	for _, p := range live {
		if p.SessionID == d.Session && !slices.Contains(d.pids, p.PID) {
			d.pids = append(d.pids, p.PID)
		}
	}
	return len(d.pids) > 0 || r.Home.Worked(d.Short, t), nil
}

// ended waits until a session's processes are gone and the service has let go
// of it. `claude stop` returns before that, and a resume in between makes a
// copy (seen with 2.1.332).
func (r *Reviver) ended(ctx context.Context, d *Decision) error {
	for waited := time.Duration(0); ; waited += goneEvery {
		t, err := r.Table()
		if err != nil {
			return err
		}
		left := ""
		if r.Home.Worked(d.Short, t) {
			left = "Claude Code's service did not let go of it"
		}
		for _, pid := range d.pids {
			if p, ok := t.Find(pid); ok && !p.Zombie {
				left = fmt.Sprintf("its process %d did not end", pid)
			}
		}
		switch {
		case left == "":
			return nil
		case waited >= goneLimit:
			return fmt.Errorf("stopped, but %s in %s", left, goneLimit)
		case ctx.Err() != nil:
			return ctx.Err()
		}
		r.Pause(ctx, goneEvery)
	}
}

func ledgerFile(dir state.Dir) string { return filepath.Join(string(dir), "revive.json") }
func lockFile(dir state.Dir) string   { return filepath.Join(string(dir), "revive.lock") }

// ReadLedger reads revive.json; a missing one is empty. One that can't be read
// is an error, as the caps rest on it.
func ReadLedger(dir state.Dir) (Ledger, error) {
	var l Ledger
	err := state.ReadJSON(ledgerFile(dir), &l)
	if errors.Is(err, fs.ErrNotExist) {
		return Ledger{}, nil
	}
	if err == nil {
		err = l.check()
	}
	if err != nil {
		return Ledger{}, fmt.Errorf("read the ledger: %w; `shrevive forget` drops it", err)
	}
	return l, nil
}

func (r *Reviver) save(l *Ledger) error {
	if err := state.ReplaceJSON(ledgerFile(r.Dir), l); err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	return nil
}

// Forget drops the history of a session, by its id, or of all with "". It
// waits for a pass that is under way, at most that long.
func Forget(dir state.Dir, session string, wait time.Duration) (n int, err error) {
	if err := dir.Ensure(); err != nil {
		return 0, err
	}
	held, err := lock.Acquire(lockFile(dir), wait)
	if err != nil {
		return 0, err
	}
	defer held.Release()
	l, err := ReadLedger(dir)
	if err != nil && session != "" {
		return 0, err
	}
	n = l.Forget(session)
	return n, state.ReplaceJSON(ledgerFile(dir), &l)
}
