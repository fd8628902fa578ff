package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sessionhub/lib/config"
	"sessionhub/lib/herdr"
	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
	"sessionhub/lib/runlog"
	"sessionhub/lib/session"
)

// log is a log that a test can read while it is written.
type log struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// line is a machine at a hub, and their owner.
type wire struct {
	*machine
	hub   *hubtest.Hub
	owner *hubclient.Client
	log   log
}

func newWire(t *testing.T) *wire {
	t.Helper()
	w := &wire{machine: newMachine(t), hub: hubtest.Start(t)}
	w.owner = w.client("", w.hub.UserToken)
	return w
}

func (w *wire) client(machine, token string) *hubclient.Client {
	w.t.Helper()
	c, err := hubclient.New(config.Config{ServerURL: w.hub.URL, Machine: machine}, token)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func shortTiming() Timing {
	return Timing{
		Wait: 2 * time.Second, RetryMin: 10 * time.Millisecond, RetryMax: 50 * time.Millisecond, Refused: 50 * time.Millisecond,
		Fast: 50 * time.Millisecond, FastWait: 10 * time.Millisecond, Renew: 50 * time.Millisecond, Post: 2 * time.Second, Grace: 2 * time.Second,
	}
}

// poll starts the loop; end ends it and waits.
func (w *wire) poll() (end func()) {
	w.t.Helper()
	p := &Poll{
		Connect: func() (Hub, error) { return w.client("tower", w.hub.MachineToken), nil },
		Doer:    w.d, Log: &runlog.Log{W: &w.log}, Timing: shortTiming(), Pause: session.Pause,
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { p.Run(ctx); close(done) }()
	end = func() { cancel(); <-done }
	w.t.Cleanup(end)
	return end
}

// live lets the hub know sessions of this machine.
func (w *wire) live(sessions ...string) {
	w.t.Helper()
	s := record.Snapshot{V: 1, At: record.At(time.Now()), Machine: "tower", HerdrSession: "default"}
	for _, id := range sessions {
		s.Sessions = append(s.Sessions, record.LiveSession{Session: id, Agent: "claude", PaneID: "w1:p1", AgentState: record.Idle, Cwd: w.s.Home()})
	}
	if err := w.client("tower", w.hub.MachineToken).PutSnapshot(w.t.Context(), "", s); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) ask(session string, p record.ControlPost) string {
	w.t.Helper()
	r, err := w.owner.Control(w.t.Context(), "", session, p)
	if err != nil {
		w.t.Fatal(err)
	}
	return r.ID
}

func (w *wire) send(session, text string) string {
	w.t.Helper()
	return w.ask(session, record.ControlPost{Action: record.ActionMessage, Text: text})
}

func (w *wire) ends(id string, state record.RequestState, detail string) record.Request {
	w.t.Helper()
	var r record.Request
	w.until(fmt.Sprintf("%s is %s", id, state), func() bool {
		var err error
		r, err = w.owner.Request(w.t.Context(), id, 0)
		return err == nil && r.State == state
	})
	if !strings.Contains(r.Detail, detail) {
		w.t.Errorf("%+v; want %q", r, detail)
	}
	return r
}

func TestPollCarriesOut(t *testing.T) {
	w := newWire(t)
	id := w.claude()
	w.live(id)
	w.poll()
	began := time.Now()
	w.ends(w.send(id, "hello"), record.RequestDelivered, "in pane "+w.pane)
	t.Logf("from the request to its proof: %s", time.Since(began).Round(time.Millisecond))
	if n := w.typed("hello"); n != 1 {
		t.Errorf("typed %d times", n)
	}
	w.until("the entry is forgotten", func() bool { list, err := w.d.Unposted(); return err == nil && len(list) == 0 })
	w.ends(w.send(id, "/nope"), record.RequestRefused, "begins with /")
	log := w.log.String()
	if !strings.Contains(log, "control: waiting for requests") || !strings.Contains(log, "message for session "+id+": delivered") || strings.Contains(log, "hello") {
		t.Errorf("log:\n%s", log)
	}
}

// A long deed holds up no short one of another session, and its lease is
// renewed.
func TestAMessagePassesAStartThatWaits(t *testing.T) {
	w := newWire(t)
	id := w.claude()
	w.live(id)
	w.d.Desk.Timing.Detect = time.Minute
	slow := make(chan struct{})
	client := w.d.Desk.Client
	w.d.Desk.Client = func(socket string) session.Herdr { return held{client(socket), slow} }
	w.poll()
	start, err := w.owner.Start(t.Context(), "", "tower", record.StartPost{Start: record.Start{Dir: "~"}})
	if err != nil {
		t.Fatal(err)
	}
	w.ends(start.ID, record.RequestOffered, "")
	w.ends(w.send(id, "hello"), record.RequestDelivered, "")
	w.ends(start.ID, record.RequestOffered, "") // it still waits
	close(slow)
	w.ends(start.ID, record.RequestDone, "")
}

// held is a herdr in which no Claude starts before it is let go.
type held struct {
	session.Herdr
	let chan struct{}
}

func (h held) StartAgent(ctx context.Context, s herdr.Start) (herdr.Started, error) {
	select {
	case <-h.let:
	case <-ctx.Done():
	}
	return h.Herdr.StartAgent(ctx, s)
}

// Results are posted also while the loop is to end.
func TestResultsArePostedWhileStopping(t *testing.T) {
	w := newWire(t)
	id := w.claude()
	w.live(id)
	typed := make(chan struct{})
	client := w.d.Desk.Client
	w.d.Desk.Client = func(socket string) session.Herdr { return telling{client(socket), typed} }
	end := w.poll()
	req := w.send(id, "hello")
	<-typed
	end()
	w.ends(req, record.RequestDelivered, "")
}

// telling tells when it is given a prompt.
type telling struct {
	session.Herdr
	typed chan struct{}
}

func (h telling) PromptAgent(ctx context.Context, p herdr.Prompt) (herdr.Agent, error) {
	defer close(h.typed)
	return h.Herdr.PromptAgent(ctx, p)
}

// A hub that goes away in the middle gets the result when it is back; nothing
// is typed twice.
func TestAHubThatGoesAwayInBetween(t *testing.T) {
	w := newWire(t)
	id := w.claude()
	w.live(id)
	typed := make(chan struct{})
	client := w.d.Desk.Client
	w.d.Desk.Client = func(socket string) session.Herdr { return telling{client(socket), typed} }
	w.poll()
	req := w.send(id, "hello")
	<-typed
	w.hub.Down()
	w.until("the result is kept", func() bool { list, err := w.d.Unposted(); return err == nil && len(list) == 1 })
	w.hub.Up()
	w.ends(req, record.RequestDelivered, "")
	if n := w.typed("hello"); n != 1 {
		t.Errorf("typed %d times", n)
	}
}

// scriptedHub answers polls as a test says.
type scriptedHub struct {
	mu    sync.Mutex
	polls int
	next  func(n int) (record.Claim, bool, error)
}

func (h *scriptedHub) NextClaim(ctx context.Context, _ time.Duration) (record.Claim, bool, error) {
	h.mu.Lock()
	h.polls++
	n := h.polls
	h.mu.Unlock()
	if ctx.Err() != nil {
		return record.Claim{}, false, ctx.Err()
	}
	return h.next(n)
}
func (h *scriptedHub) PostResult(context.Context, record.Result) error { return nil }
func (h *scriptedHub) Renew(context.Context, string) error             { return nil }

// The waits of the loop: real durations, without waiting for them.
func TestTheWaitsOfTheLoop(t *testing.T) {
	network := &hubclient.Error{Op: "claim", Err: errors.New("refused")}
	for _, c := range []struct {
		name    string
		connect error
		poll    error
		want    [][2]time.Duration // least and most of each pause
	}{
		{"a network error doubles", nil, network, [][2]time.Duration{{2500, 5000}, {5000, 10000}, {10000, 20000}, {20000, 40000}, {30000, 60000}, {30000, 60000}}},
		{"A47: 401 waits five minutes", nil, &hubclient.Error{Status: 401}, [][2]time.Duration{{150000, 300000}, {150000, 300000}}},
		{"403, too", nil, &hubclient.Error{Status: 403}, [][2]time.Duration{{150000, 300000}}},
		{"a configuration that is none, too", config.ErrInvalid, nil, [][2]time.Duration{{150000, 300000}}},
		{"no token, too", config.ErrNoToken, nil, [][2]time.Duration{{150000, 300000}}},
		{"a 204 in under a second waits one", nil, nil, [][2]time.Duration{{1000, 1000}, {1000, 1000}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var pauses []time.Duration
			hub := &scriptedHub{next: func(int) (record.Claim, bool, error) { return record.Claim{}, false, c.poll }}
			p := &Poll{
				Connect: func() (Hub, error) { return hub, c.connect }, Doer: &Doer{Now: time.Now, Dir: "/nonexistent"},
				Log: &runlog.Log{W: t.Output()}, Timing: DefaultTiming(),
				Pause: func(_ context.Context, d time.Duration) {
					if pauses = append(pauses, d); len(pauses) == len(c.want) {
						cancel()
					}
				},
			}
			p.Run(ctx)
			for i, w := range c.want {
				if d := pauses[i]; d < w[0]*time.Millisecond || d > w[1]*time.Millisecond {
					t.Errorf("pause %d is %s, not in %v ms", i, d, w)
				}
			}
		})
	}
}

// Field report A55: a proxy cuts long polls at 3 s. The loop says so, and does
// not spin.
func TestA55ACutPollIsTold(t *testing.T) {
	var l log
	p := &Poll{Log: &runlog.Log{W: &l}, Timing: DefaultTiming(), Pause: func(context.Context, time.Duration) {}}
	for range cutShort {
		p.pace(t.Context(), 3*time.Second, nil)
	}
	if !strings.Contains(l.String(), "cut after 3s: a proxy in between?") {
		t.Errorf("log %q", l.String())
	}
	l.b.Reset()
	p.cuts = 0
	for range 10 {
		p.pace(t.Context(), 30*time.Second, nil)
	}
	if l.String() != "" {
		t.Errorf("whole polls: %q", l.String())
	}
}
