// Package fakecli is the command line of fakeherdr: the verbs of herdr that
// this project uses, with herdr's outputs and exit codes. Success is one JSON
// line on stdout and 0, an error answer is one on stderr and 1, wrong usage is
// text on stderr and 2.
//
// FAKEHERDR_VERSION=0.9.3 plays that version, FAKEHERDR_TIMINGS=short makes a
// server quick, FAKEHERDR_LACKS=METHOD,… one that does not know these methods.
package fakecli

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"sessionhub/lib/herdr"
	"sessionhub/lib/herdr/herdrtest"
)

// Process is what a command line runs with.
type Process struct {
	Args   []string
	Getenv func(string) string
	Stdin  *os.File
	Stdout io.Writer
	Stderr io.Writer
}

// cli is one invocation.
type cli struct {
	Process
	session string
	socket  string
}

// Main runs a command line and returns its exit status.
func Main(p Process) int {
	c := &cli{Process: p}
	if len(c.Args) > 1 && c.Args[0] == "--session" {
		c.session, c.Args = c.Args[1], c.Args[2:]
		if !validName(c.session) {
			return c.usage("error: session name may only contain ASCII letters, numbers, '.', '_' and '-'\nrun 'herdr --help' for usage")
		}
	}
	switch {
	case c.session != "":
		c.socket = herdr.SessionSocket(c.session, c.Getenv)
	default:
		c.socket = herdr.DefaultSocket(c.Getenv)
		if c.Getenv("HERDR_SOCKET_PATH") == "" {
			c.session = c.Getenv("HERDR_SESSION")
		}
	}
	if c.session == herdr.DefaultSession {
		c.session = ""
	}
	return c.run()
}

func validName(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

func (c *cli) dialect() herdrtest.Dialect {
	if strings.HasPrefix(c.Getenv("FAKEHERDR_VERSION"), "0.9") {
		return herdrtest.Herdr093()
	}
	return herdrtest.Herdr082()
}

func (c *cli) run() int {
	if len(c.Args) == 0 {
		return c.usage("fakeherdr has no screen: use a command")
	}
	switch c.Args[0] {
	case "--version", "-V":
		fmt.Fprintln(c.Stdout, "herdr", c.dialect().Version)
		return 0
	case "status":
		return c.status(c.Args[1:])
	case "session":
		return c.sessions(c.Args[1:])
	case "server":
		return c.server(c.Args[1:])
	case "plugin":
		return c.plugin(c.Args[1:])
	case "integration":
		return c.integration(c.Args[1:])
	}
	words := min(2, len(c.Args))
	v, known := verbs()[strings.Join(c.Args[:words], " ")]
	if known {
		return c.verb(v, c.Args[2:])
	}
	switch c.Args[0] {
	case "api", "workspace", "tab", "pane", "agent", "notification":
		return c.usage("herdr " + c.Args[0] + " commands: not this one")
	}
	return c.usage("unknown command: " + c.Args[0] + "\nrun 'herdr --help' for usage")
}

func (c *cli) usage(text string) int {
	fmt.Fprintln(c.Stderr, text)
	return 2
}

// verb is a subcommand that is one request.
type verb struct {
	id     string // of the request
	method string
	usage  string
	spec   spec
	params func(parsed) map[string]any
	silent bool                                                    // prints nothing
	then   func(*cli, parsed, map[string]any, json.RawMessage) int // instead of printing
}

func (c *cli) verb(v verb, args []string) int {
	p, err := v.spec.parse(args)
	if err != nil {
		return c.usage(err.Error())
	}
	if len(p.words) < v.spec.least {
		return c.usage("usage: " + v.usage)
	}
	params := v.params(p)
	line, code := c.call(v.id, v.method, params)
	if code != 0 {
		return code
	}
	if v.then != nil {
		return v.then(c, p, params, line)
	}
	if !v.silent {
		c.Stdout.Write(line)
	}
	return 0
}

// call sends a request and returns its answer; what goes wrong is printed.
func (c *cli) call(id, method string, params any) (json.RawMessage, int) {
	line, err := exchange(c.socket, id, method, params)
	if err != nil {
		hint := "run `herdr` to start or attach it"
		if c.session != "" {
			hint = "run `herdr session attach " + c.session + "` to start or attach it"
		}
		c.failure(id, "server_not_running", fmt.Sprintf("no herdr server is running at %s; %s", c.socket, hint))
		return nil, 1
	}
	var a struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(line, &a) == nil && a.Error != nil {
		c.Stderr.Write(line)
		return nil, 1
	}
	return line, 0
}

func (c *cli) failure(id, code, message string) {
	json.NewEncoder(c.Stderr).Encode(struct {
		ID    string            `json:"id"`
		Error map[string]string `json:"error"`
	}{id, map[string]string{"code": code, "message": message}})
}

const callTime = 330 * time.Second // above the longest wait that a verb asks for

func exchange(socket, id, method string, params any) ([]byte, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(callTime))
	line, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(conn)
	if len(answer) == 0 {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	return answer, nil
}
