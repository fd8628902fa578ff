package watch

import (
	"context"
	"errors"
	"slices"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
)

// Beat sends a heartbeat for every herdr server that answers, and one for the
// sessions outside herdr. A failed one is logged, not queued: the next says
// all of it again.
func (w *Watcher) Beat(ctx context.Context) {
	w.failed = false
	w.endDeadAsks()
	hub, err := w.Connect()
	if err != nil {
		w.fail("heartbeat skipped: %v", err)
		hub = nil // servers are looked at all the same
	}
	var told []*server
	for _, s := range w.servers {
		if ctx.Err() != nil {
			return
		}
		if w.beatServer(ctx, hub, s) {
			told = append(told, s)
		}
	}
	if w.beatOutside(ctx, hub) || len(told) > 0 {
		w.afterHeartbeat(hub, told)
	}
	w.bury(ctx, hub)
	if !w.failed && w.plan.backoff == 0 {
		w.status.LastError = nil // it is over
	}
	w.saveStatus()
}

// beatServer reports whether the hub took the server's heartbeat.
func (w *Watcher) beatServer(ctx context.Context, hub Hub, s *server) bool {
	before, had := s.look, s.good
	err := w.take(ctx, s)
	if err == nil && had && len(vanished(before, s.look)) > 0 {
		err = w.confirm(ctx, s)
	}
	if errors.Is(err, errPaused) {
		return false
	}
	if err != nil {
		if s.goneAt.IsZero() || w.Now().Sub(s.goneAt) < w.Timing.Heartbeat {
			w.fail("heartbeat: %v", err)
		}
		return false
	}
	if hub == nil || !w.put(ctx, hub, s.socket, w.snapshot(s.look.HerdrSession, s.look.Version, s.look.Live, s.look.Unidentified)) {
		return false
	}
	s.untold = false
	return true
}

// confirm looks again for sessions that an inventory lacks: one inventory
// without them may be a stall of the multiplexer (field report A16).
func (w *Watcher) confirm(ctx context.Context, s *server) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(w.Timing.Confirm):
	}
	return w.take(ctx, s)
}

// vanished lists the sessions of one look that another lacks, unless their
// pane waits to be identified.
func vanished(before, now Look) []string {
	var gone []string
	for _, l := range before.Live {
		there := slices.ContainsFunc(now.Live, func(n record.LiveSession) bool { return n.Session == l.Session })
		if !there && !unidentified(now, l.PaneID) {
			gone = append(gone, l.Session)
		}
	}
	return gone
}

func (w *Watcher) snapshot(herdrSession, version string, live []record.LiveSession, un []record.UnidentifiedPane) record.Snapshot {
	s := record.Snapshot{
		V: record.Version, At: record.At(w.Now()), Machine: w.Machine,
		HerdrSession: herdrSession, HerdrVersion: version, ToolsVersion: w.Version,
		Sessions: slices.Clone(live), UnidentifiedPanes: slices.Clone(un),
	}
	s.Sessions = slices.DeleteFunc(s.Sessions, func(l record.LiveSession) bool { return w.leaves(&l) })
	if s.Sessions == nil {
		s.Sessions = []record.LiveSession{}
	}
	if s.UnidentifiedPanes == nil {
		s.UnidentifiedPanes = []record.UnidentifiedPane{}
	}
	for i := range s.Sessions {
		l := &s.Sessions[i]
		if l.Git == nil && l.Cwd != "" && w.Git != nil {
			l.Git = w.Git(l.Cwd)
		}
		if w.freshlyDone(l) { // not yet: what it was before still holds
			l.AgentState = w.sent[l.Session].AgentState
		}
	}
	return s
}

// noKey is for what is no record of the queue and may be repeated.
const noKey = ""

// put sends a snapshot and notes what the hub knows now. It reports whether
// the hub took it.
func (w *Watcher) put(ctx context.Context, hub Hub, socket string, s record.Snapshot) bool {
	err := hub.PutSnapshot(ctx, noKey, s)
	st := ServerStatus{HerdrSession: s.HerdrSession, HerdrVersion: s.HerdrVersion, Sessions: len(s.Sessions)}
	st.LastGood = w.status.Servers[socket].LastGood
	if err != nil {
		w.fail("%v", err)
		st.Error = err.Error()
		w.status.Servers[socket] = st
		return false
	}
	now := record.At(w.Now())
	st.LastGood = &now
	w.status.Servers[socket] = st
	for _, l := range s.Sessions {
		w.sent[l.Session] = record.State{AgentState: l.AgentState, Background: l.Background}
	}
	if w.plan.backoff > 0 { // the hub is back
		w.plan.backoff = 0
		w.plan.at(&w.plan.pass, w.Now())
	}
	return true
}

// beatOutside sends the sessions that run in no herdr, also when there are
// none: that ends those of which only records told and whose process is gone.
// Without a registry nothing is known of them, and nothing said. It reports
// whether the hub took the heartbeat.
func (w *Watcher) beatOutside(ctx context.Context, hub Hub) bool {
	out, err := w.outsiders(ctx)
	if err != nil {
		if !errors.Is(err, claude.ErrNoRegistry) {
			w.Log.Failure("registry: %v", err)
		}
		return false
	}
	if hub == nil {
		return false
	}
	told := w.put(ctx, hub, "", w.snapshot("", "", out, nil))
	clear(w.outside)
	w.outsideLive = out
	for _, l := range out {
		w.outside[l.Session] = true
	}
	return told
}

// outsiders are the live sessions that no herdr server accounts for.
func (w *Watcher) outsiders(ctx context.Context) ([]record.LiveSession, error) {
	list, err := w.Looker.Outside(ctx)
	if err != nil {
		return nil, err
	}
	w.notePIDs(list)
	list = slices.DeleteFunc(slices.Clone(list), func(l record.LiveSession) bool {
		for _, s := range w.servers {
			if w.accounts(s, l.Session) {
				return true
			}
		}
		return false
	})
	for i := range list { // nothing shows whether somebody looked: a hook's word stands
		if l := &list[i]; l.AgentState == record.Idle && w.sent[l.Session].AgentState == record.Done {
			l.AgentState = record.Done
		}
	}
	return list, nil
}

// accounts reports whether a server accounts for a session: its present
// inventory shows it, or a pane that ran it waits to be identified, as after a
// restart of herdr, which an old Claude can outlive by a second (finding 42 of
// the Claude captures). A server that stopped answering accounts for its
// sessions for one heartbeat and a half: after that their processes speak for
// them, before the hub takes them for gone (it waits 2 minutes).
func (w *Watcher) accounts(s *server, session string) bool {
	if !s.good || w.Now().Sub(s.lookAt) > w.Timing.Heartbeat*3/2 {
		return false
	}
	if slices.ContainsFunc(s.look.Live, func(o record.LiveSession) bool { return o.Session == session }) {
		return true
	}
	return slices.ContainsFunc(s.look.Unidentified, func(u record.UnidentifiedPane) bool {
		known, ok := w.memory.find(s.socket, u.PaneID)
		return ok && known.Session == session
	})
}

// bury ends the sessions of a server that has been gone for a while: without
// it they have no panes. Those whose process lives on were named by the
// heartbeat of sessions outside herdr just before, so they are not ended.
func (w *Watcher) bury(ctx context.Context, hub Hub) {
	for _, s := range w.servers {
		if hub == nil || s.buried || !s.good || s.goneAt.IsZero() || w.Now().Sub(s.goneAt) < w.Timing.Bury {
			continue
		}
		if _, err := w.Looker.Outside(ctx); err != nil {
			continue // nothing proves that their processes are gone
		}
		w.put(ctx, hub, s.socket, w.snapshot(s.look.HerdrSession, s.look.Version, nil, nil))
		s.buried = true
	}
}

// Compare looks at every server and tells the hub what differs from what it
// was told last: states by the queue, the coming and going of sessions by a
// heartbeat.
func (w *Watcher) Compare(ctx context.Context) {
	for _, s := range w.servers {
		if err := w.take(ctx, s); err != nil {
			if !errors.Is(err, errPaused) && s.goneAt.IsZero() {
				w.Log.Failure("look: %v", err)
			}
			continue
		}
		w.stayed(s.look.Live)
		w.queueStates(s.look.Live)
	}
	if out, err := w.outsiders(ctx); err == nil {
		w.stayed(out)
		w.queueStates(out)
		if !sameSet(out, w.outside) {
			w.plan.at(&w.plan.beat, w.Now())
		}
	}
	w.forgetLeft()
	w.beatIfUntold()
}

// beatIfUntold plans a heartbeat when sessions came or went since the last.
func (w *Watcher) beatIfUntold() {
	for _, s := range w.servers {
		if s.untold {
			w.plan.at(&w.plan.beat, w.Now())
		}
	}
}

// queueStates queues the states that the hub was not told. A session that it
// was told nothing of comes with the next heartbeat.
func (w *Watcher) queueStates(live []record.LiveSession) {
	for i := range live {
		l := &live[i]
		told, known := w.sent[l.Session]
		now := record.State{AgentState: l.AgentState, Background: l.Background}
		if !known || told == now {
			continue
		}
		if w.freshlyDone(l) {
			w.plan.at(&w.plan.compare, w.Now().Add(w.Timing.Done))
			continue
		}
		w.queue(record.KindState, l.Session, now)
		w.sent[l.Session] = now // the queue will tell it
	}
}

// moved reports whether sessions came, went or changed panes. A pane that is
// not unidentified any more may have been all that kept a session alive.
func moved(a, b Look) bool {
	if len(a.Live) != len(b.Live) || len(a.Unidentified) != len(b.Unidentified) {
		return true
	}
	for _, u := range a.Unidentified {
		if !unidentified(b, u.PaneID) {
			return true
		}
	}
	for _, l := range a.Live {
		same := slices.ContainsFunc(b.Live, func(n record.LiveSession) bool {
			return n.Session == l.Session && n.PaneID == l.PaneID && slices.Equal(n.OtherPanes, l.OtherPanes)
		})
		if !same {
			return true
		}
	}
	return false
}

func sameSet(live []record.LiveSession, set map[string]bool) bool {
	if len(live) != len(set) {
		return false
	}
	for _, l := range live {
		if !set[l.Session] {
			return false
		}
	}
	return true
}

// noteDone notes since when sessions are done.
func (w *Watcher) noteDone(look Look) {
	for _, l := range look.Live {
		if l.AgentState != record.Done {
			delete(w.dones, l.Session)
		} else if _, ok := w.dones[l.Session]; !ok {
			w.dones[l.Session] = w.Now()
		}
	}
}

// freshlyDone reports whether a session is done for so short a time that it
// may be none (finding 18 of the Claude captures), while something else is
// known of it.
func (w *Watcher) freshlyDone(l *record.LiveSession) bool {
	told, known := w.sent[l.Session]
	since, ok := w.dones[l.Session]
	return l.AgentState == record.Done && known && told.AgentState != record.Done && ok && w.Now().Sub(since) < w.Timing.Done
}

var _ Hub = (*hubclient.Client)(nil)
