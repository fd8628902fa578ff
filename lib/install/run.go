package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"sessionhub/lib/shell"
	"sessionhub/lib/text"
)

// commandWait bounds a command: `claude mcp get` starts a runtime of 400 MB and
// then the server that it asks after.
const commandWait = time.Minute

// Run carries out one target, or, in a dry run, only tells what it would do.
type Run struct {
	Target string
	DryRun bool
	Report func(Step)

	fault func(path string) error // a test's full disk
}

func (r *Run) apply(f File) error {
	if r.fault != nil {
		if err := r.fault(f.Path); err != nil {
			return err
		}
	}
	return f.apply()
}

// Write makes the file as it should be, atomically, and tells it with its diff.
func (r *Run) Write(step string, f File) error {
	s := Step{Step: step, Outcome: Changed, Path: f.Path, Detail: f.verb()}
	switch {
	case f.same():
		s.Outcome, s.Detail = Unchanged, ""
	case r.DryRun && (f.Copy != "" || f.Secret):
		s.Outcome = Planned
	case r.DryRun:
		s.Outcome, s.Diff = Planned, f.diff()
	default:
		if err := r.apply(f); err != nil {
			return err
		}
	}
	r.tell(s)
	return nil
}

// none is how a diff names a file that is not there.
const none = "/dev/null"

func (f File) verb() string {
	switch {
	case f.New == nil:
		return "removed"
	case f.Copy != "":
		return "a copy of " + f.Copy
	case f.Old == nil:
		return "written"
	}
	return "rewritten"
}

func (f File) diff() string {
	from, to := f.Path, f.Path
	if f.Old == nil {
		from = none
	}
	if f.New == nil {
		to = none
	}
	_, hunks, _ := bytes.Cut(diff.Diff(from, f.Old, to, f.New), []byte("\n")) // without its "diff a b" line
	return string(hunks)
}

// Output is what a command printed, and how it ended.
type Output struct {
	Stdout, Stderr []byte
	Code           int
}

// Line is the last line that the command printed, made safe to show: what
// programs say of a failure stands there.
func (o Output) Line() string {
	for _, b := range [][]byte{o.Stderr, o.Stdout} {
		if s := strings.TrimSpace(text.Block(string(b))); s != "" {
			return text.Line(s[strings.LastIndexByte(s, '\n')+1:])
		}
	}
	return fmt.Sprintf("exit %d", o.Code)
}

// Command is a program with its arguments, to be run without a shell.
type Command struct {
	Argv []string
	Dir  string
	Env  []string // besides the environment
}

// Line is the command as a line for sh.
func (c Command) Line() string {
	words := make([]string, len(c.Argv))
	for i, w := range c.Argv {
		words[i] = shell.Quote(w)
	}
	return strings.Join(words, " ")
}

// Do runs a command that changes something. ran is false in a dry run, which
// only tells it. A status other than 0 is no error.
func (r *Run) Do(ctx context.Context, step string, c Command) (out Output, ran bool, err error) {
	if r.DryRun {
		r.tell(Step{Step: step, Outcome: Planned, Command: c.Line()})
		return Output{}, false, nil
	}
	out, err = Ask(ctx, c)
	return out, err == nil, err
}

// Ask runs a command that changes nothing. A status other than 0 is no error.
func Ask(ctx context.Context, c Command) (Output, error) {
	ctx, cancel := context.WithTimeout(ctx, commandWait)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.Dir, &out, &errs
	if len(c.Env) > 0 {
		cmd.Env = append(os.Environ(), c.Env...)
	}
	cmd.WaitDelay = time.Second // for what it may have started
	err := cmd.Run()
	o := Output{out.Bytes(), errs.Bytes(), cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return o, fmt.Errorf("%s: %w", c.Line(), ctx.Err())
	case errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay):
		return o, nil
	case err != nil:
		return o, fmt.Errorf("%s: %w", c.Line(), err)
	}
	return o, nil
}

// prune removes a folder that holds nothing any more but what is to go.
func (r *Run) prune(step, dir string, going ...string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil // it is gone, or not ours to look at
	}
	for _, e := range list {
		if !slices.Contains(going, filepath.Join(dir, e.Name())) {
			return nil
		}
	}
	if r.DryRun {
		r.Planned(step, "%s would be empty and go", dir)
		return nil
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // somebody needs it: a mount point, a file made meanwhile
	}
	r.Changed(step, "%s was empty and is gone", dir)
	return nil
}

// pruneUp is prune for a folder, and for the one that it lies in. Folders that
// hold other things stay.
func (r *Run) pruneUp(step, dir string, going ...string) error {
	if err := r.prune(step, dir, going...); err != nil {
		return err
	}
	return r.prune(step, filepath.Dir(dir), append(going, dir)...)
}
