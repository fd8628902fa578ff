package control

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/ask"
	"sessionhub/lib/config"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/session"
	"sessionhub/lib/state"
)

// asked is a machine on which a session asks; the test plays its hook, and owns
// the clock.
type asked struct {
	t    *testing.T
	d    *Doer
	dir  state.Dir
	conf config.Config
	file ask.File
	now  time.Time
	each func() // between two looks at the transcript
}

const (
	rmInput = `{"command":"rm x"}`
	rmUse   = `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"T1","name":"Bash","input":{"command":"rm x"}}]}}` + "\n"
	rmDone  = `{"type":"user","permissionDecision":{"source":%q},"message":{"content":[{"type":"tool_result","tool_use_id":"T1","is_error":%v,"content":"x"}]}}` + "\n"
)

func newAsked(t *testing.T) *asked {
	t.Helper()
	a := &asked{t: t, dir: state.Dir(t.TempDir()), conf: config.Config{RemoteAnswer: true}, now: time.Now()}
	clock := func() time.Time { return a.now }
	pause := func(_ context.Context, d time.Duration) {
		a.now = a.now.Add(d)
		if a.each != nil {
			a.each()
		}
	}
	a.d = &Doer{Desk: &session.Desk{Now: clock, Pause: pause}, Dir: a.dir, Config: func() (config.Config, error) { return a.conf, nil }, Who: "test", Now: clock}
	a.file = ask.File{V: 1, Ask: "k1", Session: "S", Tool: "Bash", Input: json.RawMessage(rmInput), InputSHA256: ask.Sum([]byte(rmInput), ""),
		Transcript: filepath.Join(t.TempDir(), "t.jsonl"), ToolUse: "T1", Version: "2.1.332", PID: os.Getpid()}
	a.transcript(rmUse)
	a.write()
	return a
}

func (a *asked) write() {
	a.t.Helper()
	dir, err := a.dir.Sub("asks")
	if err == nil {
		err = state.ReplaceJSON(filepath.Join(dir, a.file.Ask+".json"), a.file)
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a *asked) transcript(text string) {
	a.t.Helper()
	f, err := os.OpenFile(a.file.Transcript, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		a.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		a.t.Fatal(err)
	}
}

func (a *asked) claim() record.Claim {
	return record.Claim{V: 1, ID: queue.NewStamp(a.now).ID, Action: record.ActionAnswer, Session: &record.ClaimSession{Session: "S"},
		Answer: &record.Answer{Ask: "k1", AnswerPost: record.AnswerPost{InputSHA256: a.file.InputSHA256, Behavior: record.Allow}}}
}

func (a *asked) left() string {
	entries, err := os.ReadDir(ask.Folder(a.dir))
	if err != nil {
		a.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// hook plays the hook: it takes the answer when it lies there, once.
func (a *asked) hook(then func()) {
	taken := false
	a.each = func() {
		if !taken && strings.Contains(a.left(), "k1.answer.json") {
			taken = true
			if err := ask.Remove(a.dir, "k1"); err != nil {
				a.t.Error(err)
			}
			if then != nil {
				then()
			}
		}
	}
}

func TestAnAnswerIsProven(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(a *asked, c *record.Claim)
		state  record.RequestState
		detail string
		gave   bool // the hook had an answer to take
	}{
		{"allowed", func(a *asked, _ *record.Claim) { a.hook(func() { a.transcript(fmt.Sprintf(rmDone, "hook", false)) }) }, record.RequestDone, "answered", true},
		{"denied", func(a *asked, c *record.Claim) {
			c.Answer.Behavior = record.Deny
			a.hook(func() { a.transcript(fmt.Sprintf(rmDone, "hook", true)) })
		}, record.RequestDone, "answered", true},
		{"the hook does not know its tool use yet", func(a *asked, _ *record.Claim) {
			a.file.ToolUse = ""
			a.write()
			a.hook(func() { a.transcript(fmt.Sprintf(rmDone, "hook", false)) })
		}, record.RequestDone, "answered", true},
		{"by a version that does not tell who decided", func(a *asked, _ *record.Claim) { a.hook(func() { a.transcript(fmt.Sprintf(rmDone, "", false)) }) }, record.RequestDone, "answered", true},
		{"its person was first", func(a *asked, _ *record.Claim) {
			a.each = func() { a.transcript(fmt.Sprintf(rmDone, "user_temporary", false)) }
		},
			record.RequestFailed, "answered at the screen first", false},
		{"its person was long first", func(a *asked, _ *record.Claim) { a.transcript(fmt.Sprintf(rmDone, "user_temporary", false)) },
			record.RequestFailed, "answered at the screen", false},
		{"a tool that takes long", func(a *asked, _ *record.Claim) { a.hook(nil) }, record.RequestFailed, "not proven: the hook gave it", true},
		{"a hook that does not take it", nil, record.RequestFailed, "not proven: the hook that waits did not take it", false},
		{"nobody waits", func(a *asked, _ *record.Claim) { ask.Remove(a.dir, "k1") }, record.RequestFailed, "nobody waits", false},
		{"who waited was killed", func(a *asked, _ *record.Claim) {
			dead := exec.Command("true")
			if err := dead.Run(); err != nil {
				a.t.Fatal(err)
			}
			a.file.PID = dead.Process.Pid
			a.write()
		}, record.RequestFailed, "nobody waits", false},
		{"another session's", func(_ *asked, c *record.Claim) { c.Session.Session = "T" }, record.RequestFailed, "another session's", false},
		{"another hash", func(_ *asked, c *record.Claim) { c.Answer.InputSHA256 = strings.Repeat("0", 64) }, record.RequestFailed, "another input", false},
		{"switched off", func(a *asked, _ *record.Claim) { a.conf.RemoteAnswer = false }, record.RequestFailed, "remote_answer", false},
		{"a rule", func(a *asked, _ *record.Claim) { a.conf.RemoteAnswerNever = []string{"Bash(rm *)"} }, record.RequestFailed, "remote_answer_never", false},
		{"a path for an id", func(_ *asked, c *record.Claim) { c.Answer.Ask = "../x" }, record.RequestFailed, "makes no sense", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAsked(t)
			claim := a.claim()
			if c.change != nil {
				c.change(a, &claim)
			}
			r := a.d.Do(t.Context(), claim)
			if r.State != c.state || !strings.Contains(r.Detail, c.detail) {
				t.Errorf("%+v, want %s %q", r, c.state, c.detail)
			}
			if left := a.left(); strings.Contains(left, "answer") || c.gave && left != "" {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}

// A claim that comes again is not given again.
func TestAnAnswerIsGivenOnce(t *testing.T) {
	a := newAsked(t)
	a.hook(nil)
	claim := a.claim()
	first := a.d.Do(t.Context(), claim)
	a.write() // as if it still waited
	if again := a.d.Do(t.Context(), claim); again.Detail != first.Detail || a.left() != "k1.json" {
		t.Errorf("again: %+v, left %s", again, a.left())
	}
	if err := ask.Give(a.dir, "another", *claim.Answer); err != nil {
		t.Fatal(err)
	}
	if r := a.d.Do(t.Context(), a.claim()); r.State != record.RequestFailed || !strings.Contains(r.Detail, "answered already") {
		t.Errorf("beside another's answer: %+v", r)
	}
}
