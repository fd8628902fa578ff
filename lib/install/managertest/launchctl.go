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
	loaded := p.has(label + ".plist")
	switch {
	case verb == "print" && len(p.Args) == 2:
		if !loaded {
			return p.fail(113, "Could not find service %q in domain for user gui: %d", label, os.Getuid())
		}
		state, last := "not running", "(never exited)"
		if p.pid(label) != 0 {
			state = "running"
		}
		if b, err := os.ReadFile(p.file(label + ".exit")); err == nil {
			last = string(b)
		}
		fmt.Fprintf(p.Stdout, "%s = {\n\tstate = %s\n\n\tlast exit code = %s\n}\n", target, state, last)
		return 0
	case verb == "bootout" && len(p.Args) == 2:
		return p.bootout(label, loaded)
	case verb == "kickstart" && (len(p.Args) == 2 || len(p.Args) == 3 && p.Args[1] == "-k"):
		if !loaded {
			return p.fail(113, "Could not find service %q in domain for user gui: %d", label, os.Getuid())
		}
		return p.launch(p.file(label+".plist"), true)
	}
	return p.fail(64, "Usage: launchctl <subcommand> ...")
}

func (p Process) bootstrap(path string) int {
	label := strings.TrimSuffix(filepath.Base(path), ".plist")
	if p.has(label + ".ending") {
		os.Remove(p.file(label + ".ending"))
		return p.fail(37, "Bootstrap failed: 37: Operation already in progress")
	}
	if p.has(label + ".plist") {
		return p.fail(5, "Bootstrap failed: 5: Input/output error")
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(p.file(label+".plist"), b, 0o600)
	}
	if err != nil {
		return p.fail(5, "Bootstrap failed: 5: Input/output error")
	}
	return p.launch(p.file(label+".plist"), false)
}

func (p Process) bootout(label string, loaded bool) int {
	if !loaded {
		return p.fail(3, "Boot-out failed: 3: No such process")
	}
	err := errors.Join(p.end(label), os.Remove(p.file(label+".plist")), os.WriteFile(p.file(label+".ending"), nil, 0o600))
	if err != nil {
		return p.fail(5, "Boot-out failed: 5: %v", err)
	}
	return 0
}

// launch starts a job, unless it has times of its own and nobody says now.
func (p Process) launch(path string, now bool) int {
	f, err := os.Open(path)
	if err != nil {
		return p.fail(5, "%v", err)
	}
	defer f.Close()
	a, err := ParseAgent(f)
	if err == nil && a.Every > 0 && !now {
		return 0
	}
	if err == nil {
		err = p.end(a.Label)
	}
	if err == nil && a.Every == 0 { // its folder is there for a timer's
		err = os.MkdirAll(filepath.Dir(a.Log), 0o755)
	}
	j := job{name: a.Label, argv: a.Argv, env: a.Env, log: a.Log}
	switch {
	case err != nil:
	case a.Every > 0:
		var code int
		if code, err = p.pass(j); err == nil {
			err = os.WriteFile(p.file(a.Label+".exit"), []byte(strconv.Itoa(code)), 0o600)
		}
	default:
		err = p.start(j)
	}
	if err != nil {
		return p.fail(5, "%v", err)
	}
	return 0
}

// Agent is what a property list says of its job.
type Agent struct {
	Label, Log string
	Argv, Env  []string
	Every      int  // seconds; 0 is a job that is kept running
	Abandon    bool // what it leaves in its process group lives on
}

// ParseAgent reads a property list: its values, by the keys before them.
func ParseAgent(r io.Reader) (a Agent, err error) {
	d := xml.NewDecoder(r)
	var keys []string // of the dictionaries around; the last is of the innermost
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return a, err
		}
		start, ok := t.(xml.StartElement)
		if !ok {
			if end, ok := t.(xml.EndElement); ok && end.Name.Local == "dict" {
				keys = keys[:len(keys)-1]
			}
			continue
		}
		switch start.Name.Local {
		case "dict":
			keys = append(keys, "")
			continue
		case "true":
			a.Abandon = a.Abandon || keys[len(keys)-1] == "AbandonProcessGroup"
			continue
		case "key", "string", "integer":
		default:
			continue
		}
		var text string
		if err := d.DecodeElement(&text, &start); err != nil {
			return a, err
		}
		if start.Name.Local == "key" {
			keys[len(keys)-1] = text
			continue
		}
		if err := a.set(keys, text); err != nil {
			return a, err
		}
	}
	if a.Label == "" || len(a.Argv) == 0 {
		return a, errors.New("no label, or no program")
	}
	return a, nil
}

func (a *Agent) set(keys []string, text string) (err error) {
	if keys[0] == "EnvironmentVariables" {
		a.Env = append(a.Env, keys[1]+"="+text)
		return nil
	}
	switch keys[0] {
	case "Label":
		a.Label = text
	case "ProgramArguments":
		a.Argv = append(a.Argv, text)
	case "StandardErrorPath":
		a.Log = text
	case "StartInterval":
		a.Every, err = strconv.Atoi(text)
	}
	return err
}
