package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
)

// session is one interactive run.
type session struct {
	entry  entry
	source string // of the next report to herdr
	asked  bool
	dialog bool
	busy   <-chan time.Time // when the work ends
	shell  <-chan time.Time // when the background shell ends
}

func (s *session) run(end <-chan os.Signal) error {
	lines := make(chan string)
	go func() { // ends with the terminal, or the process
		defer close(lines)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- strings.TrimSpace(in.Text())
		}
	}()
	if err := s.begin(); err != nil {
		return err
	}
	for {
		if err := s.show(); err != nil {
			return err
		}
		select {
		case <-end:
			return nil
		case <-s.busy:
			s.busy = nil
		case <-s.shell:
			s.shell = nil
		case line, open := <-lines:
			if !open || line == "exit" || line == "/exit" {
				fmt.Print("\x1b]0;\x07\x1b[2J\x1b[H")
				return nil
			}
			if err := s.typed(line); err != nil {
				return err
			}
		}
	}
}

// begin takes the session's id into the registry, and tells herdr.
func (s *session) begin() error {
	if err := s.show(); err != nil {
		return err
	}
	report(s.entry.SessionID, s.source)
	return nil
}

func (s *session) typed(line string) error {
	word, arg, _ := strings.Cut(line, " ")
	d, err := time.ParseDuration(arg)
	if err != nil {
		d = time.Second
	}
	switch {
	case s.asked:
		s.asked = false
		if line == "1" || line == "" {
			s.busy = time.After(300 * time.Millisecond)
		}
		return nil
	case s.dialog:
		s.dialog = false
		return nil
	}
	switch word {
	case "":
		return nil
	case "work":
		s.busy = time.After(d)
	case "ask":
		s.asked = true
	case "bg":
		s.shell = time.After(d)
	case "dialog":
		s.dialog = true
	case "/clear":
		s.entry.SessionID, s.source = newID(), "clear"
		return s.begin()
	case "/branch":
		s.entry.SessionID = newID()
		return s.record("branched")
	default:
		s.busy = time.After(50 * time.Millisecond)
	}
	return s.record(line)
}

// show brings the registry and the screen up to date.
func (s *session) show() error {
	s.entry.WaitingFor = ""
	switch {
	case s.asked:
		s.entry.Status, s.entry.WaitingFor = "waiting", "permission prompt"
		screen("✳ Stand-in", permission)
	case s.dialog:
		s.entry.Status, s.entry.WaitingFor = "waiting", "dialog open"
		screen("✳ Stand-in", "Status\n\n  Version: stand-in\n\nEsc to close\n")
	case s.busy != nil:
		s.entry.Status = "busy"
		screen("◐ Stand-in", "✻ Thinking… (esc to interrupt)\n\n"+prompt)
	case s.shell != nil:
		s.entry.Status = "shell"
		screen("✳ Stand-in", prompt+"  1 shell running\n")
	default:
		s.entry.Status = "idle"
		screen("✳ Stand-in", prompt)
	}
	return s.entry.write()
}

var rule = strings.Repeat("─", 60)

var prompt = rule + "\n❯ \n" + rule + "\n  ? for shortcuts\n"

var permission = rule + `
 Bash command
   make test
 Do you want to proceed?
 ❯ 1. Yes
   2. No

 Esc to cancel · Tab to amend
`

func screen(title, text string) {
	fmt.Printf("\x1b]0;%s\x07\x1b[2J\x1b[H%s", title, text)
}
