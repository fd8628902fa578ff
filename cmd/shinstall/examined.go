package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/claude"
	"sessionhub/lib/config"
	"sessionhub/lib/doctor"
	"sessionhub/lib/herdr"
	"sessionhub/lib/hook"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/install"
	"sessionhub/lib/queue"
	"sessionhub/lib/state"
	"sessionhub/lib/watch"
)

// seen is what the daemons see: their environments, and what follows from them.
type seen struct {
	own    func(string) string
	server func(string) string // of herdr's server, else own
	views  []doctor.View
	dir    state.Dir
	conf   config.Config
	err    error // of config.toml
	path   string
	socket string
}

// look finds herdr's server and the watcher, and reads the environments that they
// were started with, as far as the system lets it.
func look(ctx context.Context, c *front.Call) (seen, error) {
	own := hook.Getenv(c.Getenv)
	s := seen{own: own, server: own, socket: herdr.DefaultSocket(own)}
	if pid, err := herdr.ServerPID(ctx, s.socket); err == nil || errors.Is(err, errors.ErrUnsupported) {
		v := view("herdr's server", pid)
		s.views = append(s.views, v)
		if v.Getenv != nil {
			s.server = v.Getenv
		}
	}
	env := s.server
	var err error
	if s.dir, err = state.Default(env); err != nil {
		return s, front.Fail(front.ExitConfig, err)
	}
	if r, err := watch.ReadReport(s.dir); err == nil && r.Running {
		v := view("the watcher", r.PID)
		s.views = append(s.views, v)
		if v.Getenv != nil {
			env = v.Getenv
		}
	}
	if s.dir, err = state.Default(env); err != nil {
		return s, front.Fail(front.ExitConfig, err)
	}
	s.conf, s.err = config.Load(env)
	s.path = config.Path(env)
	return s, nil
}

// view is a process's environment as a hook heeds it.
func view(whose string, pid int) doctor.View {
	v := doctor.View{Whose: whose}
	if list, err := doctor.Environ(pid); err == nil {
		v.Getenv = hook.Getenv(doctor.EnvironOf(list))
	}
	return v
}

func newDoctor(ctx context.Context, c *front.Call, o options) (*doctor.Doctor, error) {
	s, err := look(ctx, c)
	if err != nil {
		return nil, err
	}
	tools, err := findTools(c, o)
	if err != nil {
		return nil, front.Fail(front.ExitConfig, err)
	}
	d := &doctor.Doctor{
		Own: doctor.View{Whose: "you", Getenv: s.own}, Daemons: s.views,
		Conf: s.conf, ConfErr: s.err, Path: s.path, Dir: s.dir, Version: c.Version.Number,
		Hub:     func(token string) (doctor.Hub, error) { return hubclient.New(s.conf, token) },
		Queue:   &queue.Queue{Dir: s.dir},
		Watcher: func() (doctor.Watching, error) { return watching(s.dir) },
		Herdr:   &herdr.Client{Socket: s.socket}, Socket: s.socket, HerdrConfig: install.HerdrConfig(s.server), SidebarLines: install.SidebarLines,
		ClaudeHome: claude.Home(s.conf.ClaudeHome), Backup: install.BackupSuffix,
		Registry: func() ([]claude.Process, error) { return registry(s.conf.ClaudeHome) },
		Tools: func(ctx context.Context, argv []string) ([]string, error) {
			return doctor.AskTools(ctx, argv, os.Environ())
		},
		Passing: install.Passing, FileSystem: doctor.FileSystem, Alive: alive, PID: os.Getpid(), Now: time.Now, Pause: pause,
	}
	return d, hookedUp(d, c, o, s, tools)
}

// hookedUp adds what was hooked up, as the installer's targets tell it.
func hookedUp(d *doctor.Doctor, c *front.Call, o options, s seen, tools install.Tools) error {
	call := *c
	call.Config = s.conf // as the daemons read it
	looks := map[string]func(context.Context) doctor.Part{}
	for _, h := range hookUps() {
		if h.args != "" {
			continue
		}
		t, err := h.target(&call, o, tools, nil)
		if err != nil {
			return err
		}
		looks[h.name] = func(ctx context.Context) doctor.Part { return partOf(t.Look(ctx)) }
		switch t := t.(type) {
		case *install.Plugin:
			d.HerdrCLI = func(ctx context.Context) (doctor.Program, error) {
				path, version, err := t.Program(ctx)
				return doctor.Program{Path: path, Version: version}, err
			}
			d.Integration = func(ctx context.Context) (string, error) { return integration(ctx, t) }
		case *install.MCP:
			d.Claude, _ = t.Program() // "" says that there is none
		}
	}
	d.Plugin, d.Hooks, d.MCP, d.Service, d.Revive = looks["plugin"], looks["hooks"], looks["mcp"], looks["hub"], looks["revive"]
	return nil
}

// partOf is a part in the doctor's words.
func partOf(p install.Part) doctor.Part {
	out := doctor.Part{State: string(p.State), Detail: p.Detail, Path: p.Path, Do: p.Do}
	switch f := p.Facts.(type) {
	case install.HooksFacts:
		out.Programs, out.Leftover = f.Programs, exists(p.Path+install.BackupSuffix)
	case install.PluginFacts:
		out.Leftover = exists(p.Path)
	}
	return out
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func integration(ctx context.Context, p *install.Plugin) (string, error) {
	program, _, err := p.Program(ctx)
	if err != nil {
		return "", err
	}
	out, err := install.Ask(ctx, install.Command{Argv: []string{program, "integration", "status"}})
	if err == nil && out.Code != 0 {
		err = fmt.Errorf("%s", out.Line())
	}
	return string(out.Stdout), err
}

func watching(dir state.Dir) (doctor.Watching, error) {
	r, err := watch.ReadReport(dir)
	w := doctor.Watching{Running: r.Running, PID: r.PID, Version: r.Version, Beats: map[string]doctor.Beat{}, NoWatch: r.NoWatch}
	if r.Since != nil {
		w.Since = r.Since.Time
	}
	for socket, s := range r.Servers {
		b := doctor.Beat{Error: s.Error}
		if s.LastGood != nil {
			b.LastGood = s.LastGood.Time
		}
		w.Beats[socket] = b
	}
	if r.LastError != nil {
		w.Error, w.Hint = r.LastError.Text, r.LastError.Hint
	}
	return w, err
}

func registry(home string) ([]claude.Process, error) {
	table, err := claude.NewTable()
	if err != nil {
		return nil, err
	}
	return claude.Home(home).Live(table)
}

func alive(pid int) bool {
	table, err := claude.NewTable()
	if err != nil {
		return true // in doubt it lives
	}
	p, ok := table.Find(pid)
	return ok && !p.Zombie
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
