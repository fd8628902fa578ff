package watch

import (
	"time"

	"sessionhub/lib/record"
)

// notes are what Claude Code's hooks said of the present state of sessions: why
// one is blocked, or why its last turn failed. An inventory that tells the same
// state again does not know it.
type notes map[string]record.State

// set takes the note of a hook's state; one without a note ends the last.
func (n notes) set(session string, s record.State) {
	if s.Note == "" {
		delete(n, session)
		return
	}
	n[session] = s
}

// settle ends the note of a session that is in another state now. Idle and done
// are one to it.
func (n notes) settle(session string, s record.AgentState) {
	if was := n[session].AgentState; was != s && !(atRest(was) && atRest(s)) {
		delete(n, session)
	}
}

// of is the note that speaks of a session's present state.
func (n notes) of(session string) string { return n[session].Note }

// leaveTime is how long after a session's own word that it ends its process may
// be seen: Claude Code says so before it is gone, which takes it under two
// seconds (finding 40 of the Claude captures), and other hooks may hold it up.
const leaveTime = 10 * time.Second

// noteEnded notes that the hub was told of a session's end. Until leaveTime is
// over no snapshot names it, or it would live again for a minute; who is seen
// after that did not end, and is named again. A hook's word is a hint.
func (w *Watcher) noteEnded(session string) {
	delete(w.sent, session)
	delete(w.notes, session)
	w.leaving[session] = w.Now()
	w.plan.at(&w.plan.compare, w.Now().Add(leaveTime+w.Timing.PassGap))
}

// noteBegun takes back noteEnded: the session was started again.
func (w *Watcher) noteBegun(session string) { delete(w.leaving, session) }

// leaves reports whether a session has just said that it ends.
func (w *Watcher) leaves(session string) bool {
	at, ok := w.leaving[session]
	if !ok {
		return false
	}
	if d := w.Now().Sub(at); d >= 0 && d < leaveTime {
		return true
	}
	delete(w.leaving, session)
	return false
}

// stayed plans a heartbeat for the sessions that were seen alive although they
// had said that they end.
func (w *Watcher) stayed(live []record.LiveSession) {
	for _, l := range live {
		if _, said := w.leaving[l.Session]; said && !w.leaves(l.Session) {
			w.plan.at(&w.plan.beat, w.Now())
		}
	}
}

// forgetLeft forgets the sessions that have left.
func (w *Watcher) forgetLeft() {
	for session := range w.leaving {
		w.leaves(session) // which deletes it when its time is over
	}
}
