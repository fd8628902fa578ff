//go:build realclaude

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sessionhub/lib/claude/entry"
)

func TestRealClaudeMailbox(t *testing.T) {
	w := newWorld(t)
	env := realClaude(t, w)
	f := flowIn(t, w, env)
	f.command = manualClaude
	defer f.showFailure()
	f.post(env, "--permission-mode", "default").mailboxJob("slow [[sleep 3000]]")
}

func TestRealClaudeMailboxAtRandom(t *testing.T) {
	realRandom(t, 30)
}

func realRandom(t *testing.T, messages int) {
	w := newWorld(t)
	env := realClaude(t, w)
	f := flowIn(t, w, env)
	f.post(env, "--permission-mode", "default").atRandom(messages, "slow [[sleep 1000]]")
}

// What the mailbox rests on: Claude Code heeds a hook's exit with status 2, and
// nothing else. One that was killed after it printed has given nothing.
func TestRealClaudeHeedsOnlyTheExit(t *testing.T) {
	w := newWorld(t)
	env := realClaude(t, w)
	f := flowIn(t, w, env)
	p := f.post(env, "--permission-mode", "default")
	o, session := p.outside()
	p.known(session)
	pid := p.waiter(session)
	program, ran := filepath.Join(w.Bin, "shq"), filepath.Join(w.Root, "ran")
	if err := os.Rename(program, program+".real"); err != nil {
		t.Fatal(err)
	}
	killed := "#!/bin/sh\n[ \"$2\" = mailbox ] || exec " + program + ".real \"$@\"\ncat > /dev/null\necho ran >> " + ran + "\necho printed and killed >&2\nkill -9 $$\n"
	if err := os.WriteFile(program, []byte(killed), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"first turn", "second turn"} { // each turn's end begins such a hook
		p.enters(o, line, busy)
		p.until(line+" is over", func() bool { e, ok := p.entry(o); return ok && e.Status == entry.Idle && p.heard("Echo: "+line) })
	}
	p.until("two such hooks ran", func() bool { b, err := os.ReadFile(ran); return err == nil && strings.Count(string(b), "ran") >= 2 })
	if p.heard("printed and killed") {
		t.Error("what a killed hook printed was given to the model")
	}
}
