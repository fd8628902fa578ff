package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sessionhub/lib/mailbox"
	"sessionhub/lib/record"
)

// mailboxes lets a hook wait in each of many sessions, and then gives each a
// message.
func (b *bench) mailboxes() (err error) {
	var list []*waiter
	var sleepers []*exec.Cmd
	defer func() {
		for _, c := range sleepers {
			_ = errors.Join(c.Process.Kill(), c.Wait()) // it is to be killed
		}
	}()
	for i := range waiters {
		claude := exec.Command("sleep", "600") // in its place
		if err := claude.Start(); err != nil {
			return err
		}
		sleepers = append(sleepers, claude)
		w, err := b.mailWaiter(claude.Process.Pid, mailSession(i))
		if err != nil {
			return err
		}
		list = append(list, w)
	}
	if err := watchWaiters(list); err != nil {
		return err
	}
	var t times
	for i, w := range list {
		box := mailbox.Box{Dir: stateOf(b.dir), Session: mailSession(i)}
		began := time.Now()
		err := box.Put(mailbox.Letter{ID: "m", Text: "hello", Sent: record.At(began), Until: record.At(began.Add(time.Minute))})
		if err != nil {
			return err
		}
		text, err := io.ReadAll(w.out)
		var exit *exec.ExitError
		if werr := w.cmd.Wait(); err != nil || !errors.As(werr, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(text), "hello") {
			return fmt.Errorf("the hook printed %q, %w, %w", text, err, werr)
		}
		t = append(t, time.Since(began))
	}
	say("message → exit          p50 %s, p99 %s", ms(t.at(0.5)), ms(t.at(0.99)))
	return nil
}

func mailSession(i int) string { return "M" + strconv.Itoa(i) }

// mailWaiter starts a hook, and returns when it waits.
func (b *bench) mailWaiter(claude int, session string) (*waiter, error) {
	path := filepath.Join(b.dir, ".claude", "sessions", strconv.Itoa(claude)+".json")
	text := fmt.Sprintf(`{"pid":%d,"sessionId":%q,"status":"idle","version":"2.1.332"}`, claude, session)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		return nil, err
	}
	cmd := exec.Command(b.tool("shq"), "hook", "mailbox")
	cmd.Env = []string{"HOME=" + b.dir, "PATH=" + os.Getenv("PATH"), "CLAUDE_PID=" + strconv.Itoa(claude)}
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":%q,"hook_event_name":"Stop"}`, session))
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w := &waiter{cmd: cmd, out: bufio.NewReader(out)}
	box := mailbox.Box{Dir: stateOf(b.dir), Session: session}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if waits, err := box.Waits(); waits || err != nil {
			return w, err
		}
	}
	return nil, fmt.Errorf("no hook of session %s waits", session)
}
