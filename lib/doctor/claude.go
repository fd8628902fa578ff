package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/text"
)

const (
	// claudeLimit bounds `claude mcp get`, which starts a runtime of 400 MB and
	// then the server that it asks after.
	claudeLimit = 30 * time.Second
	// answerWait is how long Claude Code itself is patient with a server that
	// starts.
	answerWait = 5 * time.Second
	// answerLimit bounds the check, with the end of the server.
	answerLimit = 10 * time.Second
	// firingGrace is how old a session must be: its hooks run at its start.
	firingGrace = 5 * time.Second
)

// wantedTools are the tools that the MCP server must have.
var wantedTools = []string{"inbox", "report", "sessions", "set_title"}

// hooks looks at the entries in Claude Code's settings.
func (d *Doctor) hooks(ctx context.Context, _ Known) Finding {
	p := d.Hooks(ctx)
	switch {
	case p.State == missing && !p.Leftover:
		return notSetUp(p.Do, "%s runs no hook of sessionhub: titles, prompts and ends come late, or not at all", p.Path)
	case p.State == missing:
		return broken(p.Do, "%s runs no hook of sessionhub any more", p.Path)
	case p.State == off:
		return broken(`take "disableAllHooks" out of `+p.Path, `"disableAllHooks" is true in %s: Claude Code runs no hook`, p.Path)
	case p.State != ready:
		return broken(p.Do, "%s: %s", p.Path, p.Detail)
	}
	for _, program := range p.Programs {
		if err := executable(program); err != nil {
			return broken("make install, then shinstall hooks", "%s runs %s: %v", p.Path, program, err)
		}
	}
	return fine("%s in %s", p.Detail, p.Path)
}

// firing compares the sessions that live with the marks that hooks leave (field
// report A29): what stands in settings.json may not run all the same.
func (d *Doctor) firing(context.Context, Known) Finding {
	list, err := d.Registry()
	if errors.Is(err, claude.ErrNoRegistry) {
		return untested("%v", err)
	}
	if err != nil {
		return broken("", "%v", err)
	}
	since := d.hooked()
	var seen, young int
	var silent []string
	for _, p := range list {
		if !p.Interactive() || p.Began().Before(since) {
			continue
		}
		if d.Now().Sub(p.Began()) < firingGrace {
			young++
			continue
		}
		if _, err := os.Stat(d.Dir.HookSeen(p.SessionID)); err == nil {
			seen++
		} else {
			silent = append(silent, text.Line(p.SessionID)+" in "+text.Line(p.Cwd))
		}
	}
	switch {
	case len(silent) > 0:
		return broken("was it started with --bare or --safe-mode, or does its project's .claude/settings.json set disableAllHooks? /hooks shows what it has; end it, and start it again",
			"no hook ran in %s", some(silent))
	case seen == 0 && young > 0:
		return untested("a session began just now, and its hooks have %s to run: ask again then", firingGrace)
	case seen == 0:
		return untested("no session runs that began after the hooks were added: start claude, and ask again")
	}
	return fine("they ran in %s", count(seen, "session"))
}

// hooked is since when the hooks are there, as far as files tell: the copy of
// the settings is made with them, and the settings may have changed since.
func (d *Doctor) hooked() time.Time {
	settings := filepath.Join(string(d.ClaudeHome), "settings.json")
	at := modified(settings)
	if copied := modified(settings + d.Backup); !copied.IsZero() && copied.Before(at) {
		at = copied
	}
	return at
}

// mcp looks how Claude Code knows the MCP server.
func (d *Doctor) mcp(ctx context.Context, _ Known) Finding {
	if d.Claude == "" {
		return notSetUp("install Claude Code, then shinstall mcp", "claude is not on your PATH")
	}
	p := d.MCP(ctx)
	d.registered = p.Path
	switch p.State {
	case ready:
		return fine("%s mcp is registered", p.Path)
	case missing:
		return notSetUp(p.Do, "Claude Code knows no MCP server sessionhub: sessions can't report or name themselves")
	}
	return broken(orElse(p.Do, "claude mcp list tells more"), "%s", strings.TrimSpace(p.Path+" "+p.Detail))
}

// answers starts the server as Claude Code does, and asks for its tools.
func (d *Doctor) answers(ctx context.Context, _ Known) Finding {
	argv := []string{d.registered, "mcp"}
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	began := d.Now()
	names, err := d.Tools(ctx, argv)
	const fix = "make install, then shinstall mcp"
	switch {
	case err != nil && ctx.Err() != nil:
		return broken(fix, "%s gave no answer within %s", strings.Join(argv, " "), answerWait)
	case err != nil:
		return broken(fix, "%s: %s", strings.Join(argv, " "), text.Cut(text.Line(err.Error()), 300))
	}
	for _, want := range wantedTools {
		if !slices.Contains(names, want) {
			return broken(fix, "%s lacks the tool %s", strings.Join(argv, " "), want)
		}
	}
	return fine("it answers in %s, with %s", d.Now().Sub(began).Round(time.Millisecond), count(len(names), "tool"))
}
