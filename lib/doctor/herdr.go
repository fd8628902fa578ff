package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"sessionhub/lib/herdr"
	"sessionhub/lib/text"
)

// herdr looks for the program, which links the plugin.
func (d *Doctor) herdr(ctx context.Context, _ Known) Finding {
	p, err := d.HerdrCLI(ctx)
	var old *herdr.VersionError
	switch {
	case errors.As(err, &old):
		return broken("update herdr, and restart its server", "%v", err)
	case err != nil:
		return broken("install herdr "+herdr.MinVersion+" or later, or name it with --herdr", "%v", err)
	}
	return fine("%s, version %s", p.Path, p.Version)
}

// server asks herdr's server, which may be older than the program.
func (d *Doctor) server(ctx context.Context, _ Known) Finding {
	pong, err := d.Herdr.Ping(ctx)
	if err != nil {
		fix := "restart herdr's server"
		var gone *herdr.UnreachableError
		if errors.As(err, &gone) && gone.Gone() {
			fix = "start herdr"
		}
		return broken(fix, "%v", err)
	}
	if err := herdr.CheckVersion(pong.Version); err != nil {
		return broken("restart herdr's server, after an update of herdr", "the server that runs: %v", err)
	}
	return fine("version %s answers at %s", text.Line(pong.Version), d.Socket)
}

// plugin looks at what herdr has linked.
func (d *Doctor) plugin(ctx context.Context, _ Known) Finding {
	p := d.Plugin(ctx)
	switch {
	case p.State == ready:
		return fine("linked, as version %s writes it", d.Version)
	case p.State == missing && !p.Leftover:
		return notSetUp(p.Do, "herdr has no plugin of sessionhub linked")
	case p.State == missing:
		return broken(p.Do, "herdr has the plugin no more: its manifest %s is there, and not linked", p.Path)
	case p.State == off:
		return broken(p.Do, "the plugin is disabled: herdr runs none of its hooks")
	}
	return broken(orElse(p.Do, "shinstall plugin"), "%s", p.Detail)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// tools looks at the programs that others were told to run: herdr by the plugin,
// Claude Code by its hooks.
func (d *Doctor) tools(ctx context.Context, _ Known) Finding {
	list, err := d.Herdr.Plugins(ctx, herdr.OwnPlugin)
	if err != nil {
		return broken("", "%v", err)
	}
	programs := map[string]string{}
	for _, p := range list {
		for _, h := range append(append([]herdr.PluginHook{}, p.Startup...), p.Events...) {
			note(programs, h.Command, "herdr's hook")
		}
		for _, a := range append(append([]herdr.PluginCommand{}, p.Actions...), p.Panes...) {
			note(programs, a.Command, "herdr's action "+a.ID)
		}
	}
	for _, path := range d.Hooks(ctx).Programs {
		programs[path] = "Claude Code's hook"
	}
	for path, who := range programs {
		if err := executable(path); err != nil {
			return broken("make install, then shinstall plugin hooks", "%s runs %s: %v", who, path, err)
		}
	}
	for path, who := range programs {
		if d.Passing(path) {
			return broken("put the tools on the PATH by a path that stays, or run shinstall plugin hooks mcp --bin-dir FOLDER",
				"%s runs %s, which goes away with the next upgrade", who, path)
		}
	}
	return fine("%s are there, by paths that stay", count(len(programs), "tool"))
}

func note(programs map[string]string, command []string, who string) {
	if len(command) > 0 {
		programs[command[0]] = who
	}
}

func executable(path string) error {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return errors.New("it does not exist")
	case !st.Mode().IsRegular() || st.Mode().Perm()&0o111 == 0:
		return errors.New("it is no program")
	}
	return nil
}

// integration looks at herdr's own hook for Claude Code, which tells herdr the
// ids of sessions. The hook's file alone does not run: settings.json must name
// it.
func (d *Doctor) integration(ctx context.Context, _ Known) Finding {
	const fix = "herdr integration install claude"
	out, err := d.Integration(ctx)
	if err != nil {
		return untested("herdr integration status: %v", err)
	}
	what, script := integrationLine(out)
	if what == "" {
		return untested("herdr integration status says nothing of claude")
	}
	if strings.HasPrefix(what, "current") {
		settings, err := os.ReadFile(filepath.Join(string(d.ClaudeHome), "settings.json"))
		if err == nil && strings.Contains(string(settings), script) {
			return fine("herdr's hook for Claude Code is %s", what)
		}
		what = "there, and settings.json does not run it"
	}
	const good = fix + " lets herdr resume conversations after its restart"
	if _, err := d.Registry(); err == nil {
		return notSetUp(good, "herdr's hook for Claude Code is %s; sessions are known by Claude Code's registry all the same", what)
	}
	if _, err := os.Stat(filepath.Join(string(d.ClaudeHome), "projects")); err != nil {
		return notSetUp(good, "herdr's hook for Claude Code is %s; Claude Code has not run yet", what)
	}
	return broken(fix, "herdr's hook for Claude Code is %s, and this Claude Code keeps no registry: nobody tells the ids of sessions", what)
}

// integrationLine is "STATE" and "PATH" of the line "claude: STATE (PATH)".
func integrationLine(out string) (what, path string) {
	for line := range strings.Lines(out) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "claude: ")
		if !ok {
			continue
		}
		i := strings.LastIndex(rest, " (")
		if i < 0 {
			return text.Line(rest), ""
		}
		return text.Line(rest[:i]), strings.TrimSuffix(rest[i+2:], ")")
	}
	return "", ""
}
