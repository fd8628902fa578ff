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

// left is a session that said that it ends, and the process that ran it.
type left struct {
	at  time.Time
	pid int
}

// noteEnded notes that the hub was told of a session's end. Until leaveTime is
// over no snapshot names it while the same process runs it, or it would live
// again for a minute; who is seen after that did not end, and is named again. A
// hook's word is a hint.
func (w *Watcher) noteEnded(session string) {
	delete(w.sent, session)
	delete(w.notes, session)
	w.leaving[session] = left{at: w.Now(), pid: w.pids[session]}
	w.plan.at(&w.plan.compare, w.Now().Add(leaveTime+w.Timing.PassGap))
}

// noteBegun takes back noteEnded: the session was started again.
func (w *Watcher) noteBegun(session string) { delete(w.leaving, session) }

// notePIDs remembers which processes run which sessions.
func (w *Watcher) notePIDs(live []record.LiveSession) {
	for _, l := range live {
		if l.PID > 0 {
			w.pids[l.Session] = l.PID
		}
	}
}

// leaves reports whether a session has just said that it ends, and only its
// process is still there. Another process runs it anew.
func (w *Watcher) leaves(l *record.LiveSession) bool {
	gone, ok := w.leaving[l.Session]
	return ok && gone.pid > 0 && gone.pid == l.PID && !w.over(gone)
}

func (w *Watcher) over(gone left) bool {
	d := w.Now().Sub(gone.at)
	return d < 0 || d >= leaveTime
}

// stayed plans a heartbeat for the sessions that were seen alive although they
// had said that they end.
func (w *Watcher) stayed(live []record.LiveSession) {
	for i := range live {
		if gone, said := w.leaving[live[i].Session]; said && !w.leaves(&live[i]) && (w.over(gone) || gone.pid > 0) {
			delete(w.leaving, live[i].Session)
			w.plan.at(&w.plan.beat, w.Now())
		}
	}
}

// forgetLeft forgets the sessions that have left, and the processes of those
// that nobody speaks of any more.
func (w *Watcher) forgetLeft() {
	for session, gone := range w.leaving {
		if w.over(gone) {
			delete(w.leaving, session)
			delete(w.pids, session)
		}
	}
}
