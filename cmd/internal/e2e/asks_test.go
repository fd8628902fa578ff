package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sessionhub/cmd/internal/world"
	"sessionhub/lib/herdr"
	"sessionhub/lib/record"
)

// mayAnswer installs the hooks, allows answers from afar, and gives the owner a
// token for them.
func (f *flow) mayAnswer() {
	f.t.Helper()
	if _, err := f.w.Tool("shinstall", "hooks", "--answers", "--bin-dir", f.w.Bin); err != nil {
		f.t.Fatal(err)
	}
	token, err := f.w.Tool("shhub", "token", "add", "--db", filepath.Join(f.w.Root, "hub.db"), "--user", "owner", "--scope", "read,ask,answer")
	if err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.w.Home, ".config", "sessionhub", "user-token"), token, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// open waits for the one open ask of a session.
func (f *flow) open(session string) record.Ask {
	f.t.Helper()
	var open []record.Ask
	began := time.Now()
	f.until(session+" asks", func() bool {
		open = f.openAsks(session)
		return len(open) == 1
	})
	f.t.Logf("%s %s: at the hub %s after it was asked for", open[0].Tool, open[0].Ask, time.Since(began).Round(time.Millisecond))
	return open[0]
}

func (f *flow) openAsks(session string) (open []record.Ask) {
	s, err := f.w.Session(session)
	if err != nil {
		return nil
	}
	for _, a := range s.Asks {
		if a.State == record.AskOpen {
			open = append(open, a)
		}
	}
	return open
}

// over waits until an ask has ended, and how.
func (f *flow) over(session string, ask record.Ask, how string) {
	f.t.Helper()
	var last record.Ask
	f.until("the ask is over", func() bool {
		s, err := f.w.Session(session)
		if err != nil {
			return false
		}
		for _, a := range s.Asks {
			if a.Ask == ask.Ask {
				last = a
			}
		}
		return last.State != "" && last.State != record.AskOpen
	})
	if last.How != how {
		f.t.Errorf("the ask ended as %q, want %q: %+v", last.How, how, last)
	}
	f.until("its hook has ended", func() bool {
		_, err := os.Stat(filepath.Join(f.w.State(), "asks", ask.Ask+".json"))
		return errors.Is(err, fs.ErrNotExist)
	})
}

// nobodyWaits: no hook and no file is left.
func (f *flow) nobodyWaits() {
	f.t.Helper()
	f.until("no hook waits", func() bool {
		left, err := os.ReadDir(filepath.Join(f.w.State(), "asks"))
		return err == nil && len(left) == 0 && f.waiters() == 0
	})
}

// waiters counts the hooks of this world that wait.
func (f *flow) waiters() int {
	out, err := exec.Command("pgrep", "-f", filepath.Join(f.w.Bin, "shq")+" hook ask").Output()
	if err != nil {
		return 0 // there is none
	}
	return strings.Count(string(out), "\n")
}

func (f *flow) made(name string) bool {
	_, err := os.Stat(filepath.Join(f.w.Home, "Code", "app", name))
	return err == nil
}

// prompt types a line, and Enter until it has left the input line: at once, the
// real Claude Code takes both for something pasted.
func (f *flow) prompt(pane, line string) {
	f.t.Helper()
	f.clearLine(pane) // of a key that came too late for a dialog
	if err := f.h.SendText(ctx(f.t), pane, line); err != nil {
		f.t.Fatal(err)
	}
	typed, pressed := false, time.Now()
	f.until("the prompt is sent", func() bool {
		s, err := f.h.Read(ctx(f.t), herdr.ReadParams{PaneID: pane, Source: herdr.ReadVisible})
		if err != nil {
			return false
		}
		last := strings.LastIndex(s.Text, "❯")
		in := last >= 0 && strings.HasPrefix(strings.TrimLeft(s.Text[last:], "❯ \u00a0"), line[:6])
		if in && time.Since(pressed) > 300*time.Millisecond {
			typed, pressed = true, time.Now()
			return f.h.SendKeys(ctx(f.t), pane, "Enter") != nil
		}
		return typed && !in
	})
}

// wants types a prompt that makes a session want to run a command.
func (f *flow) wants(pane, command string) {
	f.t.Helper()
	f.prompt(pane, fmt.Sprintf(`make it [[tool Bash {"command":%q,"description":"make a file"}]] [[say Done.]]`, command))
}

const twoQuestions = `choose [[tool AskUserQuestion {"questions":[{"question":"Which size?","header":"Size","multiSelect":false,"options":[` +
	`{"label":"Small","description":"s"},{"label":"Large","description":"l"}]},{"question":"Which colours?","header":"Colours","multiSelect":true,` +
	`"options":[{"label":"Red","description":"r"},{"label":"Blue, dark","description":"b"},{"label":"Green","description":"g"}]}]}]] [[say Chosen.]]`

// asksJob is what a person away from the desk answers, and what they can't.
func (f *flow) asksJob() {
	t := f.t
	f.mayAnswer()
	pane, session := f.startClaude()
	f.untilState(session, record.Idle)

	f.wants(pane, "touch allowed")
	a := f.open(session)
	if !a.Answerable || a.Tool != "Bash" || !strings.Contains(string(a.Input), "touch allowed") {
		t.Errorf("ask %+v", a)
	}
	inbox, err := f.w.Terminal("shctl", "inbox")
	if err != nil || !strings.Contains(inbox, "Bash: touch allowed") || !strings.Contains(inbox, "│ touch allowed") {
		t.Errorf("inbox: %v\n%s", err, inbox)
	}
	f.asked(record.RequestDone, "answered", "answer", session, "allow")
	f.over(session, a, record.HowAnswered)
	if !f.made("allowed") {
		t.Error("it was allowed, and did not run")
	}
	f.untilState(session, record.Idle, record.Done)

	f.wants(pane, "touch denied")
	a = f.open(session)
	f.asked(record.RequestDone, "answered", "answer", session, "deny", "--message", "not in this house")
	f.over(session, a, record.HowAnswered)
	f.untilState(session, record.Idle, record.Done)
	if f.made("denied") || !f.heard("not in this house") {
		t.Error("a denial ran all the same, or its reason was not heard")
	}
	if _, err := f.w.Tool("shctl", "answer", session, "allow"); err == nil || !strings.Contains(err.Error(), "asks nothing") {
		t.Errorf("an answer to nothing: %v", err)
	}

	f.prompt(pane, twoQuestions)
	a = f.open(session)
	if len(a.Questions) != 2 || !a.Questions[1].Multi {
		t.Errorf("ask %+v", a)
	}
	f.asked(record.RequestDone, "answered", "answer", session, "--choose", "2", "--choose", "1,2")
	f.over(session, a, record.HowAnswered)
	if !f.heard(`\"Which size?\"=\"Large\", \"Which colours?\"=\"Red, \"Blue, dark\"\"`) {
		t.Error("the choices were not heard")
	}
	f.untilState(session, record.Idle, record.Done)

	f.prompt(pane, twoQuestions)
	a = f.open(session)
	f.asked(record.RequestDone, "answered", "answer", session, "--text", "as it fits", "--choose", "3")
	f.over(session, a, record.HowAnswered)
	if !f.heard(`\"Which size?\"=\"as it fits\", \"Which colours?\"=\"Green\"`) {
		t.Error("the text was not heard")
	}
	f.untilState(session, record.Idle, record.Done)

	for schema, args := range map[string][]string{"session": {"show", "--json", session}, "inbox-entry": {"inbox", "--json"}} {
		out, err := f.w.Tool("shctl", args...)
		if err != nil {
			t.Error(err)
		}
		validate(t, schema, out)
	}
	f.person(pane, session)
	f.parallel(pane, session)
	f.forAll(pane, session)
	f.hubDown(pane, session)
	f.killedClaude(pane, session)
	f.nobodyWaits()
	f.books()
}

// person answers at the screen.
func (f *flow) person(pane, session string) {
	f.wants(pane, "touch by-person")
	a := f.open(session)
	var pressed time.Time
	f.until("the dialog takes the key", func() bool { // it takes none right after it came
		s, err := f.h.Read(ctx(f.t), herdr.ReadParams{PaneID: pane, Source: herdr.ReadVisible})
		if err == nil && strings.Contains(s.Text, "Do you want to proceed") && time.Since(pressed) > time.Second {
			pressed = time.Now()
			err = f.h.SendKeys(ctx(f.t), pane, "1")
		}
		return err == nil && f.made("by-person")
	})
	f.untilState(session, record.Idle, record.Done)
	f.over(session, a, record.HowOnScreen)
	f.until("it ran", func() bool { return f.made("by-person") })
	f.untilState(session, record.Idle, record.Done)

	f.wants(pane, "touch refused")
	a = f.open(session)
	f.interrupt(pane, session)
	f.over(session, a, record.HowInterrupted)
	if f.made("refused") {
		f.t.Error("what was refused ran")
	}
}

// forAll lets Claude's own suggestion count: it does not ask again.
func (f *flow) forAll(pane, session string) {
	f.wants(pane, "make first")
	a := f.open(session)
	if len(a.Suggestions) == 0 {
		f.t.Fatalf("no suggestions: %+v", a)
	}
	f.asked(record.RequestDone, "answered", "answer", session, "allow", "--always", "1")
	f.over(session, a, record.HowAnswered)
	f.untilState(session, record.Idle, record.Done)
	f.wants(pane, "make first two")
	f.until("it ran unasked", func() bool { return f.heard("make first two") })
	f.untilState(session, record.Idle, record.Done)
	if open := f.openAsks(session); len(open) > 0 {
		f.t.Errorf("it asked again: %+v", open)
	}
}

// hubDown: what is asked meanwhile is answered when the hub is back.
func (f *flow) hubDown(pane, session string) {
	f.books() // nothing is on its way: an answer that is lost could be to a state that is superseded then
	if err := f.w.KillHub(); err != nil {
		f.t.Fatal(err)
	}
	f.wants(pane, "touch later")
	f.until("a hook waits", func() bool {
		list, err := os.ReadDir(filepath.Join(f.w.State(), "asks"))
		return err == nil && len(list) == 1
	})
	if err := f.w.StartHub(); err != nil {
		f.t.Fatal(err)
	}
	a := f.open(session)
	f.asked(record.RequestDone, "answered", "answer", session, "allow")
	f.over(session, a, record.HowAnswered)
	if !f.made("later") {
		f.t.Error("it was allowed, and did not run")
	}
	f.untilState(session, record.Idle, record.Done)
}

// killedClaude: two sessions ask at once, one is answered, the other's Claude is
// killed.
func (f *flow) killedClaude(pane, session string) {
	second, other := f.startClaude()
	f.untilState(other, record.Idle)
	f.wants(pane, "touch killed")
	f.wants(second, "touch two")
	a, b := f.open(session), f.open(other)
	f.asked(record.RequestDone, "answered", "answer", other, "allow")
	if !f.made("two") {
		f.t.Error("the other was allowed, and did not run")
	}
	if err := syscall.Kill(f.pid(session), syscall.SIGKILL); err != nil {
		f.t.Fatal(err)
	}
	f.over(session, a, record.HowExited)
	f.over(other, b, record.HowAnswered)
	if f.made("killed") {
		f.t.Error("nobody allowed it")
	}
}

// pid is the process of a session by the registry.
func (f *flow) pid(session string) int {
	f.t.Helper()
	var pid int
	out, err := f.w.Tool("shwatch", "snapshot", "--herdr", f.w.Socket)
	if err != nil {
		f.t.Fatal(err)
	}
	list, err := world.Decode[record.Snapshot](out)
	if err != nil || len(list) != 1 {
		f.t.Fatalf("%s, %v", out, err)
	}
	for _, s := range list[0].Sessions {
		if s.Session == session {
			pid = s.PID
		}
	}
	if pid == 0 {
		f.t.Fatalf("no process of %s in %s", session, out)
	}
	return pid
}

func TestAsksJob(t *testing.T) {
	f := doubleFlow(t)
	defer f.showFailure()
	f.asksJob()
}

// plans are denied, which keeps plan mode, and approved.
func (f *flow) plansJob() {
	t := f.t
	f.mayAnswer()
	pane, session := f.startClaude()
	f.untilState(session, record.Idle)
	const plan = `plan it [[tool ExitPlanMode {"plan":"# The plan\n1. do it\n"}]] [[say Planned.]]`
	f.prompt(pane, plan)
	a := f.open(session)
	if a.Tool != "ExitPlanMode" || a.Plan != "# The plan\n1. do it\n" {
		t.Errorf("ask %+v", a)
	}
	shown, err := f.w.Terminal("shctl", "show", session)
	if err != nil || !strings.Contains(shown, "│ 1. do it") {
		t.Errorf("show: %v\n%s", err, shown)
	}
	f.asked(record.RequestDone, "answered", "answer", session, "deny", "--message", "think again")
	f.over(session, a, record.HowAnswered)
	f.untilState(session, record.Idle, record.Done)
	if !f.heard("think again") {
		t.Error("the reason was not heard")
	}
	f.prompt(pane, plan)
	a = f.open(session)
	f.asked(record.RequestDone, "answered", "answer", session, "allow")
	f.over(session, a, record.HowAnswered)
	f.untilState(session, record.Idle, record.Done)
}

func TestPlansJob(t *testing.T) {
	f := doubleFlow(t)
	defer f.showFailure()
	f.plansJob()
}

// parallel: one answer of the model wants two tools. They are asked for one after
// the other.
func (f *flow) parallel(pane, session string) {
	f.prompt(pane, `both [[tool Bash {"command":"touch left","description":"one"}]] [[and Bash {"command":"touch right","description":"two"}]] [[say Done.]]`)
	a := f.open(session)
	f.asked(record.RequestDone, "answered", "answer", session, "allow")
	f.over(session, a, record.HowAnswered)
	b := f.open(session)
	f.asked(record.RequestDone, "answered", "answer", session, "deny")
	f.over(session, b, record.HowAnswered)
	f.untilState(session, record.Idle, record.Done)
	if f.made("left") == f.made("right") {
		f.t.Errorf("left ran: %v, right ran: %v; one was allowed, one denied", f.made("left"), f.made("right"))
	}
}
