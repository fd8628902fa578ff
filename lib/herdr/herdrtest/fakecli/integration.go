package fakecli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sessionhub/lib/shell"
)

// hookVersion is that of the hook for Claude which 0.8.2 installs.
const hookVersion = 8

// hookScript does nothing: the stand-in for Claude reports its session itself.
const hookScript = "#!/bin/sh\n# installed by herdr\n# managed by herdr; reinstalling or updating the integration overwrites this file.\n# HERDR_INTEGRATION_ID=claude\n# HERDR_INTEGRATION_VERSION=%d\nexit 0\n"

// integration is `herdr integration`, of which this project needs the hook for
// Claude. It needs no server. Like the real one it tells the hook from its file
// alone, whatever settings.json says.
func (c *cli) integration(args []string) int {
	usage := "Manage built-in agent integrations\n\nUsage: herdr integration [COMMAND]"
	if len(args) == 0 {
		return c.usage(usage)
	}
	home := c.Getenv("CLAUDE_CONFIG_DIR")
	if home == "" {
		home = filepath.Join(c.Getenv("HOME"), ".claude")
	}
	script := filepath.Join(home, "hooks", "herdr-agent-state.sh")
	switch args[0] {
	case "status":
		if len(args) > 1 {
			fmt.Fprintln(c.Stderr, "usage: herdr integration status [--outdated-only]")
			return 2
		}
		fmt.Fprintf(c.Stdout, "pi: not installed (%s)\n", filepath.Join(c.Getenv("HOME"), ".pi", "agent", "extensions", "herdr-agent-state.ts"))
		fmt.Fprintf(c.Stdout, "claude: %s (%s)\n", hookState(script), script)
		return 0
	case "install", "uninstall":
	default:
		return c.usage(usage)
	}
	if len(args) != 2 || args[1] != "claude" {
		return c.usage("usage: herdr integration " + args[0] + " <claude>")
	}
	settings := filepath.Join(home, "settings.json")
	var err error
	if args[0] == "install" {
		err = c.installHook(home, script, settings)
	} else {
		err = c.uninstallHook(script, settings)
	}
	if err != nil {
		fmt.Fprintln(c.Stderr, err)
		return 1
	}
	return 0
}

func hookState(script string) string {
	b, err := os.ReadFile(script)
	if err != nil {
		return "not installed"
	}
	v := 0
	_, after, _ := strings.Cut(string(b), "HERDR_INTEGRATION_VERSION=")
	if _, err := fmt.Sscanf(after, "%d", &v); err != nil || v < hookVersion {
		return fmt.Sprintf("outdated (v%d < v%d)", v, hookVersion)
	}
	return fmt.Sprintf("current (v%d)", v)
}

func (c *cli) installHook(home, script, settings string) error {
	if _, err := os.Stat(home); err != nil {
		return fmt.Errorf("claude directory not found at %s. install claude code first", home)
	}
	if err := os.MkdirAll(filepath.Dir(script), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(script, fmt.Appendf(nil, hookScript, hookVersion), 0o755); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "installed claude integration hook to %s\n", script)
	group := map[string]any{"matcher": "*", "hooks": []any{map[string]any{
		"type": "command", "command": "bash " + shell.Quote(script) + " session", "timeout": 10,
	}}}
	err := changeSettings(settings, func(groups []any) []any { return append(withoutHook(groups, script), group) })
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "ensured claude settings at %s\n", settings)
	return nil
}

func (c *cli) uninstallHook(script, settings string) error {
	if err := os.Remove(script); err != nil {
		fmt.Fprintf(c.Stdout, "no claude hook found at %s\n", script)
	} else {
		fmt.Fprintf(c.Stdout, "removed claude hook at %s\n", script)
	}
	if err := changeSettings(settings, func(groups []any) []any { return withoutHook(groups, script) }); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "removed herdr claude hook entries from %s\n", settings)
	return nil
}

// withoutHook drops the groups that run a script.
func withoutHook(groups []any, script string) []any {
	return slices.DeleteFunc(groups, func(g any) bool {
		b, err := json.Marshal(g)
		return err == nil && strings.Contains(string(b), script)
	})
}

// changeSettings changes the groups of SessionStart. Unlike the real one it
// writes the whole file anew.
func changeSettings(path string, change func(groups []any) []any) error {
	set := map[string]any{}
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(b) > 0 {
		if err := json.Unmarshal(b, &set); err != nil {
			return fmt.Errorf("failed to parse %s: %w", path, err)
		}
	}
	hooks, _ := set["hooks"].(map[string]any)
	if hooks == nil {
		hooks = map[string]any{}
	}
	groups, _ := hooks["SessionStart"].([]any)
	if hooks["SessionStart"] = change(groups); len(hooks["SessionStart"].([]any)) == 0 {
		delete(hooks, "SessionStart")
	}
	set["hooks"] = hooks
	if b, err = json.Marshal(set); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}
