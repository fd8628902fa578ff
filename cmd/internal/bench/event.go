package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sessionhub/lib/lock"
)

const eventRuns = 300

// shellHook is what people write instead: flock and printf.
const shellHook = `#!/bin/sh
exec 9>>"$D/shell.lock"
flock 9
printf '%s\n' "$HERDR_PLUGIN_EVENT_JSON" >>"$D/shell.jsonl"
`

const eventJSON = `{"event":"pane_agent_status_changed","data":{"type":"pane_agent_status_changed","pane_id":"w1:p1","workspace_id":"w1","agent_status":"working","agent":"claude"}}`

const hookJSON = `{"session_id":"0b5c1f9e-2d2c-4a57-9a3e-1f0c52b8d1aa","transcript_path":"/home/dev/.claude/projects/-home-dev-src-app/0b5c1f9e-2d2c-4a57-9a3e-1f0c52b8d1aa.jsonl","cwd":"/home/dev/src/app","permission_mode":"auto","hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"Edited main.go.","background_tasks":[]}`

func (b *bench) event() error {
	empty := filepath.Join(b.dir, "empty")
	src := filepath.Join(b.dir, "empty.go")
	if err := os.WriteFile(src, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return err
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", empty, src)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build an empty program: %w\n%s", err, out)
	}
	hook := filepath.Join(b.dir, "hook.sh")
	if err := os.WriteFile(hook, []byte(shellHook), 0o700); err != nil {
		return err
	}
	state := filepath.Join(b.dir, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		return err
	}
	l, err := lock.Try(filepath.Join(state, "watcher.lock")) // a watcher runs
	if err != nil {
		return err
	}
	defer l.Release()
	env := []string{"HOME=" + b.dir, "PATH=" + os.Getenv("PATH"), "D=" + b.dir, "SESSIONHUB_STATE_DIR=" + state,
		"HERDR_SOCKET_PATH=/nowhere.sock", "HERDR_PLUGIN_EVENT_JSON=" + eventJSON}
	input := filepath.Join(b.dir, "input.json")
	if err := os.WriteFile(input, []byte(hookJSON), 0o600); err != nil {
		return err
	}
	commands := []struct {
		name, stdin string
		argv        []string
		t           times
	}{
		{name: "empty Go program", argv: []string{empty}}, {name: "shq event", argv: []string{b.tool("shq"), "event"}},
		{name: "shq hook stop", argv: []string{b.tool("shq"), "hook", "stop"}, stdin: input},
		{name: "flock + printf in sh", argv: []string{hook}},
	}
	for range eventRuns { // in turns, so that all see the same machine
		for i := range commands {
			d, err := whole(commands[i].argv, env, commands[i].stdin)
			if err != nil {
				return err
			}
			commands[i].t = append(commands[i].t, d)
		}
	}
	base := commands[0].t.at(0.5)
	for _, c := range commands {
		m := c.t.at(0.5)
		say("%-22s median %s, p99 %s, %.2f × empty", c.name, ms(m), ms(c.t.at(0.99)), float64(m)/float64(base))
	}
	return nil
}

// whole is the time of a process from its start to its end. Its standard input
// is a file, or nothing.
func whole(argv, env []string, stdin string) (time.Duration, error) {
	var in *os.File
	if stdin != "" {
		var err error
		if in, err = os.Open(stdin); err != nil {
			return 0, err
		}
		defer in.Close()
	}
	began := time.Now()
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Env: env, Files: []*os.File{in, nil, nil}})
	if err != nil {
		return 0, err
	}
	st, err := p.Wait()
	took := time.Since(began)
	if err == nil && !st.Success() {
		err = fmt.Errorf("%s: %s", argv[0], st)
	}
	return took, err
}
