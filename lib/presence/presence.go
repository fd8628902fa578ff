// Package presence says which session runs where. herdr alone is wrong about
// that in many ways (the captures of real Claude Code in a real herdr list
// 20), so three witnesses are heard together: herdr, Claude's own registry of
// live processes, and the process table. Where they don't suffice, a pane is
// unidentified: neither live nor ended. A wrong guess would end, or type into,
// somebody's session.
package presence

import (
	"cmp"
	"slices"

	"sessionhub/lib/claude"
	"sessionhub/lib/herdr"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// agent is herdr's name for Claude Code.
const agent = "claude"

// Witnesses is what is known at one moment of one herdr server.
type Witnesses struct {
	Panes []herdr.Pane
	// Processes are the answers of process_info by pane id. A pane for which
	// there was none is missing; Failed tells why.
	Processes map[string]herdr.ProcessInfo
	Failed    map[string]error
	// Registry holds the live processes of Claude's registry. HasRegistry is
	// false when this Claude keeps none.
	Registry    []claude.Process
	HasRegistry bool
	Table       claude.Table
}

// Session is a session that runs, and why that is believed.
type Session struct {
	record.LiveSession
	// Attached: it runs in the background, and its pane only shows it, or the
	// list of such sessions. What is typed there may start another session, and
	// /exit does not end this one (findings 29 and 38).
	Attached bool
	// Status and WaitingFor are what Claude's registry says of its process,
	// which is immediate; "" where it keeps none.
	Status     string
	WaitingFor string
	// Bridge is the Remote Control session while that is on.
	Bridge string
	// Suspended: its process was stopped, as by Ctrl-Z, and owns it all the same.
	Suspended bool
	Why       []string
}

// Unidentified is a pane whose Claude can't be named.
type Unidentified struct {
	record.UnidentifiedPane
	Why []string
}

// Verdict is what the witnesses say together.
type Verdict struct {
	Sessions     []Session
	Unidentified []Unidentified
	Outside      []Session       // live, but in no pane of this server
	Panes        map[string]bool // every pane there is
}

// Decide hears the witnesses. It is a pure function.
func Decide(w Witnesses) Verdict {
	w.Table = &memo{Table: w.Table, seen: make(map[int]sighting)}
	d := decision{Witnesses: w, verdict: Verdict{Panes: make(map[string]bool, len(w.Panes))}, shown: make(map[int]bool)}
	for i := range w.Panes {
		d.verdict.Panes[w.Panes[i].PaneID] = true
		d.pane(&w.Panes[i])
	}
	d.outside()
	d.merge()
	return d.verdict
}

type decision struct {
	Witnesses
	verdict Verdict
	shown   map[int]bool // registry processes that a pane shows
}

// pane decides what one pane runs.
func (d *decision) pane(p *herdr.Pane) {
	info, known := d.Processes[p.PaneID]
	found := d.inPane(info, known)
	for _, proc := range found.people {
		d.live(p, proc)
	}
	if p.Agent != agent || slices.ContainsFunc(found.people, d.awake) {
		return // a shell, another agent, or an agent_session that nobody runs (finding 8)
	}
	switch {
	case len(found.people) > 0 && !runsClaude(info):
		return // the suspended one, which herdr has yet to miss
	case found.headless:
		return // `claude -p` and background workers are not the person's (findings 5, 53)
	case !known:
		d.unidentified(p, d.noProcess(p.PaneID))
	case !runsClaude(info):
		d.unidentified(p, "herdr shows Claude, but none runs in the pane: it starts, or has just ended (finding 44)")
	case d.HasRegistry:
		d.unidentified(p, "Claude's registry does not know the pane's process: it asks for trust, or starts (finding 6)")
	default:
		d.byHerdr(p)
	}
}

// noProcess says why nothing is known of a pane's processes.
func (d *decision) noProcess(pane string) string {
	const why = "herdr shows Claude, but no process of the pane (findings 30, 44)"
	if err := d.Failed[pane]; err != nil {
		return why + ": " + text.Line(err.Error())
	}
	return why
}

// found is what the registry knows of a pane's processes.
type found struct {
	people   []claude.Process
	headless bool
}

// inPane finds the registry's processes in a pane: in the foreground, or below
// the pane's shell, which covers wrappers and suspended ones. A Claude that
// another one started is not the pane's.
func (d *decision) inPane(info herdr.ProcessInfo, known bool) found {
	var f found
	if !known {
		return f
	}
	var inside []claude.Process
	for _, p := range d.Registry {
		if inForeground(info, p.PID) || info.ShellPID > 0 && claude.Below(d.Table, p.PID, info.ShellPID) {
			inside = append(inside, p)
			d.shown[p.PID] = true
		}
	}
	slices.SortStableFunc(inside, func(a, b claude.Process) int {
		return cmp.Compare(behind(info, a), behind(info, b))
	})
	for _, p := range inside {
		switch {
		case d.nested(p, inside):
		case p.Interactive():
			f.people = append(f.people, p)
		default:
			f.headless = true
		}
	}
	return f
}

// behind orders what is in front of a pane before what is not: what herdr says
// of the pane is about the former.
func behind(info herdr.ProcessInfo, p claude.Process) int {
	if inForeground(info, p.PID) {
		return 0
	}
	return 1
}

func (d *decision) awake(p claude.Process) bool { return !d.suspended(p) }

func (d *decision) suspended(p claude.Process) bool {
	o, ok := d.Table.Find(p.PID)
	return ok && o.Stopped
}

// nested reports whether another of the processes started this one.
func (d *decision) nested(p claude.Process, all []claude.Process) bool {
	return slices.ContainsFunc(all, func(o claude.Process) bool {
		return o.PID != p.PID && claude.Below(d.Table, p.PID, o.PID)
	})
}

func inForeground(info herdr.ProcessInfo, pid int) bool {
	return slices.ContainsFunc(info.ForegroundProcesses, func(p herdr.Process) bool { return p.PID == pid })
}

// live notes a session that the registry knows.
func (d *decision) live(p *herdr.Pane, proc claude.Process) {
	runs, ok := d.running(proc)
	if !ok {
		d.unidentified(p, "its session was put into the background, where it does not run now (finding 4)")
		return
	}
	s := Session{LiveSession: record.LiveSession{
		Session: runs.SessionID, Agent: agent, PID: runs.PID, Cwd: cmp.Or(runs.Cwd, p.ForegroundCwd, p.Cwd),
		PaneID: p.PaneID, WorkspaceID: p.WorkspaceID, TabID: p.TabID, TerminalID: p.TerminalID, TitleHint: title(p),
	}}
	s.named(proc, runs, "in the pane")
	if h := herdrSession(p); h != "" && h != runs.SessionID {
		s.why("herdr names %s, which is stale (finding 2)", h)
	}
	d.setState(&s, p.AgentStatus, runs)
	if d.suspended(proc) {
		s.AgentState, s.Background, s.Suspended = record.Unknown, false, true
		s.why("its process is suspended, and owns the session all the same (finding 41)")
	}
	d.verdict.Sessions = append(d.verdict.Sessions, s)
}

// running is the process that runs what a person's process shows: itself, or
// the background session that it put its own into. Then its id and status stay
// as they were; only the registry's parkedJobId tells (found with 2.1.332 in
// the state of finding 4). ok is false while that session does not run.
func (d *decision) running(proc claude.Process) (runs claude.Process, ok bool) {
	if proc.ParkedJobID == "" {
		return proc, true
	}
	for _, p := range d.Registry {
		if p.Kind == claude.KindBackground && p.JobID == proc.ParkedJobID {
			return p, true
		}
	}
	return proc, false
}

// setState combines what herdr and the registry say. The registry is
// immediate; herdr lags by up to a second, but alone knows whether somebody
// looked.
func (d *decision) setState(s *Session, status herdr.Status, proc claude.Process) {
	s.AgentState = stateOf(status)
	s.Status, s.WaitingFor, s.Bridge = proc.Status, proc.WaitingFor, proc.BridgeSessionID
	switch proc.Status {
	case claude.StatusShell:
		s.AgentState, s.Background = record.Idle, true
		s.why("at its prompt while background work runs (finding 12)")
	case claude.StatusBusy:
		if s.AgentState != record.Blocked {
			s.AgentState = record.Working
		}
		s.why("the registry says busy, herdr %s", status)
	case claude.StatusWaiting:
		// A dialog that the person opened, maybe in mid-turn, changes nothing.
		if proc.WaitingFor != claude.WaitingDialog {
			s.AgentState = record.Blocked
		}
		s.why("the registry says that it waits: %s; herdr says %s (finding 13)", text.Line(proc.WaitingFor), status)
	case claude.StatusIdle:
		if s.AgentState != record.Done && s.AgentState != record.Blocked {
			s.AgentState = record.Idle
		}
		s.why("the registry says idle, herdr %s", status)
	default:
		s.why("only herdr tells the state: %s", status)
	}
}

func stateOf(s herdr.Status) record.AgentState {
	if st := record.AgentState(s); st.Known() {
		return st
	}
	return record.Unknown
}

// byHerdr believes herdr, as there is no registry: this Claude is too old, or
// its home can't be read.
func (d *decision) byHerdr(p *herdr.Pane) {
	id := herdrSession(p)
	if id == "" {
		d.unidentified(p, "herdr shows Claude without a session (finding 6)")
		return
	}
	s := Session{LiveSession: record.LiveSession{
		Session: id, Agent: agent, AgentState: stateOf(p.AgentStatus), Cwd: cmp.Or(p.ForegroundCwd, p.Cwd),
		PaneID: p.PaneID, WorkspaceID: p.WorkspaceID, TabID: p.TabID, TerminalID: p.TerminalID, TitleHint: title(p),
	}}
	s.why("herdr alone says so: Claude keeps no registry here")
	d.verdict.Sessions = append(d.verdict.Sessions, s)
}

// herdrSession is the session id that herdr has for a pane's Claude.
func herdrSession(p *herdr.Pane) string {
	a := p.AgentSession
	if a == nil || a.Kind != "id" || a.Agent != "" && a.Agent != agent || record.CheckID("session", a.Value) != nil {
		return ""
	}
	return a.Value
}

func (d *decision) unidentified(p *herdr.Pane, why string) {
	d.verdict.Unidentified = append(d.verdict.Unidentified, Unidentified{
		UnidentifiedPane: record.UnidentifiedPane{PaneID: p.PaneID, WorkspaceID: p.WorkspaceID, AgentState: stateOf(p.AgentStatus)},
		Why:              []string{why},
	})
}

// runsClaude reports whether a pane's foreground may be Claude: anything but
// the shell itself, which a Claude may have replaced by exec.
func runsClaude(info herdr.ProcessInfo) bool {
	return slices.ContainsFunc(info.ForegroundProcesses, func(p herdr.Process) bool {
		return p.PID != info.ShellPID || p.Name == agent
	})
}

// titleLimit bounds a title in characters.
const titleLimit = 200

func title(p *herdr.Pane) string { return text.Cut(text.Line(p.TerminalTitleStripped), titleLimit) }
