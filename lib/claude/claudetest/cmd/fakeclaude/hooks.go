package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// hookLimit is how long a hook may take unless it says so.
	hookLimit = 10 * time.Minute
	// endLimit is the same for SessionEnd.
	endLimit = 1500 * time.Millisecond
	// hookGrace is from a hook's SIGTERM to its SIGKILL (1.4 s with 2.1.332).
	hookGrace = 1400 * time.Millisecond
)

// hook is one command of settings.json.
type hook struct {
	Type        string  `json:"type"`
	Command     string  `json:"command"`
	Timeout     float64 `json:"timeout"` // in seconds
	Async       bool    `json:"async"`
	AsyncRewake bool    `json:"asyncRewake"`
}

type hookGroup struct {
	Matcher string `json:"matcher"`
	Hooks   []hook `json:"hooks"`
}

// hooks runs the commands of settings.json, which is read anew for each event:
// a change takes effect in sessions that run.
type hooks struct {
	log  *log
	mode string
	// woken is told what an asyncRewake hook has to say, in the words in which the
	// real one tells the model; nil ignores it.
	woken func(text string)

	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup // of all that run
}

func newHooks(l *log, mode string) *hooks {
	h := &hooks{log: l, mode: mode}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// outcome is how a hook ended.
type outcome struct {
	stdout, stderr []byte
	code           int
}

// run runs an event's hooks side by side and waits for those that are not
// async.
func (h *hooks) run(event string, more fields) []outcome { return h.prepare(event, more)() }

// prepare reads what an event's hooks need and returns what runs them, to be
// called once, also from elsewhere.
func (h *hooks) prepare(event string, more fields) func() []outcome {
	return h.prepareWithin(h.ctx, event, more)
}

// prepareWithin is prepare for hooks that a context ends, too.
func (h *hooks) prepareWithin(ctx context.Context, event string, more fields) func() []outcome {
	input, env, list := h.input(event, more), h.env(), h.of(event, more)
	h.wg.Add(1)
	return func() []outcome {
		defer h.wg.Done()
		var mu sync.Mutex
		var out []outcome
		var wg sync.WaitGroup
		for _, k := range list {
			if k.Async || k.AsyncRewake {
				h.wg.Go(func() { h.behind(k, event, about(more), input, env) })
				continue
			}
			wg.Go(func() {
				o := h.one(ctx, k, event, input, env)
				mu.Lock()
				defer mu.Unlock()
				out = append(out, o)
			})
		}
		wg.Wait()
		return out
	}
}

// behind runs an async hook. One with asyncRewake that exits 2 wakes the session
// with what it says; any other end is nobody's affair.
func (h *hooks) behind(k hook, event, about string, input []byte, env []string) {
	o := h.one(h.ctx, k, event, input, env)
	if !k.AsyncRewake || o.code != 2 || h.woken == nil {
		return
	}
	if about != "" {
		event += ":" + about
	}
	said := strings.ReplaceAll(string(o.stderr), "</system-reminder>", "&lt;/system-reminder>")
	h.woken("<task-notification>\n<summary>" + feedback + "</summary>\n</task-notification>\n<system-reminder>\n" +
		"Stop hook blocking error from command \"" + event + "\": " + said + "\n</system-reminder>")
}

// feedback is what the screen shows of a wake, whatever the hook's event was.
const feedback = "Stop hook feedback"

// end ends the hooks that still run, by SIGTERM.
func (h *hooks) end() {
	h.stop()
	h.wg.Wait()
}

func (h *hooks) one(within context.Context, k hook, event string, input []byte, env []string) outcome {
	limit := hookLimit
	if event == "SessionEnd" {
		limit = endLimit
	}
	if k.Timeout > 0 {
		limit = time.Duration(k.Timeout * float64(time.Second))
	}
	ctx, cancel := context.WithTimeout(within, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", k.Command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // as the real one's are
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = hookGrace
	cmd.Stdin = bytes.NewReader(input)
	cmd.Env = env
	var o outcome
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		o.code = 1
		if cmd.ProcessState != nil {
			o.code = cmd.ProcessState.ExitCode()
		}
	}
	o.stdout, o.stderr = out.Bytes(), errs.Bytes()
	return o
}

func (h *hooks) env() []string {
	return append(os.Environ(), "CLAUDE_PROJECT_DIR="+cwd(), "CLAUDE_CODE_SESSION_ID="+h.log.Session, "CLAUDE_PID="+strconv.Itoa(os.Getpid()),
		"CLAUDECODE=1", "CLAUDE_CODE_CHILD_SESSION=1", "CLAUDE_CODE_ENTRYPOINT="+h.log.Entrypoint, "CLAUDE_CODE_SESSION_ATTENDED="+h.attended())
}

func (h *hooks) attended() string {
	if h.log.Entrypoint == "cli" {
		return "1"
	}
	return "0"
}

// input is what a hook reads.
func (h *hooks) input(event string, more fields) []byte {
	v := fields{"session_id": h.log.Session, "transcript_path": h.log.path(), "cwd": cwd(), "hook_event_name": event}
	if h.log.prompt != "" {
		v["prompt_id"] = h.log.prompt
	}
	if event != "SessionStart" && event != "SessionEnd" {
		v["permission_mode"] = h.mode
	}
	if h.log.title != "" {
		v["session_title"] = h.log.title
	}
	for k, x := range more {
		v[k] = x
	}
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("{}")
	}
	return b
}

// of lists an event's commands. A settings file that can't be read counts for
// nothing.
func (h *hooks) of(event string, more fields) []hook {
	var list []hook
	for _, path := range []string{
		filepath.Join(string(home()), "settings.json"),
		filepath.Join(cwd(), ".claude", "settings.json"),
		filepath.Join(cwd(), ".claude", "settings.local.json"),
	} {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var s struct {
			Hooks      map[string][]hookGroup `json:"hooks"`
			DisableAll bool                   `json:"disableAllHooks"`
		}
		if json.Unmarshal(b, &s) != nil {
			continue
		}
		if s.DisableAll {
			return nil
		}
		for _, g := range s.Hooks[event] {
			if !matches(g.Matcher, more) {
				continue
			}
			for _, k := range g.Hooks {
				// The same command runs once, as by the real one's documentation: in the
				// home directory its settings are the user's and the project's.
				again := slices.ContainsFunc(list, func(o hook) bool { return o.Command == k.Command })
				if k.Type == "command" && strings.TrimSpace(k.Command) != "" && !again {
					list = append(list, k)
				}
			}
		}
	}
	return list
}

// matches tries a matcher on what the event is about: a source, a reason, a
// tool.
func matches(matcher string, more fields) bool {
	if matcher == "" || matcher == "*" {
		return true
	}
	re, err := regexp.Compile("^(?:" + matcher + ")$")
	if err != nil {
		return false
	}
	what := about(more)
	return what == "" || re.MatchString(what)
}

// about is what of an event a matcher is tried on.
func about(more fields) string {
	for _, f := range []string{"source", "reason", "tool_name", "notification_type"} {
		if s, ok := more[f].(string); ok {
			return s
		}
	}
	return ""
}
