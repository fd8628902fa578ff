package revive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/text"
)

// errNotDir is a path through a file.
var errNotDir = syscall.ENOTDIR

// Claude is what a pass needs of the program.
type Claude interface {
	// Find checks that the program is there.
	Find() error
	Version(ctx context.Context) (string, error)
	// Agents lists all background sessions, and the interactive ones.
	Agents(ctx context.Context) ([]Agent, error)
	Stop(ctx context.Context, short string) error
	// Resume resumes a session in the background, under a name if it is not "",
	// and returns the job's short name: another one when a copy was made. An
	// ErrUnsure may have resumed it.
	Resume(ctx context.Context, d Decision, name, prompt string) (short string, err error)
}

// ErrUnsure says that a resume's outcome is not known.
var ErrUnsure = errors.New("it did not answer in time, and may have resumed it")

// ErrNoClaude says that there is no Claude Code where it was looked for.
var ErrNoClaude = errors.New("no Claude Code found")

// Program is Claude Code at Bin, a path or a name on the PATH.
type Program struct {
	Bin     string
	Home    claude.Home
	Environ []string // of this process
}

// path is the program's path: a relative one is this process's, and a call may
// run in a session's directory.
func (p *Program) path() (string, error) {
	path, err := exec.LookPath(p.Bin)
	if err != nil {
		return "", fmt.Errorf("%w: %w; --claude-bin or CLAUDE_BIN name it", ErrNoClaude, err)
	}
	return filepath.Abs(path)
}

// The limits of calls: a listing starts a runtime and takes some 0.3 s; a first
// resume also starts the service.
const (
	askLimit    = 30 * time.Second
	resumeLimit = 60 * time.Second
)

// Find looks the program up. An error is an ErrNoClaude.
func (p *Program) Find() error {
	_, err := p.path()
	return err
}

// Version asks the program which it is.
func (p *Program) Version(ctx context.Context) (string, error) { return claude.Version(ctx, p.Bin) }

// Agents asks the program for its sessions.
func (p *Program) Agents(ctx context.Context) ([]Agent, error) {
	out, err := p.ask(ctx, "agents", "--json", "--all")
	var exit *exec.ExitError
	if errors.As(err, &exit) { // an older one has no --all
		out, err = p.ask(ctx, "agents", "--json")
	}
	if err != nil {
		return nil, err
	}
	var list []Agent
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, fmt.Errorf("claude agents --json: its answer is no list: %w", err)
	}
	return list, nil
}

// Stop ends a background session's process and marks the session as stopped.
func (p *Program) Stop(ctx context.Context, short string) error {
	_, err := p.ask(ctx, "stop", short)
	return err
}

// backgrounded is how the program confirms a resume.
var backgrounded = regexp.MustCompile(`(?m)^backgrounded · (\S+)`)

// Resume resumes a session in its own directory.
func (p *Program) Resume(ctx context.Context, d Decision, name, prompt string) (string, error) {
	args := []string{"--bg", "--resume", d.Session}
	if name != "" {
		args = append(args, "--name", name)
	}
	out, err := p.run(ctx, resumeLimit, d.Cwd, nil, append(args, prompt)...)
	if errors.Is(err, context.DeadlineExceeded) {
		return "", ErrUnsure
	}
	if err != nil {
		return "", err
	}
	m := backgrounded.FindStringSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("%w: it said %q", ErrUnsure, text.Cut(text.Line(out), 200))
	}
	return m[1], nil
}

// ask makes a call that starts no session.
func (p *Program) ask(ctx context.Context, args ...string) (string, error) {
	return p.run(ctx, askLimit, "", claude.Quiet(), args...)
}

func (p *Program) run(ctx context.Context, limit time.Duration, dir string, env []string, args ...string) (string, error) {
	bin, err := p.path()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir, cmd.Env = dir, append(p.environ(), env...)
	cmd.WaitDelay = time.Second // the service that it may start keeps the pipe open
	out, errs := bounded{most: maxOutput}, bounded{most: maxOutput}
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return out.String(), fmt.Errorf("claude %s: %w", args[0], ctx.Err())
	case errors.Is(err, exec.ErrWaitDelay):
		return out.String(), nil
	case err != nil:
		said := text.Cut(text.Line(strings.TrimSpace(errs.String()+" "+out.String())), 300)
		return out.String(), fmt.Errorf("claude %s: %w: %s", args[0], err, said)
	}
	return out.String(), nil
}

// maxOutput bounds what is kept of an answer in bytes: a list of sessions has
// some 300 a session.
const maxOutput = 8 << 20

// bounded keeps the beginning of what is written, and swallows the rest.
type bounded struct {
	strings.Builder
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.Builder.Write(p[:min(len(p), b.most-b.Len())])
	return len(p), nil
}

// environ is the environment of a Claude Code that works on Home. What marks
// a process as one below a Claude Code is left out: the sessions are not.
func (p *Program) environ() []string {
	env := []string{"CLAUDE_CONFIG_DIR=" + string(p.Home)}
	own := p.isDefault()
	if own {
		env = nil
	}
	for _, kv := range p.Environ {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID":
		case "CLAUDE_CONFIG_DIR":
			if own {
				env = append(env, kv)
			}
		default:
			env = append(env, kv)
		}
	}
	return env
}

// isDefault tells whether a Claude Code with this environment works on Home
// anyway.
func (p *Program) isDefault() bool {
	h, ok := claude.DefaultHome(func(name string) string {
		for _, kv := range p.Environ {
			if k, v, _ := strings.Cut(kv, "="); k == name {
				return v
			}
		}
		return ""
	})
	return ok && h == p.Home
}
