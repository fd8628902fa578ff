package main

import (
	"encoding/json"
	"strconv"
	"time"

	"sessionhub/lib/claude/claudetest/directive"
)

// turn is the work on one prompt.
type turn struct {
	prompt prompt
	script directive.Script
	began  time.Time
	round  int
	open   []*call // that have no result yet
	last   string  // what was said last

	interrupted func() // ends the hooks beside a dialog
}

// pace is how long the stand-in thinks, so that its work can be seen.
const pace = 50 * time.Millisecond

// ask starts a turn, or has the prompt wait for the end of the one that runs.
func (a *app) ask(p prompt) {
	if a.turn != nil {
		a.log.write(fields{"type": "queue-operation", "operation": "enqueue", "content": p.text, "timestamp": stamp()})
		a.queue = append(a.queue, p)
		return
	}
	if p.text == "dialog" {
		a.askStatus("Status")
		return
	}
	t := &turn{prompt: p, script: script(p.text), began: time.Now()}
	a.turn = t
	if p.source == "system" {
		a.say("● " + feedback)
	} else {
		a.say("❯ " + p.text)
	}
	run := a.hooks.prepare("UserPromptSubmit", fields{"prompt": p.text})
	a.log.user(p.text, p.source)
	go func() {
		outs := run()
		a.later(func() { a.submitted(t, outs) })
	}()
}

// submitted goes on after the hooks; one that exits 2 takes the prompt back.
func (a *app) submitted(t *turn, outs []outcome) {
	if a.turn != t {
		return
	}
	for _, o := range outs {
		if o.code == 2 {
			a.say("● UserPromptSubmit operation blocked by hook:\n" + string(o.stderr))
			a.turn = nil
			a.next()
			return
		}
	}
	a.think(t)
}

func (a *app) think(t *turn) {
	a.after(pace+t.script.Sleep, func() {
		if a.turn == t {
			a.step(t)
		}
	})
}

// step is one answer of the model: tools, or the final text.
func (a *app) step(t *turn) {
	if t.round == len(t.script.Rounds) {
		a.finish(t)
		return
	}
	blocks := []fields{textBlock("Step " + strconv.Itoa(t.round+1) + ".")}
	t.open = nil
	for _, c := range t.script.Rounds[t.round] {
		n := &call{Call: c, id: "toolu_made_up_" + newID()[:8]}
		t.open = append(t.open, n)
		name, input := n.shown()
		blocks = append(blocks, fields{"type": "tool_use", "id": n.id, "name": name, "input": json.RawMessage(input)})
	}
	t.round++
	a.log.assistant("tool_use", blocks...)
	a.say("● " + "Step " + strconv.Itoa(t.round) + ".")
	a.tools(t)
}

// finish is the end of a turn.
func (a *app) finish(t *turn) {
	t.last = answer(t.script, t.prompt.text)
	if t.script.Status != 0 {
		t.last = "API Error: " + strconv.Itoa(t.script.Status) + " " + t.script.StatusText
	}
	a.log.assistant("end_turn", textBlock(t.last))
	a.say("● " + t.last)
	run := a.hooks.prepare("Stop", fields{"stop_hook_active": false, "last_assistant_message": t.last, "background_tasks": []any{}, "session_crons": []any{}})
	go func() {
		run()
		a.later(func() {
			if a.turn != t {
				return
			}
			a.log.turnEnded(t.prompt.text, time.Since(t.began))
			a.turn = nil
			a.next()
		})
	}()
}

// next takes up what was typed in the meantime.
func (a *app) next() {
	for len(a.queue) > 0 && a.turn == nil && a.dialog == nil && !a.over {
		p := a.queue[0]
		a.queue = a.queue[1:]
		if p.source == "command" {
			a.slash(p.text)
			continue
		}
		a.log.write(fields{"type": "queue-operation", "operation": "dequeue", "timestamp": stamp()})
		a.ask(p)
	}
}

// interrupt is Esc: the turn ends without a Stop.
func (a *app) interrupt() {
	t := a.turn
	if t == nil {
		return
	}
	for _, c := range t.open {
		c.fail("The user doesn't want to proceed with this tool use. The tool use was rejected.")
		c.decided = "rejected"
	}
	a.log.results(t.open)
	if t.interrupted != nil {
		t.interrupted()
	}
	a.log.user("[Request interrupted by user]", "typed")
	a.say("  ⎿  Interrupted")
	a.turn, a.dialog = nil, nil
	a.next()
}
