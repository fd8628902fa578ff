package hook

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

const aDialog = `{"session_id":"S","transcript_path":"/t.jsonl","tool_name":"Bash","tool_input":{"command":"ls"}}`

func (w *world) ask(stdin string) {
	w.t.Helper()
	w.out.Reset()
	h := &ClaudeHook{Getenv: func(k string) string { return w.env[k] }, Now: time.Now, Stdin: strings.NewReader(stdin), Stdout: &w.out, Watcher: "/nonexistent/shwatch"}
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	h.RunAsk(ctx)
	if ctx.Err() != nil {
		w.t.Error("the hook waits")
	}
	if w.out.Len() > 0 || len(w.queued()) > 0 {
		w.t.Errorf("printed %q, told %v", w.out.String(), w.queued())
	}
}

// Whatever is no dialog of a person's session lets nobody wait, and says
// nothing to Claude Code.
func TestAsksOfNobody(t *testing.T) {
	for _, c := range []struct{ name, entry, pid, in, log string }{
		{"claude -p", "sdk-cli", strconv.Itoa(os.Getpid()), aDialog, ""},
		{"no registry: whether the dialog stands is not known", "cli", strconv.Itoa(os.Getpid()), aDialog, ""},
		{"not run by Claude Code", "", "", aDialog, "CLAUDE_PID"},
		{"a process that is gone", "cli", "2147483600", aDialog, "CLAUDE_PID names no process"},
		{"no JSON", "cli", strconv.Itoa(os.Getpid()), "rubbish", "not valid JSON"},
		{"a session that is a path", "cli", strconv.Itoa(os.Getpid()), `{"session_id":"../../x"}`, `"session_id" has the character`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.env["CLAUDE_CODE_ENTRYPOINT"], w.env["CLAUDE_PID"] = c.entry, c.pid
			w.ask(c.in)
			if log := w.log(); !strings.Contains(log, c.log) || (c.log == "") != (log == "") {
				t.Errorf("log %q, want %q", log, c.log)
			}
		})
	}
}
