package main

import (
	"fmt"
	"strings"
	"testing"

	"sessionhub/lib/doctor"
	"sessionhub/lib/install"
)

// What people see is one line a step, and nothing of what comes from outside
// moves their cursor.
func TestStepLine(t *testing.T) {
	for _, c := range []struct {
		step install.Step
		want string
	}{
		{install.Step{Target: "hooks", Step: "settings", Outcome: install.Changed, Path: "/s.json", Detail: "rewritten"}, "hooks   changed   settings: /s.json: rewritten\n"},
		{install.Step{Target: "mcp", Step: "register", Outcome: install.Planned, Command: "claude mcp add '\x1b[31mx'"}, "mcp     planned   register\n  $ claude mcp add 'x'\n"},
		{install.Step{Target: "plugin", Step: "keys", Outcome: install.Noted, Lines: "a = 1\nb = 2\n"}, "plugin  note      keys\n  a = 1\n  b = 2\n"},
		{install.Step{Target: "hooks", Step: "settings", Outcome: install.Planned, Diff: "--- a\n+++ b\n+\x1b]0;x\x07\ty\n"}, "hooks   planned   settings\n--- a\n+++ b\n+\ty\n"},
		{install.Step{Target: "plugin", Step: "failed", Outcome: install.Failed, Detail: "x"}, ""},
	} {
		if got := stepLine(c.step); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestPartLines(t *testing.T) {
	for _, c := range []struct {
		part install.Part
		want string
	}{
		{install.Part{Part: "mcp", State: install.Ready, Path: "/home/dev/bin/shq"}, "mcp      ready    ~/bin/shq\n"},
		{install.Part{Part: "plugin", State: install.Off, Version: "1.0.0", Path: "/home/developer/x", Detail: "dis\x1b[1mabled", Do: "enable it"},
			"plugin   off      1.0.0, /home/developer/x, disabled\n                  → enable it\n"},
	} {
		if got := partLines(c.part, "/home/dev"); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestFindingLines(t *testing.T) {
	for _, c := range []struct {
		finding doctor.Finding
		want    string
	}{
		{doctor.Finding{Check: "hub", State: doctor.Fine, Why: "it answers"}, "hub            fine        it answers\n"},
		{doctor.Finding{Check: "notifications", State: doctor.NotSetUp, Why: "o\x1b[1mff", Fix: "add this", Lines: "[a]\nb = 1\n"},
			"notifications  not set up  off\n                           → add this\n                             [a]\n                             b = 1\n"},
	} {
		if got := findingLines(c.finding); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// Several things can be named, each with its own arguments.
func TestParse(t *testing.T) {
	all := []hookUp{{name: "plugin"}, {name: "join", args: "URL"}, {name: "hooks"}}
	for words, want := range map[string]string{
		"plugin":               "map[plugin:[]]",
		"hooks plugin":         "map[hooks:[] plugin:[]]",
		"join http://x hooks":  "map[hooks:[] join:[http://x]]",
		"hooks join plugin":    "map[hooks:[] join:[plugin]]", // an argument, whatever it looks like
		"plugin join":          `join: URL is wanted`,
		"join http://x nobody": `"nobody" is nothing to hook up`,
	} {
		named, err := parse(all, strings.Fields(words), false)
		got := fmt.Sprint(named)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", words, got, want)
		}
	}
	for words, want := range map[string]string{
		"join": "map[join:[]]", "join hooks": "map[hooks:[] join:[]]", "join http://x hooks": "map[hooks:[] join:[http://x]]",
	} {
		named, err := parse(all, strings.Fields(words), true)
		if got := fmt.Sprint(named); err != nil || got != want {
			t.Errorf("%s --remove: %s, %v, want %s", words, got, err, want)
		}
	}
}
