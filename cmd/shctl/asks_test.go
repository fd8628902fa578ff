package main

import (
	"encoding/json"
	"strings"
	"testing"

	"sessionhub/lib/record"
)

// Who decides sees all of what is asked, with everything spelled out that a
// terminal would heed.
func TestPrintAsk(t *testing.T) {
	open := record.Ask{State: record.AskOpen, AskBody: record.AskBody{Ask: "ask-1", Answerable: true}}
	for _, c := range []struct {
		name, tool, input string
		change            func(a *record.Ask)
		want              string
	}{
		{"a command", "Bash", `{"command":"rm -rf a\u001b[8m\nls\u202e","description":"clean"}`, nil, `
  clean
  │ rm -rf a<U+001B>[8m
  │ ls<U+202E>
  → shctl answer 0b5c0000 allow|deny`},
		{"a file", "Write", `{"file_path":"/home/dev/x.go","content":"package x\n"}`, nil, `
  /home/dev/x.go
  + package x
  → shctl answer 0b5c0000 allow|deny`},
		{"a change", "Edit", `{"file_path":"/x","old_string":"a","new_string":"b","replace_all":true}`, nil, `
  /x
  - a
  + b
  replace_all: true
  → shctl answer 0b5c0000 allow|deny`},
		{"another tool", "mcp__mail__send", `{"to":"a@b.c","n":{"x":1}}`, nil, `
  n: {
    "x": 1
  }
  to: a@b.c
  → shctl answer 0b5c0000 allow|deny`},
		{"cut", "Write", `{"file_path":"/x","content":"y… [cut: 9 of 10 bytes are missing]"}`, func(a *record.Ask) { a.InputCut, a.Why = true, "it was cut" }, `
  /x
  + y… [cut: 9 of 10 bytes are missing]
  CUT: this is not all of it; look at the screen before you allow it there
  → shctl answer 0b5c0000 deny (it was cut)`},
		{"a question", "AskUserQuestion", `{}`, func(a *record.Ask) {
			a.Questions = []record.Question{{Question: "Which?", Multi: true, Options: []record.Option{{Label: "A", Description: "first"}, {Label: "B\x1b]0;x\x07"}}}}
		}, `
  Which? (several may be chosen)
    1  A: first
    2  B<U+001B>]0;x<U+0007>
  → shctl answer 0b5c0000 --choose N|--text TEXT, or deny`},
		{"a plan", "ExitPlanMode", `{}`, func(a *record.Ask) { a.Plan = "# Plan\n1. do it\n" }, `
  │ # Plan
  │ 1. do it
  → shctl answer 0b5c0000 allow|deny`},
		{"for the screen", "Bash", `{"command":"ls"}`, func(a *record.Ask) { a.Answerable, a.Why = false, "remote answers are off" }, `
  │ ls
  → at the screen only: remote answers are off`},
		{"with suggestions", "Bash", `{"command":"npm run x"}`, func(a *record.Ask) {
			a.Suggestions = []json.RawMessage{
				json.RawMessage(`{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"npm run *"}],"behavior":"allow","destination":"localSettings"}`),
				json.RawMessage(`{"type":"setMode","mode":"acceptEdits","destination":"session"}`),
				json.RawMessage(`{"type":"addDirectories","directories":["/x"],"destination":"userSettings"}`),
			}
		}, `
  │ npm run x
  --always 1: always allow Bash(npm run *), in this project, for you
  --always 2: switch to the mode acceptEdits, for this session
  --always 3: give access to /x, in all projects
  → shctl answer 0b5c0000 allow|deny`},
	} {
		a := open
		a.Tool, a.Input = c.tool, json.RawMessage(c.input)
		if c.change != nil {
			c.change(&a)
		}
		var b strings.Builder
		printAsk(&b, "0b5c0000-0000-4000-8000-000000000000", a)
		_, got, _ := strings.Cut(b.String(), "\n")
		if got != c.want[1:]+"\n" {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want[1:])
		}
	}
}
