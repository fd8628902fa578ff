// Package herdrdriver runs agents in panes of herdr, 0.8.0 or later. Importing
// it registers it as "herdr".
//
// A space has a named session of its own, shspawn-<space>, with its own server
// and socket: nothing here can touch a person's panes. Watch it with
// `herdr session attach shspawn-<space>`.
package herdrdriver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sessionhub/lib/detach"
	"sessionhub/lib/herdr"
	"sessionhub/lib/spawn"
	"sessionhub/lib/text"
)

// Name is the runtime's name.
const Name = "herdr"

// prefix begins the name of every session of ours.
const prefix = "shspawn-"

func init() {
	spawn.Register(Name, func(s spawn.Surroundings) spawn.Driver { return &driver{Surroundings: s} })
}

type driver struct{ spawn.Surroundings }

func session(space string) string { return prefix + space }

func (d *driver) client(space string) *herdr.Client {
	return &herdr.Client{Socket: herdr.SessionSocket(session(space), d.Getenv)}
}

// bin is herdr: the one that a pane of it names, else the one on the PATH.
func (d *driver) bin() (string, error) {
	name := d.Getenv("HERDR_BIN_PATH")
	if name == "" {
		name = "herdr"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("herdr is not there: %w", err)
	}
	return filepath.Abs(path)
}

// askLimit bounds short calls of herdr's command line.
const askLimit = 10 * time.Second

func (d *driver) run(ctx context.Context, args ...string) (string, error) {
	bin, err := d.bin()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env, cmd.WaitDelay = d.Environ, time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil { // not who ended it, but why
		err = ctx.Err()
	}
	if err != nil {
		return string(out), fmt.Errorf("herdr %s: %w: %s", strings.Join(args, " "), err, text.Cut(text.Line(string(out)), 200))
	}
	return string(out), nil
}

// Available reads the version: 0.7 lacks what is needed, and has another way to
// do it that later ones lack.
func (d *driver) Available(ctx context.Context) (string, error) {
	out, err := d.run(ctx, "--version")
	if err != nil {
		return "", err
	}
	_, version, _ := strings.Cut(strings.TrimSpace(out), " ")
	if d.client("x").Socket == "" {
		return version, errors.New("HOME is not set")
	}
	return version, herdr.CheckVersion(version)
}

// The waits for a server: it answers within 0.3 s of its start.
const (
	serveLimit = 15 * time.Second
	serveEvery = 20 * time.Millisecond
)

// Serve starts the space's server headless and detached. What an earlier one
// left behind is deleted first: it would come back as plain shells under the
// names of agents.
func (d *driver) Serve(ctx context.Context, space string) error {
	c := d.client(space)
	_, err := c.Ping(ctx)
	var gone *herdr.UnreachableError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &gone) || !gone.Gone():
		return err
	}
	if _, err := d.run(ctx, "session", "delete", session(space)); err != nil {
		return err
	}
	bin, err := d.bin()
	if err != nil {
		return err
	}
	dir, err := d.Dir.Sub("spawn")
	if err != nil {
		return err
	}
	if err := d.forgetLog(space); err != nil {
		return err
	}
	log := filepath.Join(dir, space+logExt)
	pid, err := detach.Start(detach.Command{Program: bin, Args: []string{"--session", session(space), "server"}, Env: d.Environ, Dir: "/", Log: log})
	if err != nil {
		return err
	}
	return d.serving(ctx, c, pid, log)
}

// logExt ends the name of the file that a server's standard error goes to.
const logExt = ".log"

func (d *driver) forgetLog(space string) error {
	err := os.Remove(filepath.Join(string(d.Dir), "spawn", space+logExt))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// serving waits until a server answers. One that dies is told early, with what
// it said itself.
func (d *driver) serving(ctx context.Context, c *herdr.Client, pid int, log string) error {
	for began := time.Now(); ; {
		_, err := c.Ping(ctx)
		switch {
		case err == nil:
			return nil
		case ended(pid):
			return fmt.Errorf("herdr's server ended at once: %s", said(log))
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(began) > serveLimit:
			return fmt.Errorf("herdr's server does not answer: %w: %s", err, said(log))
		}
		select {
		case <-ctx.Done():
		case <-time.After(serveEvery):
		}
	}
}

// ended tells that a child is dead, and reaps it. A server that outlives this
// process is reaped by the system.
func ended(pid int) bool {
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	return got == pid || errors.Is(err, syscall.ECHILD) && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// said is the end of a server's standard error.
func said(log string) string {
	b, err := os.ReadFile(log)
	if err != nil || len(b) == 0 {
		return "it said nothing"
	}
	const most = 300
	s := strings.TrimSpace(text.Line(strings.ReplaceAll(string(b), "\n", "; ")))
	return s[max(0, len(s)-most):]
}

// Spaces are the sessions of ours that have a server.
func (d *driver) Spaces(ctx context.Context) ([]string, error) {
	socket := d.client("x").Socket
	if socket == "" { // without HOME there is no place for one
		return nil, nil
	}
	root := filepath.Dir(filepath.Dir(socket))
	entries, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the spaces: %w", err)
	}
	var list []string
	for _, e := range entries {
		space, ours := strings.CutPrefix(e.Name(), prefix)
		if ours && spawn.CheckName("space", space) == nil {
			list = append(list, space)
		}
	}
	return list, nil
}

// Quit ends the server when it has no pane left, ours or not, and deletes what
// it saved.
func (d *driver) Quit(ctx context.Context, space string) error {
	c := d.client(space)
	panes, err := d.panes(ctx, space)
	if isGone(err) {
		return nil
	}
	if err != nil || len(panes) > 0 {
		return err
	}
	if err := c.StopServer(ctx); err != nil && !isGone(err) {
		return err
	}
	for began := time.Now(); ; {
		_, err := c.Ping(ctx)
		switch {
		case isGone(err):
			_, err := d.run(ctx, "session", "delete", session(space))
			return errors.Join(err, d.forgetLog(space))
		case time.Since(began) > serveLimit || ctx.Err() != nil:
			return fmt.Errorf("herdr's server of %s does not end", space)
		}
		time.Sleep(serveEvery)
	}
}

func isGone(err error) bool {
	var u *herdr.UnreachableError
	return errors.As(err, &u) && u.Gone()
}
