package doctor

import (
	"context"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/config"
	"sessionhub/lib/herdr"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// Herdr is what the checks need of a herdr client.
type Herdr interface {
	Ping(ctx context.Context) (herdr.Pong, error)
	Plugins(ctx context.Context, pluginID string) ([]herdr.Plugin, error)
	PluginLogs(ctx context.Context, l herdr.Logs) ([]herdr.LogEntry, error)
	Workspaces(ctx context.Context) ([]herdr.Workspace, error)
	CreateWorkspace(ctx context.Context, w herdr.NewWorkspace) (herdr.Created, error)
	CloseWorkspace(ctx context.Context, workspaceID string) error
	ReportAgent(ctx context.Context, r herdr.AgentReport) error
}

// Hub is what the checks need of a hub client.
type Hub interface {
	Health(ctx context.Context) (record.Health, hubclient.Skew, error)
	Probe(ctx context.Context, key string) error
	OwnSessions(ctx context.Context) ([]record.Session, error)
	Machines(ctx context.Context) ([]record.Machine, error)
}

// Queue is what the checks need of the queue.
type Queue interface {
	Append(d queue.Durability, items ...record.Item) error
	Withdraw(id string) (bool, error)
	Stat() (queue.Stat, error)
	Where(id string) (queue.Place, error)
}

// Part is how something is hooked up, as the installer tells it.
type Part struct {
	State    string // ready, missing, stale, off, unclear
	Detail   string
	Path     string
	Do       string
	Programs []string // that it has others run
	Leftover bool     // missing now, and there are signs that it was there
}

// The states of a Part.
const (
	ready   = "ready"
	missing = "missing"
	off     = "off"
	unclear = "unclear"
)

// Watching is what is known of the watcher.
type Watching struct {
	Running bool
	PID     int
	Version string
	Since   time.Time
	Beats   map[string]Beat // by socket
	Error   string          // the last one
	NoWatch string          // why changes of files are not told to it
	Hint    string
}

// Beat is how the heartbeats of one herdr server go.
type Beat struct {
	LastGood time.Time // zero: none yet
	Error    string
}

// Doctor holds what the checks look at.
type Doctor struct {
	Own     View   // of who asks, as far as a daemon would heed it
	Daemons []View // herdr's server, the watcher

	Conf    config.Config // as the daemons read it
	ConfErr error
	Path    string // of config.toml
	Dir     state.Dir
	Version string // of these tools

	Hub     func(token string) (Hub, error)
	Queue   Queue
	Watcher func() (Watching, error)

	Herdr       Herdr
	Socket      string
	HerdrCLI    func(ctx context.Context) (Program, error)
	HerdrConfig string // path of herdr's config.toml
	// SidebarLines are what lets herdr's sidebar show the inbox's count.
	SidebarLines string
	Integration  func(ctx context.Context) (out string, err error)

	ClaudeHome claude.Home
	Claude     string // the program; "" when it was not found
	Registry   func() ([]claude.Process, error)
	Backup     string // what the name of the copy of Claude's settings ends with

	Plugin, Hooks, MCP, Service, Revive func(ctx context.Context) Part
	// Tools asks an MCP server for the names of its tools.
	Tools func(ctx context.Context, argv []string) ([]string, error)

	Passing    func(path string) bool // does an upgrade take it away?
	FileSystem func(path string) (name string, remote bool, err error)
	Alive      func(pid int) bool
	PID        int
	Now        func() time.Time
	Pause      func(ctx context.Context, d time.Duration)

	registered string // the MCP server's program, found by its check
}

// Program is a program, and its version.
type Program struct{ Path, Version string }

// The names of the checks.
const (
	checkConfig      = "config"
	checkState       = "state"
	checkToken       = "token"
	checkHub         = "hub"
	checkAccess      = "access"
	checkUser        = "user-token"
	checkClock       = "clock"
	checkHerdr       = "herdr"
	checkServer      = "herdr-server"
	checkEnvironment = "environment"
	checkPath        = "path"
	checkPlugin      = "plugin"
	checkTools       = "tools"
	checkWatcher     = "watcher"
	checkPoll        = "poll"
	checkEvent       = "event"
	checkProbe       = "probe"
	checkQueue       = "queue"
	checkIntegration = "integration"
	checkHooks       = "hooks"
	checkFiring      = "hooks-run"
	checkMCP         = "mcp"
	checkAnswers     = "mcp-answers"
	checkSignIn      = "sign-in"
	checkService     = "service"
	checkRevive      = "revive"
	checkRemote      = "remote-start"
	checkRemoteAsks  = "remote-answers"
	checkNotify      = "notifications"
	checkInbox       = "inbox-count"
)

// Checks are the checks in the order in which a record takes its way: what the
// later ones rest on comes first.
func (d *Doctor) Checks() []Check {
	return []Check{
		{Name: checkConfig, Look: d.config},
		{Name: checkState, Look: d.state},
		{Name: checkToken, Needs: []string{checkConfig}, Look: d.token},
		{Name: checkHub, Needs: []string{checkConfig}, Look: d.hub},
		{Name: checkAccess, Needs: []string{checkToken, checkHub}, Look: d.access},
		{Name: checkUser, Needs: []string{checkHub}, Look: d.userToken},
		{Name: checkClock, Needs: []string{checkHub}, Look: d.clock},
		{Name: checkHerdr, Look: d.herdr},
		{Name: checkServer, Look: d.server},
		{Name: checkEnvironment, Look: d.environment, Needs: []string{checkServer}},
		{Name: checkPath, Look: d.path, Needs: []string{checkServer}},
		{Name: checkPlugin, Needs: []string{checkHerdr}, Look: d.plugin},
		{Name: checkTools, Needs: []string{checkServer, checkPlugin}, Look: d.tools},
		{Name: checkWatcher, Look: d.watcher},
		{Name: checkPoll, Needs: []string{checkWatcher}, Look: d.poll},
		{Name: checkEvent, Needs: []string{checkServer, checkPlugin, checkTools}, Limit: eventLimit, Look: d.event},
		{Name: checkProbe, Needs: []string{checkAccess, checkWatcher}, Limit: probeLimit, Look: d.probe},
		{Name: checkQueue, Needs: []string{checkState}, Look: d.queue},
		{Name: checkIntegration, Needs: []string{checkHerdr}, Look: d.integration},
		{Name: checkHooks, Look: d.hooks},
		{Name: checkFiring, Needs: []string{checkHooks}, Look: d.firing},
		{Name: checkMCP, Limit: claudeLimit, Look: d.mcp},
		{Name: checkAnswers, Needs: []string{checkMCP}, Limit: answerLimit, Look: d.answers},
		{Name: checkSignIn, Needs: []string{checkAccess}, Look: d.signIn},
		{Name: checkService, Needs: []string{checkConfig}, Look: d.service},
		{Name: checkRevive, Look: d.revive},
		{Name: checkRemote, Look: d.remoteStart},
		{Name: checkRemoteAsks, Look: d.remoteAnswer},
		{Name: checkNotify, Look: d.notifications},
		{Name: checkInbox, Look: d.inboxCount},
	}
}

// pauseEvery is how often a check looks whether something has happened.
const pauseEvery = 50 * time.Millisecond

// until looks again and again until a condition holds, or the context ends.
func (d *Doctor) until(ctx context.Context, cond func() (bool, error)) (bool, error) {
	for {
		ok, err := cond()
		if ok || err != nil || ctx.Err() != nil {
			return ok, err
		}
		d.Pause(ctx, pauseEvery)
	}
}
