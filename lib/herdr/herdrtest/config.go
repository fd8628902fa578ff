package herdrtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Dialect is the version that a server plays.
type Dialect struct {
	Version  string
	Protocol int
	// KeepsErrorIDs: errors before dispatch carry the request's id, and unknown
	// methods have a code of their own (since 0.9.2).
	KeepsErrorIDs bool
	// LiveEvents: subscriptions start with the present and get every event; up
	// to 0.8.2 they begin with the history, one event of a kind a step.
	LiveEvents bool
	// PromptWaits: agent.prompt answers when Enter is pressed (since 0.9.0).
	PromptWaits bool
}

// Herdr082 is what herdr 0.8.2 speaks.
func Herdr082() Dialect { return Dialect{Version: "0.8.2", Protocol: 20} }

// Herdr093 is what herdr 0.9.3 speaks, as far as it is known.
func Herdr093() Dialect {
	return Dialect{Version: "0.9.3", Protocol: 22, KeepsErrorIDs: true, LiveEvents: true, PromptWaits: true}
}

// Timings are the pauses of a server.
type Timings struct {
	Detect      time.Duration // between looks at processes and screens
	FirstIdle   time.Duration // from an agent's detection to its first status
	Settle      time.Duration // how long a screen must say a status
	Vanish      time.Duration // from an agent's end to status unknown
	PromptEnter time.Duration // between a prompt's text and its Enter
	PromptStall time.Duration // for a waiting prompt to see a change
	EventStep   time.Duration // of subscriptions
	Kill        time.Duration // between HUP, TERM and KILL of pane.close
	Startup     time.Duration // from a start to startup hooks
	ResumeStart time.Duration // from a start to the resumed agents' shells
	ResumeKnown time.Duration // from a start to their status unknown
	Save        time.Duration // from the last change to the saved state
	Toast       time.Duration // that a notification stays up
	RateLimit   time.Duration // between notifications
	Stop        time.Duration // from server.stop to the end
	StartLimit  time.Duration // default of agent.start's timeout_ms
}

// ShortTimings keep tests quick.
func ShortTimings() Timings {
	const ms = time.Millisecond
	return Timings{
		Detect: 15 * ms, FirstIdle: 100 * ms, Settle: 0, Vanish: 40 * ms,
		PromptEnter: 30 * ms, PromptStall: 600 * ms, EventStep: 10 * ms, Kill: 50 * ms,
		Startup: 20 * ms, ResumeStart: 200 * ms, ResumeKnown: 400 * ms, Save: 0,
		Toast: 200 * ms, RateLimit: 100 * ms, Stop: 30 * ms, StartLimit: 3 * time.Second,
	}
}

// RealTimings are those of the captured servers.
func RealTimings() Timings {
	const ms = time.Millisecond
	return Timings{
		Detect: 100 * ms, FirstIdle: 3300 * ms, Settle: 150 * ms, Vanish: 300 * ms,
		PromptEnter: 300 * ms, PromptStall: 5000 * ms, EventStep: 100 * ms, Kill: 250 * ms,
		Startup: 250 * ms, ResumeStart: 1000 * ms, ResumeKnown: 1600 * ms, Save: 5000 * ms,
		Toast: 3000 * ms, RateLimit: 1000 * ms, Stop: 300 * ms, StartLimit: 30 * time.Second,
	}
}

// Config says what server to start. The zero value of a field means what its
// comment says.
type Config struct {
	Home    string   // home directory of panes and hooks; needed
	Socket  string   // default: that of Session below Home
	Session string   // default: the default session
	Env     []string // of the server; HOME is put in. Default: the process's own without what tells of its terminal and agent
	Shell   string   // default: bash, else sh
	BinPath string   // HERDR_BIN_PATH; default: the running executable
	Dir     string   // working directory of the server; default: the process's own
	Stdin   *os.File // of hooks; default: the process's own
	Dialect Dialect  // default: Herdr082()
	Timings Timings  // default: ShortTimings()
	Cols    int      // of a pane; default 94
	Rows    int      // of a pane; default 39
	// Toasts is herdr's [ui.toast] delivery: "off" (default), "herdr",
	// "terminal" or "system".
	Toasts string
	// ClientAttached plays a person's terminal.
	ClientAttached bool
	// Lacks are methods that the server does not know, as an older one.
	Lacks []string
	// NoResume is resume_agents_on_restore = false.
	NoResume bool
	// OnAnswer sees each answer line as it is sent.
	OnAnswer func(method string, line []byte)
}

// Option changes the Config of Start.
type Option func(*Config)

// WithDialect plays another version.
func WithDialect(d Dialect) Option { return func(c *Config) { c.Dialect = d } }

// WithTimings sets the pauses.
func WithTimings(t Timings) Option { return func(c *Config) { c.Timings = t } }

// WithToasts sets the delivery of notifications.
func WithToasts(delivery string) Option { return func(c *Config) { c.Toasts = delivery } }

// WithPath puts a folder first in the server's PATH, for stand-in programs.
func WithPath(dir string) Option {
	return func(c *Config) { c.Env = append(c.environ(), "PATH="+dir+":"+lookup(c.environ(), "PATH")) }
}

// WithEnv adds to the server's environment, which panes and hooks inherit.
func WithEnv(env ...string) Option { return func(c *Config) { c.Env = append(c.environ(), env...) } }

// Start starts a server with a home directory of its own, and ends it with the
// test.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	// Not t.TempDir: its long names overflow the kernel's limit on socket paths.
	root, err := os.MkdirTemp("", "herdr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	cfg := Config{Home: filepath.Join(root, "home")}
	for _, opt := range opts {
		opt(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func (c *Config) environ() []string {
	if c.Env != nil {
		return c.Env
	}
	var env []string
	for _, kv := range os.Environ() {
		if !ofSession(kv) {
			env = append(env, kv)
		}
	}
	return env
}

// ofSession reports whether a variable tells of the terminal or the agent that
// the tests run in, or of a person's own settings.
func ofSession(kv string) bool {
	for _, prefix := range []string{"HERDR_", "XDG_", "TERM=", "CLAUDE", "SESSIONHUB_"} {
		if strings.HasPrefix(kv, prefix) {
			return true
		}
	}
	return false
}

func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// complete fills in the defaults.
func (c *Config) complete() error {
	if c.Home == "" {
		return fmt.Errorf("herdrtest: no home directory given")
	}
	c.Env = append(c.environ(), "HOME="+c.Home)
	if c.Shell == "" {
		c.Shell = "/bin/sh"
		if _, err := os.Stat("/bin/bash"); err == nil {
			c.Shell = "/bin/bash"
		}
	}
	if c.Dialect == (Dialect{}) {
		c.Dialect = Herdr082()
	}
	if c.Timings == (Timings{}) {
		c.Timings = ShortTimings()
	}
	c.Cols, c.Rows = orInt(c.Cols, 94), orInt(c.Rows, 39)
	if c.Toasts == "" {
		c.Toasts = "off"
	}
	if c.Dir == "" {
		c.Dir, _ = os.Getwd()
	}
	if c.Stdin == nil {
		c.Stdin = os.Stdin
	}
	if c.BinPath == "" {
		c.BinPath, _ = os.Executable()
	}
	return os.MkdirAll(c.Home, 0o755)
}

func orInt(n, def int) int {
	if n != 0 {
		return n
	}
	return def
}
