// Package watch keeps the hub current: it drains the queue, sends heartbeats
// and notices what no record tells. One watcher serves all herdr servers of a
// state directory, in one goroutine: one thing at a time, each with a limit.
package watch

import (
	"context"
	"time"

	"sessionhub/lib/herdr"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/runlog"
	"sessionhub/lib/state"
)

// Hub is what the watcher needs of the hub.
type Hub interface {
	PutSnapshot(ctx context.Context, key string, s record.Snapshot) error
	PutSession(ctx context.Context, key, session string, u record.UpsertPut) error
	PostEvent(ctx context.Context, session string, e record.EventPost) error
	PostReport(ctx context.Context, session string, r record.SavedReport) error
	PutTitle(ctx context.Context, key, session string, t record.Title) error
	Probe(ctx context.Context, key string) error
	ErrandHub
}

// Looker takes inventories.
type Looker interface {
	// Look says what runs on the herdr server at socket. An error proves
	// nothing about any session (field report A16).
	Look(ctx context.Context, socket string) (Look, error)
	// Outside lists the live sessions of this machine whatever they run in, by
	// Claude's own registry; claude.ErrNoRegistry without one.
	Outside(ctx context.Context) ([]record.LiveSession, error)
}

// Look is an inventory of one herdr server.
type Look struct {
	HerdrSession string
	Version      string
	Live         []record.LiveSession
	Unidentified []record.UnidentifiedPane
	Panes        map[string]bool // every pane there is, whatever runs in it
	Workspaces   []string
}

// Timing is how long the watcher waits for what.
type Timing struct {
	Heartbeat  time.Duration // between heartbeats
	Tick       time.Duration // the fallback beside a working file watch
	BlindTick  time.Duration // the same without one
	PassGap    time.Duration // between passes: a burst of appends is one pass
	Settle     time.Duration // after a state, until herdr's own lag is over
	Done       time.Duration // a done that is shorter is none
	Confirm    time.Duration // until a vanished session is looked for again
	Unresolved time.Duration // until a record of an unknown pane is set aside
	Remember   time.Duration // how long a closed pane is remembered
	Alone      time.Duration // without anything to watch, until the watcher ends
	Bury       time.Duration // without its server, until its sessions are over
	RetryMin   time.Duration // backoff after a delivery that may succeed later
	RetryMax   time.Duration
}

// DefaultTiming is the timing of a real watcher.
func DefaultTiming() Timing {
	return Timing{
		Heartbeat: time.Minute,
		Tick:      30 * time.Second,
		BlindTick: 2 * time.Second,
		PassGap:   20 * time.Millisecond,
		// For 0.6 s after a prompt herdr still says idle, at most 0.72 s
		// (finding 15 of the Claude captures).
		Settle: 750 * time.Millisecond,
		// False ones last 0.3 s (finding 18).
		Done:       500 * time.Millisecond,
		Confirm:    300 * time.Millisecond,
		Unresolved: 10 * time.Minute,
		Remember:   10 * time.Minute,
		Alone:      10 * time.Minute,
		Bury:       2 * time.Minute,
		RetryMin:   time.Second,
		RetryMax:   30 * time.Second,
	}
}

const (
	// lookWait bounds one inventory. herdr answers in milliseconds, but stands
	// still while it closes a pane (finding 7 of the protocol captures).
	lookWait = 4 * time.Second
	// passLookWait bounds it in a pass, where records of sessions wait behind
	// it.
	passLookWait = time.Second
	// lookPause keeps passes from waiting for a herdr that just did not
	// answer.
	lookPause = 15 * time.Second
)

// Watcher is the watcher of one state directory. Fill the exported fields,
// then call Run, or Pass for a single pass. Use it from one goroutine.
type Watcher struct {
	Queue   *queue.Queue
	Dir     state.Dir
	Connect func() (Hub, error) // asked for each pass: the config may change
	Looker  Looker
	Git     func(cwd string) *record.Git // must not block; nil means unknown
	Learned <-chan struct{}              // Git knows more: a heartbeat soon; nil for none
	Log     *runlog.Log
	Machine string
	Version string
	Sockets []string // herdr servers to watch besides the learned ones
	Claude  string   // Claude's folder of live sessions, watched for changes
	Digests Digests  // nil for none
	Child   *Child   // kept running beside the watcher; nil for none
	Timing  Timing
	Now     func() time.Time
	Owns    func() bool // is the state directory still this watcher's? nil is yes

	servers     map[string]*server
	memory      *memory
	sent        map[string]record.State // what the hub was last told of a session
	notes       notes
	leaving     map[string]left      // sessions that said that they end
	pids        map[string]int       // the process that ran a session last
	dones       map[string]time.Time // since when a session is done
	waiting     map[string]time.Time // unresolved items: first good look after them
	outside     map[string]bool      // sessions that the "" snapshot named
	outsideLive []record.LiveSession // the same, as they were seen
	errands     *Errands             // nil outside of Run
	plan        plan
	status      Status
	failed      bool // since the last heartbeat began
}

// server is one herdr server.
type server struct {
	socket   string
	identity herdr.Identity
	look     Look
	good     bool // look holds something
	lookAt   time.Time
	untold   bool      // sessions came or went since the last heartbeat
	passed   bool      // look was taken in this pass
	pause    time.Time // no look before
	goneAt   time.Time // since when nobody listens; zero while somebody does
	buried   bool
}

func (w *Watcher) start() error {
	if w.servers != nil {
		return nil
	}
	if err := w.Dir.Ensure(); err != nil {
		return err
	}
	w.servers = make(map[string]*server)
	w.sent = make(map[string]record.State)
	w.notes = make(notes)
	w.leaving = make(map[string]left)
	w.pids = make(map[string]int)
	w.dones = make(map[string]time.Time)
	w.waiting = make(map[string]time.Time)
	w.outside = make(map[string]bool)
	w.status = Status{Version: w.Version, Since: record.At(w.Now()), Servers: map[string]ServerStatus{}}
	w.memory = loadMemory(w.Dir, w.Log)
	for _, s := range w.Sockets {
		w.server(s)
	}
	return w.loadServers()
}

// server is the server at a socket, new if it was not known.
func (w *Watcher) server(socket string) *server {
	s, ok := w.servers[socket]
	if !ok {
		s = &server{socket: socket}
		w.servers[socket] = s
	}
	return s
}

// take takes an inventory of a server and notes what follows from it.
func (w *Watcher) take(ctx context.Context, s *server) error {
	return w.takeWithin(ctx, s, lookWait)
}

func (w *Watcher) takeWithin(ctx context.Context, s *server, limit time.Duration) error {
	now := w.Now()
	if now.Before(s.pause) && s.pause.Sub(now) <= lookPause {
		return errPaused
	}
	lctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	look, err := w.Looker.Look(lctx, s.socket)
	if err != nil {
		w.lookFailed(s, err)
		return err
	}
	s.goneAt, s.buried, s.pause = time.Time{}, false, time.Time{}
	s.untold = s.untold || !s.good || moved(s.look, look)
	s.look, s.good, s.passed, s.lookAt = look, true, true, w.Now()
	if id, err := herdr.SocketIdentity(s.socket); err == nil {
		s.identity = id
	}
	w.notePIDs(look.Live)
	w.noteDone(look)
	w.noteReplaced(ctx, s)
	if err := w.memory.note(s.socket, look, w.Now(), w.Timing.Remember); err != nil {
		w.Log.Failure("panes: %v", err) // a full disk must not end the heartbeats
	}
	return nil
}
