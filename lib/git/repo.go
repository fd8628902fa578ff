package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"sessionhub/lib/text"
)

const (
	// LocalWait bounds a command on one work tree: a large one on a slow disk
	// is hashed within it.
	LocalWait = 2 * time.Minute
	// NetWait bounds a fetch or a push. It is half of what a move's step has,
	// so that a stuck remote leaves time to put things back.
	NetWait = 5 * time.Minute
	// stopWait is what git has after SIGTERM to take its lock files away.
	stopWait = 10 * time.Second
)

// Repo runs git in a folder so that the answer does not depend on who asks:
// no prompts, no pager, no colours, messages in English, variables such as
// GIT_DIR of a surrounding hook gone, and paths taken literally. What the
// user set up for their files (filters, line ends, credentials) holds.
type Repo struct {
	Dir      string
	Index    string // another index file than the work tree's
	WorkTree string // another work tree than the one that Dir is in
	GitDir   string // goes with WorkTree
	// Hooks lets the user's hooks run. They stay out else: they are written
	// for a person at the keyboard.
	Hooks bool
}

// Error is a git command that failed.
type Error struct {
	Verb    string // "fetch"
	Code    int    // exit status, -1 when it was killed or never ran
	Message string // the last of what it said, safe to show
	Err     error
}

func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("git %s: %v", e.Verb, e.Err)
	}
	return fmt.Sprintf("git %s: %s", e.Verb, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }

// Exited reports whether err is a git command that ended with this status,
// which many commands use for "no".
func Exited(err error, code int) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// Out is what a command prints.
func (r Repo) Out(ctx context.Context, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := r.Pipe(ctx, nil, &out, args...)
	return out.Bytes(), err
}

// Line is what a command prints without the line end.
func (r Repo) Line(ctx context.Context, args ...string) (string, error) {
	out, err := r.Out(ctx, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// Fields is what a command prints, cut at NUL.
func (r Repo) Fields(ctx context.Context, args ...string) ([]string, error) {
	out, err := r.Out(ctx, args...)
	return Split(out), err
}

// Split cuts output of -z at NUL.
func Split(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// Join is what commands with -z read from standard input.
func Join(paths []string) io.Reader {
	return strings.NewReader(strings.Join(append(paths[:len(paths):len(paths)], ""), "\x00"))
}

// Pipe runs a command between in and out; both may be nil. It ends after
// LocalWait, or NetWait for those that cross the network.
func (r Repo) Pipe(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	wait := LocalWait
	network := crosses(args[0])
	if network {
		wait = NetWait
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("no end after %s", wait))
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append(r.options(args[0]), args...)...)
	cmd.Dir, cmd.Stdin, cmd.Stdout = r.Dir, in, out
	said := &tail{max: 8 << 10}
	cmd.Stderr = said
	// git takes its lock files away on SIGTERM; SIGKILL would leave them.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopWait
	cmd.Env = r.environ(os.Environ())
	if network {
		cmd.Env = append(cmd.Env, "GIT_SSH_COMMAND="+r.ssh(ctx, cmd.Env))
	}
	err := cmd.Run()
	if err == nil {
		return nil
	}
	e := &Error{Verb: args[0], Code: -1, Message: Message(said.String()), Err: err}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		e.Code = exit.ExitCode()
	}
	if ctx.Err() != nil {
		e.Code, e.Message, e.Err = -1, "", context.Cause(ctx)
	}
	return e
}

// crosses reports whether a command may reach a remote: by itself, or by a
// filter that fetches what files hold.
func crosses(verb string) bool {
	switch verb {
	case "fetch", "push", "ls-remote", "checkout", "checkout-index", "worktree":
		return true
	}
	return false
}

// options are settings that a person may have and a program must not meet.
func (r Repo) options(verb string) []string {
	list := []string{
		"--no-pager",
		"-c", "core.quotePath=false", "-c", "color.ui=false", "-c", "core.fsmonitor=false", "-c", "core.safecrlf=false",
		"-c", "apply.whitespace=nowarn", "-c", "apply.ignoreWhitespace=no", "-c", "diff.suppressBlankEmpty=false", "-c", "status.showUntrackedFiles=normal",
		"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "advice.detachedHead=false",
	}
	if verb != "check-ignore" { // which takes paths literally, and refuses to be told
		list = append(list, "--literal-pathspecs")
	}
	if r.Index != "" { // else a part of it would be written beside the user's own
		list = append(list, "-c", "core.splitIndex=false")
	}
	if !r.Hooks {
		list = append(list, "-c", "core.hooksPath=/dev/null")
	}
	return list
}

// kept are the beginnings of variables that say how to reach a remote and
// which configuration holds; all other GIT_ variables are about some other
// command than ours.
func kept(name string) bool {
	for _, p := range []string{"GIT_CONFIG", "GIT_SSH", "GIT_SSL", "GIT_HTTP", "GIT_PROXY", "GIT_EXEC_PATH", "GIT_ALLOW_PROTOCOL",
		"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_ATTR"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return !strings.HasPrefix(name, "GIT_")
}

func (r Repo) environ(from []string) []string {
	env := make([]string, 0, len(from)+12)
	for _, e := range from {
		name, _, _ := strings.Cut(e, "=")
		if kept(name) && name != "LC_ALL" && name != "LANGUAGE" {
			env = append(env, e)
		}
	}
	// Reading must not take the index lock from under the person at work. An
	// empty GIT_ASKPASS keeps every other program that would ask out, too.
	env = append(env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GIT_EDITOR=false")
	for name, value := range map[string]string{"GIT_INDEX_FILE": r.Index, "GIT_WORK_TREE": r.WorkTree, "GIT_DIR": r.GitDir} {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// ssh is the user's own ssh command in batch mode: nobody sits before it to
// type a passphrase (field report A41).
func (r Repo) ssh(ctx context.Context, env []string) string {
	command := "ssh"
	cmd := exec.CommandContext(ctx, "git", "config", "--get", "core.sshCommand")
	cmd.Dir, cmd.Env, cmd.WaitDelay = r.Dir, env, stopWait
	if out, err := cmd.Output(); err == nil && len(bytes.TrimSpace(out)) > 0 {
		command = strings.TrimSpace(string(out))
	}
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "GIT_SSH_COMMAND="); ok && v != "" {
			command = v
		}
	}
	return command + " -o BatchMode=yes"
}

// Message is the last thing that git said in an error, as one safe line
// without names and passwords of URLs.
func Message(stderr string) string {
	var last, fatal string
	for line := range strings.Lines(stderr) {
		line = text.Line(line)
		if line == "" || strings.HasPrefix(line, "hint:") {
			continue
		}
		last = line
		for _, p := range []string{"fatal: ", "error: ", "remote: error: "} {
			if rest, ok := strings.CutPrefix(line, p); ok && (fatal == "" || p == "fatal: ") {
				fatal = rest
			}
		}
	}
	if fatal == "" {
		fatal = last
	}
	return text.Cut(WithoutUsers(fatal), 300)
}

// WithoutUsers is a text whose URLs lost user and password.
func WithoutUsers(s string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, "://")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		out.WriteString("://")
		host := after
		if end := strings.IndexAny(after, "/ '\"\t"); end >= 0 {
			host = after[:end]
		}
		s = after[strings.LastIndexByte(host, '@')+1:]
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	buf []byte
	max int
}

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.max; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.buf) }
