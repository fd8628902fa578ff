// Package git reads what the tools tell of a work tree, through the git that
// the user has.
package git

import (
	"context"
	"os/exec"
	"strings"
	"time"

	"sessionhub/lib/text"
)

// Wait bounds a call: a work tree on a network share can hang.
const Wait = 2 * time.Second

// Head is where a work tree stands.
type Head struct {
	Remote string // of origin, without user and password; empty without one
	Branch string // empty when HEAD is detached
	Commit string // empty before the first commit
}

// Read tells where the work tree at dir stands. ok is false when dir is in no
// work tree, or git can't be run or does not answer in time: to a heartbeat
// these are the same.
func Read(ctx context.Context, dir string) (h Head, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, Wait)
	defer cancel()
	// One call for the two that nearly every work tree has; it fails before
	// the first commit.
	out, err := run(ctx, dir, "rev-parse", "--verify", "HEAD")
	if err == nil {
		h.Commit = out
	} else if _, err := run(ctx, dir, "rev-parse", "--git-dir"); err != nil {
		return Head{}, false
	}
	if out, err := run(ctx, dir, "symbolic-ref", "--short", "-q", "HEAD"); err == nil {
		h.Branch = text.Line(out)
	}
	if out, err := run(ctx, dir, "config", "--get", "remote.origin.url"); err == nil {
		h.Remote = text.Remote(out)
	}
	return h, true
}

func run(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	cmd.WaitDelay = Wait
	// Reading must not take the index lock from under the person at work.
	cmd.Env = append(cmd.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}
