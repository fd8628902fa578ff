package fakecli

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"sessionhub/lib/herdr"
	"sessionhub/lib/herdr/herdrtest"
)

const pluginID = "cli:plugin"

func (c *cli) plugin(args []string) int {
	if len(args) == 0 {
		return c.usage("herdr plugin commands: link, unlink, enable, disable, list, config-dir, log, action, pane")
	}
	name, rest := args[0], args[1:]
	switch name {
	case "link":
		return c.linkPlugin(rest)
	case "list":
		return c.listPlugins(rest)
	case "config-dir":
		if len(rest) != 1 {
			return c.usage("usage: herdr plugin config-dir <plugin_id>")
		}
		fmt.Fprintln(c.Stdout, c.configDir(rest[0]))
		return 0
	case "logs":
		return c.verb(logVerb(), rest)
	case "unlink", "enable", "disable":
		v := one("plugin", name, "plugin_id")
		v.id = pluginID
		return c.verb(v, rest)
	}
	if len(rest) > 0 {
		if v, known := pluginVerbs()[name+" "+rest[0]]; known {
			return c.verb(v, rest[1:])
		}
	}
	return c.usage("herdr plugin commands: link, unlink, enable, disable, list, config-dir, log, action, pane")
}

func (c *cli) configDir(id string) string {
	return filepath.Join(filepath.Dir(herdr.SessionSocket("", c.Getenv)), "plugins", "config", id)
}

func logVerb() verb {
	return verb{id: pluginID, method: "plugin.log.list", spec: spec{value: "plugin limit"},
		params: func(p parsed) map[string]any {
			m := p.copy(map[string]any{}, "plugin:plugin_id")
			p.number(m, "limit", "limit")
			return m
		}}
}

func pluginVerbs() map[string]verb {
	return map[string]verb{
		"log list": logVerb(),
		"action list": {id: pluginID, method: "plugin.action.list", spec: spec{value: "plugin"},
			params: func(p parsed) map[string]any { return p.copy(map[string]any{}, "plugin:plugin_id") }},
		"action invoke": {id: pluginID, method: "plugin.action.invoke", spec: spec{least: 1, value: "plugin"},
			usage: "herdr plugin action invoke <action_id> [--plugin ID]",
			params: func(p parsed) map[string]any {
				return p.copy(map[string]any{"action_id": p.words[0]}, "plugin:plugin_id")
			}},
		"pane open": {id: pluginID, method: "plugin.pane.open",
			spec: spec{value: "plugin entrypoint placement width height workspace target-pane direction cwd env", bools: "focus no-focus"},
			params: func(p parsed) map[string]any {
				m := p.copy(map[string]any{"focus": !p.has("no-focus")}, "plugin:plugin_id", "entrypoint", "placement",
					"workspace:workspace_id", "target-pane:target_pane_id", "direction", "cwd")
				if p.has("env") {
					m["env"] = p.pairs("env")
				}
				return m
			}},
		"pane close": {id: pluginID, method: "plugin.pane.close", spec: spec{least: 1}, usage: "herdr plugin pane close <pane_id>",
			params: func(p parsed) map[string]any { return map[string]any{"pane_id": p.words[0]} }},
		"pane focus": {id: pluginID, method: "plugin.pane.focus", spec: spec{least: 1}, usage: "herdr plugin pane focus <pane_id>",
			params: func(p parsed) map[string]any { return map[string]any{"pane_id": p.words[0]} }},
	}
}

// linkPlugin works without a server; then failures are plain text.
func (c *cli) linkPlugin(args []string) int {
	p, err := (spec{bools: "disabled"}).parse(args)
	if err != nil {
		return c.usage(err.Error())
	}
	if len(p.words) != 1 {
		return c.usage("usage: herdr plugin link <path> [--disabled]")
	}
	path, _ := filepath.Abs(p.words[0])
	params := map[string]any{"path": path, "enabled": !p.has("disabled")}
	if running(c.socket) {
		line, code := c.call(pluginID, "plugin.link", params)
		c.Stdout.Write(line)
		return code
	}
	line, lerr := herdrtest.Offline(c.Getenv, c.dialect(), "plugin.link", pluginID, params)
	if lerr != nil {
		message := lerr.Error()
		if e, ok := lerr.(*herdr.Error); ok {
			message = e.Message
		}
		fmt.Fprintf(c.Stderr, "Error: Custom { kind: Other, error: %q }\n", message)
		return 1
	}
	c.Stdout.Write(line)
	return 0
}

func (c *cli) listPlugins(args []string) int {
	p, err := (spec{value: "plugin", bools: "json"}).parse(args)
	if err != nil {
		return c.usage(err.Error())
	}
	params := p.copy(map[string]any{}, "plugin:plugin_id")
	line, lerr := herdrtest.Offline(c.Getenv, c.dialect(), "plugin.list", pluginID, params)
	if lerr != nil {
		fmt.Fprintln(c.Stderr, lerr)
		return 1
	}
	if p.has("json") {
		c.Stdout.Write(line)
		return 0
	}
	var a struct {
		Result struct{ Plugins []herdr.Plugin }
	}
	json.Unmarshal(line, &a)
	c.printPlugins(a.Result.Plugins)
	return 0
}

func (c *cli) printPlugins(list []herdr.Plugin) {
	switch len(list) {
	case 0:
		fmt.Fprintln(c.Stdout, "No plugins installed.")
		return
	case 1:
		fmt.Fprintln(c.Stdout, "1 plugin installed:")
	default:
		fmt.Fprintf(c.Stdout, "%d plugins installed:\n", len(list))
	}
	for _, p := range list {
		state := "disabled"
		if p.Enabled {
			state = "enabled"
		}
		fmt.Fprintf(c.Stdout, "- %s (%s) %s [local:%s]\n  config: %s\n", p.PluginID, p.Name, state, p.PluginRoot, c.configDir(p.PluginID))
	}
}
