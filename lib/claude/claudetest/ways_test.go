package claudetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sessionhub/lib/claude"
	"sessionhub/lib/herdr"
)

// standIn starts the stand-in in a pane.
func standIn(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, Build(t))
	r.typed("claude")
	r.entry(claude.StatusIdle)
	return r
}

// command is a hook that runs one line of shell.
func command(line string, more ...any) map[string]any {
	h := map[string]any{"type": "command", "command": line}
	for i := 0; i+1 < len(more); i += 2 {
		h[more[i].(string)] = more[i+1]
	}
	return map[string]any{"hooks": []any{h}}
}

func (r *rig) hook(event string, h map[string]any) {
	r.t.Helper()
	r.settings(map[string]any{"hooks": map[string]any{event: []any{h}}})
}

// said waits until the transcript of the one session holds a text.
func (r *rig) said(text string) {
	r.t.Helper()
	r.until("the transcript holds "+text, func() bool {
		table, err := claude.NewTable()
		if err != nil {
			r.t.Fatal(err)
		}
		list, err := r.claude().Live(table)
		return err == nil && len(list) == 1 && strings.Contains(r.transcript(list[0].SessionID), text)
	})
}

// A PermissionRequest hook answers beside the dialog.
func TestHookAnswersBesideTheDialog(t *testing.T) {
	t.Parallel()
	const decide = `cat > /dev/null; echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":`
	t.Run("allow", func(t *testing.T) {
		r := standIn(t)
		r.hook("PermissionRequest", command(decide+`{"behavior":"allow"}}}'`))
		r.typed("ask touch allowed")
		r.said(`"Done."`)
		if _, err := os.Stat(filepath.Join(r.app, "allowed")); err != nil {
			t.Error(err)
		}
	})
	t.Run("deny", func(t *testing.T) {
		r := standIn(t)
		r.hook("PermissionRequest", command(decide+`{"behavior":"deny","message":"not today"}}}'`))
		r.typed("ask touch denied")
		r.said("not today")
		r.entry(claude.StatusIdle)
		if _, err := os.Stat(filepath.Join(r.app, "denied")); err == nil {
			t.Error("it ran all the same")
		}
	})
	t.Run("a question", func(t *testing.T) {
		r := standIn(t)
		r.hook("PermissionRequest", command(decide+`{"behavior":"allow","updatedInput":{"answers":{"Which colour?":"Blue"}}}}}'`))
		r.typed("question")
		r.said(`\"Which colour?\"=\"Blue\"`)
	})
	t.Run("a bare allow does not answer a question", func(t *testing.T) {
		r := standIn(t)
		r.hook("PermissionRequest", command(decide+`{"behavior":"allow"}}}'; touch "$HOME/hook-ran"`))
		r.typed("question")
		r.until("the hook has ended", func() bool { _, err := os.Stat(filepath.Join(r.home, "hook-ran")); return err == nil })
		r.shows("Which colour?")
		r.keys("2")
		r.said(`\"Which colour?\"=\"Blue\"`)
	})
	t.Run("the person was first", func(t *testing.T) {
		r := standIn(t)
		r.hook("PermissionRequest", command(`trap 'touch "$HOME/hook-ended"' TERM; sleep 60 & wait`))
		r.typed("ask touch by-person")
		r.shows("Do you want to proceed?")
		r.keys("1")
		r.said(`"Done."`)
		r.typed("/exit") // now the hook gets its SIGTERM
		r.until("the hook has ended", func() bool { _, err := os.Stat(filepath.Join(r.home, "hook-ended")); return err == nil })
	})
}

// A hook with asyncRewake that exits 2 wakes an idle session.
func TestHookWakesAnIdleSession(t *testing.T) {
	t.Parallel()
	r := standIn(t)
	r.hook("Stop", command(`until mv "$HOME/mail" "$HOME/read" 2> /dev/null; do sleep 0.05; done; echo "you have mail" >&2; exit 2`, "asyncRewake", true))
	r.typed("hello")
	r.said("turn_duration")
	if err := os.WriteFile(filepath.Join(r.home, "mail"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.said("you have mail")
	r.entry(claude.StatusIdle)
}

// A UserPromptSubmit hook that exits 2 takes the prompt back.
func TestHookBlocksAPrompt(t *testing.T) {
	t.Parallel()
	r := standIn(t)
	r.hook("UserPromptSubmit", command("echo no such talk >&2; exit 2"))
	r.typed("hello")
	r.shows("no such talk")
	r.entry(claude.StatusIdle)
}

// An untrusted directory: nothing of the session is there before yes.
func TestTrust(t *testing.T) {
	t.Parallel()
	t.Run("Enter alone is no", func(t *testing.T) {
		r := newRig(t, Build(t))
		RealHome(t, r.home)
		r.hooked()
		r.typed("claude")
		r.shows("❯ No, exit")
		r.entry("")
		r.keys("Enter")
		r.shell()
		if _, err := os.Stat(filepath.Join(r.home, "hooks.jsonl")); err == nil {
			t.Error("a hook ran")
		}
	})
	t.Run("yes is remembered", func(t *testing.T) {
		r := newRig(t, Build(t))
		RealHome(t, r.home)
		r.typed("claude")
		r.shows("❯ No, exit")
		r.keys("down", "Enter")
		r.entry(claude.StatusIdle)
		r.typed("exit")
		r.entry("")
		r.shell()
		r.typed("claude")
		r.entry(claude.StatusIdle)
	})
}

// /exit while a background shell runs asks first (finding 38).
func TestExitWithBackgroundWork(t *testing.T) {
	t.Parallel()
	r := standIn(t)
	r.typed("bg 60s")
	r.entry(claude.StatusShell)
	r.typed("/exit")
	r.shows("Background work is running")
	if p := r.entry(claude.StatusWaiting); p.WaitingFor != claude.WaitingDialog {
		t.Errorf("it waits for %q", p.WaitingFor)
	}
	r.keys("3")
	r.entry(claude.StatusShell)
	r.typed("exit")
	r.shows("Background work is running")
	r.keys("Enter")
	r.entry("")
}

// What becomes of text that herdr pastes (findings 23 to 26).
func TestPastedPrompts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"one line", "just this", `"content":"just this"`},
		{"several lines", "one\ntwo", `"content":"\n\n<pasted_content id=\"6ef3\">\none\ntwo\n</pasted_content id=\"6ef3\">\n"`},
		{"a path", "/usr/bin is full", `"content":"/usr/bin is full"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := standIn(t)
			r.prompt(c.text)
			r.said(c.want)
		})
	}
	for _, c := range []struct{ name, text, shown string }{
		{"not sent: it turns the writing", "a\u202eb", "❯\u00a0ab"},
		{"not sent: it ends in a backslash", `and then\`, "❯\u00a0and then"},
		{"not a message: a command", "/nonsense x", "Unknown command: /nonsense"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := standIn(t)
			r.prompt(c.text)
			r.shows(c.shown)
			if p := r.entry(claude.StatusIdle); r.transcript(p.SessionID) != "" {
				t.Errorf("the transcript: %s", r.transcript(p.SessionID))
			}
		})
	}
	t.Run("half a sentence stands before it", func(t *testing.T) {
		r := standIn(t)
		if err := r.h.SendText(t.Context(), r.pane, "half a sentence"); err != nil {
			t.Fatal(err)
		}
		r.shows("❯\u00a0half a sentence")
		r.prompt(" from afar")
		r.said(`"content":"half a sentence from afar"`)
	})
}

// prompt has herdr prompt the agent.
func (r *rig) prompt(text string) {
	r.t.Helper()
	r.until("herdr takes the prompt", func() bool {
		_, err := r.h.PromptAgent(r.t.Context(), herdr.Prompt{Target: r.pane, Text: text})
		return err == nil
	})
}

// Ctrl-Z suspends it, and fg brings it back.
func TestSuspended(t *testing.T) {
	t.Parallel()
	r := standIn(t)
	p := r.entry(claude.StatusIdle)
	r.keys("ctrl+z")
	r.shell()
	table, err := claude.NewTable()
	if err != nil {
		t.Fatal(err)
	}
	if o, ok := table.Find(p.PID); !ok || !o.Stopped {
		t.Errorf("the process: %+v, %v", o, ok)
	}
	r.typed("fg")
	r.shows("for shortcuts")
	r.typed("still here")
	r.said("still here")
}

// Typed while it works, a prompt waits for the end of the turn.
func TestQueuedPrompt(t *testing.T) {
	t.Parallel()
	r := standIn(t)
	r.typed("work 500ms")
	r.entry(claude.StatusBusy)
	r.typed("and then this")
	r.said(`"enqueue"`)
	r.said("Echo: and then this")
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	r := standIn(t)
	r.typed("work 60s")
	r.entry(claude.StatusBusy)
	r.keys("escape")
	r.said("[Request interrupted by user]")
	r.entry(claude.StatusIdle)
	r.keys("ctrl+c")
	r.shows("again to exit")
	r.keys("ctrl+c")
	r.entry("")
}

// The id of a session that is resumed, branched off, renamed and controlled
// from afar.
func TestOtherIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t, Build(t), "FAKECLAUDE_REMOTE=https://claude.ai/code/session_x")
	r.typed("claude")
	r.entry(claude.StatusIdle)
	r.typed("remember this")
	r.said("turn_duration")
	first := r.entry(claude.StatusIdle).SessionID
	r.typed("/branch")
	r.until("the branch runs", func() bool { return r.entry(claude.StatusIdle).SessionID != first })
	r.said("remember this")
	r.typed("/rename Fix the parser")
	r.until("it has a name", func() bool { return r.entry(claude.StatusIdle).Name == "Fix the parser" })
	r.typed("/remote-control")
	r.said(`"url":"https://claude.ai/code/session_x"`)
	r.until("the registry says so", func() bool { return r.entry(claude.StatusIdle).BridgeSessionID != "" })
	r.typed("/resume " + first)
	r.until("the first runs again", func() bool { return r.entry(claude.StatusIdle).SessionID == first })
	r.typed("/exit")
	r.entry("")
	r.shell()
	r.typed("claude --resume 00000000-0000-4000-8000-000000000000")
	r.shows("No conversation found with session ID: 00000000-0000-4000-8000-000000000000")
	r.typed("claude --resume " + first)
	if p := r.entry(claude.StatusIdle); p.SessionID != first {
		t.Errorf("%s was resumed", p.SessionID)
	}
}

// `claude -p`: in the registry while it runs, told apart by its entry point.
func TestHeadless(t *testing.T) {
	t.Parallel()
	r := newRig(t, Build(t))
	r.hooked()
	r.typed("claude -p 'x [[sleep 500]] [[say Here you are.]]'")
	if p := r.entry(claude.StatusBusy); p.Interactive() {
		t.Errorf("a person's: %+v", p)
	}
	r.entry("")
	r.shows("\nHere you are.")
	if events, _ := r.heard(); strings.Join(events, ", ") != "SessionStart startup, UserPromptSubmit, Stop, SessionEnd other" {
		t.Errorf("hooks heard %v", events)
	}
}
