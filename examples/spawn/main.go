// Command spawn runs one agent in a pane from a Go program and waits for it:
// spawn COMMAND [ARG…]. shspawn must be on the PATH: it is the launcher.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"sessionhub/lib/spawn"
	_ "sessionhub/lib/spawn/herdrdriver"
	_ "sessionhub/lib/spawn/tmuxdriver"
	"sessionhub/lib/state"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "spawn:", err)
		os.Exit(1)
	}
}

func run(command []string) error {
	if len(command) == 0 {
		return errors.New("which program is the agent? usage: spawn COMMAND [ARG…]")
	}
	ctx := context.Background()
	launcher, err := exec.LookPath("shspawn")
	if err != nil {
		return err
	}
	dir, err := state.Default(os.Getenv)
	if err != nil {
		return err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	r := &spawn.Runtime{
		Dir: dir, Getenv: os.Getenv, Environ: os.Environ(), Launcher: []string{launcher, "launch"}, Now: time.Now, Timing: spawn.DefaultTiming(),
		Pause: func(_ context.Context, d time.Duration) { time.Sleep(d) },
	}
	a, err := r.Start(ctx, spawn.Spec{Space: "example", Name: "agent", Cwd: cwd, Command: command})
	if err != nil {
		return err
	}
	fmt.Printf("%s runs in pane %s of %s, process %d\n", a.Name, a.PaneID, a.Server, a.PID)
	if err := r.Wait(ctx, a.Space, a.Name, time.Hour); err != nil {
		return err
	}
	fmt.Println("it has exited")
	return nil
}
