// Command fakeclaude stands in for Claude Code in tests and in the demo. Built
// under the name claude it looks to herdr, to the registry of live sessions
// and to the process table as the real one was captured (2.1.332): it keeps
// sessions/<pid>.json, writes the transcript, reports its session to herdr's
// socket as herdr's hook for Claude does, runs the hooks of settings.json, sets
// the title and draws the screens that herdr reads. It never asks a model.
//
// What is typed at its prompt is answered at once, or as its directives say
// (package directive). Some words are short for them:
//
//	work 2s         be busy for that long
//	ask [COMMAND]   want to run a command, which needs permission
//	question        ask the person to choose
//	bg 2s           run a background shell for that long
//	nested [ID]     run `claude -p`, with --resume ID, inside
//	dialog          open a dialog such as /status; Enter or Esc closes it
//	! COMMAND       run a command unasked
//	/clear /compact /branch /resume ID /rename TITLE /remote-control /status
//	/exit, exit     end
//
// Esc interrupts and denies, Ctrl-C and Ctrl-D pressed twice end it, Ctrl-Z
// suspends it. In a directory that ~/.claude.json does not trust it asks first.
//
// `claude mcp add|get|list|remove` keep servers on stdio where the real one does.
//
// `claude agents --json`, `claude stop` and `claude --bg --resume` work on the
// background sessions in jobs/.
//
// FAKECLAUDE_SILENT keeps it from reporting to herdr, as when herdr's hook is not
// installed. FAKECLAUDE_REMOTE is the link that /remote-control gives; without
// it there is no account. FAKECLAUDE_REMOTE_SHOWS lets it stand on the screen
// alone, as with a Claude Code that keeps it nowhere.
package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"time"

	"sessionhub/lib/claude/claudetest/directive"
)

// version is the real one's that it was made after.
const version = "2.1.332"

func main() {
	if code, ok := subcommand(os.Args[1:]); ok {
		os.Exit(code)
	}
	o := parse(os.Args[1:])
	if o.version {
		v := version
		if os.Getenv("FAKECLAUDE_BG") == "old" {
			v = "2.1.100"
		}
		fmt.Println(v + " (Claude Code)")
		return
	}
	run := interactive
	switch {
	case o.print:
		run = headless
	case o.background:
		run = wake
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// subcommand runs the commands that are no session.
func subcommand(args []string) (code int, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	var err error
	switch args[0] {
	case "mcp":
		return runMCP(args[1:]), true
	case "agents":
		err = listAgents(args[1:])
	case "stop":
		err = stopJob(args[1:])
	default:
		return 0, false
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

// options are the command line, as far as it matters here.
type options struct {
	version, print bool
	background     bool
	remote         bool // Remote Control from the start
	resume         string
	session        string // the id of a new session
	mode           string // of permissions
	allowed        []string
	name           string
	prompt         string
}

// parse reads the flags that it knows; others are taken for the prompt, as
// nobody checks them here.
func parse(args []string) options {
	o := options{mode: "default"}
	var words []string
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		value := func() (v string) {
			if len(args) > 0 {
				v, args = args[0], args[1:]
			}
			return v
		}
		switch a {
		case "--version", "-v":
			o.version = true
		case "--bg", "--background":
			o.background = true
		case "-p", "--print":
			o.print = true
		case "--resume", "-r":
			o.resume = value()
		case "--session-id":
			o.session = value()
		case "--permission-mode":
			o.mode = value()
		case "--dangerously-skip-permissions":
			o.mode = "bypassPermissions"
		case "--allowedTools":
			for len(args) > 0 && !strings.HasPrefix(args[0], "-") {
				o.allowed = append(o.allowed, value())
			}
		case "--remote-control", "--rc":
			o.remote = true
		case "--name", "-n":
			o.name = value()
		case "--model", "--output-format", "--settings":
			value()
		default:
			words = append(words, a)
		}
	}
	o.prompt = strings.Join(words, " ")
	return o
}

// errNotFound is in the words of the real one.
type errNotFound string

func (e errNotFound) Error() string { return "No conversation found with session ID: " + string(e) }

// newLog opens the log of the session that the options name, and says how it
// starts.
func newLog(o options, entrypoint string) (l *log, source string, err error) {
	l = &log{Session: o.resume, Entrypoint: entrypoint}
	switch {
	case o.resume == "" && o.session != "":
		l.Session = o.session
		fallthrough
	case o.resume == "":
		if l.Session == "" {
			l.Session = newID()
		}
		return l, "startup", nil
	case !l.exists():
		return nil, "", errNotFound(o.resume)
	}
	l.takeUp()
	return l, "resume", nil
}

// headless is `claude -p`: in the registry, but nobody sits at it. A prompt
// that is a duration keeps it busy for that long.
func headless(o options) error {
	l, source, err := newLog(o, "sdk-cli")
	if err != nil {
		return err
	}
	reg := &entry{Session: l.Session, Entrypoint: l.Entrypoint, Status: "busy"}
	if err := reg.write(); err != nil {
		return err
	}
	defer reg.remove()
	h := newHooks(l, o.mode)
	report(l.Session, source)
	h.run("SessionStart", fields{"source": source, "model": model})
	h.run("UserPromptSubmit", fields{"prompt": o.prompt})
	l.user(o.prompt, "sdk")
	s := directive.Parse(o.prompt)
	if d, err := time.ParseDuration(o.prompt); err == nil {
		s.Sleep = d
	}
	time.Sleep(s.Sleep)
	text := answer(s, o.prompt)
	l.assistant("end_turn", textBlock(text))
	fmt.Println(text)
	h.run("Stop", fields{"stop_hook_active": false, "last_assistant_message": text})
	h.run("SessionEnd", fields{"reason": "other"})
	return nil
}

func answer(s directive.Script, prompt string) string {
	switch {
	case s.Say != "":
		return s.Say
	case len(s.Rounds) > 0:
		return "All steps done."
	}
	return "Echo: " + prompt
}

// newID is a random UUID (RFC 9562, version 4), as the real one's ids are.
func newID() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // the system has no randomness
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
