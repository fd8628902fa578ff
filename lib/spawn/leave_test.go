package spawn

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A launcher becomes its agent only when its starter has named the pane: the
// starter may be killed at any moment before that, and nobody would see the agent.
func TestALauncherWithoutItsStarter(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		starter func(l *leave) error
		runs    bool
	}{
		"named the pane":     {(*leave).give, true},
		"was killed":         {func(l *leave) error { return l.lock.Unlock() }, false},
		"failed and is gone": {func(l *leave) error { l.end(); return nil }, false},
	} {
		dir := t.TempDir()
		ran := filepath.Join(dir, "ran")
		word := filepath.Join(dir, "proof-1")
		if err := os.WriteFile(word, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := withhold(word + leaveExt)
		if err != nil {
			t.Fatal(err)
		}
		file, err := writeOrder(dir, order{Program: "/bin/sh", Command: []string{"sh", "-c", "echo > " + ran}, Cwd: dir, Proof: word, Leave: l.path})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "launch", file)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := c.starter(l); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); (err == nil) != c.runs {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(ran); (err == nil) != c.runs {
			t.Errorf("%s: it ran: %v", name, err == nil)
		}
		b, err := os.ReadFile(word)
		var p proof
		if err == nil {
			err = json.Unmarshal(b, &p)
		}
		if err != nil || (p.Error == "") != c.runs {
			t.Errorf("%s: it said %s, %v", name, b, err)
		}
		l.end()
	}
}
