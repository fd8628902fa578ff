package watch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"sessionhub/lib/runlog"
)

// Child is a program that the watcher keeps running, such as `shctl poll`. Its
// standard error is the watcher's: there is one log.
type Child struct {
	Program string
	Args    []string
	Env     []string
	Log     *runlog.Log

	// RetryMin and RetryMax bound the pause before it is started again; zero is 1 s
	// and 60 s.
	RetryMin, RetryMax time.Duration
}

const (
	// childRetryMin and childRetryMax: a crash never takes its parent down, and
	// a program that crashes at once must not spin (design §2).
	childRetryMin = time.Second
	childRetryMax = time.Minute
	// childSteady is how long a child must run to count as well.
	childSteady = time.Minute
	// childStop bounds the end of a child: a watcher ends within 5 s.
	childStop = 4800 * time.Millisecond
)

// Run keeps the program running until the context ends. The program ends with
// SIGTERM, or when its standard input closes, which the kernel does when the
// watcher dies.
func (c *Child) Run(ctx context.Context) {
	least, most := c.RetryMin, c.RetryMax
	if least == 0 {
		least, most = childRetryMin, childRetryMax
	}
	pause := time.Duration(0)
	for ctx.Err() == nil {
		began := time.Now()
		err := c.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > childSteady {
			pause = 0
		}
		pause = min(max(2*pause, least), most)
		c.Log.Failure("%s ended (%v): starting it again in %s", c.Program, ended(err), pause)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func ended(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

func (c *Child) once(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, c.Program, c.Args...)
	cmd.Env, cmd.Stderr = c.Env, os.Stderr
	if f, ok := c.Log.W.(*os.File); ok {
		cmd.Stderr = f
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer in.Close()
	cmd.Cancel = func() error {
		err := cmd.Process.Signal(syscall.SIGTERM)
		if errors.Is(err, os.ErrProcessDone) {
			return nil
		}
		return err
	}
	cmd.WaitDelay = childStop // then it is killed
	return cmd.Run()
}
