package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// The hooks of Claude Code that `shq hook NAME` answers. Stop also answers
// StopFailure, which Claude Code sends in its place.
const (
	SessionStart = "session-start"
	PromptSubmit = "prompt"
	Stop         = "stop"
	Notified     = "notification"
	SessionEnd   = "session-end"
	Context      = "context"
	RefreshRules = "refresh-instructions"
)

// Names are the hooks there are.
func Names() []string {
	return []string{SessionStart, PromptSubmit, Stop, Notified, SessionEnd, Context, RefreshRules, Ask, Mailbox}
}

// ClaudeHook is one run of a hook of Claude Code.
type ClaudeHook struct {
	Getenv  func(string) string
	Now     func() time.Time
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Watcher string // path of shwatch
}

// Run answers the hook. It never fails, as Claude Code takes some exit
// statuses as an order: what goes wrong is a line in watcher.log. Only Context
// prints anything.
func (h *ClaudeHook) Run(name string) {
	stamp := queue.NewStamp(h.Now())
	dir, err := state.Default(h.Getenv)
	if err != nil {
		return // there is no log to tell it
	}
	if err := h.run(name, stamp, dir); err != nil {
		logFailure(dir, h.Now, fmt.Errorf("hook %s: %w", name, err))
	}
}

func (h *ClaudeHook) run(name string, stamp queue.Stamp, dir state.Dir) error {
	if name == RefreshRules {
		return h.refresh(dir)
	}
	in, err := ReadInput(h.Stdin)
	if err != nil {
		return err
	}
	if !h.person(in) {
		return nil
	}
	if name == Context {
		return h.printRules(dir, in)
	}
	in.Unattended = h.Getenv("CLAUDE_CODE_SESSION_ATTENDED") == "0"
	items, err := FromClaude(stamp, name, in)
	if err != nil {
		return err
	}
	seen := touchSession(dir, in.SessionID, name)
	if len(items) == 0 {
		return seen
	}
	q := &queue.Queue{Dir: dir, Now: h.Now}
	return errors.Join(q.Append(queue.Fast, items...), EnsureWatcher(dir, h.Watcher), seen)
}

// person reports whether the hook speaks of a session that is a person's: not
// of a subagent, whose events carry its parent's session (finding: agent_id),
// and not of `claude -p` or a program that embeds Claude Code.
func (h *ClaudeHook) person(in Input) bool {
	return in.AgentID == "" && h.attended()
}

// touchSession leaves a mark that a session's hooks run: shinstall doctor
// compares it with the sessions that live. The end of a session takes it away.
func touchSession(dir state.Dir, session, name string) error {
	if record.CheckID("session_id", session) != nil {
		return nil // told by FromClaude
	}
	if name == SessionEnd {
		os.Remove(dir.HookSeen(session)) // it may never have been there
		return nil
	}
	if _, err := dir.Sub("hooks"); err != nil {
		return err
	}
	if err := os.WriteFile(dir.HookSeen(session), []byte(name+"\n"), 0o600); err != nil {
		return fmt.Errorf("mark the session: %w", err)
	}
	return nil
}

// Input is what Claude Code tells a hook, as far as it is used here. Fields
// that an event lacks are empty.
type Input struct {
	SessionID        string            `json:"session_id"`
	TranscriptPath   string            `json:"transcript_path"`
	Cwd              string            `json:"cwd"`
	Event            string            `json:"hook_event_name"`
	AgentID          string            `json:"agent_id"` // of a subagent
	Source           string            `json:"source"`
	Model            string            `json:"model"`
	SessionTitle     string            `json:"session_title"`
	Prompt           string            `json:"prompt"`
	Reason           string            `json:"reason"`
	Message          string            `json:"message"`
	NotificationType string            `json:"notification_type"`
	Error            string            `json:"error"`
	LastMessage      string            `json:"last_assistant_message"`
	BackgroundTasks  []json.RawMessage `json:"background_tasks"`

	Unattended bool `json:"-"` // nobody sits at it: it runs in the background
}

const (
	// maxInput bounds what a hook reads in bytes; a prompt may hold a pasted
	// file.
	maxInput = 16 << 20
	// inputWait bounds the wait for it. Claude Code writes at once, but does not
	// always close the pipe (issue 79508 of its repository), so the end of the
	// JSON value counts, not the end of the input.
	inputWait = 3 * time.Second
)

// ReadInput reads one JSON object, without waiting for the end of the input.
func ReadInput(r io.Reader) (Input, error) {
	var in Input
	if err := readValue(r, &in); err != nil {
		return Input{}, err
	}
	return in, nil
}

// readValue reads one JSON value into v. After inputWait it gives up; the reading
// goroutine is left to the end of the process, which follows at once.
func readValue[T any](r io.Reader, v *T) error {
	type result struct {
		in  T
		err error
	}
	done := make(chan result, 1)
	go func() {
		var in T
		err := json.NewDecoder(io.LimitReader(r, maxInput)).Decode(&in)
		var typ *json.UnmarshalTypeError
		if errors.As(err, &typ) { // a field of another version; the others are read
			err = nil
		}
		done <- result{in, err}
	}()
	timer := time.NewTimer(inputWait)
	defer timer.Stop()
	select {
	case res := <-done:
		if res.err != nil {
			return fmt.Errorf("standard input: %w", record.Explain(res.err))
		}
		*v = res.in
		return nil
	case <-timer.C:
		return fmt.Errorf("standard input: no JSON object came in %s", inputWait)
	}
}
