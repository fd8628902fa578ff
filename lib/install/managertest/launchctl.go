package managertest

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Launchctl plays launchctl. After bootout the job's former life takes a moment:
// the first bootstrap that follows is refused.
func Launchctl(p Process) int {
	domain := "gui/" + strconv.Itoa(os.Getuid())
	verb := ""
	if len(p.Args) > 0 {
		verb = p.Args[0]
	}
	if p.dir() == "" {
		return p.fail(113, "Could not find domain for user gui: %d", os.Getuid())
	}
	if verb == p.Getenv("FAKE_MANAGER_FAIL") {
		return p.fail(1, "%s failed: 1: Operation not permitted", verb)
	}
	switch words := strings.Join(p.Args, " "); {
	case words == "print "+domain:
		fmt.Fprintf(p.Stdout, "%s = {\n\ttype = gui\n}\n", domain)
		return 0
	case verb == "bootstrap" && len(p.Args) == 3 && p.Args[1] == domain:
		return p.bootstrap(p.Args[2])
	}
	target := p.Args[len(p.Args)-1]
	label, ok := strings.CutPrefix(target, domain+"/")
	if !ok {
		return p.fail(64, "Usage: launchctl <subcommand> ...")
	}
	loaded := p.has("plist")
	switch {
	case verb == "print" && len(p.Args) == 2:
		if !loaded {
			return p.fail(113, "Could not find service %q in domain for user gui: %d", label, os.Getuid())
		}
		state := "not running"
		if p.pid() != 0 {
			state = "running"
		}
		fmt.Fprintf(p.Stdout, "%s = {\n\tstate = %s\n}\n", target, state)
		return 0
	case verb == "bootout" && len(p.Args) == 2:
		return p.bootout(loaded)
	case verb == "kickstart" && len(p.Args) == 3 && p.Args[1] == "-k":
		if !loaded {
			return p.fail(113, "Could not find service %q in domain for user gui: %d", label, os.Getuid())
		}
		return p.launch(p.file("plist"))
	}
	return p.fail(64, "Usage: launchctl <subcommand> ...")
}

func (p Process) bootstrap(path string) int {
	if p.has("ending") {
		os.Remove(p.file("ending"))
		return p.fail(37, "Bootstrap failed: 37: Operation already in progress")
	}
	if p.has("plist") {
		return p.fail(5, "Bootstrap failed: 5: Input/output error")
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(p.file("plist"), b, 0o600)
	}
	if err != nil {
		return p.fail(5, "Bootstrap failed: 5: Input/output error")
	}
	return p.launch(p.file("plist"))
}

func (p Process) bootout(loaded bool) int {
	if !loaded {
		return p.fail(3, "Boot-out failed: 3: No such process")
	}
	err := errors.Join(p.end(), os.Remove(p.file("plist")), os.WriteFile(p.file("ending"), nil, 0o600))
	if err != nil {
		return p.fail(5, "Boot-out failed: 5: %v", err)
	}
	return 0
}

func (p Process) launch(path string) int {
	f, err := os.Open(path)
	if err != nil {
		return p.fail(5, "%v", err)
	}
	defer f.Close()
	a, err := ParseAgent(f)
	if err == nil {
		err = p.end()
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(a.Log), 0o755)
	}
	if err == nil {
		err = p.start(job{argv: a.Argv, env: []string{"PATH=" + a.Path}, log: a.Log})
	}
	if err != nil {
		return p.fail(5, "%v", err)
	}
	return 0
}

// Agent is what a property list says of its job.
type Agent struct {
	Label, Path, Log string
	Argv             []string
}

// ParseAgent reads a property list: its strings, by the keys before them.
func ParseAgent(r io.Reader) (a Agent, err error) {
	d := xml.NewDecoder(r)
	key := ""
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return a, err
		}
		start, ok := t.(xml.StartElement)
		if !ok || start.Name.Local != "key" && start.Name.Local != "string" {
			continue
		}
		var text string
		if err := d.DecodeElement(&text, &start); err != nil {
			return a, err
		}
		if start.Name.Local == "key" {
			key = text
			continue
		}
		switch key {
		case "Label":
			a.Label = text
		case "ProgramArguments":
			a.Argv = append(a.Argv, text)
		case "PATH":
			a.Path = text
		case "StandardErrorPath":
			a.Log = text
		}
	}
	if a.Label == "" || len(a.Argv) == 0 {
		return a, errors.New("no label, or no program")
	}
	return a, nil
}
