package watch

import (
	"fmt"
	"slices"
	"time"

	"sessionhub/lib/record"
)

// action is what to do with a record of a pane.
type action int

const (
	deliver action = iota
	wait           // its pane is not understood yet
	drop           // a later inventory says more
	refuse         // it never will be understood
)

// resolution is what a record speaks of.
type resolution struct {
	action  action
	session string
	live    *record.LiveSession // where it runs, when an inventory says so
	herdr   string              // the name of the herdr session
	soon    bool                // wait: it is worth to look again soon
	reason  string
}

// resolve finds the session of a record. Records that wait are noted in still
// with the time of the first good inventory after them.
func (w *Watcher) resolve(it record.Item, still map[string]time.Time) resolution {
	if it.Pane == nil {
		r := resolution{session: it.Session}
		r.live, r.herdr = w.find(it.Session)
		return r
	}
	s := w.server(it.Pane.Herdr)
	if !s.passed {
		return w.resolveUnseen(it, s, still)
	}
	r := resolution{herdr: s.look.HerdrSession}
	if l := liveIn(s.look, it.Pane.PaneID); l != nil {
		r.session, r.live = l.Session, l
		switch {
		case it.Kind == record.KindClosed:
			r.action = drop // a pane of that id is there and runs a session
		case it.Kind == record.KindState && w.freshlyDone(l):
			r.action, r.soon = wait, true
		}
		return r
	}
	known, ok := w.memory.find(it.Pane.Herdr, it.Pane.PaneID)
	switch {
	case it.Kind == record.KindClosed:
		return w.resolveClosed(known, ok, r)
	case unidentified(s.look, it.Pane.PaneID):
		return w.hold(it, still, resolution{action: wait, soon: true})
	case ok:
		return resolution{action: drop} // its session left the pane; the inventory tells that
	}
	return w.hold(it, still, resolution{action: wait})
}

// resolveClosed: a pane that closed ends the session that it ran, unless that
// runs in another pane by now. A pane that never ran one ends nothing.
func (w *Watcher) resolveClosed(known pane, ok bool, r resolution) resolution {
	if !ok {
		return resolution{action: drop}
	}
	if l, _ := w.find(known.Session); l != nil {
		return resolution{action: drop}
	}
	r.session = known.Session
	return r
}

// resolveUnseen handles records of a server of which there is no inventory
// later than the record. Only a close of a remembered pane can do without.
func (w *Watcher) resolveUnseen(it record.Item, s *server, still map[string]time.Time) resolution {
	if it.Kind == record.KindClosed {
		if known, ok := w.memory.find(it.Pane.Herdr, it.Pane.PaneID); ok && !s.goneAt.IsZero() {
			return w.resolveClosed(known, ok, resolution{herdr: s.look.HerdrSession})
		}
	}
	if !s.goneAt.IsZero() && w.Now().Sub(s.goneAt) > w.Timing.Unresolved {
		return resolution{action: refuse, reason: fmt.Sprintf("pane %s: its herdr server is gone", it.Pane.PaneID)}
	}
	if at, ok := w.waiting[it.ID]; ok {
		still[it.ID] = at
	}
	return resolution{action: wait}
}

// hold lets a record wait until it is set aside, 10 minutes after the first
// good inventory that followed it.
func (w *Watcher) hold(it record.Item, still map[string]time.Time, r resolution) resolution {
	now := w.Now()
	since, ok := w.waiting[it.ID]
	if !ok {
		since = now
	}
	if now.Sub(since) > w.Timing.Unresolved {
		return resolution{action: refuse, reason: fmt.Sprintf("pane %s: no Claude session was found in it for %s", it.Pane.PaneID, w.Timing.Unresolved)}
	}
	still[it.ID] = since
	return r
}

// find is where a session runs by the last inventories.
func (w *Watcher) find(session string) (*record.LiveSession, string) {
	for _, s := range w.servers {
		if !s.good {
			continue
		}
		for i := range s.look.Live {
			if s.look.Live[i].Session == session {
				return &s.look.Live[i], s.look.HerdrSession
			}
		}
	}
	return nil, ""
}

func liveIn(look Look, paneID string) *record.LiveSession {
	for i := range look.Live {
		if l := &look.Live[i]; l.PaneID == paneID || slices.Contains(l.OtherPanes, paneID) {
			return l
		}
	}
	return nil
}

func unidentified(look Look, paneID string) bool {
	return slices.ContainsFunc(look.Unidentified, func(u record.UnidentifiedPane) bool { return u.PaneID == paneID })
}
