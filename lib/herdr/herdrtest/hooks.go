package herdrtest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// hookContext is what a plugin command is told of where it runs.
type hookContext struct {
	workspace, workspaceLabel, workspaceCwd string
	tab, tabLabel                           string
	pane, paneCwd, paneAgent, paneStatus    string
}

func (s *Server) contextOf(w *workspace, t *tab, p *pane) hookContext {
	c := hookContext{}
	if w == nil || t == nil || p == nil {
		return c
	}
	c.workspace, c.workspaceLabel = w.id, w.label
	c.tab, c.tabLabel = t.id, t.shownLabel()
	c.pane, c.paneAgent, c.paneStatus = p.id, p.agent.label(), p.agent.shown
	c.paneCwd, _ = p.cwds()
	c.workspaceCwd = c.paneCwd
	if len(w.tabs) > 0 && len(w.tabs[0].panes) > 0 {
		c.workspaceCwd, _ = w.tabs[0].panes[0].cwds()
	}
	return c
}

func (s *Server) focusContext() hookContext {
	p := s.state.focusedPane()
	if p == nil {
		return hookContext{}
	}
	return s.contextOf(p.tab.ws, p.tab, p)
}

func (c hookContext) obj(source, correlation string) obj {
	o := obj{"invocation_source": source, "correlation_id": correlation}
	put(o, "workspace_id", c.workspace)
	put(o, "workspace_label", c.workspaceLabel)
	put(o, "workspace_cwd", c.workspaceCwd)
	put(o, "tab_id", c.tab)
	put(o, "tab_label", c.tabLabel)
	put(o, "focused_pane_id", c.pane)
	put(o, "focused_pane_cwd", c.paneCwd)
	put(o, "focused_pane_agent", c.paneAgent)
	put(o, "focused_pane_status", c.paneStatus)
	return o
}

const (
	maxCommands = 32 // of all plugins at once
	maxLogs     = 200
	maxOutput   = 64 << 10 // bytes of a stream that the log keeps
)

// pluginHost runs the commands of plugins.
type pluginHost struct {
	server  *Server
	mu      sync.Mutex
	running int
	logs    []*logEntry
	nextLog int
	queue   chan *run                  // started one after the other, in order
	runs    int                        // of the server
	outputs map[*os.File]chan struct{} // closed when the pipe is
	started map[*exec.Cmd]bool
}

type logEntry struct {
	id, plugin, action, event string
	command                   []string
	status                    string
	started, finished         time.Time
	exit                      *int
	stdout, stderr, err       string
	run                       int // of the server
}

// run is a command to be started.
type run struct {
	entry *logEntry
	dir   string
	env   []string
}

func (h *pluginHost) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logs, h.running, h.outputs = nil, 0, map[*os.File]chan struct{}{}
	if h.started == nil {
		h.started = map[*exec.Cmd]bool{}
	}
	h.runs++
	h.queue = make(chan *run, 4096)
	queue, done := h.queue, h.server.run.Done()
	h.server.wg.Add(1)
	go func() {
		defer h.server.wg.Done()
		for {
			select {
			case r := <-queue:
				h.start(r)
			case <-done:
				return
			}
		}
	}()
}

// fire starts the hooks of an event.
func (h *pluginHost) fire(e event) {
	plugins, _ := loadPlugins(h.server.registry())
	for _, p := range plugins {
		if !p.usable() {
			continue
		}
		for _, hook := range p.manifest.Events {
			if hook.On == e.kind && here(hook.Platforms) {
				h.submit(p, hook.Command, &logEntry{event: e.kind}, h.env(p, e.ctx, e.ctx.obj("api", e.kind),
					"HERDR_PLUGIN_EVENT="+e.kind, "HERDR_PLUGIN_EVENT_JSON="+strings.TrimSpace(string(jsonLine(e.global())))))
			}
		}
	}
}

func (h *pluginHost) runStartups() {
	plugins, _ := loadPlugins(h.server.registry())
	ctx := h.server.focusContext()
	for _, p := range plugins {
		if !p.usable() {
			continue
		}
		for _, hook := range p.manifest.Startup {
			if here(hook.Platforms) {
				h.submit(p, hook.Command, &logEntry{event: "startup"},
					h.env(p, ctx, ctx.obj("startup", "plugin.startup"), "HERDR_PLUGIN_EVENT=startup"))
			}
		}
	}
}

// env is the server's environment and what herdr adds.
func (h *pluginHost) env(p *plugin, c hookContext, context obj, more ...string) []string {
	s := h.server
	config, state := s.pluginDirs(p.ID)
	os.MkdirAll(config, 0o755)
	os.MkdirAll(state, 0o755)
	env := append(s.Env(), s.herdrEnv(c.workspace, c.tab, c.pane)...)
	env = append(env, "HERDR_PLUGIN_ID="+p.ID, "HERDR_PLUGIN_ROOT="+p.root(), "HERDR_PLUGIN_CONFIG_DIR="+config,
		"HERDR_PLUGIN_STATE_DIR="+state, "HERDR_PLUGIN_CONTEXT_JSON="+strings.TrimSpace(string(jsonLine(context))))
	return append(env, more...)
}

// submit puts a command in the log and in the queue, or refuses it.
func (h *pluginHost) submit(p *plugin, argv []string, e *logEntry, env []string) (*logEntry, *apiError) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.nextLog++
	e.id, e.plugin, e.command = fmt.Sprintf("plugin-log-%d", h.nextLog), p.ID, argv
	e.started, e.status, e.run = time.Now(), "running", h.runs
	h.logs = append(h.logs, e)
	h.logs = h.logs[max(0, len(h.logs)-maxLogs):]
	if h.running >= maxCommands {
		e.status, e.finished = "failed", e.started
		e.err = fmt.Sprintf("maximum concurrent plugin commands reached (%d)", maxCommands)
		return e, fail("plugin_command_limit_reached", "%s", e.err)
	}
	h.running++
	h.queue <- &run{entry: e, dir: p.root(), env: env}
	return e, nil
}

func (h *pluginHost) start(r *run) {
	cmd, outputs, err := h.spawn(r)
	if err != nil {
		h.finish(r.entry, func(e *logEntry) { e.status, e.err = "failed", err.Error() })
		return
	}
	h.track(cmd, true)
	go func() {
		werr := cmd.Wait()
		h.track(cmd, false)
		stdout, stderr := <-outputs[0], <-outputs[1]
		h.finish(r.entry, func(e *logEntry) {
			e.stdout, e.stderr, e.status = stdout, stderr, "succeeded"
			if code := cmd.ProcessState.ExitCode(); code >= 0 {
				e.exit = &code
			}
			if werr != nil {
				e.status = "failed"
			}
		})
	}()
}

// spawn runs a command with the server's stdin and a pipe each for stdout and
// stderr. The command counts as running until nobody holds the pipes any more.
func (h *pluginHost) spawn(r *run) (*exec.Cmd, [2]chan string, error) {
	var outputs [2]chan string
	path, err := lookPath(r.entry.command[0], r.env, r.dir)
	if err != nil {
		return nil, outputs, err
	}
	cmd := exec.Command(path, r.entry.command[1:]...)
	if name := r.entry.command[0]; !strings.Contains(name, "/") {
		cmd.Args[0] = name
	}
	cmd.Env, cmd.Dir, cmd.Stdin = r.env, r.dir, h.server.cfg.Stdin
	var ends []*os.File
	for i := range outputs {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, outputs, err
		}
		outputs[i] = make(chan string, 1)
		h.mu.Lock()
		h.outputs[read] = make(chan struct{})
		h.mu.Unlock()
		go h.collect(read, outputs[i])
		ends = append(ends, write)
	}
	cmd.Stdout, cmd.Stderr = ends[0], ends[1]
	err = cmd.Start()
	for _, f := range ends {
		f.Close()
	}
	return cmd, outputs, err
}

func (h *pluginHost) collect(f *os.File, into chan<- string) {
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		f.Close()
		if closed, ok := h.outputs[f]; ok {
			close(closed)
			delete(h.outputs, f)
		}
	}()
	var kept bytes.Buffer
	n, _ := io.Copy(&kept, io.LimitReader(f, maxOutput))
	more, _ := io.Copy(io.Discard, f)
	text := strings.ToValidUTF8(kept.String(), "\ufffd")
	if n+more > maxOutput {
		text += fmt.Sprintf("\n[herdr truncated plugin output after %d bytes]", maxOutput)
	}
	into <- text
}

func (h *pluginHost) track(cmd *exec.Cmd, runs bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if delete(h.started, cmd); runs {
		h.started[cmd] = true
	}
}

// killAll ends the commands that still run, so that a test leaves nothing
// behind; what they detached lives on.
func (h *pluginHost) killAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for cmd := range h.started {
		cmd.Process.Kill()
	}
}

// dropOutputs is what the end of a server does to the commands it leaves
// behind: their next write to stdout or stderr is a broken pipe. The pipes are
// closed when it returns: a close while somebody reads only begins it.
func (h *pluginHost) dropOutputs() {
	h.mu.Lock()
	var closing []chan struct{}
	for f, closed := range h.outputs {
		f.Close()
		closing = append(closing, closed)
	}
	h.mu.Unlock()
	for _, closed := range closing {
		<-closed
	}
}

func (h *pluginHost) finish(e *logEntry, change func(*logEntry)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.finished = time.Now()
	if e.run == h.runs {
		h.running--
	}
	change(e)
}
