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
	commands := []struct {
		name string
		argv []string
		t    times
	}{{name: "empty Go program", argv: []string{empty}}, {name: "shq event", argv: []string{b.tool("shq"), "event"}}, {name: "flock + printf in sh", argv: []string{hook}}}
	for range eventRuns { // in turns, so that all see the same machine
		for i := range commands {
			d, err := whole(commands[i].argv, env)
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

// whole is the time of a process from its start to its end.
func whole(argv, env []string) (time.Duration, error) {
	began := time.Now()
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Env: env, Files: []*os.File{nil, nil, nil}})
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
