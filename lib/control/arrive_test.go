package control

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/mailbox"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// wake is a line as Claude Code 2.1.332 writes it, around what a hook printed.
func wake(before, text, after string) string {
	return before + `"<task-notification>\n<summary>Stop hook feedback</summary>\n</task-notification>\n<system-reminder>\nStop hook blocking error from command \"Stop\": ` +
		text + `\n</system-reminder>"` + after
}

func framed(id string) string {
	return strings.ReplaceAll(mailbox.Letter{ID: id, Text: "hello"}.Framed(), "\n", `\n`)
}

func TestWhatProvesAnArrival(t *testing.T) {
	whole := framed("m1")
	const origin = `,"origin":{"kind":"task-notification","producer":"session-task"},"promptSource":"system"}`
	for name, c := range map[string]struct {
		line string
		want bool
	}{
		"the prompt of a wake":          {wake(`{"type":"user","message":{"role":"user","content":`, whole, `}`+origin), true},
		"in blocks":                     {wake(`{"type":"user","message":{"role":"user","content":[{"type":"text","text":`, whole, `}]}`+origin), true},
		"by a version without origin":   {wake(`{"type":"user","message":{"role":"user","content":`, whole, `}}`), true},
		"taken up in mid-turn":          {wake(`{"type":"attachment","attachment":{"type":"queued_command","prompt":`, whole, `}}`), true},
		"another attachment":            {wake(`{"type":"attachment","attachment":{"type":"file","prompt":`, whole, `}}`), false},
		"it waits in the queue":         {wake(`{"type":"queue-operation","operation":"enqueue","content":`, whole, `}`), false},
		"another message":               {wake(`{"type":"user","message":{"content":`, framed("m2"), `}`+origin), false},
		"cut":                           {wake(`{"type":"user","message":{"content":`, strings.ReplaceAll(whole, mailbox.Ends("m1"), ""), `}`+origin), false},
		"what the model says":           {wake(`{"type":"assistant","message":{"content":`, whole, `}}`), false},
		"what a tool read":              {wake(`{"type":"user","message":{"content":[{"type":"tool_result","content":`, whole, `}]}}`), false},
		"what a person typed about it":  {wake(`{"type":"user","message":{"content":`, whole, `},"origin":{"kind":"human"}}`), false},
		"no JSON":                       {wake(`{"type":"user","message":{"content":`, whole, ``), false},
		"the beginning of another's id": {wake(`{"type":"user","message":{"content":`, framed("m11"), `}`+origin), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := woke([]byte(c.line), "m1"); got != c.want {
				t.Errorf("%v for %s", got, c.line)
			}
		})
	}
}

// /clear came between the wake and its turn, and then Claude Code ended: which
// session it ran last nobody tells any more.
func TestAnArrivalInAnotherTranscript(t *testing.T) {
	m := newMachine(t)
	const id = "11111111-2222-3333-4444-555555555555"
	c := m.message(id, "hello")
	taken := filepath.Join(mailbox.Folder(m.d.Dir), id, "taken")
	project := filepath.Join(m.s.Home(), ".claude", "projects", "-app")
	for _, dir := range []string{taken, project} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	line := wake(`{"type":"user","message":{"content":`, framed(c.ID), `},"origin":{"kind":"task-notification"}}`) + "\n"
	if err := os.WriteFile(filepath.Join(project, "another.jsonl"), []byte("{}\n"+line), 0o600); err != nil {
		t.Fatal(err)
	}
	mark := mailbox.Mark{V: 1, ID: c.ID, At: record.At(time.Now()), Claude: 1 << 30}
	if err := state.ReplaceJSON(filepath.Join(taken, c.ID+".given"), mark); err != nil {
		t.Fatal(err)
	}
	m.expect(c, record.RequestDelivered, "through its mailbox")
}
