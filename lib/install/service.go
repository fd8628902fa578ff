package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Job is a program that is to run in the background for its user.
type Job struct {
	Argv  []string // absolute
	Env   []string // NAME=value; all that it may rely on
	About string
}

// check refuses words that no unit, property list or crontab takes.
func (j Job) check() error {
	for _, w := range slices.Concat(j.Argv, j.Env) {
		if !plain(w) {
			return fmt.Errorf("%q has characters that no settings file takes", w)
		}
	}
	return nil
}

// Kind is what a job is at the managers, however it is installed: its names
// there, and whether it is kept running or runs every quarter of an hour.
type Kind struct {
	Target string // what writes it: "hub"
	What   string // "the hub"
	Unit   string // its name at systemd, without a suffix
	Label  string // its name at launchd
	Manual string // "shhub(1)"
	Timer  bool
	Log    string // at launchd; "" is a file of its own in ~/Library/Logs
	Logout string // what a logout means where nobody lingers
}

// step is what its steps are called.
func (k Kind) step() string {
	if k.Timer {
		return "timer"
	}
	return "service"
}

// Manager is the system's own manager of a user's services: systemd or launchd.
// One manages one job.
type Manager interface {
	// Name is what people call it.
	Name() string
	// Paths are the files that describe the job. The first is the one that has it
	// run, the last names the programs.
	Paths() []string
	// Files are these files as they should be, in the same order.
	Files(j Job) []File
	// State tells what the manager knows of the job.
	State(ctx context.Context) (JobState, error)
	// Start has a job run, now or at its times, and after every login. fresh says
	// that its files changed.
	Start(ctx context.Context, r *Run, fresh bool) error
	// Stop ends the job and keeps it from coming back.
	Stop(ctx context.Context, r *Run) error
	// Removed tells the manager that the files are gone.
	Removed(ctx context.Context, r *Run) error
	// Notes tells a person what the job depends on.
	Notes(ctx context.Context, r *Run)
	// LogHint says where the job's words can be read.
	LogHint() string
}

// JobState is what a manager knows of a job.
type JobState struct {
	Enabled bool // it starts with every login
	Running bool // a timer: it waits for its next time
	Failed  bool // of a timer: the last run
}

// managers are a job's managers, whether they can be reached or not.
func managers(k Kind, getenv func(string) string) []Manager {
	return []Manager{newSystemd("systemctl", k, getenv), newLaunchd("launchctl", k, getenv)}
}

// FindManager is the manager that can be reached from here. It is nil where
// there is none, and why says so: in a container there may be systemctl, and no
// user's systemd behind it.
func FindManager(ctx context.Context, k Kind, getenv func(string) string) (m Manager, why string) {
	if path, err := program("", "systemctl", "", getenv); err == nil {
		s := newSystemd(path, k, getenv)
		err := s.reach(ctx)
		if err == nil {
			return s, ""
		}
		why = err.Error()
	}
	if path, err := program("", "launchctl", "", getenv); err == nil {
		l := newLaunchd(path, k, getenv)
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

// jobPath is the PATH of a job: the folders of what it runs, and where systems
// keep their programs. The PATH of whoever installs may hold anything, and a
// manager's nearly nothing (field report A46).
func jobPath(programs ...string) string {
	var dirs []string
	for _, p := range programs {
		dirs = append(dirs, filepath.Dir(p))
	}
	dirs = append(dirs, "/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/bin")
	var path []string
	for _, d := range dirs {
		if !slices.Contains(path, d) {
			path = append(path, d)
		}
	}
	return strings.Join(path, ":")
}

// do runs a manager's command as a step. A status other than 0 is an error.
func (k Kind) do(ctx context.Context, r *Run, argv ...string) error {
	c := Command{Argv: argv}
	out, ran, err := r.Do(ctx, k.step(), c)
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
