package fakecli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"sessionhub/lib/herdr"
)

type sessionInfo struct {
	Default    bool   `json:"default"`
	Name       string `json:"name"`
	Running    bool   `json:"running"`
	SessionDir string `json:"session_dir"`
	SocketPath string `json:"socket_path"`
}

func (c *cli) sessionInfo(name string) sessionInfo {
	socket := herdr.SessionSocket(name, c.Getenv)
	return sessionInfo{name == herdr.DefaultSession, name, running(socket), filepath.Dir(socket), socket}
}

func (c *cli) sessions(args []string) int {
	p, err := (spec{bools: "json"}).parse(args)
	if err != nil || len(p.words) == 0 {
		return c.usage("herdr session commands: list, stop, delete")
	}
	if p.words[0] == "list" {
		return c.listSessions(p.has("json"))
	}
	if len(p.words) < 2 {
		return c.usage("usage: herdr session " + p.words[0] + " <name>")
	}
	name := p.words[1]
	if !validName(name) {
		return c.sessionFailure("invalid_session_name", "session name may only contain ASCII letters, numbers, '.', '_' and '-'")
	}
	switch p.words[0] {
	case "stop":
		return c.stopSession(name)
	case "delete":
		return c.deleteSession(name)
	}
	return c.usage("herdr session commands: list, stop, delete")
}

func (c *cli) listSessions(asJSON bool) int {
	list := []sessionInfo{c.sessionInfo(herdr.DefaultSession)}
	entries, _ := os.ReadDir(filepath.Join(list[0].SessionDir, "sessions"))
	for _, e := range entries {
		list = append(list, c.sessionInfo(e.Name()))
	}
	if asJSON {
		json.NewEncoder(c.Stdout).Encode(map[string]any{"sessions": list})
		return 0
	}
	fmt.Fprintf(c.Stdout, "%-20s %-8s %-48s %s\n", "name", "status", "directory", "socket")
	for _, s := range list {
		status := "stopped"
		if s.Running {
			status = "running"
		}
		fmt.Fprintf(c.Stdout, "%-20s %-8s %-48s %s\n", s.Name, status, s.SessionDir, s.SocketPath)
	}
	return 0
}

func (c *cli) sessionFailure(code, message string) int {
	json.NewEncoder(c.Stderr).Encode(map[string]any{"error": map[string]string{"code": code, "message": message}})
	return 1
}

func (c *cli) stopSession(name string) int {
	info := c.sessionInfo(name)
	if _, err := exchange(info.SocketPath, "cli:session:stop", "server.stop", map[string]any{}); err != nil {
		return c.sessionFailure("session_stop_failed",
			fmt.Sprintf("session %s is not running or cannot be reached at %s: %s", name, info.SocketPath, reason(err)))
	}
	stopper := *c
	stopper.socket = info.SocketPath
	for running(info.SocketPath) {
		if stopper.stop() != 0 {
			break
		}
	}
	json.NewEncoder(c.Stdout).Encode(map[string]any{"stopped": true, "session": c.sessionInfo(name)})
	return 0
}

func (c *cli) deleteSession(name string) int {
	info := c.sessionInfo(name)
	switch {
	case info.Default:
		return c.sessionFailure("session_delete_failed", "deleting the default session is not supported")
	case info.Running:
		return c.sessionFailure("session_delete_failed", "session "+name+" is running; stop it before deleting")
	}
	if err := os.RemoveAll(info.SessionDir); err != nil {
		return c.sessionFailure("session_delete_failed", err.Error())
	}
	json.NewEncoder(c.Stdout).Encode(map[string]any{"deleted": true, "session": info})
	return 0
}
