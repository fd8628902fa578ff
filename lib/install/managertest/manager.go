// Package managertest plays systemctl, loginctl, launchctl and crontab as far as
// the services and timers of one user need them. They run the job's program as
// the real managers would: with an environment of their own, not that of whoever
// asks. What they were not made for they refuse, as a real one refuses a wrong
// word. No clock is theirs: `systemctl --user start`, `launchctl kickstart` and
// Cron run what a timer would.
//
// FAKE_MANAGER names a folder for what they know; without it the user's manager is
// out of reach, as in a container. FAKE_CRONTAB names the crontab's file.
// FAKE_MANAGER_FAIL names a verb that fails. FAKE_LINGER is what loginctl says.
package managertest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sessionhub/lib/claude"
)

// Process is what a command line runs with.
type Process struct {
	Args   []string // without the program's name
	Getenv func(string) string
	Stdout io.Writer
	Stderr io.Writer
}

func (p Process) dir() string { return p.Getenv("FAKE_MANAGER") }

func (p Process) file(name string) string { return filepath.Join(p.dir(), name) }

func (p Process) has(name string) bool {
	_, err := os.Stat(p.file(name))
	return err == nil
}

func (p Process) fail(code int, format string, args ...any) int {
	fmt.Fprintf(p.Stderr, format+"\n", args...)
	return code
}

// Loginctl plays loginctl.
func Loginctl(p Process) int {
	if strings.Join(p.Args, " ") != "show-user "+strconv.Itoa(os.Getuid())+" --property=Linger --value" {
		return p.fail(1, "Unknown command verb '%s'.", strings.Join(p.Args, " "))
	}
	fmt.Fprintln(p.Stdout, p.Getenv("FAKE_LINGER"))
	return 0
}

// job is a program that a manager runs.
type job struct {
	name string // of its process's file
	argv []string
	env  []string
	log  string
}

func (p Process) command(j job) (*exec.Cmd, *os.File, error) {
	log, err := os.OpenFile(j.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(j.argv[0], j.argv[1:]...)
	cmd.Env = append([]string{"HOME=" + p.Getenv("HOME"), "LANG=C.UTF-8"}, j.env...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, log, nil
}

// start runs a job in a session of its own and notes its process.
func (p Process) start(j job) error {
	cmd, log, err := p.command(j)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := cmd.Start(); err != nil {
		return err
	}
	return os.WriteFile(p.file(j.name+".pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)
}

// pass runs a job to its end, and returns its status.
func (p Process) pass(j job) (code int, err error) {
	cmd, log, err := p.command(j)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	return cmd.ProcessState.ExitCode(), err
}

// pid is a job's process, 0 when it does not run.
func (p Process) pid(name string) int {
	b, err := os.ReadFile(p.file(name + ".pid"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(b))
	if err != nil {
		return 0
	}
	table, err := claude.NewTable()
	if err != nil {
		return 0
	}
	if o, ok := table.Find(pid); !ok || o.Zombie { // nobody reaps where there is no init
		return 0
	}
	return pid
}

// endWait bounds the end of a job.
const endWait = 10 * time.Second

func (p Process) end(name string) error {
	pid := p.pid(name)
	if pid == 0 {
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return err
	}
	for end := time.Now().Add(endWait); p.pid(name) != 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("process %d does not end", pid)
		}
	}
	return os.Remove(p.file(name + ".pid"))
}

// Stop ends the jobs that run by the managers of a folder.
func Stop(dir string) error {
	p := Process{Getenv: func(key string) string {
		if key == "FAKE_MANAGER" {
			return dir
		}
		return ""
	}}
	list, err := filepath.Glob(p.file("*.pid"))
	if err != nil {
		return err
	}
	for _, f := range list {
		err := p.end(strings.TrimSuffix(filepath.Base(f), ".pid"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
