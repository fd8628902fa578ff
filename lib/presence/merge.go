package presence

import (
	"fmt"
	"slices"

	"sessionhub/lib/claude"
	"sessionhub/lib/herdr"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

func (s *Session) why(format string, args ...any) {
	s.Why = append(s.Why, fmt.Sprintf(format, args...))
}

// named says why a session has its id.
func (s *Session) named(proc, runs claude.Process, where string) {
	s.why("the registry names %s for process %d, which is %s", proc.SessionID, proc.PID, where)
	if runs.PID != proc.PID {
		s.Attached = true
		s.why("it was put into the background and goes on as %s in process %d (finding 4)", runs.SessionID, runs.PID)
	}
}

// outside lists the people's processes that no pane shows, such as a Claude in
// tmux (finding 7), in another terminal, or in the background.
func (d *decision) outside() {
	for _, p := range d.Registry {
		job := p.Kind == claude.KindBackground && p.JobID != ""
		if d.shown[p.PID] || !job && !p.Interactive() {
			continue
		}
		runs, ok := d.running(p)
		if !ok {
			continue
		}
		s := Session{LiveSession: record.LiveSession{
			Session: runs.SessionID, Agent: agent, PID: runs.PID, Cwd: runs.Cwd, TitleHint: runs.Title(),
		}}
		where := "in no pane of this herdr"
		if job {
			where = "in the background, as job " + text.Line(p.JobID)
		}
		s.named(p, runs, where)
		d.setState(&s, herdr.StatusUnknown, runs)
		d.verdict.Outside = append(d.verdict.Outside, s)
	}
}

// merge makes one entry of a session that runs more than once (finding 9).
func (d *decision) merge() {
	d.verdict.Sessions = unique(d.verdict.Sessions)
	d.verdict.Outside = slices.DeleteFunc(unique(d.verdict.Outside), func(s Session) bool {
		return slices.ContainsFunc(d.verdict.Sessions, func(o Session) bool { return o.Session == s.Session })
	})
}

func unique(list []Session) []Session {
	var out []Session
	for _, s := range list {
		i := slices.IndexFunc(out, func(o Session) bool { return o.Session == s.Session })
		if i < 0 {
			out = append(out, s)
			continue
		}
		o := &out[i]
		if s.PaneID != "" && s.PaneID != o.PaneID {
			o.OtherPanes = append(o.OtherPanes, s.PaneID)
			o.why("it runs in pane %s, too (finding 9)", s.PaneID)
		}
		if strength(s.AgentState) > strength(o.AgentState) {
			o.AgentState, o.Background = s.AgentState, s.Background
		}
	}
	return out
}

// strength orders states by how much they want a person.
func strength(s record.AgentState) int {
	return slices.Index([]record.AgentState{record.Unknown, record.Idle, record.Working, record.Done, record.Blocked}, s)
}

// Reasons says whether records carry why they say what they say.
type Reasons int

// Records go to the hub without reasons; `shwatch snapshot --explain` shows
// them.
const (
	WithoutReasons Reasons = iota
	WithReasons
)

// Live is the sessions as records.
func (v Verdict) Live(r Reasons) []record.LiveSession { return records(v.Sessions, r) }

// LiveOutside is the sessions outside this herdr as records.
func (v Verdict) LiveOutside(r Reasons) []record.LiveSession { return records(v.Outside, r) }

func records(list []Session, r Reasons) []record.LiveSession {
	out := make([]record.LiveSession, len(list))
	for i, s := range list {
		out[i] = s.LiveSession
		if r == WithReasons {
			out[i].Why = s.Why
		}
	}
	return out
}

// UnidentifiedPanes is the panes that can't be named, as records.
func (v Verdict) UnidentifiedPanes(r Reasons) []record.UnidentifiedPane {
	out := make([]record.UnidentifiedPane, len(v.Unidentified))
	for i, u := range v.Unidentified {
		out[i] = u.UnidentifiedPane
		if r == WithReasons {
			out[i].Why = u.Why
		}
	}
	return out
}
