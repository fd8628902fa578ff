package hook

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/lock"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

func captured(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "claude", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// words says items in short: "upsert(first prompt) state=working".
func words(t *testing.T, items []record.Item) string {
	t.Helper()
	var list []string
	for _, it := range items {
		w := string(it.Kind)
		switch it.Kind {
		case record.KindState:
			s, err := record.BodyAs[record.State](it)
			if err != nil {
				t.Fatal(err)
			}
			w += "=" + string(s.AgentState)
			if s.Background {
				w += "+background"
			}
			if s.Note != "" {
				w += "(" + s.Note + ")"
			}
		case record.KindEnded:
			e, _ := record.BodyAs[record.Ended](it)
			w += "=" + e.Reason
		case record.KindUpsert:
			u, _ := record.BodyAs[record.Upsert](it)
			w += "=" + u.StartSource + "," + u.TitleHint
			if u.FirstPrompt != "" {
				w += "(" + u.FirstPrompt[:min(11, len(u.FirstPrompt))] + ")"
			}
		}
		list = append(list, w)
	}
	return strings.Join(list, " ")
}

// What the real Claude Code told its hooks, and what becomes of it.
func TestCapturedHooks(t *testing.T) {
	for _, c := range []struct{ name, capture, want string }{
		{SessionStart, "SessionStart.startup", "upsert=startup,"},
		{SessionStart, "SessionStart.resume", "upsert=resume,"},
		{SessionStart, "SessionStart.clear", "upsert=clear,my-title here"},
		{SessionStart, "SessionStart.fork", "upsert=fork,my-title here"},
		{SessionStart, "SessionStart.compact", "upsert=compact,my-title here"},
		{PromptSubmit, "UserPromptSubmit", "upsert=,(Please edit) state=working"},
		{PromptSubmit, "UserPromptSubmit.task-notification", "upsert=, state=working"},
		{Stop, "Stop", "state=idle"},
		{Stop, "StopFailure.rate_limit", "state=idle(rate_limit: You've hit your 5-hour limit · resets 12am (Europe/Stockholm))"},
		{Stop, "StopFailure.billing_error", "state=idle(billing_error: Credit balance is too low)"},
		{Notified, "Notification.permission_prompt", "state=blocked(Claude needs your permission)"},
		{Notified, "Notification.agent_needs_input", "state=blocked(Auto mode can't check actions in this session and needs your choice)"},
		{Notified, "Notification.idle_prompt", "state=done"},
		{Notified, "Notification.quota_auto_resume_fired", ""},
		{SessionEnd, "SessionEnd.clear", "ended=clear"},
		{SessionEnd, "SessionEnd.resume", "ended=resume"},
		{SessionEnd, "SessionEnd.other", "ended=other"},
		{SessionEnd, "SessionEnd.prompt_input_exit", "ended=prompt_input_exit"},
	} {
		t.Run(c.capture, func(t *testing.T) {
			in, err := ReadInput(bytes.NewReader(captured(t, c.capture)))
			if err != nil {
				t.Fatal(err)
			}
			items, err := FromClaude(queue.NewStamp(time.Now()), c.name, in)
			if err != nil {
				t.Fatal(err)
			}
			if got := words(t, items); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			for i, it := range items {
				if it.Session != in.SessionID || it.Source != record.SourceHook || it.Pane != nil {
					t.Errorf("item %+v", it)
				}
				if i > 0 && it.ID <= items[i-1].ID {
					t.Errorf("%s is not later than %s", it.ID, items[i-1].ID)
				}
			}
		})
	}
}

// The time of a reset is read from the transcript: the text has no date.
func TestALimitTellsItsReset(t *testing.T) {
	b, err := os.ReadFile("../claude/transcript/testdata/api-error-messages.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	path := filepath.Join(t.TempDir(), "t.jsonl")
	if err := os.WriteFile(path, append(line, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := ReadInput(bytes.NewReader(captured(t, "StopFailure.rate_limit")))
	if err != nil {
		t.Fatal(err)
	}
	in.TranscriptPath = path
	items, err := FromClaude(queue.NewStamp(time.Now()), Stop, in)
	if err != nil {
		t.Fatal(err)
	}
	if got := words(t, items); !strings.Contains(got, "rate_limit, resets at 2026-11-30T") {
		t.Error(got)
	}
}

// Field report A47: under launchd, say, every session gets 401 and nobody says
// why. The note does.
func TestA47ALoginThatFailsSaysWhatToDo(t *testing.T) {
	in, err := ReadInput(bytes.NewReader(captured(t, "StopFailure.authentication_failed")))
	if err != nil {
		t.Fatal(err)
	}
	items, err := FromClaude(queue.NewStamp(time.Now()), Stop, in)
	if got := words(t, items); err != nil || !strings.HasSuffix(got, "(log in there: /login))") {
		t.Error(got, err)
	}
}

// Field report A56: what a title or a prompt brings along reaches no terminal.
func TestA56TextFromOutsideIsCleaned(t *testing.T) {
	raw, _ := json.Marshal(map[string]any{"session_id": "s-1", "hook_event_name": "SessionStart", "session_title": "a\x1b]0;x\x07 b\u202e日本\x9b1m"})
	in, err := ReadInput(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	items, err := FromClaude(queue.NewStamp(time.Now()), SessionStart, in)
	if err != nil {
		t.Fatal(err)
	}
	u, _ := record.BodyAs[record.Upsert](items[0])
	if strings.ContainsAny(u.TitleHint, "\x1b\x07\u202e") || !strings.HasPrefix(u.TitleHint, "a b日本") {
		t.Errorf("title %q", u.TitleHint)
	}
}

// world is a home in which hooks run; a watcher seems to run there.
type world struct {
	t   *testing.T
	dir state.Dir
	env map[string]string
	out bytes.Buffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	home := t.TempDir()
	w := &world{t: t, dir: state.Dir(filepath.Join(home, ".local", "state", "sessionhub")), env: map[string]string{"HOME": home}}
	if err := w.dir.Ensure(); err != nil {
		t.Fatal(err)
	}
	l, err := lock.Try(w.dir.WatcherLock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Release() })
	return w
}

func (w *world) run(name string, stdin io.Reader) {
	w.out.Reset()
	h := &ClaudeHook{Getenv: func(k string) string { return w.env[k] }, Now: time.Now, Stdin: stdin, Stdout: &w.out, Watcher: "/nonexistent/shwatch"}
	h.Run(name)
}

func (w *world) queued() []record.Item {
	w.t.Helper()
	b, err := os.ReadFile(w.dir.Queue())
	if err != nil {
		return nil
	}
	var list []record.Item
	for line := range bytes.Lines(b) {
		it, err := record.ParseItem(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, it)
	}
	return list
}

func (w *world) log() string {
	b, _ := os.ReadFile(w.dir.WatcherLog())
	return string(b)
}

func TestOnlyAPersonsSessionIsReported(t *testing.T) {
	for _, c := range []struct {
		name  string
		env   string // of CLAUDE_CODE_ENTRYPOINT
		extra string
		want  int
	}{
		{"a person", "cli", "", 2},
		{"an older Claude that does not say", "", "", 2},
		{"claude -p", "sdk-cli", "", 0},
		{"a program that embeds it", "sdk-py", "", 0},
		{"a subagent, with its parent's session", "cli", `,"agent_id":"a1"`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.env["CLAUDE_CODE_ENTRYPOINT"] = c.env
			w.run(PromptSubmit, strings.NewReader(`{"session_id":"s-1","hook_event_name":"UserPromptSubmit","prompt":"x"`+c.extra+`}`))
			if got := len(w.queued()); got != c.want || w.log() != "" {
				t.Errorf("%d items, want %d; log %q", got, c.want, w.log())
			}
		})
	}
}

// Claude Code does not always close the pipe: the hook ends with the value.
func TestAPipeThatIsNeverClosed(t *testing.T) {
	w := newWorld(t)
	r, pipe := io.Pipe()
	defer pipe.Close()
	go io.WriteString(pipe, `{"session_id":"s-1","hook_event_name":"Stop"}`)
	w.run(Stop, r)
	if got := words(t, w.queued()); got != "state=idle" {
		t.Errorf("got %q, log %q", got, w.log())
	}
}

func TestAPipeThatSaysNothing(t *testing.T) {
	w := newWorld(t)
	r, pipe := io.Pipe()
	defer pipe.Close()
	began := time.Now()
	w.run(Stop, r)
	if d := time.Since(began); d > inputWait+5*time.Second {
		t.Errorf("it took %s", d)
	}
	if !strings.Contains(w.log(), "hook stop: standard input: no JSON object came") {
		t.Errorf("log %q", w.log())
	}
}

func TestBadInputIsALineInTheLog(t *testing.T) {
	for _, c := range []struct{ name, hook, in, want string }{
		{"no JSON", Stop, "rubbish", "not valid JSON"},
		{"nothing", Stop, "", "not valid JSON"},
		{"no session", Stop, `{}`, `"session_id" is missing`},
		{"a session that is a path", Stop, `{"session_id":"../../x"}`, `"session_id" has the character`},
		{"an unknown hook", "dance", `{"session_id":"s"}`, `"dance" is none of`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.run(c.hook, strings.NewReader(c.in))
			if log := w.log(); !strings.Contains(log, c.want) || strings.Count(log, "\n") != 1 || w.out.Len() > 0 || len(w.queued()) > 0 {
				t.Errorf("log %q, printed %q", log, w.out.String())
			}
		})
	}
	w := newWorld(t)
	w.run(Stop, strings.NewReader(`{"session_id":"s-1","prompt":5,"background_tasks":"many"}`))
	if got := words(t, w.queued()); got != "state=idle" {
		t.Errorf("fields of another version: %q, log %q", got, w.log())
	}
}

// Field report A28: SessionStart ran twice within a second and hooks that read,
// change and write raced. These only append; the books of both are whole.
func TestA28HooksThatRunTwiceAtOnce(t *testing.T) {
	w := newWorld(t)
	const twins = 20
	done := make(chan struct{})
	for range twins {
		go func() {
			h := &ClaudeHook{Getenv: func(k string) string { return w.env[k] }, Now: time.Now, Stdin: bytes.NewReader(captured(t, "SessionStart.startup")), Stdout: io.Discard}
			h.Run(SessionStart)
			done <- struct{}{}
		}()
	}
	for range twins {
		<-done
	}
	ids := map[string]bool{}
	for _, it := range w.queued() {
		ids[it.ID] = true
	}
	if len(ids) != twins || w.log() != "" {
		t.Errorf("%d records of %d, log %q", len(ids), twins, w.log())
	}
}

// Field report A52: sidecars stored environment values, readable by all. Nothing
// of the environment is stored, and nothing is readable by others.
func TestA52NothingOfTheEnvironmentIsStored(t *testing.T) {
	w := newWorld(t)
	w.env["ANTHROPIC_API_KEY"], w.env["CLAUDE_CODE_SESSION_ID"] = "sk-very-secret", "s-1"
	w.run(SessionStart, bytes.NewReader(captured(t, "SessionStart.startup")))
	w.run(Stop, strings.NewReader("rubbish"))
	err := filepath.Walk(string(w.dir), func(path string, st os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		if st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, st.Mode())
		}
		if st.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if bytes.Contains(b, []byte("very-secret")) {
				t.Errorf("%s holds the key", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheMarkOfASession(t *testing.T) {
	w := newWorld(t)
	w.run(SessionStart, strings.NewReader(`{"session_id":"s-1"}`))
	if _, err := os.Stat(w.dir.HookSeen("s-1")); err != nil {
		t.Error(err)
	}
	w.run(SessionEnd, strings.NewReader(`{"session_id":"s-1"}`))
	if _, err := os.Stat(w.dir.HookSeen("s-1")); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// Nobody sees how a turn in the background ends.
func TestABackgroundSessionIsDone(t *testing.T) {
	for _, c := range []struct{ attended, extra, want string }{
		{"0", "", "state=done"}, {"1", "", "state=idle"}, {"", "", "state=idle"},
		{"0", `,"background_tasks":[{"id":"x"}]`, "state=idle+background"},
	} {
		w := newWorld(t)
		w.env["CLAUDE_CODE_ENTRYPOINT"], w.env["CLAUDE_CODE_SESSION_ATTENDED"] = "cli", c.attended
		w.run(Stop, strings.NewReader(`{"session_id":"s-1","hook_event_name":"Stop"`+c.extra+`}`))
		if got := words(t, w.queued()); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestContextPrintsTheRules(t *testing.T) {
	w := newWorld(t)
	in := `{"session_id":"s-1","hook_event_name":"UserPromptSubmit"}`
	w.run(Context, strings.NewReader(in))
	if w.out.Len() > 0 || w.log() != "" {
		t.Errorf("without rules: %q, log %q", w.out.String(), w.log())
	}
	if err := state.ReplaceJSON(w.dir.Instructions(), record.Instructions{Version: "1", Text: "{\"be\": \"kind\"}\n"}); err != nil {
		t.Fatal(err)
	}
	w.run(Context, strings.NewReader(in))
	var got struct {
		HookSpecificOutput struct{ HookEventName, AdditionalContext string }
	}
	if err := json.Unmarshal(w.out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if o := got.HookSpecificOutput; o.HookEventName != "UserPromptSubmit" || o.AdditionalContext != "{\"be\": \"kind\"}\n" {
		t.Errorf("got %+v", o)
	}
	w.run(Context, strings.NewReader(`{"session_id":"s-1","agent_id":"a"}`))
	if w.out.Len() > 0 {
		t.Errorf("a subagent got %q", w.out.String())
	}
	if len(w.queued()) > 0 {
		t.Error("it queued something")
	}
}

func FuzzHookInput(f *testing.F) {
	names, err := filepath.Glob("testdata/claude/*.json")
	if err != nil || len(names) == 0 {
		f.Fatal(err, names)
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(len(b)%8))
	}
	stamp := queue.NewStamp(time.Now())
	f.Fuzz(func(t *testing.T, b []byte, n uint8) {
		in, err := ReadInput(bytes.NewReader(b))
		if err != nil {
			return
		}
		name := Names()[int(n)%len(Names())]
		in.TranscriptPath = ""
		items, err := FromClaude(stamp, name, in)
		if err != nil {
			return
		}
		for _, it := range items {
			line, err := it.Line()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if _, err := record.ParseItem(line); err != nil {
				t.Fatalf("%s: its own line is refused: %v\n%s", name, err, line)
			}
		}
	})
}
