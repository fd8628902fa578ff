package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mcpServer is a registered server, in the shape that the real one writes.
type mcpServer struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

// mcpScope is where servers can be registered, the one that counts first.
type mcpScope struct{ name, title string }

var mcpScopes = []mcpScope{
	{"local", "Local config (private to you in this project)"},
	{"project", "Project config (shared via .mcp.json)"},
	{"user", "User config (available in all your projects)"},
}

// mcp is `claude mcp get|add|remove|list` for servers on stdio. It speaks to no
// server: one whose program is there counts as connected.
type mcp struct {
	cwd            string
	stdout, stderr io.Writer
}

func runMCP(args []string) int {
	cwd, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	m := &mcp{cwd: cwd, stdout: os.Stdout, stderr: os.Stderr}
	if len(args) == 0 {
		return m.fail("error: missing command")
	}
	a, err := parseMCP(args[1:])
	if err != nil {
		return m.fail("%v", err)
	}
	switch args[0] {
	case "list":
		return m.list()
	case "get", "add", "remove":
		if len(a.words) == 0 {
			return m.fail("error: missing required argument 'name'")
		}
	default:
		return m.fail("error: unknown command '%s'", args[0])
	}
	switch args[0] {
	case "get":
		return m.get(a.words[0])
	case "remove":
		return m.remove(a.words[0], a.scope)
	}
	return m.add(a)
}

func (m *mcp) fail(format string, args ...any) int {
	fmt.Fprintf(m.stderr, format+"\n", args...)
	return 1
}

// mcpArgs are the words and flags after a verb.
type mcpArgs struct {
	words []string
	scope string
	env   map[string]string
}

// errScope is in the words of the real one.
type errScope string

func (e errScope) Error() string {
	return "Invalid scope: " + string(e) + ". Must be one of: local, user, project, dynamic, enterprise, claudeai, managed, agent"
}

func parseMCP(args []string) (mcpArgs, error) {
	a := mcpArgs{env: map[string]string{}}
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "--":
			a.words = append(a.words, args[i+1:]...)
			return a, nil
		case "-s", "--scope":
			if i++; i == len(args) {
				return a, errors.New("error: option '-s, --scope <scope>' argument missing")
			}
			if a.scope = args[i]; !slices.ContainsFunc(mcpScopes, func(s mcpScope) bool { return s.name == a.scope }) {
				return a, errScope(a.scope)
			}
		case "-e", "--env": // takes several
			for i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				k, v, _ := strings.Cut(args[i], "=")
				a.env[k] = v
			}
		default:
			if strings.HasPrefix(args[i], "-") {
				return a, fmt.Errorf("error: unknown option '%s'", args[i])
			}
			a.words = append(a.words, args[i])
		}
	}
	return a, nil
}

var mcpName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func (m *mcp) add(a mcpArgs) int {
	if len(a.words) < 2 {
		return m.fail("error: missing required argument 'commandOrUrl'")
	}
	name, scope := a.words[0], a.scope
	if scope == "" {
		scope = "local"
	}
	if !mcpName.MatchString(name) {
		return m.fail("Invalid name %s. Names can only contain letters, numbers, hyphens, and underscores.", name)
	}
	s := mcpServer{Type: "stdio", Command: a.words[1], Args: a.words[2:], Env: a.env}
	exists := false
	err := m.change(scope, func(servers map[string]mcpServer) {
		if _, exists = servers[name]; !exists {
			servers[name] = s
		}
	})
	switch {
	case err != nil:
		return m.fail("%v", err)
	case exists:
		return m.fail("MCP server %s already exists in %s config", name, scope)
	}
	fmt.Fprintf(m.stdout, "Added stdio MCP server %s with command: %s %s to %s config\nFile modified: %s\n",
		name, s.Command, strings.Join(s.Args, " "), scope, m.where(scope))
	return 0
}

func (m *mcp) get(name string) int {
	scopes := m.having(name)
	if len(scopes) == 0 {
		return m.unknown(name)
	}
	s := scopes[0]
	if s.name == "project" && len(scopes) > 1 { // one that nobody approved hides nothing
		s = scopes[1]
	}
	server := m.servers(s.name)[name]
	fmt.Fprintf(m.stdout, "%s:\n  Scope: %s\n  Status: %s\n", name, s.title, strings.ReplaceAll(m.health(s.name, server), " — ", "\n  Issue: "))
	fmt.Fprintf(m.stdout, "  Type: stdio\n  Command: %s\n", server.Command)
	fmt.Fprintf(m.stdout, "%s\n  Environment:\n", strings.TrimRight("  Args: "+strings.Join(server.Args, " "), " "))
	for _, k := range slices.Sorted(maps.Keys(server.Env)) {
		fmt.Fprintf(m.stdout, "    %s=%s\n", k, server.Env[k])
	}
	fmt.Fprintf(m.stdout, "\nTo remove this server, run: claude mcp remove %s -s %s\n", name, s.name)
	return 0
}

func (m *mcp) unknown(name string) int {
	known := m.names()
	if len(known) == 0 {
		return m.fail("No MCP server named %q. Run `claude mcp add` to add one.", name)
	}
	return m.fail("No MCP server named %q. Configured servers: %s", name, strings.Join(known, ", "))
}

func (m *mcp) remove(name, scope string) int {
	quoted := name
	if scope == "" {
		scopes := m.having(name)
		switch len(scopes) {
		case 0:
			return m.unknown(name)
		case 1:
			scope, quoted = scopes[0].name, fmt.Sprintf("%q", name)
		default:
			return m.ambiguous(name, scopes)
		}
	}
	found := false
	err := m.change(scope, func(servers map[string]mcpServer) {
		_, found = servers[name]
		delete(servers, name)
	})
	switch {
	case err != nil:
		return m.fail("%v", err)
	case !found:
		return m.fail("No MCP server named %q in %s scope", name, scope)
	}
	fmt.Fprintf(m.stdout, "Removed MCP server %s from %s config\nFile modified: %s\n", quoted, scope, m.where(scope))
	return 0
}

func (m *mcp) ambiguous(name string, scopes []mcpScope) int {
	fmt.Fprintf(m.stderr, "MCP server %q exists in multiple scopes:\n", name)
	for _, s := range scopes {
		fmt.Fprintf(m.stderr, "  - %s (%s)\n", s.title, m.where(s.name))
	}
	fmt.Fprintln(m.stderr, "\nTo remove from a specific scope, use:")
	for _, s := range scopes {
		fmt.Fprintf(m.stderr, "  claude mcp remove %s -s %s\n", name, s.name)
	}
	return 1
}

func (m *mcp) list() int {
	names := m.names()
	if len(names) == 0 {
		fmt.Fprintln(m.stdout, "No MCP servers configured. Use `claude mcp add` to add a server.")
		return 0
	}
	fmt.Fprint(m.stdout, "Checking MCP server health…\n\n")
	for _, n := range names {
		scope := m.having(n)[0].name
		s := m.servers(scope)[n]
		fmt.Fprintf(m.stdout, "%s: %s %s - %s\n", n, s.Command, strings.Join(s.Args, " "), m.health(scope, s))
	}
	return 0
}

func (m *mcp) health(scope string, s mcpServer) string {
	if scope == "project" {
		return "⏸ Pending approval (run `claude` to approve)"
	}
	if _, err := os.Stat(s.Command); err != nil {
		return fmt.Sprintf("✘ Failed to connect — ENOENT: no such file or directory, posix_spawn '%s'", s.Command)
	}
	return "✔ Connected"
}

// names are those of all scopes that count here, one each.
func (m *mcp) names() []string {
	all := map[string]bool{}
	for _, s := range mcpScopes {
		for n := range m.servers(s.name) {
			all[n] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// having are the scopes that have a server of that name.
func (m *mcp) having(name string) []mcpScope {
	var list []mcpScope
	for _, s := range mcpScopes {
		if _, ok := m.servers(s.name)[name]; ok {
			list = append(list, s)
		}
	}
	return list
}

func (m *mcp) file(scope string) string {
	if scope == "project" {
		return filepath.Join(m.cwd, ".mcp.json")
	}
	return settingsPath()
}

func (m *mcp) where(scope string) string {
	if scope == "local" {
		return m.file(scope) + " [project: " + m.cwd + "]"
	}
	return m.file(scope)
}

// mcpFile is what of a file matters here; the rest is kept.
type mcpFile map[string]json.RawMessage

func (m *mcp) read(scope string) (mcpFile, error) {
	f := mcpFile{}
	b, err := os.ReadFile(m.file(scope))
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	return f, json.Unmarshal(b, &f)
}

func (f mcpFile) get(key string, v any) {
	if raw, ok := f[key]; ok {
		_ = json.Unmarshal(raw, v) // what has another shape holds no servers
	}
}

func (f mcpFile) set(key string, v any) error {
	raw, err := json.Marshal(v)
	f[key] = raw
	return err
}

func (m *mcp) servers(scope string) map[string]mcpServer {
	f, err := m.read(scope)
	if err != nil {
		return nil
	}
	return m.in(f, scope)
}

func (m *mcp) in(f mcpFile, scope string) map[string]mcpServer {
	if scope == "local" {
		projects := map[string]mcpFile{}
		f.get("projects", &projects)
		f = projects[m.cwd]
	}
	servers := map[string]mcpServer{}
	f.get("mcpServers", &servers)
	return servers
}

// change rewrites the file of a scope.
func (m *mcp) change(scope string, f func(map[string]mcpServer)) error {
	file, err := m.read(scope)
	if err != nil {
		return err
	}
	servers := m.in(file, scope)
	f(servers)
	if scope == "local" {
		projects := map[string]mcpFile{}
		file.get("projects", &projects)
		if projects[m.cwd] == nil {
			projects[m.cwd] = mcpFile{}
		}
		err = errors.Join(projects[m.cwd].set("mcpServers", servers), file.set("projects", projects))
	} else {
		err = file.set("mcpServers", servers)
	}
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(m.file(scope), b, 0o600)
}
