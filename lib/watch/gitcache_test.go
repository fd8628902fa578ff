package watch

import (
	"os/exec"
	"testing"
	"time"
)

// What is not known yet is told as soon as it is, once.
func TestGitCacheTellsWhatItLearned(t *testing.T) {
	repo, plain := t.TempDir(), t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"remote", "add", "origin", "https://example.org/app.git"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = repo
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	g := &GitCache{Learned: make(chan struct{}, 1)}
	if g.Get(plain) != nil || g.Get(repo) != nil {
		t.Fatal("known before it was asked for")
	}
	select {
	case <-g.Learned:
	case <-time.After(20 * time.Second):
		t.Fatal("nobody was told")
	}
	if got := g.Get(repo); got == nil || got.Remote != "https://example.org/app.git" {
		t.Errorf("learned %+v", got)
	}
	if g.Get(plain) != nil {
		t.Error("a plain folder became a work tree")
	}
	select {
	case <-g.Learned:
		t.Error("told twice")
	default:
	}
}
