package control

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/config"
	"sessionhub/lib/herdr"
	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/mailbox"
	"sessionhub/lib/record"
	"sessionhub/lib/runlog"
	"sessionhub/lib/session"
	"sessionhub/lib/state"
)

// crashEnv makes the test binary a poll that kills itself: step, state
// directory, hub, token, herdr socket, home.
const crashEnv = "SESSIONHUB_TEST_CRASH"

// The moments at which a poll can die.
const (
	claimed = "claimed" // before anything was done
	noted   = "noted"   // the first step is noted, and not taken
	given   = "given"   // herdr has the text
	lying   = "lying"   // the message lies in the mailbox
	handed  = "handed"  // Claude Code was given it by its hook
	known   = "known"   // the result is known and kept
	posted  = "posted"  // the hub has it, and its entry is still there
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(crashEnv); spec != "" {
		crashChild(strings.Split(spec, "\n"))
	}
	os.Exit(m.Run())
}

func die() { syscall.Kill(os.Getpid(), syscall.SIGKILL) }

// dying is a hub and a herdr in whose calls the process dies.
type dyingHub struct {
	*hubclient.Client
	at string
}

func (h dyingHub) NextClaim(ctx context.Context, wait time.Duration) (record.Claim, bool, error) {
	c, ok, err := h.Client.NextClaim(ctx, wait)
	if ok && h.at == claimed {
		die()
	}
	return c, ok, err
}

func (h dyingHub) PostResult(ctx context.Context, r record.Result) error {
	if h.at == known || h.at == handed { // it arrived before anybody looked
		die()
	}
	err := h.Client.PostResult(ctx, r)
	if h.at == posted {
		die()
	}
	return err
}

type dyingHerdr struct {
	session.Herdr
	at string
}

func (h dyingHerdr) PromptAgent(ctx context.Context, p herdr.Prompt) (herdr.Agent, error) {
	if h.at == noted {
		die()
	}
	a, err := h.Herdr.PromptAgent(ctx, p)
	if h.at == given {
		die()
	}
	return a, err
}

func (h dyingHerdr) CreateWorkspace(ctx context.Context, w herdr.NewWorkspace) (herdr.Created, error) {
	if h.at == noted {
		die()
	}
	return h.Herdr.CreateWorkspace(ctx, w)
}

func (h dyingHerdr) StartAgent(ctx context.Context, s herdr.Start) (herdr.Started, error) {
	a, err := h.Herdr.StartAgent(ctx, s)
	if h.at == given {
		die()
	}
	return a, err
}

// dyingPause is a wait in which the process dies when a file of a mailbox is there.
func dyingPause(step string, dir state.Dir) func(context.Context, time.Duration) {
	pattern := map[string]string{lying: "*.json", handed: "taken/*.given"}[step]
	return func(ctx context.Context, d time.Duration) {
		if found, err := filepath.Glob(filepath.Join(mailbox.Folder(dir), "*", pattern)); pattern != "" && (err != nil || len(found) > 0) {
			die()
		}
		session.Pause(ctx, d)
	}
}

func crashChild(f []string) {
	step, dir, url, token, socket, home := f[0], state.Dir(f[1]), f[2], f[3], f[4], f[5]
	timing := session.DefaultTiming()
	timing.Link, timing.Every = 200*time.Millisecond, 10*time.Millisecond
	client, err := hubclient.New(config.Config{ServerURL: url, Machine: "tower"}, token)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	d := &Doer{
		Dir: dir, Home: home, Who: "child", Now: time.Now, Config: func() (config.Config, error) { return config.Config{RemoteStart: true}, nil },
		Desk: &session.Desk{
			Dir: dir, Home: claude.Home(home + "/.claude"), Getenv: func(string) string { return "" }, Now: time.Now, Pause: dyingPause(step, dir), Timing: timing,
			Sockets: func() []string { return []string{socket} },
			Client:  func(s string) session.Herdr { return dyingHerdr{&herdr.Client{Socket: s}, step} },
		},
	}
	p := &Poll{Connect: func() (Hub, error) { return dyingHub{client, step}, nil }, Doer: d, Log: &runlog.Log{W: os.Stderr}, Timing: shortTiming(), Pause: session.Pause}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	p.Run(ctx)
	os.Exit(0)
}

// turning is a clock that a test turns.
type turning struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *turning) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *turning) turn(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// A poll that is killed at any step leaves each request either ended with a
// true result, or offered again without doing it twice.
func TestKilledAtEveryStep(t *testing.T) {
	for _, step := range []string{claimed, noted, given, known, posted} {
		for _, action := range []record.Action{record.ActionMessage, record.ActionStart, record.ActionResume} {
			t.Run(step+"/"+string(action), func(t *testing.T) {
				t.Parallel()
				c := &turning{}
				w := &wire{machine: newMachine(t), hub: hubtest.StartAt(t, c.now)}
				w.owner = w.client("", w.hub.UserToken)
				w.killAt(step, action, c)
			})
		}
	}
}

func (w *wire) killAt(step string, action record.Action, c *turning) {
	t := w.t
	id := w.claude()
	w.live(id)
	if action == record.ActionResume {
		if r := w.d.Do(t.Context(), w.message(id, "so that there is something")); r.State != record.RequestDelivered {
			t.Fatal(r)
		}
		w.enters("/exit")
		w.until("it is over", func() bool { return !w.registry()[id] })
	}
	before := len(w.registry())
	req := w.order(action, id)
	w.killed(step, c)
	w.poll()
	w.judge(step, action, w.over(req), before)
}

// killed runs a poll that is killed at a step, and lets its lease lapse.
func (w *wire) killed(step string, c *turning) {
	t := w.t
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashEnv+"="+strings.Join([]string{step, string(w.d.Dir), w.hub.URL, w.hub.MachineToken, w.s.Client().Socket, w.s.Home()}, "\n"))
	child.Stderr = t.Output()
	if err := child.Run(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the child ended by itself: %v", err)
	}
	c.turn(31 * time.Second) // its lease lapses
}

// over waits until a request has ended.
func (w *wire) over(req string) (r record.Request) {
	w.t.Helper()
	w.until("the request has ended", func() bool {
		var err error
		r, err = w.owner.Request(w.t.Context(), req, 0)
		return err == nil && r.Ended()
	})
	return r
}

// The same for a message that goes by the mailbox: what became of it can be found
// out at every step, so it arrives, once.
func TestKilledAtEveryStepOfTheMailbox(t *testing.T) {
	for _, step := range []string{claimed, lying, handed, known, posted} {
		for _, then := range []string{"at rest", "at work"} {
			t.Run(step+"/"+then, func(t *testing.T) {
				t.Parallel()
				c := &turning{}
				w := &wire{machine: newPost(t), hub: hubtest.StartAt(t, c.now)}
				w.owner = w.client("", w.hub.UserToken)
				w.killInMailbox(step, then, c)
			})
		}
	}
}

func (w *wire) killInMailbox(step, then string, c *turning) {
	o, id := w.outside()
	w.waits(id)
	w.live(id)
	if step == lying { // else it is given before anybody looks
		o.Keys("work 2s\r")
		w.status(o, "busy")
	}
	req := w.send(id, "exactly once")
	w.killed(step, c)
	if then == "at work" {
		w.status(o, "idle")
		o.Keys("work 1s\r")
	}
	w.poll()
	r := w.over(req)
	if r.State != record.RequestDelivered || !strings.Contains(r.Detail, "through its mailbox") {
		w.t.Errorf("%s %q", r.State, r.Detail)
	}
	if n := w.got(req); n != 1 {
		w.t.Errorf("it arrived %d times; said %s %q", n, r.State, r.Detail)
	}
	w.until("the poll has forgotten it", func() bool { list, err := w.d.Unposted(); return err == nil && len(list) == 0 })
	w.clean()
}

// order asks for the action.
func (w *wire) order(action record.Action, session string) string {
	w.t.Helper()
	switch action {
	case record.ActionMessage:
		return w.send(session, "exactly once")
	case record.ActionResume:
		return w.ask(session, record.ControlPost{Action: action})
	}
	r, err := w.owner.Start(w.t.Context(), "", "tower", record.StartPost{Start: record.Start{Dir: "~"}})
	if err != nil {
		w.t.Fatal(err)
	}
	return r.ID
}

// judge compares what is said with what was done.
func (w *wire) judge(step string, action record.Action, r record.Request, before int) {
	t := w.t
	unknown := r.State == record.RequestFailed && (strings.Contains(r.Detail, "unknown") || strings.Contains(r.Detail, "just resumed"))
	good := r.State == record.RequestDelivered || r.State == record.RequestDone
	count := func() int {
		if action == record.ActionMessage {
			return w.typed("exactly once")
		}
		return len(w.registry()) - before
	}
	switch {
	case unknown && (step == noted || step == given):
		// It may or may not have been done; not twice.
	case !good:
		t.Errorf("%s %q", r.State, r.Detail)
	default:
		w.until("it was done", func() bool { return count() >= 1 })
	}
	if n := count(); n > 1 || good && n != 1 {
		t.Errorf("it was done %d times; said %s %q", n, r.State, r.Detail)
	}
}
