// Package world is a machine of its own for the demo and for tests of the
// whole path: a home directory, the built tools, a hub as a process, and a
// herdr with the plugin linked. Nothing in it touches the person's own home.
package world

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sessionhub/lib/herdr"
)

// Wait bounds every wait for something to happen.
const Wait = 45 * time.Second

// toolWait bounds a tool, which may itself wait for a minute.
const toolWait = 90 * time.Second

// World is one machine and one hub.
type World struct {
	Root   string
	Home   string
	Bin    string   // folder of the tools
	Addr   string   // of the hub
	Socket string   // of herdr
	More   []string // more of the environment of all processes
	name   string   // of the machine
	store  string   // the hub's database
	hub    *exec.Cmd
	hubErr bytes.Buffer
}

// New makes a world below root with the tools in bin.
func New(root, bin string) (*World, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // a free port
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	l.Close()
	w := &World{Root: root, Bin: bin, Addr: addr, name: "tower", store: filepath.Join(root, "hub.db")}
	return w, w.furnish()
}

// Beside makes another machine of the same person below root, at the same hub.
func (w *World) Beside(root, machine string) (*World, error) {
	b := &World{Root: root, Bin: w.Bin, Addr: w.Addr, More: w.More, name: machine, store: w.store}
	return b, b.furnish()
}

// furnish makes the home and its configuration.
func (w *World) furnish() error {
	w.Home = filepath.Join(w.Root, "home")
	w.Socket = filepath.Join(w.Home, ".config", "herdr", "herdr.sock")
	for _, dir := range []string{w.Home, w.config(), w.plugin(), filepath.Join(w.Home, "Code", "app")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := w.tokens(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.config(), "config.toml"),
		[]byte("server_url = \"http://"+w.Addr+"\"\nmachine = \""+w.name+"\"\n"), 0o600)
}

func (w *World) config() string { return filepath.Join(w.Home, ".config", "sessionhub") }
func (w *World) plugin() string {
	return filepath.Join(w.Home, ".local", "share", "sessionhub", "herdr-plugin")
}
func (w *World) db() string { return w.store }

// State is the state directory.
func (w *World) State() string { return filepath.Join(w.Home, ".local", "state", "sessionhub") }

func (w *World) tokens() error {
	for file, args := range map[string][]string{"token": {"--machine", w.name}, "user-token": {"--user", "owner"}} {
		out, err := w.Tool("shhub", append([]string{"token", "add", "--db", w.db()}, args...)...)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(w.config(), file), out, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Env is the environment of the world's processes.
func (w *World) Env(more ...string) []string {
	env := []string{"HOME=" + w.Home, "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/bash"}
	env = append(append(env, "PATH="+w.Bin+":"+os.Getenv("PATH")), w.More...)
	return append(env, more...)
}

// Tool runs a tool and returns its standard output. The error holds its
// standard error.
func (w *World) Tool(name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), toolWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(w.Bin, name), args...)
	cmd.Env = w.Env()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(errs.Bytes()))
	}
	return out, nil
}

// StartHub starts the hub, or starts it again on the same database.
func (w *World) StartHub() error {
	w.hub = exec.Command(filepath.Join(w.Bin, "shhub"), "serve", "--db", w.db(), "--listen", w.Addr)
	w.hub.Env = w.Env()
	w.hub.Stderr = &w.hubErr
	if err := w.hub.Start(); err != nil {
		return err
	}
	return Until("the hub answers", func() (bool, error) {
		c, err := net.Dial("tcp", w.Addr)
		if err != nil {
			return false, nil
		}
		return true, c.Close()
	})
}

// KillHub ends the hub as a crash does.
func (w *World) KillHub() error {
	if w.hub == nil {
		return nil
	}
	err := w.hub.Process.Kill()
	_ = w.hub.Wait() // killed is what it was
	w.hub = nil
	return err
}

// Plugin writes the plugin's manifest and returns its folder, to be linked.
func (w *World) Plugin() (string, error) {
	text, err := w.Tool("shinstall", "manifest", "--bin-dir", w.Bin)
	if err != nil {
		return "", err
	}
	return w.plugin(), os.WriteFile(filepath.Join(w.plugin(), "herdr-plugin.toml"), text, 0o600)
}

// Herdr is a client of the world's herdr.
func (w *World) Herdr() *herdr.Client { return &herdr.Client{Socket: w.Socket} }

// Close ends the watcher and the hub.
func (w *World) Close() error {
	_, err := w.Tool("shwatch", "stop")
	if w.hub != nil {
		err = errors.Join(err, w.hub.Process.Signal(syscall.SIGTERM), w.hub.Wait())
		w.hub = nil
	}
	return err
}

// Until waits for a condition.
func Until(what string, cond func() (bool, error)) error {
	for end := time.Now().Add(Wait); ; time.Sleep(10 * time.Millisecond) {
		ok, err := cond()
		if err != nil {
			return fmt.Errorf("waiting until %s: %w", what, err)
		}
		if ok {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("waited %s until %s", Wait, what)
		}
	}
}
