package herdrtest

import (
	"os"
	"path/filepath"
	"strings"

	"sessionhub/lib/herdr/herdrtest/screen"
)

// startShell gives a pane its shell.
func (s *Server) startShell(p *pane, t *tab, dir string, env map[string]string) error {
	return s.startProcess(p, t, command{argv: []string{s.cfg.Shell}, env: s.paneEnv(p, t, env), dir: dir})
}

func (s *Server) startProcess(p *pane, t *tab, c command) error {
	c.cols, c.rows = s.cfg.Cols, s.cfg.Rows
	term, err := startTerminal(c)
	if err != nil {
		return err
	}
	p.term, p.cwd = term, c.dir
	if p.agent.shown == "" {
		p.agent.shown, p.agent.raw = "unknown", "unknown"
	}
	s.terms = append(s.terms, term)
	go func() { // not counted: what ignores SIGHUP outlives a killed server
		<-term.done
		s.mu.Lock()
		defer s.mu.Unlock()
		s.exited(p)
	}()
	return nil
}

// paneEnv is the environment of a pane's process: nobody can set HERDR_*.
func (s *Server) paneEnv(p *pane, t *tab, extra map[string]string) []string {
	env := s.Env()
	for k, v := range extra {
		if !strings.HasPrefix(k, "HERDR_") {
			env = append(env, k+"="+v)
		}
	}
	env = append(env, "TERM=xterm-256color", "COLORTERM=truecolor", "SHELL="+s.cfg.Shell)
	if s.cfg.Dialect.KeepsErrorIDs {
		env = append(env, "TERM_PROGRAM=herdr", "TERM_PROGRAM_VERSION="+s.cfg.Dialect.Version)
	}
	return append(env, s.herdrEnv(t.ws.id, t.id, p.id)...)
}

func (s *Server) herdrEnv(workspace, tab, pane string) []string {
	env := []string{"HERDR_ENV=1", "HERDR_SOCKET_PATH=" + s.socket, "HERDR_BIN_PATH=" + s.cfg.BinPath}
	for _, kv := range [][2]string{{"HERDR_WORKSPACE_ID", workspace}, {"HERDR_TAB_ID", tab}, {"HERDR_PANE_ID", pane}} {
		if kv[1] != "" {
			env = append(env, kv[0]+"="+kv[1])
		}
	}
	if s.cfg.Session != "" {
		env = append(env, "HERDR_SESSION="+s.cfg.Session)
	}
	return env
}

// lookPath finds a program as herdr does: with a slash as it is (from dir),
// else in the server's PATH.
func lookPath(name string, env []string, dir string) (string, error) {
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if _, err := os.Stat(path); err != nil {
			return "", spawnError(path + " because it doesn't exist on the filesystem (ENOENT: No such file or directory)")
		}
		return path, nil
	}
	path := lookup(env, "PATH")
	for _, d := range filepath.SplitList(path) {
		full := filepath.Join(d, name)
		if fi, err := os.Stat(full); err == nil && !fi.IsDir() && fi.Mode()&0o111 != 0 {
			return full, nil
		}
	}
	return "", spawnError(name + " because:\nNo viable candidates found in PATH \"" + path + "\"")
}

// spawnError says it in herdr's words.
type spawnError string

func (e spawnError) Error() string { return "Unable to spawn " + string(e) }

// cwds are the working directories of a pane's own and its foreground process.
func (p *pane) cwds() (shell, foreground string) {
	if p.term == nil {
		return p.cwd, ""
	}
	shell = processCwd(p.term.pid)
	if shell == "" {
		shell = p.cwd
	}
	if group := p.term.foreground(); group > 0 {
		foreground = processCwd(group)
	}
	if foreground == "" {
		foreground = shell
	}
	return shell, foreground
}

func (p *pane) history() int {
	n := 0
	if p.term != nil {
		p.term.look(func(sc *screen.Screen) { n = sc.History() })
	}
	return n
}

type processParams struct {
	PaneID *string `json:"pane_id"`
}

func (s *Server) processInfo(p processParams) (obj, *apiError) {
	q := s.state.focusedPane()
	if p.PaneID != nil {
		q = s.state.pane(*p.PaneID)
	}
	if q == nil || q.term == nil {
		return nil, fail("pane_not_found", "pane not found")
	}
	info := obj{"pane_id": q.id, "shell_pid": q.term.pid}
	group := q.term.foreground()
	if group > 0 {
		info["foreground_process_group_id"] = group
	}
	var list []any
	for _, pid := range groupProcesses(group) {
		proc := obj{"pid": pid, "name": processName(pid)}
		if argv := processArgv(pid); len(argv) > 0 {
			proc["argv"], proc["cmdline"] = argv, strings.Join(argv, " ")
		}
		put(proc, "cwd", processCwd(pid))
		list = append(list, proc)
	}
	if len(list) > 0 {
		info["foreground_processes"] = list
	}
	return obj{"type": "pane_process_info", "process_info": info}, nil
}
