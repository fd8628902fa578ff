package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode"

	"sessionhub/lib/claude/claudetest/directive"
)

// press gives a key to the dialog or to the prompt line.
func (a *app) press(k key) {
	if k.name != a.armed {
		a.armed = ""
	}
	if a.dialog != nil {
		a.dialog.press(k)
		return
	}
	switch k.name {
	case "text":
		a.input += k.text
	case "paste":
		a.paste(k.text)
	case "newline":
		a.input += "\n"
	case "backspace":
		if r := []rune(a.input); len(r) > 0 {
			a.input = string(r[:len(r)-1])
		}
	case "ctrl+u":
		a.input = ""
	case "esc":
		a.interrupt()
	case "ctrl+c", "ctrl+d":
		a.leaving(k.name)
	case "ctrl+z":
		a.suspend()
	case "enter":
		a.enter()
	}
}

// paste takes a paste up. Several lines stand as a placeholder until the line
// is sent; characters that turn the writing are taken out, and then the line
// waits to be looked at (findings 23 and 24 of the captures in herdr).
func (a *app) paste(text string) {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\t", "    "))
	a.review = a.review || strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) })
	clean = strings.TrimRight(clean, "\n")
	if !strings.Contains(clean, "\n") || strings.HasPrefix(a.input+clean, "!") || strings.HasPrefix(a.input+clean, "/") {
		a.input += clean
		return
	}
	a.pastes = append(a.pastes, clean)
	a.input += placeholder(len(a.pastes), clean)
}

func placeholder(n int, text string) string {
	return fmt.Sprintf("[Pasted text #%d +%d lines]", n, strings.Count(text, "\n"))
}

// leaving is Ctrl-C or Ctrl-D: they empty the line, interrupt, and end the
// program when pressed twice.
func (a *app) leaving(name string) {
	switch {
	case a.input != "":
		a.input, a.pastes = "", nil
	case a.turn != nil:
		a.interrupt()
	case a.armed == name:
		a.reason, a.over = "prompt_input_exit", true
	default:
		a.armed = name
		a.after(twice, func() { a.armed = "" })
	}
}

func (a *app) after(d time.Duration, f func()) { time.AfterFunc(d, func() { a.later(f) }) }

// enter sends the prompt line, unless it is to be looked at first, or ends in a
// backslash, which makes it longer (finding 24).
func (a *app) enter() {
	switch {
	case a.review:
		a.review = false
		return
	case strings.HasSuffix(a.input, `\`):
		a.input = strings.TrimSuffix(a.input, `\`) + "\n"
		return
	}
	line := a.input
	for i, p := range a.pastes {
		line = strings.Replace(line, placeholder(i+1, p), "\n\n<pasted_content id=\"6ef3\">\n"+p+"\n</pasted_content id=\"6ef3\">\n", 1)
	}
	a.input, a.pastes = "", nil
	switch trimmed := strings.TrimSpace(line); {
	case trimmed == "":
	case trimmed == "exit", trimmed == "quit", trimmed == ":q":
		a.exit()
	case strings.HasPrefix(line, "!"):
		a.local(strings.TrimPrefix(line, "!"))
	case command.MatchString(trimmed):
		a.slash(trimmed)
	default:
		a.ask(prompt{line, "typed"})
	}
}

// command tells /clear from /usr/bin.
var command = regexp.MustCompile(`^/[a-z][a-z-]*(\s|$)`)

// slash runs a command. While Claude works only /exit does something at once;
// the others wait for the end of the turn.
func (a *app) slash(line string) {
	name, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	if a.turn != nil && name != "/exit" {
		a.queue = append(a.queue, prompt{line, "command"})
		return
	}
	if known(name) {
		a.log.system("local_command", fields{"content": "<command-name>" + name + "</command-name>\n            <command-args>" + arg + "</command-args>"})
	}
	switch name {
	case "/exit", "/quit":
		a.exit()
	case "/clear":
		a.change("clear", "clear", func() { *a.log = log{Session: newID(), Entrypoint: a.log.Entrypoint, title: a.log.title} })
		a.scroll = nil
	case "/resume":
		a.resume(arg)
	case "/branch":
		a.branch()
	case "/compact":
		a.log.system("compact_boundary", fields{"compactMetadata": fields{"trigger": "manual"}})
		a.started("compact")
	case "/rename":
		a.log.rename(arg)
	case "/remote-control", "/rc":
		a.remote()
	case "/status", "/config", "/model", "/help":
		a.askStatus(name)
	default:
		a.say("● Unknown command: " + name)
	}
}

// known reports whether a command leaves its name in the transcript. Those that
// end it, or begin another, leave it elsewhere.
func known(name string) bool {
	switch name {
	case "/compact", "/rename", "/branch", "/remote-control", "/rc":
		return true
	}
	return false
}

// change goes on under another id.
func (a *app) change(reason, source string, do func()) {
	a.ended(reason)
	do()
	a.started(source)
}

func (a *app) resume(id string) {
	next := &log{Session: id, Entrypoint: a.log.Entrypoint}
	if id == "" || !next.exists() {
		a.say("● " + errNotFound(id).Error())
		return
	}
	next.takeUp()
	a.change("resume", "resume", func() { *a.log = *next })
}

func (a *app) branch() {
	if !a.log.exists() {
		a.say("● There is nothing to branch off yet")
		return
	}
	ok := false
	a.change("resume", "fork", func() { ok = a.log.branch() })
	if !ok {
		a.say("● The branch could not be written")
	}
}

// remote gives the link of FAKECLAUDE_REMOTE, where the real one writes it: on
// the screen, into the transcript, and its session's id into the registry. When
// it is on already a dialog opens.
func (a *app) remote() {
	url := os.Getenv("FAKECLAUDE_REMOTE")
	switch {
	case url == "":
		a.say("● /remote-control needs a Claude subscription. This session uses ANTHROPIC_API_KEY instead.")
		return
	case a.bridged:
		a.askRemote(url)
		return
	}
	a.bridged = true
	if os.Getenv("FAKECLAUDE_REMOTE_SHOWS") == "" {
		a.reg.Bridge = "cse_" + url[strings.LastIndexByte(url, '_')+1:]
		a.log.system("bridge_status", fields{"url": url, "content": "/remote-control is active"})
	}
	a.say("/remote-control is active · Continue here, on your phone, or at " + url)
}

// script is what a prompt asks for: the words of the stand-in, else its
// directives.
func script(text string) directive.Script {
	word, arg, _ := strings.Cut(strings.TrimSpace(text), " ")
	call := func(name, format string, args ...any) directive.Script {
		return directive.Script{Rounds: [][]directive.Call{{{Name: name, Input: []byte(fmt.Sprintf(format, args...))}}}, Say: "Done."}
	}
	d, err := time.ParseDuration(arg)
	switch {
	case word == "work" && (err == nil || arg == ""):
		if arg == "" {
			d = time.Second
		}
		return directive.Script{Sleep: d}
	case word == "ask":
		if arg == "" {
			arg = "echo tested"
		}
		return call("Bash", `{"command":%q,"description":"as asked"}`, arg)
	case word == "question" && arg == "":
		return call("AskUserQuestion", `{"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":"a"},{"label":"Blue","description":"b"}]}]}`)
	case word == "bg" && err == nil:
		return call(background, `{"command":"sleep %g","description":"long","run_in_background":true}`, d.Seconds())
	case word == "nested":
		return call(nested, `{"session":%q}`, arg)
	}
	return directive.Parse(text)
}
