package presence

import (
	"testing"

	"sessionhub/lib/claude"
	"sessionhub/lib/herdr"
)

// Each row is a finding of the captures of real Claude Code in a real herdr,
// named by its number there.
func TestDecideFindings(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(s *scene)
		want string
	}{
		{"plain: herdr and the registry agree", func(s *scene) {
			sh := s.pane("p1", "claude", "idle", "A")
			s.front("p1", s.claude(1, sh, "A idle"))
		}, "A@p1:idle"},
		{"1 and 6: herdr's integration is not installed", func(s *scene) {
			sh := s.pane("p1", "claude", "idle", "-")
			s.front("p1", s.claude(1, sh, "A idle"))
		}, "A@p1:idle"},
		{"2: /branch leaves the old id with herdr", func(s *scene) {
			sh := s.pane("p1", "claude", "done", "OLD")
			s.front("p1", s.claude(1, sh, "NEW idle"))
		}, "NEW@p1:done"},
		{"2: a nested claude -p --resume OTHER", func(s *scene) {
			sh := s.pane("p1", "claude", "working", "OTHER")
			s.front("p1", s.claude(1, sh, "A busy"))
			s.claude(2, 1, "OTHER busy sdk-cli")
		}, "A@p1:working"},
		{"2: claude --bg --resume OTHER run in the pane", func(s *scene) {
			sh := s.pane("p1", "claude", "done", "OTHER")
			s.front("p1", s.claude(1, sh, "A idle"))
			s.claude(9, 1, "OTHER busy bg")
		}, "A@p1:done OTHER@:working"},
		{"2 and 47: a new claude in a restored pane that kept an id", func(s *scene) {
			sh := s.pane("p1", "claude", "unknown", "BEFORE")
			s.front("p1", s.claude(1, sh, "A idle"))
		}, "A@p1:idle"},
		{"3: the pid file follows /clear before herdr does", func(s *scene) {
			sh := s.pane("p1", "claude", "idle", "OLD")
			s.front("p1", s.claude(1, sh, "NEW busy"))
		}, "NEW@p1:working"},
		{"4: continued in the background", func(s *scene) {
			sh := s.pane("p1", "claude", "done", "A")
			s.front("p1", s.claude(1, sh, "A idle parked"))
			s.claude(9, 1, "B idle bg")
		}, "B@p1:done+attached"},
		{"4: whose background process is not up yet, or has ended", func(s *scene) {
			sh := s.pane("p1", "claude", "done", "A")
			s.front("p1", s.claude(1, sh, "A idle parked"))
		}, "?p1"},
		{"4: the old one was taken up again in another pane", func(s *scene) {
			one := s.pane("p1", "claude", "done", "A")
			two := s.pane("p2", "claude", "idle", "A")
			s.front("p1", s.claude(1, one, "A idle parked"))
			s.front("p2", s.claude(2, two, "A busy"))
			s.claude(9, 1, "B idle bg")
		}, "B@p1:done+attached A@p2:working"},
		{"4: what the continuation does is the state", func(s *scene) {
			sh := s.pane("p1", "claude", "working", "A")
			s.front("p1", s.claude(1, sh, "A idle parked"))
			s.claude(9, 1, "B busy bg")
		}, "B@p1:working+attached"},
		{"4: the continuation asks", func(s *scene) {
			sh := s.pane("p1", "claude", "done", "A")
			s.front("p1", s.claude(1, sh, "A idle parked"))
			s.claude(9, 1, "B waiting permission_prompt bg")
		}, "B@p1:blocked+attached"},
		{"4: continued outside herdr", func(s *scene) {
			s.claude(1, 1, "A idle parked")
			s.claude(9, 1, "B busy bg")
		}, "B@:working+attached"},
		{"4: continued outside herdr, and not up", func(s *scene) {
			s.claude(1, 1, "A idle parked")
		}, ""},
		{"5: claude -p beside a suspended claude", func(s *scene) {
			sh := s.pane("p1", "claude", "idle", "P")
			s.claude(1, sh, "A idle")
			s.t[1] = claude.OSProcess{PID: 1, Parent: sh, Stopped: true}
			s.front("p1", s.claude(2, sh, "P busy sdk-cli"))
		}, "A@p1:unknown"},
		{"5: claude -p in a shell pane is nobody's session", func(s *scene) {
			sh := s.pane("p1", "claude", "idle", "P")
			s.front("p1", s.claude(1, sh, "P busy sdk-cli"))
		}, ""},
		{"6: untrusted folder: no pid file yet", func(s *scene) {
			sh := s.pane("p1", "claude", "blocked", "-")
			s.t.add(1, sh)
			s.front("p1", herdr.Process{PID: 1, Name: "claude"})
		}, "?p1"},
		{"6 and 41: suspended with Ctrl-Z, it owns the session", func(s *scene) {
			sh := s.pane("p1", "-", "unknown", "-")
			s.claude(1, sh, "A idle")
			s.t[1] = claude.OSProcess{PID: 1, Parent: sh, Stopped: true}
		}, "A@p1:unknown"},
		{"41: a second claude in front of a suspended one", func(s *scene) {
			sh := s.pane("p1", "claude", "idle", "B")
			s.claude(1, sh, "A idle")
			s.t[1] = claude.OSProcess{PID: 1, Parent: sh, Stopped: true}
			s.front("p1", s.claude(2, sh, "B idle"))
		}, "B@p1:idle A@p1:unknown"},
		{"41: a claude that asks for trust in front of a suspended one", func(s *scene) {
			sh := s.pane("p1", "claude", "blocked", "-")
			s.claude(1, sh, "A idle")
			s.t[1] = claude.OSProcess{PID: 1, Parent: sh, Stopped: true}
			s.t.add(2, sh)
			s.front("p1", herdr.Process{PID: 2, Name: "claude"})
		}, "A@p1:unknown ?p1"},
		{"7: claude in tmux in a pane", func(s *scene) {
			sh := s.pane("p1", "-", "unknown", "A")
			s.t.add(50, sh) // tmux: client
			s.t.add(60, 1)  // tmux: server
			s.t.add(61, 60)
			s.front("p1", herdr.Process{PID: 50, Name: "tmux: client"})
			s.claude(1, 61, "A busy")
		}, "A@:working"},
		{"8: an id without an agent is nothing", func(s *scene) {
			s.pane("p1", "-", "unknown", "A")
		}, ""},
		{"8: the hook beats detection", func(s *scene) {
			sh := s.pane("p1", "-", "unknown", "A")
			s.front("p1", s.claude(1, sh, "A idle"))
		}, "A@p1:idle"},
		{"9: one id in two panes", func(s *scene) {
			one := s.pane("p1", "claude", "idle", "A")
			two := s.pane("p2", "claude", "working", "A")
			s.front("p1", s.claude(1, one, "A idle"))
			s.front("p2", s.claude(2, two, "A busy"))
		}, "A@p1:working+p2"},
		{"9: one id in a pane and outside", func(s *scene) {
			one := s.pane("p1", "claude", "idle", "A")
			s.front("p1", s.claude(1, one, "A idle"))
			s.claude(2, 1, "A idle")
			s.t[2] = claude.OSProcess{PID: 2, Parent: 1}
		}, "A@p1:idle"},
		{"under a wrapper", func(s *scene) {
			sh := s.pane("p1", "claude", "idle", "A")
			s.t.add(70, sh)
			s.front("p1", herdr.Process{PID: 70, Name: "mywrap"}, s.claude(1, 70, "A idle"))
		}, "A@p1:idle"},
		{"10: a moved pane: the process has the old id, the pane the new one", func(s *scene) {
			sh := s.pane("w2:p1", "claude", "idle", "A")
			s.front("w2:p1", s.claude(1, sh, "A idle"))
		}, "A@w2:p1:idle"},
		{"claude in the place of the shell", func(s *scene) {
			sh := s.pane("p1", "claude", "idle", "-")
			s.front("p1", s.claude(sh, 1, "A idle"))
		}, "A@p1:idle"},
		{"11 and 53: background workers are never in a pane", func(s *scene) {
			s.pane("p1", "-", "unknown", "-")
			s.claude(9, 1, "B busy bg")
		}, "B@:working"},
		{"12: a background shell keeps herdr at working", func(s *scene) {
			sh := s.pane("p1", "claude", "working", "A")
			s.front("p1", s.claude(1, sh, "A shell"))
		}, "A@p1:idle+bg"},
		{"13: an open dialog that herdr takes for idle", func(s *scene) {
			sh := s.pane("p1", "claude", "done", "A")
			s.front("p1", s.claude(1, sh, "A waiting dialog_open"))
		}, "A@p1:done"},
		{"13: a dialog opened in mid-turn", func(s *scene) {
			sh := s.pane("p1", "claude", "working", "A")
			s.front("p1", s.claude(1, sh, "A waiting dialog_open"))
		}, "A@p1:working"},
		{"12: background agents: at its prompt, yet both say that it works", func(s *scene) {
			sh := s.pane("p1", "claude", "working", "A")
			s.front("p1", s.claude(1, sh, "A busy"))
		}, "A@p1:working"},
		{"13: a dialog that wants an answer", func(s *scene) {
			sh := s.pane("p1", "claude", "idle", "A")
			s.front("p1", s.claude(1, sh, "A waiting sandbox_request"))
		}, "A@p1:blocked"},
		{"14: blocked by a dialog that the registry does not tell", func(s *scene) {
			sh := s.pane("p1", "claude", "blocked", "A")
			s.front("p1", s.claude(1, sh, "A idle"))
		}, "A@p1:blocked"},
		{"13: the exit dialog, which herdr takes for blocked", func(s *scene) {
			sh := s.pane("p1", "claude", "blocked", "A")
			s.front("p1", s.claude(1, sh, "A waiting dialog_open"))
		}, "A@p1:blocked"},
		{"14: a permission prompt that herdr does not know yet", func(s *scene) {
			sh := s.pane("p1", "claude", "working", "A")
			s.front("p1", s.claude(1, sh, "A waiting permission_prompt"))
		}, "A@p1:blocked"},
		{"15: idle for 0.6 s after somebody's prompt", func(s *scene) {
			sh := s.pane("p1", "claude", "idle", "A")
			s.front("p1", s.claude(1, sh, "A busy"))
		}, "A@p1:working"},
		{"15: working for 0.3 s after the end of a turn", func(s *scene) {
			sh := s.pane("p1", "claude", "working", "A")
			s.front("p1", s.claude(1, sh, "A idle"))
		}, "A@p1:idle"},
		{"16: unknown for 3.3 s after the start", func(s *scene) {
			sh := s.pane("p1", "claude", "unknown", "A")
			s.front("p1", s.claude(1, sh, "A idle"))
		}, "A@p1:idle"},
		{"17: done is herdr's to say", func(s *scene) {
			sh := s.pane("p1", "claude", "done", "A")
			s.front("p1", s.claude(1, sh, "A idle"))
		}, "A@p1:done"},
		{"18: done while a dialog is up", func(s *scene) {
			sh := s.pane("p1", "claude", "done", "A")
			s.front("p1", s.claude(1, sh, "A waiting permission_prompt"))
		}, "A@p1:blocked"},
		{"19: released: the process is gone, the agent still there", func(s *scene) {
			s.pane("p1", "claude", "idle", "A")
		}, "?p1"},
		{"19 and 37: agent and id gone, status idle", func(s *scene) {
			s.pane("p1", "-", "idle", "-")
		}, ""},
		{"42: an old claude outlives the server", func(s *scene) {
			s.pane("p1", "claude", "idle", "A")
			delete(s.w.Processes, "p1")
			s.claude(1, 1, "A idle")
		}, "?p1 A@:idle"},
		{"43: herdr resumed it after a restart", func(s *scene) {
			sh := s.pane("p1", "claude", "unknown", "A")
			s.front("p1", s.claude(1, sh, "A idle"))
		}, "A@p1:idle"},
		{"4: claude attach, which is in no registry", func(s *scene) {
			sh := s.pane("p1", "claude", "idle", "-")
			s.t.add(1, sh)
			s.front("p1", herdr.Process{PID: 1, Name: "claude", Argv: []string{"claude", "attach", parkedJob}})
			s.claude(9, 1, "B busy bg")
		}, "?p1 B@:working"},
		{"9: one id in two processes outside", func(s *scene) {
			s.claude(1, 1, "A idle")
			s.claude(2, 1, "A busy")
		}, "A@:working"},
		{"44: restored, no process yet", func(s *scene) {
			s.pane("p1", "claude", "idle", "A")
			delete(s.w.Processes, "p1")
		}, "?p1"},
		{"44: restored, the shell types claude --resume", func(s *scene) {
			s.pane("p1", "claude", "unknown", "A")
		}, "?p1"},
		{"45: restored without a prompt: a shell with an id", func(s *scene) {
			s.pane("p1", "-", "unknown", "A")
		}, ""},
		{"46: the id that was resumed is the registry's", func(s *scene) {
			sh := s.pane("p1", "claude", "idle", "NEW")
			s.front("p1", s.claude(1, sh, "OLD idle"))
		}, "OLD@p1:idle"},
		{"A19: a title that quotes a limit banner changes nothing", func(s *scene) {
			sh := s.pane("p1", "claude", "working", "A")
			s.w.Panes[0].TerminalTitleStripped = "You've hit your 5-hour limit · resets 12am"
			s.front("p1", s.claude(1, sh, "A busy"))
		}, "A@p1:working"},
		{"another agent is ignored", func(s *scene) {
			s.pane("p1", "codex", "working", "-")
		}, ""},
		{"no registry: herdr's word", func(s *scene) {
			s.w.HasRegistry = false
			s.pane("p1", "claude", "working", "A")
			s.front("p1", herdr.Process{PID: 1, Name: "claude"})
			s.pane("p2", "claude", "idle", "-")
			s.front("p2", herdr.Process{PID: 2, Name: "claude"})
			s.pane("p3", "-", "unknown", "C")
			s.pane("p4", "codex", "working", "-")
		}, "A@p1:working ?p2"},
		{"no registry: claude in the place of the shell", func(s *scene) {
			s.w.HasRegistry = false
			sh := s.pane("p1", "claude", "idle", "A")
			s.front("p1", herdr.Process{PID: sh, Name: "claude"})
		}, "A@p1:idle"},
		{"44: no registry: restored, only the shell runs", func(s *scene) {
			s.w.HasRegistry = false
			s.pane("p1", "claude", "idle", "A")
		}, "?p1"},
		{"no registry, no process: unidentified", func(s *scene) {
			s.w.HasRegistry = false
			s.pane("p1", "claude", "idle", "A")
			delete(s.w.Processes, "p1")
		}, "?p1"},
		{"a status that nobody knows", func(s *scene) {
			sh := s.pane("p1", "claude", "pondering", "A")
			s.front("p1", s.claude(1, sh, "A someday"))
		}, "A@p1:unknown"},
		{"an id that is none", func(s *scene) {
			s.w.HasRegistry = false
			s.pane("p1", "claude", "idle", "../../etc")
		}, "?p1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			c.set(s)
			v := Decide(s.w)
			if got := say(v); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if len(v.Panes) != len(s.w.Panes) {
				t.Errorf("panes %v", v.Panes)
			}
		})
	}
}

func TestReasonsOnlyWhenAsked(t *testing.T) {
	s := newScene()
	sh := s.pane("p1", "claude", "idle", "B")
	s.front("p1", s.claude(1, sh, "A idle"))
	v := Decide(s.w)
	if v.Live(WithoutReasons)[0].Why != nil || len(v.Live(WithReasons)[0].Why) < 2 {
		t.Errorf("reasons %q", v.Live(WithReasons)[0].Why)
	}
}
