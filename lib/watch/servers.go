package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/herdr"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// errPaused says that a server is not asked again so soon after it did not
// answer.
var errPaused = errors.New("herdr did not answer a moment ago")

// servers is herdr.json: the sockets learned from records, with the time each
// was last seen.
type servers struct {
	Sockets map[string]record.Time `json:"sockets"`
}

// forgetServers is how long a socket that never comes back is kept.
const forgetServers = 30 * 24 * time.Hour

func (w *Watcher) loadServers() error {
	var f servers
	if err := state.ReadJSON(w.Dir.Herdr(), &f); err != nil {
		w.Log.Failure("herdr servers: %v; starting without them", err)
		return nil
	}
	for socket, seen := range f.Sockets {
		if w.Now().Sub(seen.Time) < forgetServers {
			w.server(socket)
		}
	}
	return nil
}

// learn notes the socket of a record in herdr.json.
func (w *Watcher) learn(socket string) {
	if _, ok := w.servers[socket]; ok {
		return
	}
	w.server(socket)
	if err := Learn(w.Dir, socket, w.Now()); err != nil {
		w.Log.Failure("herdr servers: %v", err)
	}
	w.plan.at(&w.plan.beat, w.Now())
}

// Learn notes a herdr socket in herdr.json, for the watcher that runs next.
func Learn(dir state.Dir, socket string, now time.Time) error {
	return dir.Locked(func() error {
		f := servers{}
		if err := state.ReadJSON(dir.Herdr(), &f); err != nil || f.Sockets == nil {
			f.Sockets = map[string]record.Time{}
		}
		f.Sockets[socket] = record.At(now)
		for s, seen := range f.Sockets {
			if now.Sub(seen.Time) > forgetServers {
				delete(f.Sockets, s)
			}
		}
		return state.ReplaceJSON(dir.Herdr(), f)
	})
}

// lookFailed notes that an inventory failed. That proves nothing of any
// session; whether the server is gone is another question.
func (w *Watcher) lookFailed(s *server, err error) {
	var un *herdr.UnreachableError
	switch {
	case !errors.As(err, &un):
	case un.Gone():
		if s.goneAt.IsZero() {
			s.goneAt = w.Now()
		}
	case un.Cause == herdr.TimedOut:
		s.pause = w.Now().Add(lookPause)
	}
}

// replaced reports whether another server has taken the socket over since the
// last inventory, or the first one came.
func (s *server) replaced() bool {
	id, err := herdr.SocketIdentity(s.socket)
	if errors.Is(err, fs.ErrNotExist) || err != nil {
		return false
	}
	return id != s.identity
}

// alive reports whether any server answers, or may: one that hangs counts.
func (w *Watcher) alive() bool {
	for _, s := range w.servers {
		if s.goneAt.IsZero() && s.good {
			return true
		}
	}
	return false
}

// had reports whether any server was ever seen.
func (w *Watcher) had() bool {
	for _, s := range w.servers {
		if s.good {
			return true
		}
	}
	return false
}

// noteReplaced queues the end of a session whose pane runs another one now,
// as after /clear, unless it runs somewhere else.
func (w *Watcher) noteReplaced(ctx context.Context, s *server) {
	for _, l := range s.look.Live {
		old, ok := w.memory.find(s.socket, l.PaneID)
		if !ok || old.Session == l.Session || !old.ClosedAt.IsZero() || w.runsElsewhere(ctx, old.Session) {
			continue
		}
		w.queue(record.KindEnded, old.Session, record.Ended{Reason: "replaced"})
		delete(w.sent, old.Session)
	}
}

func (w *Watcher) runsElsewhere(ctx context.Context, session string) bool {
	if l, _ := w.find(session); l != nil {
		return true
	}
	out, err := w.Looker.Outside(ctx)
	if err != nil {
		// Not proven: leave it to the heartbeat. Without a registry there is
		// nothing that could prove it.
		return !errors.Is(err, claude.ErrNoRegistry)
	}
	for _, l := range out {
		if l.Session == session {
			return true
		}
	}
	return false
}

// queue puts an item of the watcher's own on the queue, so that it is
// delivered once like any other.
func (w *Watcher) queue(kind record.Kind, session string, body any) {
	stamp := queue.NewStamp(w.Now())
	it, err := record.NewItem(stamp.ID, stamp.At, record.SourceWatch, kind, body)
	if err == nil {
		it.Session = session
		err = it.Validate()
	}
	if err == nil {
		err = w.Queue.Append(queue.Fast, it)
	}
	if err != nil {
		w.Log.Failure("queue: %v", err)
	}
}

// fail notes a failure for the log and for `shwatch status`.
func (w *Watcher) fail(format string, err error) {
	w.failed = true
	line := fmt.Sprintf(format, err)
	w.Log.Failure("%s", line)
	w.status.LastError = &LastError{At: record.At(w.Now()), Text: line, Hint: hint(err)}
}

// KnownSockets lists the herdr servers of this machine, the one heard of last
// first: those of records (herdr.json), those that are named, and the one that
// herdr itself would use.
func KnownSockets(dir state.Dir, getenv func(string) string, named []string) []string {
	var f servers
	if err := state.ReadJSON(dir.Herdr(), &f); err != nil {
		f = servers{} // the others are known all the same
	}
	learned := slices.SortedFunc(maps.Keys(f.Sockets), func(a, b string) int {
		return cmp.Or(f.Sockets[b].Compare(f.Sockets[a].Time), cmp.Compare(a, b))
	})
	var list []string
	for _, s := range append(append(learned, named...), herdr.DefaultSocket(getenv)) {
		if s != "" && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
