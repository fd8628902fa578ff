// Package detach starts a process that outlives its parent and keeps nothing
// of it: a session of its own, no inherited descriptors, no terminal.
package detach

import (
	"fmt"
	"os"
	"syscall"
)

// Command is a process to start. Program is a path: it is not looked up.
type Command struct {
	Program string
	Args    []string // without the program's name
	Env     []string
	Dir     string
	Log     string // file that its standard error is appended to (0600)
}

// Start starts the command with setsid, standard input and output at
// /dev/null and standard error appended to the log, and returns its process
// id. It does not wait for it. herdr counts a hook as running for as long as
// any heir of it holds the hook's stdout or stderr (finding 29 of the protocol
// captures), so none of the caller's descriptors are passed on.
func Start(c Command) (int, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", c.Program, err)
	}
	defer null.Close()
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, fmt.Errorf("start %s: open its log: %w", c.Program, err)
	}
	defer log.Close()
	keepToSelf()
	p, err := os.StartProcess(c.Program, append([]string{c.Program}, c.Args...), &os.ProcAttr{
		Dir:   c.Dir,
		Env:   c.Env,
		Files: []*os.File{null, null, log},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("start: %w", err)
	}
	pid := p.Pid
	return pid, p.Release()
}

// maxInherited is up to where descriptors are looked for that this process
// itself inherited: the usual limit of open files.
const maxInherited = 1024

// keepToSelf marks what this process inherited beyond the three, so that the
// child does not: Go does that only for what it opened itself.
func keepToSelf() {
	for fd := 3; fd < maxInherited; fd++ {
		syscall.CloseOnExec(fd)
	}
}
