package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"sessionhub/lib/record"
	"sessionhub/lib/runlog"
	"sessionhub/lib/session"
	"sessionhub/lib/state"
)

// Mover hands the steps of moves to shmove. Each runs in a session of its own:
// a move is not cut when whoever asked for it stops.
type Mover struct {
	Program string // shmove
	Dir     state.Dir
	Env     []string
	Stderr  *os.File // a file, so that a move can outlive its reader
	Log     *runlog.Log
	Pause   func(ctx context.Context, d time.Duration)
}

const (
	// keyEvery is how often the key is registered anew (the seed's hour): a hub
	// may have lost it.
	keyEvery = time.Hour
	// recoverEvery is how often unfinished moves are gone on with.
	recoverEvery = time.Minute
	// moverAsk bounds a call of shmove that only looks. The first one makes keys.
	moverAsk = 30 * time.Second
	// recoverLimit bounds one pass over unfinished moves: each may wait for the
	// hub, and start a session.
	recoverLimit = 15 * time.Minute
)

// verbs are the parts of shmove that carry the steps out.
var verbs = map[record.Action]string{
	record.ActionMoveCheck: "in", record.ActionMoveIn: "in", record.ActionMoveOut: "out", record.ActionMoveFinish: "finish",
}

// Do carries out a step of a move. One whose outcome is not known is busy: it is
// offered again, and its journal tells then how far it came.
func (m *Mover) Do(ctx context.Context, c record.Claim) record.Result {
	in, err := json.Marshal(c)
	if err != nil {
		return failed("%v", err)
	}
	var out bytes.Buffer
	cmd := exec.Command(m.Program, verbs[c.Action])
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = m.Env, bytes.NewReader(in), &out, m.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return m.broken(c, fmt.Errorf("this machine's tools can't move sessions: %w", err))
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		return record.Result{State: record.ResultBusy, Detail: "the move goes on while this machine's watcher starts anew"}
	}
	var res record.Result
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &res)
	}
	if err != nil {
		return m.broken(c, err)
	}
	return res
}

// broken is the result of a step that ended without one. What began nothing has
// failed; what may have begun is asked again.
func (m *Mover) broken(c record.Claim, err error) record.Result {
	var exit *exec.ExitError
	busy := errors.As(err, &exit) && exit.ExitCode() == 75 // EX_TEMPFAIL
	detail := fmt.Sprintf("shmove %s: %v; its machine's watcher.log says why", verbs[c.Action], err)
	if !busy && (c.Action == record.ActionMoveCheck || c.Action == record.ActionMoveOut) {
		return failed("%s", detail)
	}
	return record.Result{State: record.ResultBusy, Detail: detail}
}

// Tend registers this machine's key for moves, at once and every hour, and goes
// on with the moves that a crash left in the middle, until the context ends.
func (m *Mover) Tend(ctx context.Context, register func(ctx context.Context, k record.MoveKey) error) {
	var known string
	var registered time.Time
	for ctx.Err() == nil {
		if time.Since(registered) > keyEvery {
			k, err := m.register(ctx, register)
			switch {
			case err != nil && ctx.Err() == nil:
				m.Log.Failure("move: %v", err)
			case err == nil:
				registered = time.Now()
				if k.Fingerprint != known {
					m.Log.Printf("move: key %s registered", k.Fingerprint)
				}
				known = k.Fingerprint
			}
		}
		if m.unfinished() {
			if err := m.recover(ctx); err != nil && ctx.Err() == nil {
				m.Log.Failure("move: recover: %v", err)
			}
		}
		m.Pause(ctx, recoverEvery)
	}
}

func (m *Mover) register(ctx context.Context, register func(ctx context.Context, k record.MoveKey) error) (k record.MoveKey, err error) {
	actx, cancel := context.WithTimeout(ctx, moverAsk)
	defer cancel()
	out, err := m.run(actx, "key")
	if err != nil {
		return k, fmt.Errorf("no key for moves: %w", err)
	}
	if err := json.Unmarshal(out, &k); err != nil {
		return k, fmt.Errorf("no key for moves: %w", err)
	}
	return k, register(ctx, k)
}

// unfinished reports whether there are journals.
func (m *Mover) unfinished() bool {
	list, err := filepath.Glob(filepath.Join(string(m.Dir), session.MovesDir, "*.json"))
	return err == nil && len(list) > 0
}

func (m *Mover) recover(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, recoverLimit)
	defer cancel()
	_, err := m.run(ctx, "recover")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 75 { // EX_TEMPFAIL: later
		return nil
	}
	return err
}

// run calls shmove and gives what it prints. Ended with the context, it gets the
// time to end by itself: its journal is whole at any moment all the same.
func (m *Mover) run(ctx context.Context, verb string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, m.Program, verb)
	cmd.Env, cmd.Stderr = m.Env, m.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%s is missing: install all tools", m.Program)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}
