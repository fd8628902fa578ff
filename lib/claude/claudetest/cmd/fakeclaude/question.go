package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"sessionhub/lib/claude/claudetest/directive"
)

// Call is a use of a tool as a directive wants it.
type Call = directive.Call

type question struct {
	Question string `json:"question"`
	Header   string `json:"header"`
	Options  []struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	} `json:"options"`
}

// askQuestions shows one question after the other.
func (a *app) askQuestions(t *turn, c *call, settled func()) {
	var in struct {
		Questions []question `json:"questions"`
	}
	if err := json.Unmarshal(c.Input, &in); err != nil || len(in.Questions) == 0 {
		c.fail("there is no question")
		settled()
		return
	}
	answers := map[string]string{}
	var show func(i int) *dialog
	show = func(i int) *dialog {
		q := in.Questions[i]
		d := &dialog{waitingFor: inputNeeded, numbered: true, above: []string{" ☐ " + q.Header, "", q.Question, ""},
			keys: "Enter to select · ↑/↓ to navigate · Esc to cancel"}
		for _, o := range q.Options {
			d.choices = append(d.choices, o.Label)
		}
		d.cancel = func() {
			a.dialog = nil
			a.interrupt()
		}
		d.chose = func(n int) {
			answers[q.Question] = d.choices[n]
			if i+1 < len(in.Questions) {
				*d = *show(i + 1)
				return
			}
			a.dialog = nil
			c.decided = "user_temporary"
			c.answered(in.Questions, answers)
			settled()
		}
		return d
	}
	a.beside(t, c, show(0), func(said decision) {
		var out struct {
			Answers map[string]any `json:"answers"`
		}
		switch {
		case said.Behavior == "deny":
			c.fail(said.Message)
		case json.Unmarshal(said.UpdatedInput, &out) != nil:
			c.fail("the answers can't be read")
		default:
			for q, v := range out.Answers {
				answers[q] = fmt.Sprint(v)
			}
			c.answered(in.Questions, answers)
		}
		settled()
	})
}

// answered is the result in the words of the real one.
func (c *call) answered(list []question, answers map[string]string) {
	var parts []string
	for _, q := range list {
		if v, ok := answers[q.Question]; ok {
			parts = append(parts, `"`+q.Question+`"="`+v+`"`) // unescaped, as the real one does
		}
	}
	c.result = "Your questions have been answered: " + strings.Join(parts, ", ") + ". You can now continue with these answers in mind."
}
