package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sessionhub/lib/ask"
	"sessionhub/lib/config"
	"sessionhub/lib/hub/store"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
)

const (
	waiters = 50
	// waitFor is how long the waiting hooks are watched.
	waitFor = 20 * time.Second
)

// waiter is a hook that waits with an ask.
type waiter struct {
	cmd  *exec.Cmd
	out  *bufio.Reader
	file *ask.File
}

// asks lets hooks wait beside dialogs that nobody answers, and then answers
// them from afar.
func (b *bench) asks() (err error) {
	v, err := b.serve(context.Background())
	if err != nil {
		return err
	}
	defer v.stop()
	b.quiet = true // a line for each answer
	watcher, err := b.watcher(v, b.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop(watcher)) }()
	claude := exec.Command("sleep", "600") // in its place
	if err := claude.Start(); err != nil {
		return err
	}
	defer func() { _ = errors.Join(claude.Process.Kill(), claude.Wait()) }() // it is to be killed
	if err := b.scene(v, claude.Process.Pid); err != nil {
		return err
	}
	var list []*waiter
	var told times
	for i := range waiters {
		w, took, err := b.waiter(v, claude.Process.Pid, i)
		if err != nil {
			return err
		}
		list, told = append(list, w), append(told, took)
	}
	say("asked → hub            p50 %s, p99 %s", ms(told.at(0.5)), ms(told.at(0.99)))
	if err := watchWaiters(list); err != nil {
		return err
	}
	return v.answerAll(list)
}

// scene is a session that asks, as Claude Code writes it down.
func (b *bench) scene(v *served, pid int) error {
	home := filepath.Join(b.dir, ".claude")
	var lines strings.Builder
	for i := range waiters {
		fmt.Fprintf(&lines, `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"T%d","name":"Bash","input":{"command":"rm %d"}}]}}`+"\n", i, i)
	}
	for path, text := range map[string]string{
		filepath.Join(home, "sessions", strconv.Itoa(pid)+".json"): fmt.Sprintf(`{"pid":%d,"sessionId":"S","status":"waiting","version":"2.1.332"}`, pid),
		b.transcript(): lines.String(),
		filepath.Join(b.dir, ".config", "sessionhub", "config.toml"): "server_url = \"" + v.url + "\"\nmachine = \"tower\"\nremote_answer = true\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) transcript() string {
	return filepath.Join(b.dir, ".claude", "projects", "p", "S.jsonl")
}

// waiter starts a hook, and returns when the hub knows its ask.
func (b *bench) waiter(v *served, claude, i int) (*waiter, time.Duration, error) {
	cmd := exec.Command(b.tool("shq"), "hook", "ask")
	cmd.Env = []string{"HOME=" + b.dir, "PATH=" + os.Getenv("PATH"), "CLAUDE_PID=" + strconv.Itoa(claude)}
	in, err := json.Marshal(map[string]any{"session_id": "S", "transcript_path": b.transcript(), "tool_name": "Bash", "tool_input": map[string]string{"command": fmt.Sprintf("rm %d", i)}})
	if err != nil {
		return nil, 0, err
	}
	cmd.Stdin = strings.NewReader(string(in))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	w := &waiter{cmd: cmd, out: bufio.NewReader(out)}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	for end := began.Add(10 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Microsecond) {
		if w.file == nil {
			list, err := ask.List(stateOf(b.dir))
			if err != nil {
				return nil, 0, err
			}
			for _, f := range list {
				if f.PID == cmd.Process.Pid {
					w.file = f
				}
			}
			continue
		}
		v.mu.Lock()
		at, ok := v.arrived[w.file.Ask]
		v.mu.Unlock()
		if ok {
			return w, at.Sub(began), nil
		}
	}
	return nil, 0, fmt.Errorf("ask %d did not arrive", i)
}

// watchWaiters tells what hooks cost that wait.
func watchWaiters(list []*waiter) error {
	usage := func() (cpu time.Duration, most, sum int, err error) {
		for _, w := range list {
			c, rss, err := procUsage(w.cmd.Process.Pid)
			if err != nil {
				return 0, 0, 0, err
			}
			cpu, most, sum = cpu+c, max(most, rss), sum+rss
		}
		return cpu, most, sum, nil
	}
	before, _, _, err := usage()
	if err != nil {
		return err
	}
	time.Sleep(waitFor)
	after, most, sum, err := usage()
	if err != nil {
		return err
	}
	say("%d that wait            RSS %.1f MiB each, at most %.1f; %s of CPU in %s, all together", len(list), float64(sum)/float64(len(list))/1024, float64(most)/1024, ms(after-before), waitFor)
	return nil
}

// answerAll answers at the hub and waits for what Claude Code would read.
func (v *served) answerAll(list []*waiter) error {
	ctx := context.Background()
	token, err := v.store.AddToken(ctx, store.Token{Kind: store.KindUser, Name: "me", Scopes: []string{"read", "ask", "answer"}}, time.Now())
	if err != nil {
		return err
	}
	c, err := hubclient.New(config.Config{ServerURL: v.url}, token)
	if err != nil {
		return err
	}
	var t times
	for _, w := range list {
		began := time.Now()
		if _, err := c.Answer(ctx, "", "S", w.file.Ask, record.AnswerPost{InputSHA256: w.file.InputSHA256, Behavior: record.Allow}); err != nil {
			return err
		}
		line, err := w.out.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) || !strings.Contains(line, `"allow"`) {
			return fmt.Errorf("the hook printed %q: %w", line, err)
		}
		if err := w.cmd.Wait(); err != nil {
			return err
		}
		t = append(t, time.Since(began))
		if err := v.result(w); err != nil {
			return err
		}
	}
	say("answered → decision    p50 %s, p99 %s", ms(t.at(0.5)), ms(t.at(0.99)))
	return nil
}

// result writes what Claude Code writes of a tool that ran: until then the
// machine waits for its proof.
func (v *served) result(w *waiter) error {
	f, err := os.OpenFile(w.file.Transcript, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, `{"type":"user","permissionDecision":{"source":"hook"},"message":{"content":[{"type":"tool_result","tool_use_id":%q,"content":"x"}]}}`+"\n", w.file.ToolUse)
	return err
}
