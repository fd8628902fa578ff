package hook

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"sessionhub/lib/claude/transcript"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// Limits of what a hook passes on, in characters.
const (
	promptLimit = 200
	noteLimit   = 300
)

// FromClaude says what a hook of Claude Code asks to be told. It reads the
// transcript's end after an error of the API, for the time of the reset.
func FromClaude(stamp queue.Stamp, name string, in Input) ([]record.Item, error) {
	if err := record.CheckID("session_id", in.SessionID); err != nil {
		return nil, err
	}
	var b builder
	switch name {
	case SessionStart:
		b.add(record.KindUpsert, upsertOf(in))
	case PromptSubmit:
		u := upsertOf(in)
		if typed(in.Prompt) {
			u.FirstPrompt = text.Cut(text.Line(in.Prompt), promptLimit)
		}
		b.add(record.KindUpsert, u)
		b.add(record.KindState, record.State{AgentState: record.Working})
	case Stop:
		b.add(record.KindState, stopped(in))
	case Notified:
		if s, ok := notified(in); ok {
			b.add(record.KindState, s)
		}
	case SessionEnd:
		b.add(record.KindEnded, record.Ended{Reason: cmp.Or(text.Cut(text.Line(in.Reason), promptLimit), "other")})
	default:
		return nil, fmt.Errorf("%q is none of %s", name, strings.Join(Names(), ", "))
	}
	return b.items(stamp, in.SessionID)
}

// builder collects the bodies of one hook's items.
type builder struct {
	kinds  []record.Kind
	bodies []any
}

func (b *builder) add(kind record.Kind, body any) {
	b.kinds, b.bodies = append(b.kinds, kind), append(b.bodies, body)
}

// items makes the items. The first has the hook's stamp, each other one the
// next millisecond, so that their order is that of their ids.
func (b *builder) items(stamp queue.Stamp, session string) ([]record.Item, error) {
	var list []record.Item
	for i, kind := range b.kinds {
		if i > 0 {
			stamp = queue.NewStamp(stamp.At.Add(time.Millisecond))
		}
		it, err := record.NewItem(stamp.ID, stamp.At, record.SourceHook, kind, b.bodies[i])
		if err != nil {
			return nil, err
		}
		it.Session = session
		if err := it.Validate(); err != nil {
			return nil, err
		}
		list = append(list, it)
	}
	return list, nil
}

func upsertOf(in Input) record.Upsert {
	return record.Upsert{
		Agent: ClaudeAgent, Cwd: in.Cwd, Model: in.Model, TranscriptPath: in.TranscriptPath,
		StartSource: in.Source, TitleHint: text.Cut(text.Line(in.SessionTitle), promptLimit),
	}
}

// typed reports whether a prompt is a person's. Claude Code runs the same hook
// for the news of a subagent (capture UserPromptSubmit.task-notification).
func typed(prompt string) bool {
	return !strings.HasPrefix(strings.TrimLeft(prompt, " \n"), "<task-notification>")
}

// stopped is the state after a turn. Nobody sees the end of it in the
// background: it is done. Elsewhere a hook can't know: idle is what is sure, and
// the watcher makes it done where herdr says so.
func stopped(in Input) record.State {
	s := record.State{AgentState: record.Idle, Background: len(in.BackgroundTasks) > 0}
	if in.Unattended && !s.Background {
		s.AgentState = record.Done
	}
	if in.Error != "" || in.Event == "StopFailure" {
		s.Note = failure(in)
	}
	return s
}

// failure says why a turn failed, and until when a limit holds. The time is
// read from the transcript, as the text is made for people.
func failure(in Input) string {
	note := cmp.Or(in.Error, "failed")
	if e, ok, err := transcript.LastError(in.TranscriptPath); err == nil && ok && e.Limit && !e.ResetsAt.IsZero() {
		note += ", resets at " + e.ResetsAt.Format(time.RFC3339)
	}
	if msg := text.Line(in.LastMessage); msg != "" {
		note += ": " + msg
	}
	if in.Error == "authentication_failed" {
		note += " (log in there: /login)"
	}
	return text.Cut(note, noteLimit)
}

// The notifications of Claude Code that tell a state.
const (
	permissionPrompt = "permission_prompt"        // 6 s after a dialog opened
	workerPrompt     = "worker_permission_prompt" // the same of an agent of its team
	agentNeedsInput  = "agent_needs_input"        // a choice that auto mode can't make
	elicitation      = "elicitation_dialog"       // an MCP server asks
	elicitationURL   = "elicitation_url_dialog"
	idlePrompt       = "idle_prompt" // 60 s after a turn, when nobody typed
)

// notified is the state that a notification tells; ok is false for those that
// tell none. A minute without a person at a finished turn is what "done" means:
// finished, and not looked at.
func notified(in Input) (s record.State, ok bool) {
	switch in.NotificationType {
	case permissionPrompt, workerPrompt, agentNeedsInput, elicitation, elicitationURL:
		return record.State{AgentState: record.Blocked, Note: text.Cut(text.Line(in.Message), noteLimit)}, true
	case idlePrompt:
		return record.State{AgentState: record.Done}, true
	}
	return record.State{}, false
}
