package fakecli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

func verbs() map[string]verb {
	return merge(paneVerbs(), agentVerbs(), map[string]verb{
		"api snapshot": {id: "cli:api:snapshot", method: "session.snapshot", params: nothing},
		"workspace create": {id: "cli:workspace:create", method: "workspace.create",
			spec: spec{value: "cwd label env", bools: "focus no-focus"}, params: createParams},
		"workspace list":  {id: "cli:workspace:list", method: "workspace.list", params: nothing},
		"workspace get":   one("workspace", "get", "workspace_id"),
		"workspace focus": one("workspace", "focus", "workspace_id"),
		"workspace close": one("workspace", "close", "workspace_id"),
		"tab create": {id: "cli:tab:create", method: "tab.create",
			spec: spec{value: "workspace cwd label env", bools: "focus no-focus"}, params: createParams},
		"tab list":  {id: "cli:tab:list", method: "tab.list", params: nothing},
		"tab focus": one("tab", "focus", "tab_id"),
		"tab close": one("tab", "close", "tab_id"),
		"notification show": {id: "cli:notification:show", method: "notification.show",
			usage: "herdr notification show <title> [--body TEXT] [--position top-left|top-right|bottom-left|bottom-right] [--sound none|done|request]",
			spec:  spec{least: 1, value: "body position sound"},
			params: func(p parsed) map[string]any {
				return p.copy(map[string]any{"title": p.words[0]}, "body", "position", "sound")
			}},
	})
}

func merge(maps ...map[string]verb) map[string]verb {
	all := map[string]verb{}
	for _, m := range maps {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

func nothing(parsed) map[string]any { return map[string]any{} }

// one is a verb with one id.
func one(noun, name, param string) verb {
	return verb{
		id: "cli:" + noun + ":" + name, method: noun + "." + name, spec: spec{least: 1},
		usage:  fmt.Sprintf("herdr %s %s <%s>", noun, name, param),
		params: func(p parsed) map[string]any { return map[string]any{param: p.words[0]} },
	}
}

func createParams(p parsed) map[string]any {
	m := p.copy(map[string]any{"focus": p.has("focus")}, "cwd", "label", "workspace:workspace_id")
	if p.has("env") {
		m["env"] = p.pairs("env")
	}
	return m
}

func paneVerbs() map[string]verb {
	return map[string]verb{
		"pane list": {id: "cli:pane:list", method: "pane.list", spec: spec{value: "workspace"},
			params: func(p parsed) map[string]any { return p.copy(map[string]any{}, "workspace:workspace_id") }},
		"pane get":   one("pane", "get", "pane_id"),
		"pane close": one("pane", "close", "pane_id"),
		"pane focus": one("pane", "focus", "pane_id"),
		"pane run": {id: "cli:request", method: "pane.send_input", silent: true, spec: spec{least: 2},
			usage: "herdr pane run <pane_id> <command>",
			params: func(p parsed) map[string]any {
				words := append(p.words[1:], p.rest...)
				return map[string]any{"pane_id": p.words[0], "text": strings.Join(words, " "), "keys": []string{"Enter"}}
			}},
		"pane send-text": {id: "cli:request", method: "pane.send_text", silent: true, spec: spec{least: 2},
			usage: "herdr pane send-text <pane_id> <text>",
			params: func(p parsed) map[string]any {
				return map[string]any{"pane_id": p.words[0], "text": strings.Join(p.words[1:], " ")}
			}},
		"pane send-keys": {id: "cli:request", method: "pane.send_keys", silent: true, spec: spec{least: 2},
			usage:  "herdr pane send-keys <pane_id> <key>...",
			params: func(p parsed) map[string]any { return map[string]any{"pane_id": p.words[0], "keys": p.words[1:]} }},
		"pane read": {id: "cli:pane:read", method: "pane.read", usage: "herdr pane read <pane_id>",
			spec: spec{least: 1, value: "source lines format", bools: "ansi raw"}, params: readParams, then: printText},
		"pane process-info": {id: "cli:pane:process_info", method: "pane.process_info",
			spec:   spec{value: "pane", bools: "current", bare: true},
			params: func(p parsed) map[string]any { return p.copy(map[string]any{}, "pane:pane_id") }},
		"pane split": {id: "cli:pane:split", method: "pane.split",
			spec: spec{value: "pane direction ratio cwd env", bools: "current focus no-focus"}, params: splitParams},
		"pane report-agent": {id: "cli:request", method: "pane.report_agent", silent: true,
			usage: "herdr pane report-agent <pane_id> --source ID --agent LABEL --state STATE",
			spec:  spec{least: 1, value: "source agent state seq message"},
			params: func(p parsed) map[string]any {
				m := p.copy(map[string]any{"pane_id": p.words[0]}, "source", "agent", "state", "message")
				p.number(m, "seq", "seq")
				return m
			}},
	}
}

func splitParams(p parsed) map[string]any {
	m := createParams(p)
	p.copy(m, "direction", "pane:target_pane_id")
	if len(p.words) > 0 {
		m["target_pane_id"] = p.words[0]
	}
	return m
}

func readParams(p parsed) map[string]any {
	m := map[string]any{"pane_id": p.words[0], "source": "recent"}
	if p.has("source") {
		m["source"] = strings.ReplaceAll(p.get("source"), "-", "_")
	}
	p.number(m, "lines", "lines")
	p.copy(m, "format")
	if p.has("ansi") {
		m["format"] = "ansi"
	}
	return m
}

func printText(c *cli, _ parsed, _ map[string]any, line json.RawMessage) int {
	var a struct {
		Result struct{ Read struct{ Text string } }
	}
	json.Unmarshal(line, &a)
	fmt.Fprint(c.Stdout, a.Result.Read.Text)
	return 0
}

func agentVerbs() map[string]verb {
	get := one("agent", "get", "target")
	return map[string]verb{
		"agent list": {id: "cli:agent:list", method: "agent.list", params: nothing},
		"agent get":  get,
		"agent start": {id: "cli:agent:start", method: "agent.start",
			usage: "herdr agent start <name> --kind KIND --pane ID [--timeout MS] [-- args...]",
			spec:  spec{least: 1, value: "kind pane timeout"}, then: waitStarted,
			params: func(p parsed) map[string]any {
				m := p.copy(map[string]any{"name": p.words[0]}, "kind", "pane:pane_id")
				p.number(m, "timeout", "timeout_ms")
				if len(p.rest) > 0 {
					m["args"] = p.rest
				}
				return m
			}},
		"agent prompt": {id: "cli:agent:prompt", method: "agent.prompt",
			usage: "herdr agent prompt <target> <text> [--wait] [--until STATUS] [--timeout MS]",
			spec:  spec{least: 2, value: "until timeout", bools: "wait"}, params: promptParams},
	}
}

func promptParams(p parsed) map[string]any {
	m := map[string]any{"target": p.words[0], "text": strings.Join(p.words[1:], " ")}
	if p.has("wait") {
		w := map[string]any{}
		p.number(w, "timeout", "timeout_ms")
		if p.has("until") {
			w["until"] = p.flags["until"]
		}
		m["wait"] = w
	}
	return m
}

const startPoll = 50 * time.Millisecond

// waitStarted blocks until the agent is ready, as herdr's command does.
func waitStarted(c *cli, p parsed, params map[string]any, line json.RawMessage) int {
	const id = "cli:agent:start"
	for {
		var a struct {
			Result struct {
				Agent json.RawMessage `json:"agent"`
			} `json:"result"`
		}
		got, err := exchange(c.socket, id, "agent.get", map[string]any{"target": params["name"]})
		if err != nil || json.Unmarshal(got, &a) != nil || a.Result.Agent == nil {
			c.failure(id, "timeout", "timed out waiting for agent startup")
			return 1
		}
		var agent struct {
			Ready  bool   `json:"interactive_ready"`
			Status string `json:"agent_status"`
		}
		json.Unmarshal(a.Result.Agent, &agent)
		switch {
		case agent.Ready:
			return c.printStarted(line, a.Result.Agent)
		case agent.Status == "blocked":
			c.failure(id, "agent_not_ready", "agent is blocked and requires interactive input")
			return 1
		}
		time.Sleep(startPoll)
	}
}

func (c *cli) printStarted(started, agent json.RawMessage) int {
	var a map[string]any
	json.Unmarshal(started, &a)
	if result, ok := a["result"].(map[string]any); ok {
		result["agent"] = agent
	}
	json.NewEncoder(c.Stdout).Encode(a)
	return 0
}
