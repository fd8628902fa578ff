package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// printAsk shows an ask so that a person can decide about it: all of it that
// there is, with everything spelled out that a terminal would heed.
func printAsk(w io.Writer, session string, a record.Ask) {
	say := func(indent, s string) {
		for line := range strings.Lines(text.Visible(s)) {
			fmt.Fprintln(w, indent+strings.TrimSuffix(line, "\n"))
		}
	}
	fmt.Fprintf(w, "%s  %s  since %s  %s\n", text.Line(a.Ask), text.Line(a.Tool), clock(a.Since), askState(a))
	switch {
	case len(a.Questions) > 0:
		printQuestions(say, a.Questions)
	case a.Tool == "ExitPlanMode" && a.Plan == "":
		say("  ", "Claude wants to leave plan mode; it wrote no plan")
	case a.Plan != "":
		say("  │ ", a.Plan)
	default:
		printInput(say, a.Tool, a.Input)
	}
	if a.InputCut {
		say("  ", "CUT: this is not all of it; look at the screen before you allow it there")
	}
	if a.State != record.AskOpen {
		return
	}
	for i, s := range a.Suggestions {
		say("  ", fmt.Sprintf("--always %d: %s", i+1, suggestion(s)))
	}
	say("  ", howToAnswer(session, a))
}

// askState says how an ask stands.
func askState(a record.Ask) string {
	words := a.State
	if a.How != "" && a.How != a.State {
		words += " (" + strings.ReplaceAll(a.How, "_", " ") + ")"
	}
	if a.Answer != nil {
		words += fmt.Sprintf(", %s by %s at %s", a.Answer.Behavior, text.Line(a.Answer.By), clock(a.Answer.At))
	}
	return words
}

func howToAnswer(session string, a record.Ask) string {
	command := "→ shctl answer " + short(session)
	switch {
	case a.Answer != nil:
		return "→ answered; on its way"
	case !a.Answerable:
		return "→ at the screen only: " + a.Why
	case len(a.Questions) > 0:
		return command + strings.Repeat(" --choose N|--text TEXT", len(a.Questions)) + ", or deny"
	case a.InputCut:
		return command + " deny (" + a.Why + ")"
	}
	return command + " allow|deny"
}

func printQuestions(say func(indent, s string), list []record.Question) {
	for _, q := range list {
		several := ""
		if q.Multi {
			several = " (several may be chosen)"
		}
		say("  ", q.Question+several)
		for i, o := range q.Options {
			line := fmt.Sprintf("%d  %s", i+1, o.Label)
			if o.Description != "" {
				line += ": " + o.Description
			}
			say("    ", line)
		}
	}
}

// printInput shows what a tool is to do: a command, a file's new content, a
// change as a diff; of others every field.
func printInput(say func(indent, s string), tool string, raw json.RawMessage) {
	var in map[string]any
	if json.Unmarshal(raw, &in) != nil {
		say("  │ ", string(raw))
		return
	}
	take := func(key string) (string, bool) {
		s, ok := in[key].(string)
		if ok {
			delete(in, key)
		}
		return s, ok
	}
	if tool == "Bash" {
		if s, ok := take("description"); ok {
			say("  ", s)
		}
	}
	for _, field := range []struct{ key, indent string }{
		{"file_path", "  "}, {"notebook_path", "  "}, {"url", "  "}, {"command", "  │ "}, {"old_string", "  - "}, {"new_string", "  + "}, {"content", "  + "},
	} {
		if s, ok := take(field.key); ok {
			say(field.indent, s)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(in)) {
		value, ok := in[key].(string)
		if !ok {
			b, err := json.MarshalIndent(in[key], "", "  ")
			if err != nil {
				continue // it was decoded from JSON
			}
			value = string(b)
		}
		say("  ", key+": "+value)
	}
}

// suggestion is one of Claude's permission updates for people.
func suggestion(raw json.RawMessage) string {
	var v struct {
		Type        string   `json:"type"`
		Behavior    string   `json:"behavior"`
		Mode        string   `json:"mode"`
		Destination string   `json:"destination"`
		Directories []string `json:"directories"`
		Rules       []struct {
			Tool    string `json:"toolName"`
			Content string `json:"ruleContent"`
		} `json:"rules"`
	}
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	var what []string
	for _, r := range v.Rules {
		if r.Content != "" {
			r.Tool += "(" + r.Content + ")"
		}
		what = append(what, r.Tool)
	}
	where := map[string]string{
		"session": "for this session", "localSettings": "in this project, for you", "projectSettings": "in this project, for everybody", "userSettings": "in all projects",
	}[v.Destination]
	if where == "" {
		where = "in " + v.Destination
	}
	switch v.Type {
	case "addRules":
		return strings.TrimSpace("always "+v.Behavior+" "+strings.Join(what, ", ")) + ", " + where
	case "addDirectories":
		return "give access to " + strings.Join(v.Directories, ", ") + ", " + where
	case "setMode":
		return "switch to the mode " + v.Mode + ", " + where
	}
	return string(raw)
}

// printAsks shows the asks of one session, those that are open first.
func printAsks(w io.Writer, session string, asks []record.Ask) {
	open, over := splitAsks(asks)
	for _, part := range []struct {
		head string
		list []record.Ask
	}{{"ASKS", open}, {"ASKED BEFORE", over}} {
		if len(part.list) == 0 {
			continue
		}
		fmt.Fprintln(w, "\n"+part.head)
		for _, a := range part.list {
			printAsk(w, session, a)
		}
	}
}

func splitAsks(asks []record.Ask) (open, over []record.Ask) {
	for _, a := range asks {
		if a.State == record.AskOpen {
			open = append(open, a)
		} else {
			over = append(over, a)
		}
	}
	return open, over
}

// askedIn gives what the sessions of inbox entries ask.
func askedIn(ctx context.Context, hub *hubclient.Client, list []record.InboxEntry) ([]record.Session, error) {
	if !slices.ContainsFunc(list, func(e record.InboxEntry) bool { return e.Ask != "" }) {
		return nil, nil
	}
	all, err := hub.Sessions(ctx, hubclient.SessionFilter{})
	return slices.DeleteFunc(all, func(s record.Session) bool { return len(s.Asks) == 0 }), err
}
