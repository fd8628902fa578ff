// Package spawn runs agents for other programs in panes of a terminal
// multiplexer, one dedicated server a space, so that nothing here ever touches
// a person's own panes. A driver knows one multiplexer; importing its package
// registers it:
//
//	import _ "sessionhub/lib/spawn/herdrdriver"
//	import _ "sessionhub/lib/spawn/tmuxdriver"
//
// A secret of an agent goes to it through a private file that the launcher
// removes before it becomes the agent. It is on no command line, on no screen,
// in no environment but the agent's own, and on disk for an instant.
package spawn

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sessionhub/lib/record"
)

// Spec is what a program wants to be run.
type Spec struct {
	Space     string            `json:"space"` // whose server it runs in
	Name      string            `json:"name"`  // of the agent, unique in its space
	Cwd       string            `json:"cwd"`
	Command   []string          `json:"command"`
	Env       map[string]string `json:"env,omitempty"`        // besides the caller's environment
	SecretEnv map[string]string `json:"secret_env,omitempty"` // the same; set apart for the reader
	Layout    string            `json:"layout,omitempty"`     // LayoutWorkspace (default) or LayoutSplit
	Runtime   string            `json:"runtime,omitempty"`    // a driver's name; default: the first that is there
}

// The layouts.
const (
	LayoutWorkspace = "workspace" // a workspace, or window, an agent
	LayoutSplit     = "split"     // all agents of a space in one
)

// Spawned is an agent that was started.
type Spawned struct {
	Space       string      `json:"space"`
	Name        string      `json:"name"`
	Runtime     string      `json:"runtime"`
	Server      string      `json:"server"`      // the multiplexer's session, to watch it with
	TerminalID  string      `json:"terminal_id"` // unique, and the same for as long as it runs
	PaneID      string      `json:"pane_id"`     // of the moment: it changes when the pane is moved
	WorkspaceID string      `json:"workspace_id,omitempty"`
	TabID       string      `json:"tab_id,omitempty"`
	PID         int         `json:"pid"`
	StartedAt   record.Time `json:"started_at"`
}

// maxSpec bounds the words and values of a spec in bytes, together: it is
// passed on as a file, but the system bounds what a program is started with.
const maxSpec = 1 << 20

var (
	plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)
	envName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// ErrSpec is wrapped by every error about what a spec says.
var ErrSpec = errors.New("bad spec")

// CheckName checks the name of a space or an agent: 1 to 32 letters, digits,
// '_' and '-', not '-' or '_' first.
func CheckName(field, s string) error {
	if !plainName.MatchString(s) {
		return fmt.Errorf("%w: %q must be 1 to 32 letters, digits, '_' and '-', a letter or digit first, not %q", ErrSpec, field, s)
	}
	return nil
}

// Validate checks a spec by itself. The environment's layout is used where it
// has none.
func (s *Spec) Validate() error {
	if err := CheckName("space", s.Space); err != nil {
		return err
	}
	if err := CheckName("name", s.Name); err != nil {
		return err
	}
	switch s.Layout {
	case "", LayoutWorkspace, LayoutSplit:
	default:
		return fmt.Errorf("%w: the layout is %q, neither workspace nor split", ErrSpec, s.Layout)
	}
	switch {
	case len(s.Command) == 0 || s.Command[0] == "":
		return fmt.Errorf(`%w: "command" is missing`, ErrSpec)
	case !filepath.IsAbs(s.Cwd):
		return fmt.Errorf(`%w: "cwd" must be an absolute path, not %q`, ErrSpec, s.Cwd)
	}
	return s.checkValues()
}

func (s *Spec) checkValues() error {
	size := 0
	for _, w := range s.Command {
		size += len(w)
		if strings.ContainsRune(w, 0) {
			return fmt.Errorf("%w: a word of the command holds a NUL", ErrSpec)
		}
	}
	for _, env := range []map[string]string{s.Env, s.SecretEnv} {
		for k, v := range env {
			size += len(k) + len(v)
			if !envName.MatchString(k) {
				return fmt.Errorf("%w: %q is no name of a variable", ErrSpec, k)
			}
			if strings.ContainsRune(v, 0) {
				return fmt.Errorf("%w: the value of %s holds a NUL", ErrSpec, k)
			}
		}
	}
	for k := range s.Env {
		if _, twice := s.SecretEnv[k]; twice {
			return fmt.Errorf("%w: %s is in env and in secret_env", ErrSpec, k)
		}
	}
	if size > maxSpec {
		return fmt.Errorf("%w: command and environment have %d bytes, over the limit of %d", ErrSpec, size, maxSpec)
	}
	return nil
}

// checkCwd makes sure of the directory: a multiplexer silently starts in the
// home directory when it does not exist.
func (s *Spec) checkCwd() error {
	st, err := os.Stat(s.Cwd)
	if err != nil {
		return fmt.Errorf("%w: cwd: %w", ErrSpec, err)
	}
	if !st.IsDir() {
		return fmt.Errorf("%w: cwd: %s is no directory", ErrSpec, s.Cwd)
	}
	return nil
}

// program is the path of the command's program, in the agent's own PATH and
// from its own directory.
func (s *Spec) program(env []string) (string, error) {
	name := s.Command[0]
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(s.Cwd, name)
		}
		return name, executable(name)
	}
	for _, dir := range filepath.SplitList(lookup(env, "PATH")) {
		if dir == "" || !filepath.IsAbs(dir) {
			dir = filepath.Join(s.Cwd, dir)
		}
		path := filepath.Join(dir, name)
		if executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: command: %s is in no folder of the PATH", ErrSpec, name)
}

func executable(path string) error {
	if _, err := exec.LookPath(path); err != nil {
		return fmt.Errorf("%w: command: %w", ErrSpec, err)
	}
	return nil
}

// environ is the agent's environment: the caller's, without what belongs to the
// pane that the caller may run in, and the spec's on top.
func (s *Spec) environ(caller []string) []string {
	var env []string
	for _, kv := range caller {
		name, _, _ := strings.Cut(kv, "=")
		if !ofAnotherPane(name) && !has(s.Env, name) && !has(s.SecretEnv, name) {
			env = append(env, kv)
		}
	}
	for _, m := range []map[string]string{s.Env, s.SecretEnv} {
		for k, v := range m {
			env = append(env, k+"="+v)
		}
	}
	slices.Sort(env)
	return env
}

func has(m map[string]string, k string) bool { _, ok := m[k]; return ok }

// ofAnotherPane tells that a variable describes the terminal, the pane or the
// Claude Code that the caller runs in.
func ofAnotherPane(name string) bool {
	switch name {
	case "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM", "COLUMNS", "LINES", "TMUX", "TMUX_PANE", "WINDOWID", "PWD", "OLDPWD", "SHLVL", "_",
		"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_PID":
		return true
	}
	return strings.HasPrefix(name, "HERDR_")
}

func lookup(env []string, name string) string {
	for _, kv := range env {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}
