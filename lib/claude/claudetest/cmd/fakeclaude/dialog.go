package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// dialog is something on the screen that takes the keys.
type dialog struct {
	waitingFor string // as the registry tells; "" keeps it out of there
	alone      bool   // nothing else is drawn
	above      []string
	choices    []string
	numbered   bool
	chosen     int
	keys       string // the line below
	chose      func(n int)
	cancel     func()
}

func (d *dialog) lines() []string {
	lines := append([]string(nil), d.above...)
	for i, c := range d.choices {
		mark := "  "
		if i == d.chosen {
			mark = "❯ "
		}
		if d.numbered {
			c = strconv.Itoa(i+1) + ". " + c
		}
		lines = append(lines, " "+mark+c)
	}
	return append(lines, "", " "+d.keys)
}

// press gives a key to the dialog.
func (d *dialog) press(k key) {
	switch k.name {
	case "up":
		d.chosen = max(d.chosen-1, 0)
	case "down":
		d.chosen = min(d.chosen+1, max(len(d.choices)-1, 0))
	case "enter":
		d.chose(d.chosen)
	case "esc", "ctrl+c":
		d.cancel()
	case "text":
		if n, err := strconv.Atoi(k.text[:1]); err == nil && d.numbered && n >= 1 && n <= len(d.choices) {
			d.chose(n - 1)
		}
	}
}

const (
	permissionPrompt = "permission prompt"
	inputNeeded      = "input needed" // of questions
	dialogOpen       = "dialog open"
)

// askStatus stands for the dialogs that ask nothing, such as /status.
func (a *app) askStatus(name string) {
	closed := func() {
		a.dialog = nil
		a.next()
	}
	a.dialog = &dialog{
		waitingFor: dialogOpen, above: []string{" " + name, "", " Version: " + version, " Session ID: " + a.log.Session, " cwd: " + cwd()},
		keys: "Esc to close", chose: func(int) { closed() }, cancel: closed,
	}
}

// askExit comes before the end while background work runs.
func (a *app) askExit() {
	stay := func() {
		a.dialog = nil
		a.next()
	}
	above := []string{"  Background work is running", "  The following will stop when you exit:", ""}
	for s := range a.shells {
		above = append(above, "  shell · "+s.about)
	}
	a.dialog = &dialog{
		waitingFor: dialogOpen, above: append(above, ""), numbered: true,
		choices: []string{"Exit and stop tasks", "Move to background and exit", "Stay"},
		keys:    "Enter to confirm · Esc to cancel", cancel: stay,
		chose: func(n int) {
			if n < 2 {
				a.reason, a.over = "prompt_input_exit", true
				return
			}
			stay()
		},
	}
}

// askRemote is what /remote-control shows when it is on already. The focus is on
// the choice that changes nothing (finding 50).
func (a *app) askRemote(url string) {
	closed := func() {
		a.dialog = nil
		a.next()
	}
	a.dialog = &dialog{
		waitingFor: dialogOpen, chosen: 2,
		above:   []string{" Remote Control", "", " This session is available in the Claude mobile app and at " + url + ".", ""},
		choices: []string{"Disconnect this session", "Show QR code", "Continue"}, keys: "Enter to confirm · Esc to cancel",
		cancel: closed, chose: func(n int) {
			a.bridged = a.bridged && n != 0
			closed()
		},
	}
}

// askTrust comes first in a directory that is not trusted: no hooks, no entry
// in the registry before it is answered with yes.
func (a *app) askTrust(source string) {
	no := func() { a.over = true }
	a.dialog = &dialog{
		alone: true,
		above: []string{" Accessing workspace:", "", " " + cwd(), "",
			" Quick safety check: Is this a project you created or one you trust?", "", " Claude Code'll be able to read, edit, and execute files here.", ""},
		choices: []string{"No, exit", "Yes, I trust this folder"}, keys: "Enter to confirm · Esc to cancel", cancel: no,
		chose: func(n int) {
			if n == 0 {
				no()
				return
			}
			trust()
			a.dialog = nil
			a.begin(source)
		},
	}
}

// settingsPath is where trust is kept.
func settingsPath() string {
	if d := os.Getenv("CLAUDE_CONFIG_DIR"); d != "" {
		return filepath.Join(d, ".claude.json")
	}
	return filepath.Join(os.Getenv("HOME"), ".claude.json")
}

const trustField = "hasTrustDialogAccepted"

func readSettings() (map[string]any, map[string]any) {
	b, err := os.ReadFile(settingsPath())
	if err != nil {
		return nil, nil
	}
	v := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil, nil
	}
	projects, _ := v["projects"].(map[string]any)
	if projects == nil {
		projects = map[string]any{}
	}
	return v, projects
}

// trusted reports whether the directory or one above it is trusted. Without a
// settings file everything is, so that tests need none.
func trusted() bool {
	v, projects := readSettings()
	if v == nil {
		return true
	}
	for dir := cwd(); ; dir = filepath.Dir(dir) {
		if p, ok := projects[dir].(map[string]any); ok && p[trustField] == true {
			return true
		}
		// A linked work tree is trusted with its repository (seen with 2.1.332).
		if main, ok := linkedTo(dir); ok {
			dir = filepath.Join(main, "below")
			continue
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// linkedTo is the main work tree of one that git worktree made at dir.
func linkedTo(dir string) (main string, ok bool) {
	b, err := os.ReadFile(filepath.Join(dir, ".git"))
	if err != nil {
		return "", false
	}
	gitDir, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
	main, _, linked := strings.Cut(gitDir, "/.git/worktrees/")
	return main, ok && linked
}

func trust() {
	v, projects := readSettings()
	if v == nil {
		return
	}
	projects[cwd()] = map[string]any{trustField: true}
	v["projects"] = projects
	b, err := json.Marshal(v)
	if err != nil {
		return
	}
	tmp := settingsPath() + ".tmp"
	if os.WriteFile(tmp, b, 0o600) == nil {
		_ = os.Rename(tmp, settingsPath()) // else it is asked again
	}
}

// permissionDialog asks before a tool runs.
func permissionDialog(c *call, chose func(allow bool)) *dialog {
	dots := strings.Repeat("╌", 60)
	what, question := c.Name, "Do you want to proceed?"
	body := string(c.Input)
	switch c.Name {
	case "Bash":
		what, body = "Bash command", c.field("command")
	case "Write":
		what, body, question = "Create file", c.field("content"), fmt.Sprintf("Do you want to create %s?", filepath.Base(c.field("file_path")))
	case "Edit":
		what, body, question = "Edit file", c.field("new_string"), fmt.Sprintf("Do you want to make this edit to %s?", filepath.Base(c.field("file_path")))
	case "ExitPlanMode":
		what, body, question = "Exit plan mode?", c.field("plan"), "Would you like to proceed?"
	}
	return &dialog{
		waitingFor: permissionPrompt, numbered: true, above: append(append([]string{" " + what, dots}, strings.Split(" "+body, "\n")...), dots, " "+question),
		choices: []string{"Yes", "Yes, and always allow access to " + cwd() + " from this project", "No"},
		keys:    "Esc to cancel · Tab to amend",
		chose:   func(n int) { chose(n < 2) }, cancel: func() { chose(false) },
	}
}
