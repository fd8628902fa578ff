package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sessionhub/cmd/internal/script"
	"sessionhub/lib/claude/claudetest"
)

func TestMain(m *testing.M) { script.Main(m, "shrevive", main) }

// The scripts have, besides the others' commands:
//
//	job SHORT STATE AGO [RESET]   a background session that a limit stopped AGO, with its reset in RESET
//	outage SHORT AGO              one that the network stopped
//	question SHORT                one that waits for its person
func TestScripts(t *testing.T) {
	p := script.Params(t)
	bin := claudetest.Build(t)
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
		e.Setenv("TZ", "Europe/Stockholm")
		return setup(e)
	}
	p.Cmds["job"] = func(ts *testscript.TestScript, _ bool, args []string) {
		reset := time.Time{}
		if len(args) > 3 {
			reset = ago(ts, "-"+args[3])
		}
		makeJob(ts, args[0], args[1], ago(ts, args[2]), "You've hit your 5-hour limit", map[string]any{
			"error": "rate_limit", "apiErrorStatus": 429, "apiError": "usage_limit_reached",
			"quotaLimits": map[string]any{"resetsAt": reset.Unix(), "rateLimitType": "five_hour"},
		})
	}
	p.Cmds["outage"] = func(ts *testscript.TestScript, _ bool, args []string) {
		makeJob(ts, args[0], "blocked", ago(ts, args[1]), "API Error: Connection dropped (ECONNRESET).", map[string]any{"error": "server_error"})
	}
	p.Cmds["question"] = func(ts *testscript.TestScript, _ bool, args []string) {
		makeJob(ts, args[0], "blocked", time.Now(), "Which database should I use?", nil)
	}
	testscript.Run(t, p)
}

func ago(ts *testscript.TestScript, s string) time.Time {
	s = strings.TrimPrefix(s, "--")
	d, err := time.ParseDuration(s)
	ts.Check(err)
	return time.Now().Add(-d)
}

// makeJob writes a background session as Claude Code keeps it. Without an error
// its last message is the model's own.
func makeJob(ts *testscript.TestScript, short, state string, at time.Time, text string, apiError map[string]any) {
	home := filepath.Join(ts.Getenv("HOME"), ".claude")
	id := short + "-862c-4c19-a678-d96bc355d660"
	path := filepath.Join(home, "projects", "-work", id+".jsonl")
	stamp := at.UTC().Format("2006-01-02T15:04:05.000Z")
	message := map[string]any{
		"type": "assistant", "timestamp": stamp,
		"message": map[string]any{"role": "assistant", "model": "claude", "content": []any{map[string]any{"type": "text", "text": text}}},
	}
	for k, v := range apiError {
		message[k] = v
		message["isApiErrorMessage"] = true
		message["message"].(map[string]any)["model"] = "<synthetic>"
	}
	job := map[string]any{
		"state": state, "detail": text, "tempo": "blocked", "needs": "rate limited — wait and retry · " + text, "name": "job " + short,
		"sessionId": id, "cwd": ts.MkAbs("."), "linkScanPath": path, "updatedAt": stamp,
	}
	write := func(path string, v any) {
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
		b, err := json.Marshal(v)
		ts.Check(err)
		ts.Check(os.WriteFile(path, append(b, '\n'), 0o600))
	}
	write(path, message)
	write(filepath.Join(home, "jobs", short, "state.json"), job)
	ts.Logf("%s", fmt.Sprint(short, " ", state))
}
