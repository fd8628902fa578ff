package claudetest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mcpTalk is what Claude Code 2.1.332 was captured to say: HOME and CWD stand
// for its folders, and no server's program is there.
var mcpTalk = []struct {
	args     string
	code     int
	out, err string
}{
	{"list", 0, "No MCP servers configured. Use `claude mcp add` to add a server.\n", ""},
	{"get hub", 1, "", "No MCP server named \"hub\". Run `claude mcp add` to add one.\n"},
	{"add -s user hub -- /bin/none --stdio", 0, "Added stdio MCP server hub with command: /bin/none --stdio to user config\nFile modified: HOME/.claude.json\n", ""},
	{"add --scope user hub -- other", 1, "", "MCP server hub already exists in user config\n"},
	{"get hub", 0, `hub:
  Scope: User config (available in all your projects)
  Status: ✘ Failed to connect
  Issue: ENOENT: no such file or directory, posix_spawn '/bin/none'
  Type: stdio
  Command: /bin/none
  Args: --stdio
  Environment:

To remove this server, run: claude mcp remove hub -s user
`, ""},
	{"add hub -- /bin/local", 0, "Added stdio MCP server hub with command: /bin/local  to local config\nFile modified: HOME/.claude.json [project: CWD]\n", ""},
	{"add -s project hub -- /bin/p", 0, "Added stdio MCP server hub with command: /bin/p  to project config\nFile modified: CWD/.mcp.json\n", ""},
	{"get hub", 0, `hub:
  Scope: Local config (private to you in this project)
  Status: ✘ Failed to connect
  Issue: ENOENT: no such file or directory, posix_spawn '/bin/local'
  Type: stdio
  Command: /bin/local
  Args:
  Environment:

To remove this server, run: claude mcp remove hub -s local
`, ""},
	{"remove hub", 1, "", `MCP server "hub" exists in multiple scopes:
  - Local config (private to you in this project) (HOME/.claude.json [project: CWD])
  - Project config (shared via .mcp.json) (CWD/.mcp.json)
  - User config (available in all your projects) (HOME/.claude.json)

To remove from a specific scope, use:
  claude mcp remove hub -s local
  claude mcp remove hub -s project
  claude mcp remove hub -s user
`},
	{"remove nosuch", 1, "", "No MCP server named \"nosuch\". Configured servers: hub\n"},
	{"remove -s user nosuch", 1, "", "No MCP server named \"nosuch\" in user scope\n"},
	{"get nosuch", 1, "", "No MCP server named \"nosuch\". Configured servers: hub\n"},
	{"remove hub -s local", 0, "Removed MCP server hub from local config\nFile modified: HOME/.claude.json [project: CWD]\n", ""},
	{"get hub", 0, `hub:
  Scope: User config (available in all your projects)
  Status: ✘ Failed to connect
  Issue: ENOENT: no such file or directory, posix_spawn '/bin/none'
  Type: stdio
  Command: /bin/none
  Args: --stdio
  Environment:

To remove this server, run: claude mcp remove hub -s user
`, ""},
	{"remove hub -s project", 0, "Removed MCP server hub from project config\nFile modified: CWD/.mcp.json\n", ""},
	{"remove hub", 0, "Removed MCP server \"hub\" from user config\nFile modified: HOME/.claude.json\n", ""},
	{"add -s user hub2 -e A=b -- /bin/none", 0, "Added stdio MCP server hub2 with command: /bin/none  to user config\nFile modified: HOME/.claude.json\n", ""},
	{"get hub2", 0, `hub2:
  Scope: User config (available in all your projects)
  Status: ✘ Failed to connect
  Issue: ENOENT: no such file or directory, posix_spawn '/bin/none'
  Type: stdio
  Command: /bin/none
  Args:
  Environment:
    A=b

To remove this server, run: claude mcp remove hub2 -s user
`, ""},
	{"list", 0, "Checking MCP server health…\n\nhub2: /bin/none  - ✘ Failed to connect — ENOENT: no such file or directory, posix_spawn '/bin/none'\n", ""},
	{"add -s nope hub3 -- x", 1, "", "Invalid scope: nope. Must be one of: local, user, project, dynamic, enterprise, claudeai, managed, agent\n"},
	{"add bad! -- x", 1, "", "Invalid name bad!. Names can only contain letters, numbers, hyphens, and underscores.\n"},
	{"add", 1, "", "error: missing required argument 'name'\n"},
	{"add a", 1, "", "error: missing required argument 'commandOrUrl'\n"},
	{"frob", 1, "", "error: unknown command 'frob'\n"},
}

// talkMCP holds a Claude's `mcp` commands to what was captured.
func talkMCP(t *testing.T, bin string, env ...string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cwd := filepath.Join(home, "app")
	if err := os.Mkdir(cwd, 0o755); err != nil {
		t.Fatal(err)
	}
	folders := strings.NewReplacer("HOME", home, "CWD", cwd)
	for _, c := range mcpTalk {
		cmd := exec.Command(bin, append([]string{"mcp"}, strings.Fields(c.args)...)...)
		cmd.Dir, cmd.Env = cwd, append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, env...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != c.code || out.String() != folders.Replace(c.out) || errs.String() != folders.Replace(c.err) {
			t.Errorf("claude mcp %s: exit %d, %q, %q", c.args, code, out.String(), errs.String())
		}
	}
}

func TestMCP(t *testing.T) { talkMCP(t, filepath.Join(Build(t), "claude")) }
