package install

import (
	"context"
	"fmt"
	"strings"

	"sessionhub/lib/claude"
)

// MCPName is the name of the server that Claude Code is told of.
const MCPName = "sessionhub"

// MCP registers `shq mcp` as an MCP server of the user, so that every session
// of Claude Code has its tools. Claude's own command does it: ~/.claude.json is
// rewritten whole by every process of Claude, so nobody else may write it.
type MCP struct {
	Tools  Tools
	Claude string // the program; "" looks on the PATH
	Getenv func(string) string
	Home   string // Claude Code's folder, when it is not the one of the environment
	Dir    string // the folder whose own registrations are told of; "" is none
}

// neutral is a folder without registrations of its own: `claude mcp get` tells
// of the user's only where no folder's hides it.
const neutral = "/"

// Name is "mcp".
func (m *MCP) Name() string { return "mcp" }

// server is what `claude mcp get` says of a server.
type server struct {
	scope, kind, command, args string
	env                        bool
}

// userScope begins the scope of servers that are registered for the user.
const userScope = "User config"

func (m *MCP) want() server {
	return server{scope: userScope, kind: "stdio", command: m.Tools.Path("shq"), args: "mcp"}
}

// Install registers the server, or registers it anew when it is another.
func (m *MCP) Install(ctx context.Context, r *Run) error {
	if err := m.Tools.Check("shq"); err != nil {
		return err
	}
	claude, err := m.claude()
	if err != nil {
		return err
	}
	have, err := m.get(ctx, claude, neutral)
	if err != nil {
		return err
	}
	if have == m.want() {
		r.Unchanged("register", "%s runs %s mcp", MCPName, have.command)
	} else if err := m.register(ctx, r, claude, have); err != nil {
		return err
	}
	return m.tellOthers(ctx, r, claude)
}

func (m *MCP) register(ctx context.Context, r *Run, claude string, have server) error {
	if have.scope == userScope {
		if err := m.unregister(ctx, r, claude); err != nil {
			return err
		}
		ctx = context.WithoutCancel(ctx) // half of it done would be worse
	}
	add := m.command(claude, neutral, "add", "-s", "user", MCPName, "--", m.want().command, "mcp")
	out, ran, err := r.Do(ctx, "register", add)
	if err != nil || !ran {
		return err
	}
	if out.Code != 0 {
		return fmt.Errorf("%s: %s", add.Line(), out.Line())
	}
	if have, err = m.get(ctx, claude, neutral); err != nil {
		return err
	}
	if have != m.want() {
		return fmt.Errorf("claude registered %s, but reads it back as %q %q in %q", MCPName, have.command, have.args, have.scope)
	}
	r.Changed("register", "%s runs %s mcp, in every session started from now on", MCPName, have.command)
	return nil
}

func (m *MCP) unregister(ctx context.Context, r *Run, claude string) error {
	remove := m.command(claude, neutral, "remove", "-s", "user", MCPName)
	out, ran, err := r.Do(ctx, "unregister", remove)
	if err != nil || !ran {
		return err
	}
	if out.Code != 0 {
		return fmt.Errorf("%s: %s", remove.Line(), out.Line())
	}
	r.Changed("unregister", "%s is gone from the user's servers", MCPName)
	return nil
}

// Remove takes the user's registration away.
func (m *MCP) Remove(ctx context.Context, r *Run) error {
	claude, err := m.claude()
	if err != nil {
		return err
	}
	have, err := m.get(ctx, claude, neutral)
	if err != nil {
		return err
	}
	if have.scope != userScope {
		r.Unchanged("unregister", "%s is not registered", MCPName)
	} else if err := m.unregister(ctx, r, claude); err != nil {
		return err
	}
	return m.tellOthers(ctx, r, claude)
}

// tellOthers tells of a server of the same name that hides the user's in the
// folder where this runs.
func (m *MCP) tellOthers(ctx context.Context, r *Run, claude string) error {
	if m.Dir == "" || m.Dir == neutral {
		return nil
	}
	have, err := m.get(ctx, claude, m.Dir)
	if err != nil || have == (server{}) || have.scope == userScope {
		return err
	}
	scope, _, _ := strings.Cut(strings.ToLower(have.scope), " ")
	r.Note("scope", "in %s another %s is registered (%s), which hides the user's there: claude mcp remove -s %s %s takes it away", m.Dir, MCPName, have.scope, scope, MCPName)
	return nil
}

// Look tells how the server is registered.
func (m *MCP) Look(ctx context.Context) Part {
	p := Part{Part: m.Name(), State: Missing, Do: "shinstall mcp"}
	claude, err := m.claude()
	if err != nil {
		p.State, p.Detail, p.Do = Unclear, err.Error(), ""
		return p
	}
	have, err := m.get(ctx, claude, neutral)
	switch {
	case err != nil:
		p.State, p.Detail, p.Do = Unclear, err.Error(), ""
	case have == m.want():
		p.State, p.Path, p.Do = Ready, have.command, ""
	case have.scope == userScope:
		p.State, p.Path = Stale, have.command
		p.Detail = "another command is registered"
	}
	return p
}

func (m *MCP) command(program, dir string, args ...string) Command {
	c := Command{Argv: append([]string{program, "mcp"}, args...), Dir: dir, Env: claude.Quiet()}
	if m.Home != "" {
		c.Env = append(c.Env, "CLAUDE_CONFIG_DIR="+m.Home)
	}
	return c
}

// Program finds Claude Code.
func (m *MCP) Program() (string, error) { return m.claude() }

func (m *MCP) claude() (string, error) { return program(m.Claude, "claude", "--claude", m.Getenv) }

// get asks Claude which server of our name counts in a folder; the zero server
// is none.
func (m *MCP) get(ctx context.Context, claude, dir string) (server, error) {
	c := m.command(claude, dir, "get", MCPName)
	out, err := Ask(ctx, c)
	if err != nil {
		return server{}, err
	}
	if out.Code != 0 {
		if strings.Contains(string(out.Stderr)+string(out.Stdout), "No MCP server named") {
			return server{}, nil
		}
		return server{}, fmt.Errorf("%s: %s", c.Line(), out.Line())
	}
	return parseServer(string(out.Stdout)), nil
}

// parseServer reads the indented "Key: value" lines of `claude mcp get`.
func parseServer(out string) server {
	var s server
	env := false
	for line := range strings.Lines(out) {
		if env && strings.HasPrefix(line, "    ") {
			s.env = true
			continue
		}
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		env = key == "Environment"
		switch key {
		case "Scope":
			s.scope = value
			if strings.HasPrefix(value, userScope) {
				s.scope = userScope
			}
		case "Type":
			s.kind = value
		case "Command":
			s.command = value
		case "Args":
			s.args = value
		}
	}
	return s
}
