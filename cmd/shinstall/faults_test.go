package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sessionhub/lib/doctor"
	"sessionhub/lib/hub/store"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
)

// fault is something that is broken on purpose, and what the doctor must say.
type fault struct {
	name  string
	from  admission
	do    func(p *patient)
	check string
	state doctor.State // default: Broken
	why   string
	fix   string   // part of it
	also  []string // checks that are broken by the same
	left  bool     // it leaves, or takes, something itself
}

func faults() []fault {
	return slices.Concat(accountFaults(), herdrFaults(), watcherFaults(), claudeFaults())
}

func accountFaults() []fault {
	hour := func() time.Time { return time.Now().Add(5 * time.Minute) }
	return []fault{
		{name: "config broken", check: "config", why: `"nonsense" is not a setting`, do: func(p *patient) {
			p.write(filepath.Join(p.config(), "config.toml"), "nonsense = 1\n")
		}},
		{name: "plain http to another host", check: "config", why: "plain http", do: func(p *patient) {
			p.write(filepath.Join(p.config(), "config.toml"), "server_url = \"http://hub.example.org\"\n")
		}},
		{name: "token file missing", check: "token", why: "does not exist", fix: "shinstall join URL", do: func(p *patient) {
			p.must(os.Remove(filepath.Join(p.config(), "token")))
		}},
		{name: "token open to others", check: "token", why: "others can read", fix: "chmod 600 ", do: func(p *patient) {
			p.must(os.Chmod(filepath.Join(p.config(), "token"), 0o644))
		}},
		{name: "token revoked", check: "access", why: "unknown or was revoked", fix: "shinstall hub", do: func(p *patient) { p.revoke(store.KindMachine) }},
		{name: "token of another machine", check: "access", why: "the token is of the machine laptop, and this is tower", do: func(p *patient) {
			p.write(filepath.Join(p.config(), "token"), p.hub.AddToken(store.Token{Kind: store.KindMachine, Name: "laptop"}))
		}},
		{name: "a user's token in the machine's place", check: "access", why: "this is for machines; the token is a user's", do: func(p *patient) {
			p.write(filepath.Join(p.config(), "token"), p.hub.UserToken)
		}},
		{name: "user token revoked", check: "user-token", why: "unknown or was revoked", do: func(p *patient) { p.revoke(store.KindUser) }},
		{name: "no user token", check: "user-token", state: doctor.NotSetUp, why: "shctl can't ask the hub here", do: func(p *patient) {
			p.must(os.Remove(filepath.Join(p.config(), "user-token")))
		}},
		{name: "hub down", check: "hub", why: "out of reach", fix: "shinstall hub starts it", do: func(p *patient) { p.hub.Down() }, left: true},
		{name: "clock skewed", from: admission{clock: hour}, check: "clock", why: "5m0s behind the hub's", fix: "set by the network"},
	}
}

func (p *patient) revoke(kind string) {
	list, err := p.hub.Store().Tokens(p.t.Context())
	p.must(err)
	for _, t := range list {
		if t.Kind == kind {
			p.must(p.hub.Store().RevokeToken(p.t.Context(), t.ID, time.Now()))
		}
	}
}

func herdrFaults() []fault {
	return []fault{
		{name: "herdr too old", check: "herdr", why: `herdr "herdr 0.7.5" is not supported`, fix: "update herdr", do: func(p *patient) {
			p.script("herdr", `[ "$1" = --version ] && exec echo herdr 0.7.5`+"\nexec herdr-real \"$@\"")
		}},
		{name: "herdr missing", check: "herdr", why: "herdr is not on the PATH", fix: "install herdr", do: func(p *patient) { p.must(os.Remove(filepath.Join(p.bin, "herdr"))) }},
		{name: "herdr's server down", check: "herdr-server", why: "no herdr server", fix: "start herdr", left: true, do: func(p *patient) { p.stop() }},
		{name: "herdr looks elsewhere", from: admission{serverEnv: []string{"XDG_STATE_HOME=ROOT/elsewhere"}}, check: "environment",
			why: "/elsewhere/sessionhub for the state directory, and you here ", left: true},
		{name: "herdr with a poor PATH", from: admission{serverEnv: []string{"PATH=/usr/bin:/bin"}}, check: "path", why: "herdr's server does not find claude on its PATH, /usr/bin:/bin"},
		{name: "plugin unlinked", check: "plugin", why: "herdr has the plugin no more", fix: "shinstall plugin", left: true, do: func(p *patient) { p.tool("herdr", "plugin", "unlink", "sessionhub") }},
		{name: "plugin disabled", check: "plugin", why: "the plugin is disabled", fix: "herdr plugin enable sessionhub", left: true, do: func(p *patient) { p.tool("herdr", "plugin", "disable", "sessionhub") }},
		{name: "manifest of another path", check: "plugin", why: "a plugin sessionhub was linked from ", fix: "shinstall plugin", left: true, do: func(p *patient) {
			other := filepath.Join(p.root, "other")
			p.must(os.Mkdir(other, 0o700))
			p.write(filepath.Join(other, "herdr-plugin.toml"), p.read(filepath.Join(p.home, ".local/share/sessionhub/herdr-plugin/herdr-plugin.toml")))
			p.tool("herdr", "plugin", "link", other)
		}},
		{name: "manifest changed", check: "plugin", why: "the manifest is not as this version writes it", left: true, do: func(p *patient) {
			path := filepath.Join(p.home, ".local/share/sessionhub/herdr-plugin/herdr-plugin.toml")
			p.write(path, strings.ReplaceAll(p.read(path), "pane.exited", "pane.closed"))
		}},
		{name: "tool removed", check: "tools", why: "shctl: it does not exist", fix: "make install", do: func(p *patient) { p.must(os.Remove(filepath.Join(p.bin, "shctl"))) }},
		{name: "A30: tools in a folder of a version", from: admission{bin: "sessionhub-1.2.3/bin"}, check: "tools", why: "which goes away with the next upgrade", fix: "--bin-dir"},
		{name: "hook fails", check: "event", why: "which failed: no such luck", also: []string{"mcp-answers"}, do: func(p *patient) { p.script("shq", "echo no such luck >&2; exit 3") }},
		{name: "hook runs, and does nothing", check: "event", why: "and nothing of it arrived in ", also: []string{"mcp-answers"}, do: func(p *patient) { p.script("shq", "exit 0") }},
		{name: "herdr's hook for Claude missing", check: "integration", state: doctor.NotSetUp, why: "not installed; sessions are known by Claude Code's registry all the same",
			fix: "herdr integration install claude", do: func(p *patient) { p.tool("herdr", "integration", "uninstall", "claude") }},
		{name: "herdr's hook outdated", check: "integration", state: doctor.NotSetUp, why: "outdated (v1 < v8)", do: func(p *patient) {
			path := filepath.Join(p.home, ".claude/hooks/herdr-agent-state.sh")
			p.write(path, strings.ReplaceAll(p.read(path), "VERSION=8", "VERSION=1"))
		}},
		{name: "herdr's hook missing, and no registry", check: "integration", why: "nobody tells the ids of sessions", do: func(p *patient) {
			p.tool("herdr", "integration", "uninstall", "claude")
			p.must(os.MkdirAll(filepath.Join(p.home, ".claude", "projects"), 0o700))
			p.must(os.Rename(filepath.Join(p.home, ".claude", "sessions"), filepath.Join(p.root, "sessions")))
		}},
	}
}

func watcherFaults() []fault {
	return []fault{
		{name: "state directory open to others", check: "state", why: "others can get into", fix: "chmod 700 ", do: func(p *patient) { p.must(os.Chmod(p.state(), 0o755)) }},
		{name: "A59: watcher of another version", from: admission{oldWatcher: true}, check: "watcher", why: "is of version 0.9.0, and these tools of 1.0.0", fix: "shinstall plugin"},
		{name: "watcher not running", check: "watcher", why: "no watcher runs: nothing is delivered", do: func(p *patient) {
			p.script("shwatch", "exit 1") // or the next event would start one
			p.stopWatcher()
		}},
		{name: "heartbeats refused", check: "watcher", why: "no heartbeat of ", do: func(p *patient) { p.refuseHeartbeats() }},
		{name: "poll not running", check: "poll", why: "shctl poll does not run", do: func(p *patient) {
			p.script("shctl", "exit 1")
			p.killPoll()
		}},
		{name: "probe not delivered", check: "probe", why: "a record waits in queue.jsonl: the watcher did not take it within 10s", do: func(p *patient) {
			pid := p.watcherPID()
			p.must(syscall.Kill(pid, syscall.SIGSTOP))
			p.t.Cleanup(func() { p.must(syscall.Kill(pid, syscall.SIGCONT)) })
		}},
		{name: "lines set aside", check: "queue", why: "1 line was set aside in queue.bad.jsonl", fix: "shq add puts them back", do: func(p *patient) {
			p.append("no JSON at all\n")
			p.until("it is set aside", func() bool { _, err := os.Stat(filepath.Join(p.state(), "queue.bad.jsonl")); return err == nil })
		}},
		{name: "a record waits long", check: "queue", why: "1 record waits for up to 1h0m", left: true, do: func(p *patient) {
			stamp := queue.NewStamp(time.Now().Add(-time.Hour))
			it, err := record.NewItem(stamp.ID, stamp.At, record.SourceCLI, record.KindState, record.State{AgentState: record.Idle})
			p.must(err)
			it.Pane = &record.Pane{Herdr: p.socket(), PaneID: "w9:p9"}
			line, err := it.Line()
			p.must(err)
			p.append(string(line) + "\n")
		}},
	}
}

func (p *patient) append(text string) {
	f, err := os.OpenFile(filepath.Join(p.state(), "queue.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	p.must(err)
	_, err = f.WriteString(text)
	p.must(err)
	p.must(f.Close())
}

func (p *patient) watcherPID() int {
	line, _, _ := strings.Cut(p.read(filepath.Join(p.state(), "watcher.lock")), "\n")
	pid, err := strconv.Atoi(line)
	p.must(err)
	return pid
}

// killPoll ends the watcher's child, and waits until nobody polls.
func (p *patient) killPoll() {
	p.until("shctl poll has ended", func() bool {
		out, err := exec.Command("ps", "-o", "pid=,args=", "--ppid", strconv.Itoa(p.watcherPID())).Output()
		if err != nil {
			return true // no child
		}
		for line := range strings.Lines(string(out)) {
			f := strings.Fields(line)
			pid, err := strconv.Atoi(f[0])
			if err == nil && strings.Contains(line, "shctl poll") {
				p.must(syscall.Kill(pid, syscall.SIGTERM))
				return false
			}
		}
		return true
	})
}

// refuseHeartbeats lets a long time pass for what the watcher says of itself.
func (p *patient) refuseHeartbeats() {
	p.t.Helper()
	p.must(syscall.Kill(p.watcherPID(), syscall.SIGSTOP))
	pid := p.watcherPID()
	p.t.Cleanup(func() { p.must(syscall.Kill(pid, syscall.SIGCONT)) })
	path := filepath.Join(p.state(), "watcher.json")
	p.write(path, `{"version":"1.0.0","since":"2020-01-01T00:00:00.000Z","servers":{"`+p.socket()+`":{"herdr_session":"default","sessions":1,"error":"refused"}}}`)
}

func claudeFaults() []fault {
	return []fault{
		{name: "a hook missing", check: "hooks", why: "11 of 12 hooks", fix: "shinstall hooks", do: func(p *patient) {
			p.write(p.settings(), strings.Replace(p.read(p.settings()), "hook session-end", "hook gone-astray", 1))
		}},
		{name: "hooks taken out", check: "hooks", why: "runs no hook of sessionhub any more", fix: "shinstall hooks", do: func(p *patient) {
			p.write(p.settings(), strings.ReplaceAll(p.read(p.settings()), "shq hook", "other hook"))
		}},
		{name: "A31: settings.json broken", check: "hooks", why: "line 1", fix: "mend it by hand", do: func(p *patient) {
			p.write(p.settings(), strings.Replace(p.read(p.settings()), "{", "{,", 1))
		}},
		{name: "hooks switched off", check: "hooks", why: `"disableAllHooks" is true`, do: func(p *patient) {
			p.write(p.settings(), strings.Replace(p.read(p.settings()), "{", `{"disableAllHooks":true,`, 1))
		}},
		{name: "A29: a live session without a hook", check: "hooks-run", why: "no hook ran in ", fix: "--bare", do: func(p *patient) {
			p.aged()
			p.must(os.Remove(filepath.Join(p.state(), "hooks", p.session)))
		}},
		{name: "MCP not registered", check: "mcp", state: doctor.NotSetUp, why: "Claude Code knows no MCP server sessionhub", fix: "shinstall mcp", do: func(p *patient) {
			p.tool("claude", "mcp", "remove", "-s", "user", "sessionhub")
		}},
		{name: "MCP is another command", check: "mcp", why: "another command is registered", fix: "shinstall mcp", do: func(p *patient) {
			p.tool("claude", "mcp", "remove", "-s", "user", "sessionhub")
			p.tool("claude", "mcp", "add", "-s", "user", "sessionhub", "--", "/bin/cat")
		}},
		{name: "MCP does not answer", check: "mcp-answers", why: "gave no answer within 5s", do: func(p *patient) { p.script("shq-mcp", "exec sleep 60") }},
		{name: "MCP ends at once", check: "mcp-answers", why: "no such luck", do: func(p *patient) { p.script("shq-mcp", "echo no such luck >&2; exit 1") }},
		{name: "the timer's program is gone", check: "revive", why: "/bin/shrevive does not exist", fix: "shinstall revive", do: func(p *patient) {
			p.tool("shinstall", "revive")
			p.must(os.Remove(filepath.Join(p.bin, "shrevive")))
		}},
		{name: "A47: nobody is signed in", check: "sign-in", why: "could not sign in, in the last turn of ", fix: "/login", do: func(p *patient) {
			cmd := p.command("shq", "hook", "stop")
			cmd.Stdin = strings.NewReader(`{"session_id":"` + p.session + `","hook_event_name":"StopFailure","error":"authentication_failed"}`)
			p.must(cmd.Run())
			p.until("the hub knows", func() bool {
				out, err := p.command("shctl", "show", "--json", p.session).Output()
				return err == nil && strings.Contains(string(out), "authentication_failed")
			})
		}},
	}
}
