// Package managertest plays systemctl, loginctl and launchctl as far as a
// service of one user needs them. They run the job's program as the real
// managers would: with an environment of their own, not that of whoever asks.
// What they were not made for they refuse, as a real one refuses a wrong word.
//
// FAKE_MANAGER names a folder for what they know; without it the user's manager is
// out of reach, as in a container. FAKE_MANAGER_FAIL names a verb that fails.
// FAKE_LINGER is what loginctl says.
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
	argv []string
	env  []string
	log  string
}

// start runs a job in a session of its own and notes its process.
func (p Process) start(j job) error {
	log, err := os.OpenFile(j.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(j.argv[0], j.argv[1:]...)
	cmd.Env = append([]string{"HOME=" + p.Getenv("HOME"), "LANG=C.UTF-8"}, j.env...)
	cmd.Dir, cmd.Stderr = "/", log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	return os.WriteFile(p.file("pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)
}

// pid is the job's process, 0 when it does not run.
func (p Process) pid() int {
	b, err := os.ReadFile(p.file("pid"))
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

func (p Process) end() error {
	pid := p.pid()
	if pid == 0 {
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return err
	}
	for end := time.Now().Add(endWait); p.pid() != 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("process %d does not end", pid)
		}
	}
	return os.Remove(p.file("pid"))
}

// Stop ends the job that runs by the managers of a folder, whichever it is.
func Stop(dir string) error {
	p := Process{Getenv: func(key string) string {
		if key == "FAKE_MANAGER" {
			return dir
		}
		return ""
	}}
	if err := p.end(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
