package main

import (
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// app is one interactive run. Everything happens in its loop; what runs beside
// it reports back through post.
type app struct {
	opt   options
	log   *log
	reg   *entry
	hooks *hooks
	term  *terminal

	post   chan func()
	over   bool
	reason string // of the end

	input    string   // the prompt line
	pastes   []string // what its placeholders stand for
	review   bool     // the line was changed: the next Enter only shows it
	bridged  bool     // Remote Control is on
	armed    string   // ctrl+c or ctrl+d was pressed once
	scroll   []string // what was said so far
	turn     *turn
	queue    []prompt
	dialog   *dialog
	shells   map[*shell]bool
	spinning int
}

// prompt is text that starts a turn.
type prompt struct{ text, source string }

// spin is how often the title's sign changes while Claude works.
const spin = 960 * time.Millisecond

// twice is how fast Ctrl-C has to be pressed again to end.
const twice = 800 * time.Millisecond

func interactive(o options) error {
	l, source, err := newLog(o, "cli")
	if err != nil {
		return err
	}
	if o.name != "" {
		l.rename(o.name)
	}
	a := &app{opt: o, log: l, hooks: newHooks(l, o.mode), post: make(chan func(), 16), shells: map[*shell]bool{}, reason: "other"}
	a.reg = &entry{Session: l.Session, Entrypoint: l.Entrypoint}
	a.hooks.woken = func(text string) {
		a.later(func() {
			a.queue = append(a.queue, prompt{text, "system"})
			a.log.write(fields{"type": "queue-operation", "operation": "enqueue", "content": text, "timestamp": stamp()})
			a.next()
		})
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGCONT, os.Interrupt)
	if a.term, err = openTerminal(); err != nil {
		return err
	}
	keys := make(chan key)
	go readKeys(keys) // ends with the terminal, or the process
	if !trusted() {
		a.askTrust(source)
	} else {
		a.begin(source)
	}
	err = a.loop(keys, signals)
	a.end()
	return err
}

// later has f run in the loop.
func (a *app) later(f func()) {
	select {
	case a.post <- f:
	case <-a.hooks.ctx.Done(): // the end
	}
}

func (a *app) loop(keys <-chan key, signals <-chan os.Signal) error {
	tick := time.NewTicker(spin)
	defer tick.Stop()
	for !a.over {
		if err := a.show(); err != nil {
			return err
		}
		select {
		case f := <-a.post:
			f()
		case <-tick.C:
			a.spinning++
		case sig := <-signals:
			if sig != syscall.SIGCONT {
				a.over = true
			} else if err := a.term.enter(); err != nil {
				return err
			}
		case k, open := <-keys:
			if !open {
				return nil
			}
			a.press(k)
		}
	}
	return nil
}

// begin takes the session up: registry, hooks, herdr.
func (a *app) begin(source string) {
	a.started(source)
	if a.opt.remote && os.Getenv("FAKECLAUDE_REMOTE") != "" { // without an account it starts without (finding 35)
		a.remote()
	}
	if a.opt.prompt != "" {
		a.ask(prompt{a.opt.prompt, "typed"})
	}
}

// started is each SessionStart. Its hooks delay what follows.
func (a *app) started(source string) {
	a.reg.Session = a.log.Session
	if err := a.sync(); err != nil {
		a.say("registry: " + err.Error())
	}
	report(a.log.Session, source)
	more := fields{"source": source}
	if source != "clear" {
		more["model"] = model
	}
	a.hooks.run("SessionStart", more)
}

func (a *app) ended(reason string) { a.hooks.run("SessionEnd", fields{"reason": reason}) }

// end leaves nothing behind: hooks get SIGTERM, the entry goes last, as others
// take its end for the process's.
func (a *app) end() {
	if a.reg.written {
		a.ended(a.reason)
	}
	a.hooks.end()
	for s := range a.shells {
		s.kill()
	}
	a.term.close()
	if a.log.exists() && a.reason == "prompt_input_exit" {
		a.term.print("\r\nResume this session with:\r\nclaude --resume " + a.log.Session + "\r\n")
	}
	a.reg.remove()
}

// exit is what /exit does: at once, unless background work runs.
func (a *app) exit() {
	if len(a.shells) > 0 {
		a.askExit()
		return
	}
	a.reason, a.over = "prompt_input_exit", true
}

// suspend stops the process and its group as Ctrl-Z does; fg sends SIGCONT.
func (a *app) suspend() {
	a.term.leave()
	_ = syscall.Kill(0, syscall.SIGTSTP) // nothing to stop is as well
}

func (a *app) say(line string) {
	a.scroll = append(a.scroll, strings.Split(line, "\n")...)
	a.scroll = append(a.scroll, "")
}

// status is what the registry tells.
func (a *app) status() (status, waitingFor string) {
	switch {
	case a.dialog != nil:
		return "waiting", a.dialog.waitingFor
	case a.turn != nil:
		return "busy", ""
	case len(a.shells) > 0:
		return "shell", ""
	}
	return "idle", ""
}

// sync brings the registry up to date. A session that waits for trust is not
// in it.
func (a *app) sync() error {
	if a.dialog != nil && a.dialog.waitingFor == "" {
		return nil
	}
	a.reg.Status, a.reg.WaitingFor = a.status()
	a.reg.Name = a.log.title
	return a.reg.write()
}

// errNoRegistry ends a run whose state others could not see.
var errNoRegistry = errors.New("the registry can't be written")

func (a *app) show() error {
	if err := a.sync(); err != nil {
		return errors.Join(errNoRegistry, err)
	}
	a.term.draw(a.title(), a.screen)
	return nil
}
