package main

import (
	"flag"
	"os"
	"path/filepath"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/claude"
	"sessionhub/lib/config"
	"sessionhub/lib/install"
)

// options are the flags of all hook-ups: one call can name several, so each
// takes those of all.
type options struct {
	remove, dryRun, json bool
	binDir               string
	claude, herdr        string
	answers              bool
	serve                install.Serve
	replace              bool
}

func (o *options) flags(fs *flag.FlagSet) {
	fs.BoolVar(&o.remove, "remove", false, "take away what was hooked up")
	fs.BoolVar(&o.dryRun, "dry-run", false, "show the changes, and make none")
	fs.BoolVar(&o.json, "json", false, "JSON lines, also on a terminal")
	fs.StringVar(&o.binDir, "bin-dir", "", "`folder` of the tools, in place of the one that shinstall was found in")
	fs.BoolVar(&o.answers, "answers", false, "for hooks: allow that what sessions ask is answered from afar")
	fs.StringVar(&o.serve.Listen, "listen", "127.0.0.1:7733", "for hub: the `address` to listen on")
	fs.StringVar(&o.serve.Cert, "tls-cert", "", "for hub: the certificate's `file` (PEM)")
	fs.StringVar(&o.serve.Key, "tls-key", "", "for hub: the key's `file` (PEM)")
	fs.BoolVar(&o.serve.Insecure, "insecure", false, "for hub: serve others without TLS, behind a proxy that has it")
	fs.StringVar(&o.serve.Notify, "notify", "", "for hub: push a note when a session waits, to the topics of ntfy in this `file`")
	fs.StringVar(&o.serve.Link, "notify-link", "", "for hub: the `address` at which a phone opens the hub's page from a push")
	fs.BoolVar(&o.serve.Detail, "notify-detail", false, "for hub: push the first line of what is asked, too")
	fs.BoolVar(&o.replace, "replace", false, "for join: leave the hub that this machine is joined to")
	o.programs(fs)
}

// programs are the flags that name other programs.
func (o *options) programs(fs *flag.FlagSet) {
	fs.StringVar(&o.claude, "claude", "", "for mcp and revive: Claude Code's `program`, in place of the one on the PATH")
	fs.StringVar(&o.herdr, "herdr", "", "for plugin: herdr's `program`, in place of $HERDR_BIN_PATH and the one on the PATH")
}

// hookUp is what can be named on the command line. Their order in hookUps is
// the one in which they are carried out.
type hookUp struct {
	name, short, long string
	args              string // such as "URL"; one word each
	files             []string
	exits             []front.Exit
	examples          []front.Example
	target            func(c *front.Call, o options, t install.Tools, args []string) (install.Target, error)
}

func hookUps() []hookUp {
	return []hookUp{hubHookUp(), joinHookUp(), pluginHookUp(), hooksHookUp(), mcpHookUp(), reviveHookUp()}
}

func pluginHookUp() hookUp {
	return hookUp{
		name: "plugin", short: "link the plugin into herdr",
		long: `Writes the plugin's manifest and links it into herdr; when herdr knows another
one, unlinks that first, and reads back what herdr lists. A plugin that its user
disabled stays disabled. Then it ends a watcher of another version and, if
herdr's server runs, starts the installed one. It tells which lines herdr's
config.toml needs for keys and for the inbox's count. Linking works without
herdr's server, --remove does not.`,
		files: []string{
			"~/.local/share/sessionhub/herdr-plugin/herdr-plugin.toml  the manifest (XDG_DATA_HOME is heeded)",
			"watcher.lock  says which watcher runs",
		},
		exits:    []front.Exit{{Code: front.ExitUnavailable, When: "herdr was not found, or its server does not run and is needed"}},
		examples: []front.Example{{Line: "shinstall plugin", For: "also after every upgrade"}},
		target: func(c *front.Call, o options, t install.Tools, _ []string) (install.Target, error) {
			data, err := install.DataDir(c.Getenv)
			if err != nil {
				return nil, front.Fail(front.ExitConfig, err)
			}
			w, err := newWatcher(c, t)
			if err != nil {
				return nil, err
			}
			return &install.Plugin{Tools: t, Version: c.Version.Number, Data: data, Herdr: o.herdr, Getenv: c.Getenv, Watcher: w}, nil
		},
	}
}

func hooksHookUp() hookUp {
	return hookUp{
		name: "hooks", short: "add the hooks to Claude Code's settings",
		long: `Adds shq hook to the events of Claude Code's settings.json. Everything else in
the file stays as it is, to the byte; a file that is not valid JSON is not
touched. Sessions that run take the hooks up with their next event.

One of the hooks waits beside each permission prompt, question and plan, and
tells of it. With --answers it may also be answered from afar (shctl answer):
that sets remote_answer = true in config.toml, and tells what it means. --remove
takes it back.`,
		files: []string{
			"config.toml  with --answers: remote_answer",
			"~/.claude/settings.json  Claude Code's settings (CLAUDE_CONFIG_DIR is heeded)",
			"~/.claude/settings.json" + install.BackupSuffix + "  how they are without sessionhub",
		},
		examples: []front.Example{
			{Line: "shinstall hooks --dry-run", For: "what would change"},
			{Line: "shinstall hooks --answers", For: "also allow answers from afar"},
			{Line: "shinstall plugin hooks mcp", For: "hook everything up, or mend it after an upgrade"},
		},
		target: func(c *front.Call, o options, t install.Tools, _ []string) (install.Target, error) {
			h := &install.Hooks{Tools: t, Home: c.Config.ClaudeHome, Rows: install.HookRows()}
			return &install.Answers{Target: h, Path: config.Path(c.Getenv), Allow: o.answers}, nil
		},
	}
}

func mcpHookUp() hookUp {
	return hookUp{
		name: "mcp", short: "register the MCP server with Claude Code",
		long: `Registers the MCP server sessionhub, which is shq mcp, for all sessions of this
user, by way of claude mcp add. A server of that name that is registered for
one folder only, and hides it there, is told.`,
		exits: []front.Exit{{Code: front.ExitUnavailable, When: "claude was not found"}},
		target: func(c *front.Call, o options, t install.Tools, _ []string) (install.Target, error) {
			dir, err := os.Getwd()
			if err != nil {
				dir = "" // a folder that is gone has nothing registered
			}
			m := &install.MCP{Tools: t, Claude: o.claude, Getenv: c.Getenv, Dir: dir}
			if usual, ok := claude.DefaultHome(c.Getenv); !ok || string(usual) != filepath.Clean(c.Config.ClaudeHome) {
				m.Home = c.Config.ClaudeHome
			}
			return m, nil
		},
	}
}
