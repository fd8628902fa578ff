package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Calls of the stand-in's own words, which need no permission.
const (
	background = "background"
	nested     = "nested"
)

// call is one use of a tool.
type call struct {
	Call
	id      string
	result  string
	failed  bool
	decided string // who allowed or denied it: "hook", "user_temporary"
}

func (c *call) field(name string) string {
	var v map[string]any
	if json.Unmarshal(c.Input, &v) != nil {
		return ""
	}
	s, _ := v[name].(string)
	return s
}

func (c *call) has(name string) bool {
	var v map[string]any
	return json.Unmarshal(c.Input, &v) == nil && v[name] == true
}

func (c *call) fail(why string) { c.result, c.failed = why, true }

// shown is how a call stands in the transcript.
func (c *call) shown() (name, input string) {
	switch c.Name {
	case background:
		return "Bash", string(c.Input)
	case nested:
		return "Bash", `{"command":"claude -p"}`
	}
	return c.Name, string(c.Input)
}

// tools settles the round's calls one after the other, then goes on.
func (a *app) tools(t *turn) {
	if a.turn != t {
		return
	}
	if len(t.open) == 0 {
		a.think(t)
		return
	}
	c := t.open[0]
	settled := func() {
		if a.turn == t {
			a.log.results([]*call{c})
			t.open = t.open[1:]
			a.tools(t)
		}
	}
	switch {
	case c.Name == "AskUserQuestion":
		a.askQuestions(t, c, settled)
	case a.free(c):
		a.perform(t, c, settled)
	default:
		a.askPermission(t, c, settled)
	}
}

// free reports whether a call needs no permission.
func (a *app) free(c *call) bool {
	if c.Name == "ExitPlanMode" {
		return false
	}
	if slices.Contains([]string{"Read", "Glob", "Grep", "Agent", "TodoWrite", background, nested}, c.Name) || a.opt.mode == "bypassPermissions" || a.opt.mode == "auto" {
		return true
	}
	if a.opt.mode == "acceptEdits" && (c.Name == "Write" || c.Name == "Edit") {
		return true
	}
	return slices.ContainsFunc(a.opt.allowed, func(rule string) bool {
		name, content, _ := strings.Cut(rule, "(")
		prefix, some := strings.CutSuffix(content, " *)")
		return name == c.Name && (!some || strings.HasPrefix(c.field("command")+" ", prefix+" "))
	})
}

// decision is what a PermissionRequest hook says.
type decision struct {
	Behavior     string          `json:"behavior"`
	Message      string          `json:"message"`
	UpdatedInput json.RawMessage `json:"updatedInput"`
	Updated      []update        `json:"updatedPermissions"`
}

// update is a change of permissions, of which the stand-in knows one kind.
type update struct {
	Type  string `json:"type"`
	Rules []struct {
		Tool    string `json:"toolName"`
		Content string `json:"ruleContent"`
	} `json:"rules"`
	Behavior string `json:"behavior"`
}

// decided reads the decision of the first hook that has one. For what asks the
// person itself an allow counts only with the input.
func decided(c *call, outs []outcome) (decision, bool) {
	for _, o := range outs {
		var v struct {
			HookSpecificOutput struct {
				Decision decision `json:"decision"`
			} `json:"hookSpecificOutput"`
		}
		if o.code != 0 || json.Unmarshal(o.stdout, &v) != nil {
			continue
		}
		d := v.HookSpecificOutput.Decision
		asks := c.Name == "AskUserQuestion" || c.Name == "ExitPlanMode"
		if d.Behavior == "deny" || d.Behavior == "allow" && (!asks || len(d.UpdatedInput) > 0) {
			return d, true
		}
	}
	return decision{}, false
}

// beside runs the PermissionRequest hooks beside a dialog: who answers first,
// wins. The hooks are not told when that was the person, unless the turn is
// interrupted, which ends them.
func (a *app) beside(t *turn, c *call, d *dialog, won func(decision)) {
	a.dialog = d
	if err := a.sync(); err != nil { // the dialog stands before the hooks run
		a.say("registry: " + err.Error())
	}
	more := fields{"tool_name": c.Name, "tool_input": json.RawMessage(c.Input)}
	switch c.Name {
	case "AskUserQuestion", "ExitPlanMode":
	case "Bash":
		name, _, _ := strings.Cut(c.field("command"), " ")
		more["permission_suggestions"] = []fields{{"type": "addRules", "behavior": "allow", "destination": "localSettings",
			"rules": []fields{{"toolName": "Bash", "ruleContent": name + " *"}}}}
	default:
		more["permission_suggestions"] = []fields{{"type": "setMode", "mode": "acceptEdits", "destination": "session"}}
	}
	ctx, cancel := context.WithCancel(a.hooks.ctx)
	t.interrupted = cancel
	run := a.hooks.prepareWithin(ctx, "PermissionRequest", more)
	go func() {
		outs := run()
		a.later(func() {
			if said, ok := decided(c, outs); ok && a.turn == t && a.dialog == d {
				a.dialog = nil
				c.decided = "hook"
				for _, u := range said.Updated {
					for _, r := range u.Rules {
						if u.Type == "addRules" && u.Behavior == "allow" {
							a.opt.allowed = append(a.opt.allowed, r.Tool+"("+r.Content+")")
						}
					}
				}
				won(said)
			}
		})
	}()
}

func (a *app) askPermission(t *turn, c *call, settled func()) {
	chose := func(allow bool) {
		a.dialog = nil
		if allow {
			c.decided = "user_temporary"
			a.perform(t, c, settled)
			return
		}
		// A refusal on the screen ends the turn.
		a.interrupt()
	}
	a.beside(t, c, permissionDialog(c, chose), func(said decision) {
		if said.Behavior == "deny" {
			c.fail(said.Message)
			settled()
			return
		}
		a.say("  ⎿  Allowed by PermissionRequest hook")
		a.perform(t, c, settled)
	})
}

// perform runs a tool beside the loop.
func (a *app) perform(t *turn, c *call, settled func()) {
	if c.Name == "Bash" && c.has("run_in_background") || c.Name == background {
		a.startShell(c)
		settled()
		return
	}
	go func() {
		c.run()
		a.later(func() {
			if a.turn == t {
				a.say("  ⎿  " + strings.TrimSpace(c.result))
				settled()
			}
		})
	}()
}

// run does what the tool does, as far as the stand-in knows it.
func (c *call) run() {
	path := c.field("file_path")
	switch c.Name {
	case "Bash":
		c.command(exec.Command("sh", "-c", c.field("command")))
	case nested:
		self, err := os.Executable()
		if err != nil {
			c.fail(err.Error())
			return
		}
		args := []string{"-p", "1s"}
		if id := c.field("session"); id != "" {
			args = append(args, "--resume", id)
		}
		c.command(exec.Command(self, args...))
	case "Read":
		b, err := os.ReadFile(path)
		c.result, c.failed = string(b), err != nil
	case "Write":
		c.wrote(path, c.field("content"))
	case "Edit":
		b, err := os.ReadFile(path)
		if err != nil {
			c.fail(err.Error())
			return
		}
		c.wrote(path, strings.Replace(string(b), c.field("old_string"), c.field("new_string"), 1))
	default:
		c.result = "ok"
	}
}

func (c *call) command(cmd *exec.Cmd) {
	out, err := cmd.CombinedOutput()
	c.result, c.failed = string(out), err != nil
}

func (c *call) wrote(path, text string) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.fail(err.Error())
		return
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.fail(err.Error())
		return
	}
	c.result = "The file " + path + " has been updated successfully."
}

// shell is a command that runs in the background.
type shell struct {
	cmd   *exec.Cmd
	about string
}

func (a *app) startShell(c *call) {
	s := &shell{cmd: exec.Command("sh", "-c", c.field("command")), about: c.field("description")}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		c.fail(err.Error())
		return
	}
	c.result = "Command running in background"
	a.shells[s] = true
	go func() {
		_ = s.cmd.Wait() // how it ended is its own affair
		a.later(func() { delete(a.shells, s) })
	}()
}

func (s *shell) kill() { _ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) }

// local is a command that the person runs with "!": unasked, and the model
// answers to what it says.
func (a *app) local(line string) {
	line = strings.TrimSpace(line)
	a.say("! " + line)
	input, err := json.Marshal(map[string]string{"command": line})
	if err != nil || a.turn != nil {
		return
	}
	t := &turn{prompt: prompt{"!" + line, "command"}, began: time.Now()}
	a.turn = t
	c := &call{Call: Call{Name: "Bash", Input: input}}
	a.perform(t, c, func() {
		a.log.user("<bash-input>"+line+"</bash-input>\n<bash-stdout>"+c.result+"</bash-stdout>", "typed")
		a.finish(t)
	})
}
