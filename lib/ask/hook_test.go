package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sessionhub/lib/claude/entry"
	"sessionhub/lib/config"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// scene is a Claude Code that asks: a process of its own with an entry in the
// registry and a transcript, and a hook that waits beside its dialog.
type scene struct {
	t      *testing.T
	home   string
	dir    state.Dir
	claude *exec.Cmd
	conf   config.Config
	in     Input
	timing Timing
	over   chan error
	cancel context.CancelFunc

	full  bool // the queue's disk is
	mu    sync.Mutex
	out   bytes.Buffer
	items []record.Item
	logs  []string
}

const limit = 10 * time.Second

const use = `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"T1","name":%q,"input":%s}]}}` + "\n"

func newScene(t *testing.T, tool, input string) *scene {
	t.Helper()
	root := t.TempDir()
	s := &scene{t: t, home: filepath.Join(root, "claude"), dir: state.Dir(filepath.Join(root, "state")), conf: config.Config{RemoteAnswer: true},
		timing: Timing{Life: time.Minute, Dialog: 100 * time.Millisecond, Behind: 100 * time.Millisecond, Confirm: 20 * time.Millisecond,
			Tick: time.Minute, Blind: 20 * time.Millisecond, End: 200 * time.Millisecond}}
	s.claude = exec.Command("sleep", "600")
	if err := s.claude.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.killed)
	for _, d := range []string{filepath.Join(s.home, "sessions"), filepath.Join(s.home, "p")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.in = Input{SessionID: "S", TranscriptPath: filepath.Join(s.home, "p", "S.jsonl"), ToolName: tool, ToolInput: json.RawMessage(input)}
	s.entry("waiting", "S", "2.1.332")
	s.transcript(fmt.Sprintf(use, tool, input))
	return s
}

func (s *scene) killed() {
	_ = s.claude.Process.Kill() // it may be over
	_ = s.claude.Wait()
}

// entry writes the registry's entry in place, as Claude Code does.
func (s *scene) entry(status, session, version string) {
	s.t.Helper()
	b := fmt.Sprintf(`{"pid":%d,"sessionId":%q,"status":%q,"version":%q}`, s.claude.Process.Pid, session, status, version)
	if err := os.WriteFile(entry.Path(s.home, s.claude.Process.Pid), []byte(b), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) transcript(lines string) {
	s.t.Helper()
	f, err := os.OpenFile(s.in.TranscriptPath, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(lines); err != nil {
		s.t.Fatal(err)
	}
}

// start runs the hook until it is over.
func (s *scene) start() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.over = cancel, make(chan error, 1)
	s.t.Cleanup(cancel)
	locked := func(f func()) { s.mu.Lock(); defer s.mu.Unlock(); f() }
	h := &Hook{
		Dir: s.dir, Home: s.home, Claude: s.claude.Process.Pid, Stamp: queue.NewStamp(time.Now()), Now: time.Now, Stdout: printer{s}, Timing: s.timing,
		Config: func() (c config.Config, err error) { locked(func() { c = s.conf }); return c, nil },
		Queue: func(items ...record.Item) (err error) {
			locked(func() {
				if s.full {
					err = syscall.ENOSPC
				} else {
					s.items = append(s.items, items...)
				}
			})
			return err
		},
		Ensure: func() error { return nil },
		Log:    func(err error) { locked(func() { s.logs = append(s.logs, err.Error()) }) },
	}
	go func() { s.over <- h.Run(ctx, s.in) }()
}

// printer is the hook's standard output.
type printer struct{ s *scene }

func (p printer) Write(b []byte) (int, error) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.s.out.Write(b)
}

func (s *scene) printed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(s.out.String())
}

// asked waits for the ask.
func (s *scene) asked() *File {
	s.t.Helper()
	s.start()
	var f *File
	s.until("it asks", func() bool {
		list, err := List(s.dir)
		if err != nil {
			s.t.Fatal(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(list) == 1 && len(s.items) == 1 {
			f = list[0]
		}
		return f != nil
	})
	return f
}

func (s *scene) until(what string, cond func() bool) {
	s.t.Helper()
	for end := time.Now().Add(limit); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited until %s; log %q", what, s.logs)
		}
	}
}

// ended waits for the end and holds what was printed and told against it.
func (s *scene) ended(how, printed string) {
	s.t.Helper()
	select {
	case err := <-s.over:
		if err != nil {
			s.t.Errorf("the hook failed: %v", err)
		}
	case <-time.After(limit):
		s.t.Fatalf("the hook waits; log %q", s.logs)
	}
	if got := s.printed(); got != printed {
		s.t.Errorf("printed %s, want %s; log %q", got, printed, s.logs)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.items[len(s.items)-1]
	body, err := record.BodyAs[record.AskEnded](last)
	if err != nil || last.Kind != record.KindAskEnded || body.How != how || last.Validate() != nil {
		s.t.Errorf("it ended as %s %+v, %v; want %s", last.Kind, body, err, how)
	}
	if left, err := os.ReadDir(Folder(s.dir)); err != nil || len(left) > 0 {
		s.t.Errorf("left behind: %v, %v", left, err)
	}
}

func (s *scene) give(a record.Answer) {
	s.t.Helper()
	if err := Give(s.dir, "r1", a); err != nil {
		s.t.Fatal(err)
	}
}

func reply(f *File, b record.Behavior) record.Answer {
	return record.Answer{Ask: f.Ask, AnswerPost: record.AnswerPost{InputSHA256: f.InputSHA256, Behavior: b}}
}

const (
	allowed = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`
	bash    = `{"command":"rm -rf build","description":"d"}`
	ask2    = `{"questions":[{"question":"Size?","header":"S","options":[{"label":"Small","description":"s"},{"label":"Large","description":"l"}],"multiSelect":false},` +
		`{"question":"Colours?","header":"C","options":[{"label":"Red"},{"label":"Blue, \"dark\""}],"multiSelect":true}]}`
)

func TestAnswersFromAfar(t *testing.T) {
	t.Parallel()
	t.Run("allow", func(t *testing.T) {
		s := newScene(t, "Bash", bash)
		f := s.asked()
		st, err := os.Stat(filePath(s.dir, f.Ask))
		if err != nil || st.Mode().Perm() != 0o600 || f.ToolUse != "T1" || !f.Alive() || f.InputSHA256 != Sum([]byte(bash), "") {
			t.Errorf("the ask %+v, %v, %v", f, st, err)
		}
		if st, err := os.Stat(Folder(s.dir)); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("the folder: %v, %v", st, err)
		}
		body, err := record.BodyAs[record.AskBody](s.items[0])
		if err != nil || !body.Answerable || body.Ask != f.Ask || body.InputSHA256 != f.InputSHA256 || string(body.Input) != `{"command":"rm -rf build","description":"d"}` {
			t.Errorf("told %+v, %v", body, err)
		}
		s.give(reply(f, record.Allow))
		s.ended(record.HowAnswered, allowed)
	})
	t.Run("deny", func(t *testing.T) {
		s := newScene(t, "Bash", bash)
		a := reply(s.asked(), record.Deny)
		a.Message = `not "today" <b>`
		s.give(a)
		s.ended(record.HowAnswered, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"not \"today\" \u003cb\u003e"}}}`)
	})
	t.Run("always", func(t *testing.T) {
		s := newScene(t, "Bash", bash)
		s.in.Suggestions = []json.RawMessage{json.RawMessage(`{"type":"setMode"}`), json.RawMessage(`{"type":"addRules"}`)}
		a := reply(s.asked(), record.Allow)
		one := 1
		a.Always = &one
		s.give(a)
		s.ended(record.HowAnswered, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedPermissions":[{"type":"addRules"}]}}}`)
	})
	t.Run("questions", func(t *testing.T) {
		s := newScene(t, toolQuestion, ask2)
		f := s.asked()
		a := reply(f, record.Allow)
		a.Answers = map[string]record.Texts{"Size?": {"as it fits"}, "Colours?": {"Red", `Blue, "dark"`}}
		s.give(a)
		var d decision
		s.until("it printed", func() bool { return s.printed() != "" })
		if err := json.Unmarshal([]byte(s.printed()), &d); err != nil {
			t.Fatal(err)
		}
		var in struct {
			Questions []json.RawMessage `json:"questions"`
			Answers   map[string]string `json:"answers"`
		}
		if err := json.Unmarshal(d.Output.Decision.Input, &in); err != nil {
			t.Fatal(err)
		}
		if in.Answers["Size?"] != "as it fits" || in.Answers["Colours?"] != `Red, "Blue, \"dark\""` || len(in.Questions) != 2 {
			t.Errorf("updatedInput %s", d.Output.Decision.Input)
		}
		s.ended(record.HowAnswered, s.printed())
	})
	t.Run("a plan", func(t *testing.T) {
		s := newScene(t, toolPlan, `{}`)
		file := filepath.Join(s.home, "plan.md")
		s.in.ToolInput = json.RawMessage(fmt.Sprintf(`{"plan":"# Plan\n","planFilePath":%q}`, file))
		if err := os.WriteFile(file, []byte("# Plan\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		f := s.asked()
		body, err := record.BodyAs[record.AskBody](s.items[0])
		if err != nil || body.Plan != "# Plan\n" || strings.Contains(string(body.Input), "# Plan") || body.InputSHA256 != Sum(s.in.ToolInput, "# Plan\n") {
			t.Errorf("told %+v, %v", body, err)
		}
		s.give(reply(f, record.Allow))
		s.ended(record.HowAnswered, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedInput":{}}}}`)
	})
	t.Run("a plan whose file is not told stands in the transcript", func(t *testing.T) {
		s := newScene(t, toolPlan, `{"plan":"by hand"}`)
		s.in.ToolInput = json.RawMessage(`{}`)
		if f := s.asked(); f.Plan != "by hand" || f.InputSHA256 != Sum([]byte(`{}`), "by hand") {
			t.Errorf("%+v", f)
		}
		s.killed()
		s.ended(record.HowExited, "")
	})
}

// The screen's word, the end of Claude, and time.
func TestHowAnAskEnds(t *testing.T) {
	t.Parallel()
	const rejected = `{"type":"user","toolUseResult":"User rejected tool use","message":{"content":[{"type":"tool_result","tool_use_id":"T1","is_error":true,"content":"x"}]}}` + "\n"
	const result = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"T1","content":"x"}]}}` + "\n"
	for _, c := range []struct {
		name, how string
		act       func(s *scene)
	}{
		{"the transcript has a result", record.HowOnScreen, func(s *scene) { s.transcript(result) }},
		{"a tool that takes long was allowed", record.HowOnScreen, func(s *scene) { s.entry("busy", "S", "2.1.332") }},
		{"refused at the screen", record.HowInterrupted, func(s *scene) { s.transcript(rejected) }},
		{"SIGTERM, and refused", record.HowInterrupted, func(s *scene) { s.cancel(); s.transcript(rejected) }},
		{"SIGTERM, and no reason", record.HowInterrupted, func(s *scene) { s.cancel() }},
		{"SIGTERM, and Claude ends", record.HowExited, func(s *scene) { s.cancel(); os.Remove(entry.Path(s.home, s.claude.Process.Pid)) }},
		{"Claude is killed", record.HowExited, func(s *scene) { s.killed() }},
		{"another session took the place", record.HowInterrupted, func(s *scene) { s.entry("waiting", "S2", "2.1.332") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "Bash", bash)
			s.asked()
			c.act(s)
			s.ended(c.how, "")
		})
	}
	t.Run("a day is over", func(t *testing.T) {
		s := newScene(t, "Bash", bash)
		s.timing.Life = 50 * time.Millisecond
		s.start()
		s.ended(record.HowExpired, "")
	})
	t.Run("there is no dialog", func(t *testing.T) {
		s := newScene(t, "Bash", bash)
		s.entry("busy", "S", "2.1.332")
		s.start()
		s.ended(record.HowOnScreen, "")
	})
	t.Run("a result that comes with the answer is first", func(t *testing.T) {
		s := newScene(t, "Bash", bash)
		s.mu.Lock() // the hook waits for its configuration
		s.start()
		var list []*File
		s.until("the ask is written down", func() bool { list, _ = List(s.dir); return len(list) == 1 })
		s.give(reply(list[0], record.Allow))
		s.transcript(result)
		s.mu.Unlock()
		s.ended(record.HowOnScreen, "")
	})
}

// An end that can't be told is left to the watcher: what it goes by stays.
func TestAnEndOnAFullDisk(t *testing.T) {
	s := newScene(t, "Bash", bash)
	f := s.asked()
	s.mu.Lock()
	s.full = true
	s.mu.Unlock()
	s.give(reply(f, record.Allow))
	if err := <-s.over; !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if s.printed() != allowed {
		t.Errorf("printed %s", s.printed())
	}
	if _, err := Load(s.dir, f.Ask); err != nil {
		t.Errorf("nobody can tell how it ended: %v", err)
	}
}

// A hook that would keep a dialog from the screen does not wait.
func TestNothingWaitsInFrontOfADialog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, status, version, agent string
		asks                         bool
	}{
		{"a subagent in the background", "busy", "2.1.332", "a1", false},
		{"a subagent with its dialog", "waiting", "2.1.332", "a1", true},
		{"an old version", "waiting", "2.0.9", "", false},
		{"a version that is none", "waiting", "new", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "Bash", bash)
			s.in.AgentID = c.agent
			s.entry(c.status, "S", c.version)
			if c.asks {
				s.asked()
				s.killed()
				s.ended(record.HowExited, "")
				return
			}
			s.start()
			if err := <-s.over; err != nil || len(s.items) > 0 || s.printed() != "" {
				t.Errorf("%v, told %v, printed %q", err, s.items, s.printed())
			}
		})
	}
}

// Without a file watch, as on a system that has no more of them, the hook looks
// every two seconds.
func TestAHookWithoutAFileWatch(t *testing.T) {
	s := newScene(t, "Bash", bash)
	s.in.TranscriptPath = filepath.Join(s.home, "nowhere", "S.jsonl")
	f := s.asked()
	if f.ToolUse != "" {
		t.Errorf("%+v", f)
	}
	s.give(reply(f, record.Allow))
	s.ended(record.HowAnswered, allowed)
}

// Claude Code may write the tool use down a moment after its hook began.
func TestAToolUseThatComesLate(t *testing.T) {
	s := newScene(t, "Bash", bash)
	if err := os.Remove(s.in.TranscriptPath); err != nil {
		t.Fatal(err)
	}
	f := s.asked()
	s.transcript(fmt.Sprintf(use, "Bash", bash))
	s.until("it is bound", func() bool { now, err := Load(s.dir, f.Ask); return err == nil && now.ToolUse == "T1" })
	s.transcript(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"T1","content":"x"}]}}` + "\n")
	s.ended(record.HowOnScreen, "")
}
