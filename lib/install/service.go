package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Job is a program that is to run in the background for its user.
type Job struct {
	Argv  []string // absolute
	About string
}

// Manager is the system's own manager of a user's services: systemd or launchd.
// One manages one job.
type Manager interface {
	// Name is what people call it.
	Name() string
	// Path is the file that describes the job.
	Path() string
	// Text is the file's content.
	Text(j Job) ([]byte, error)
	// State tells what the manager knows of the job.
	State(ctx context.Context) (JobState, error)
	// Start has a job run, now and after every login. fresh says that its file
	// changed.
	Start(ctx context.Context, r *Run, fresh bool) error
	// Restart has a running job begin anew.
	Restart(ctx context.Context, r *Run) error
	// Stop ends the job and keeps it from coming back.
	Stop(ctx context.Context, r *Run) error
	// Removed tells the manager that the file is gone.
	Removed(ctx context.Context, r *Run) error
	// Notes tells a person what the job depends on.
	Notes(ctx context.Context, r *Run)
	// LogHint says where the job's words can be read.
	LogHint() string
}

// JobState is what a manager knows of a job.
type JobState struct {
	Enabled bool // it starts with every login
	Running bool
}

// FindManager is the manager that can be reached from here. It is nil where
// there is none, and why says so: in a container there may be systemctl, and no
// user's systemd behind it.
func FindManager(ctx context.Context, getenv func(string) string) (m Manager, why string) {
	if path, err := program("", "systemctl", "", getenv); err == nil {
		s := newSystemd(path, getenv)
		err := s.reach(ctx)
		if err == nil {
			return s, ""
		}
		why = err.Error()
	}
	if path, err := program("", "launchctl", "", getenv); err == nil {
		l := newLaunchd(path, getenv)
		err := l.reach(ctx)
		if err == nil {
			return l, ""
		}
		why = err.Error()
	}
	if why == "" {
		why = "neither systemctl nor launchctl is on the PATH"
	}
	return nil, why
}

// jobPath is the PATH of a job: the tools' own folder and where systems keep
// their programs. The PATH of whoever installs may hold anything, and a manager's
// nearly nothing (field report A46).
func jobPath(program string) string {
	return strings.Join([]string{filepath.Dir(program), "/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/bin"}, ":")
}

// do runs a manager's command as a step. A status other than 0 is an error.
func do(ctx context.Context, r *Run, argv ...string) error {
	c := Command{Argv: argv}
	out, ran, err := r.Do(ctx, "service", c)
	if err != nil || !ran {
		return err
	}
	if out.Code != 0 {
		return fmt.Errorf("%s: %s", c.Line(), out.Line())
	}
	return nil
}

// ask runs a command that changes nothing and reports whether it said yes.
func ask(ctx context.Context, argv ...string) (yes bool, out Output, err error) {
	out, err = Ask(ctx, Command{Argv: argv})
	return err == nil && out.Code == 0, out, err
}

func uid() string { return strconv.Itoa(os.Getuid()) }
