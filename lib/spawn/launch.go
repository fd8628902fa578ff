package spawn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"sessionhub/lib/state"
)

// order is what the launcher finds in its file.
type order struct {
	Program string   `json:"program"`
	Command []string `json:"command"`
	Env     []string `json:"env"` // what the spec and the caller say
	Cwd     string   `json:"cwd"`
	Proof   string   `json:"proof"` // where to say what came of it
	Leave   string   `json:"leave"` // where the starter gives its leave
}

// proof is what the launcher says before it becomes the agent. It holds the
// file locked until then: the lock goes with the exec, so a lock that is free
// and no error mean that the agent runs, or ran.
type proof struct {
	PID   int    `json:"pid"`
	Error string `json:"error,omitempty"`
}

const orderFile = "launch.json"

// leaveExt ends the name of the file by which a starter gives its leave. The
// starter holds it locked until its pane is named: a launcher whose starter was
// killed before that must not become an agent that no list shows.
const leaveExt = ".leave"

// leaveWord is what stands in it then.
const leaveWord = "go"

// leaveLimit bounds the launcher's wait for it: naming a pane is some calls.
const leaveLimit = 30 * time.Second

// leave is a starter's side of that file.
type leave struct {
	path string
	lock *flock.Flock
}

func withhold(path string) (*leave, error) {
	l := &leave{path, flock.New(path, flock.SetPermissions(0o600))}
	if ok, err := l.lock.TryLock(); err != nil || !ok {
		return nil, fmt.Errorf("make a launcher: lock %s: %w", filepath.Base(path), err)
	}
	return l, nil
}

// give lets the launcher become the agent.
func (l *leave) give() error {
	if err := os.WriteFile(l.path, []byte(leaveWord), 0o600); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	return l.lock.Unlock()
}

// end takes the file away: who comes later gets no leave.
func (l *leave) end() {
	_ = os.Remove(l.path) // what is left a sweep removes
	_ = l.lock.Close()
}

// awaitLeave waits until the starter gives its leave, or is dead.
func awaitLeave(path string) error {
	l := flock.New(path, flock.SetFlag(os.O_RDWR), flock.SetPermissions(0o600)) // made by the starter
	defer l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
	defer cancel()
	if _, err := l.TryLockContext(ctx, time.Millisecond); err != nil {
		return fmt.Errorf("its starter gives no leave: %w", err)
	}
	b, err := os.ReadFile(path)
	if err == nil && string(b) != leaveWord {
		err = errors.New("its starter was killed")
	}
	return err
}

// writeOrder puts an order into a private folder of its own and returns the
// file.
func writeOrder(dir string, o order) (string, error) {
	folder, err := os.MkdirTemp(dir, "launch-") // 0700
	if err != nil {
		return "", fmt.Errorf("make a launcher: %w", err)
	}
	b, err := json.Marshal(o)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, orderFile), b, 0o600)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("make a launcher: %w", err), os.RemoveAll(folder))
	}
	return filepath.Join(folder, orderFile), nil
}

// ErrLaunch says that a launcher could not become its agent.
var ErrLaunch = errors.New("launch")

// Launch becomes the agent that a launcher's file orders: it removes the file and
// its folder first, and returns only when that or the exec fails.
func Launch(file string, environ []string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLaunch, err)
	}
	var o order
	if err := json.Unmarshal(b, &o); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrLaunch, file, err)
	}
	f, err := lockProof(o.Proof)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLaunch, err)
	}
	if err = os.RemoveAll(filepath.Dir(file)); err == nil {
		err = awaitLeave(o.Leave)
	}
	if err == nil {
		err = f.say(proof{PID: os.Getpid()})
	}
	if err == nil {
		err = os.Chdir(o.Cwd)
	}
	if err == nil {
		err = syscall.Exec(o.Program, o.Command, merged(environ, o.Env))
	}
	err = fmt.Errorf("start %s: %w", o.Program, err)
	return errors.Join(err, f.say(proof{PID: os.Getpid(), Error: err.Error()}))
}

// merged is the environment of the agent: what the spec and its caller say, and
// what the pane gives beyond that, such as TERM and the pane's id.
func merged(pane, ordered []string) []string {
	env := append([]string{}, ordered...)
	for _, kv := range pane {
		name, _, _ := strings.Cut(kv, "=")
		if ofAnotherPane(name) && name != "_" && name != "SHLVL" && lookup(ordered, name) == "" {
			env = append(env, kv)
		}
	}
	return env
}

// lockLimit bounds the launcher's wait for its proof.
const lockLimit = 10 * time.Second

// proofFile is a proof that is held locked.
type proofFile struct {
	path string
	lock *flock.Flock
}

func lockProof(path string) (*proofFile, error) {
	l := flock.New(path, flock.SetFlag(os.O_RDWR), flock.SetPermissions(0o600)) // made by the caller
	ctx, cancel := context.WithTimeout(context.Background(), lockLimit)         // who reads it holds it for an instant
	defer cancel()
	_, err := l.TryLockContext(ctx, time.Millisecond)
	return &proofFile{path, l}, err
}

func (f *proofFile) say(p proof) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return os.WriteFile(f.path, b, 0o600)
}

// readProof tells what the launcher said. ok is false while it has said nothing
// or is not the agent yet.
func readProof(path string) (p proof, ok bool, err error) {
	l := flock.New(path, flock.SetFlag(os.O_RDWR), flock.SetPermissions(0o600))
	free, err := l.TryLock()
	if err != nil {
		return p, false, fmt.Errorf("read the launcher's word: %w", err)
	}
	if !free {
		return p, false, nil
	}
	defer l.Close()
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 0 {
		return p, false, err
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return p, false, fmt.Errorf("read the launcher's word: %w", err)
	}
	return p, true, nil
}

// sweepAge is after which time what a crash left in the folder of launchers is
// removed: a start takes seconds.
const sweepAge = 10 * time.Minute

// sweep removes the launchers and proofs that a crash left behind.
func sweep(dir string, now time.Time) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		left := strings.HasPrefix(e.Name(), "launch-") || strings.HasPrefix(e.Name(), "proof-")
		st, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || !left || err == nil && now.Sub(st.ModTime()) < sweepAge {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// folder is where launchers and locks are.
func folder(dir state.Dir) (string, error) { return dir.Sub("spawn") }
