// Command fakeclaude stands in for Claude Code in tests and in the demo. Built
// under the name claude it looks to herdr, to the registry of live sessions
// and to the process table as the real one was captured: it keeps
// sessions/<pid>.json, reports its session to herdr's socket as herdr's hook
// for Claude does, sets the title and draws the screens that herdr reads.
//
// It understands lines typed at its prompt:
//
//	work 2s      be busy for that long
//	ask          show a permission prompt; 1 allows, anything else denies
//	bg 2s        run a background shell for that long
//	dialog       open a dialog such as /status; the next line closes it
//	/clear       go on under a new session id
//	/branch      the same, without telling herdr
//	/exit, exit  end
//
// Anything else is answered at once.
package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// version is the real one's that it was made after.
const version = "2.1.332 (Claude Code)"

func main() {
	var resume string
	for i, a := range os.Args[1:] {
		switch a {
		case "--version":
			fmt.Println(version)
			return
		case "-p", "--print":
			headless(os.Args[i+2:])
			return
		case "--resume":
			if i+2 < len(os.Args) {
				resume = os.Args[i+2]
			}
		}
	}
	if err := interactive(resume); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// headless is `claude -p`: in the registry, but nobody sits at it.
func headless(args []string) {
	e := entry{SessionID: newID(), Entrypoint: "sdk-cli", Status: "busy"}
	if err := e.write(); err != nil {
		fmt.Fprintln(os.Stderr, "fakeclaude:", err)
		os.Exit(1)
	}
	defer e.remove()
	report(e.SessionID, "startup")
	d, err := time.ParseDuration(strings.Join(args, ""))
	if err != nil {
		d = 100 * time.Millisecond
	}
	time.Sleep(d)
	fmt.Println("done")
}

func interactive(resume string) error {
	s := &session{entry: entry{SessionID: resume, Entrypoint: "cli"}, source: "startup"}
	if resume == "" {
		s.entry.SessionID = newID()
	} else {
		s.source = "resume"
		if !s.hasTranscript() {
			return errNotFound(resume)
		}
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGHUP, os.Interrupt)
	defer s.entry.remove()
	return s.run(end)
}

// errNotFound is in the words of the real one.
type errNotFound string

func (e errNotFound) Error() string { return "No conversation found with session ID: " + string(e) }

// newID is a random UUID (RFC 9562, version 4), as the real one's ids are.
func newID() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // the system has no randomness
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
