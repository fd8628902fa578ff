package presence

import (
	"fmt"
	"strings"

	"sessionhub/lib/claude"
	"sessionhub/lib/herdr"
)

// table is a process table as data: children by parent.
type table map[int]claude.OSProcess

func (t table) Find(pid int) (claude.OSProcess, bool) { p, ok := t[pid]; return p, ok }
func (table) SameStart(claude.OSProcess, string) bool { return true }
func (table) SameDomain(string) bool                  { return true }
func (t table) add(pid, parent int) claude.OSProcess {
	p := claude.OSProcess{PID: pid, Parent: parent}
	t[pid] = p
	return p
}

// scene is what one finding looked like.
type scene struct {
	w Witnesses
	t table
}

func newScene() *scene {
	t := table{}
	return &scene{t: t, w: Witnesses{Processes: map[string]herdr.ProcessInfo{}, HasRegistry: true, Table: t}}
}

// pane adds a pane: what herdr says of it (agent, status, session; "-" is
// none) and its shell, whose process id is returned.
func (s *scene) pane(id, agent, status, session string) int {
	p := herdr.Pane{PaneID: id, WorkspaceID: "w1", AgentStatus: herdr.Status(status), Cwd: "/home/dev/src/app", TerminalTitleStripped: "Claude Code"}
	if agent != "-" {
		p.Agent = agent
	}
	if session != "-" {
		p.AgentSession = &herdr.AgentSession{Source: "herdr:claude", Agent: "claude", Kind: "id", Value: session}
	}
	s.w.Panes = append(s.w.Panes, p)
	shell := 1000 + 100*len(s.w.Panes)
	s.t.add(shell, 1)
	s.w.Processes[id] = herdr.ProcessInfo{PaneID: id, ShellPID: shell, ForegroundProcesses: []herdr.Process{{PID: shell, Name: "bash"}}}
	return shell
}

// front puts processes into a pane's foreground.
func (s *scene) front(id string, procs ...herdr.Process) {
	info := s.w.Processes[id]
	info.ForegroundProcesses = procs
	s.w.Processes[id] = info
}

// parkedJob is the background session that "parked" processes show, and "bg"
// ones run.
const parkedJob = "d28a3b4b"

// claude starts a process of Claude below a parent: "session status" with an
// entry in the registry, kind and entry point after it if they are special.
func (s *scene) claude(pid, parent int, spec string) herdr.Process {
	s.t.add(pid, parent)
	f := strings.Fields(spec)
	p := claude.Process{PID: pid, SessionID: f[0], Status: f[1], Kind: claude.KindInteractive, Entrypoint: claude.EntryCLI, Cwd: "/home/dev/src/app"}
	for _, w := range f[2:] {
		switch w {
		case "bg":
			p.Kind, p.JobID = claude.KindBackground, parkedJob
		case "sdk-cli":
			p.Entrypoint = w
		case "parked":
			p.ParkedJobID = parkedJob
		default:
			p.WaitingFor = strings.ReplaceAll(w, "_", " ")
		}
	}
	s.w.Registry = append(s.w.Registry, p)
	return herdr.Process{PID: pid, Name: "claude", Argv: []string{"claude"}}
}

// say is the verdict in one line: sessions as "id@pane:state", "+bg", other
// panes; unidentified panes as "?pane"; sessions outside as "id@:state".
func say(v Verdict) string {
	var words []string
	one := func(s Session) {
		w := fmt.Sprintf("%s@%s:%s", s.Session, s.PaneID, s.AgentState)
		if s.Background {
			w += "+bg"
		}
		if s.Attached {
			w += "+attached"
		}
		for _, o := range s.OtherPanes {
			w += "+" + o
		}
		words = append(words, w)
		if len(s.Why) == 0 {
			words = append(words, "(no reason)")
		}
	}
	for _, s := range v.Sessions {
		one(s)
	}
	for _, u := range v.Unidentified {
		words = append(words, "?"+u.PaneID)
	}
	for _, s := range v.Outside {
		one(s)
	}
	return strings.Join(words, " ")
}
