package fakecli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/BurntSushi/toml"

	"sessionhub/lib/herdr"
	"sessionhub/lib/herdr/herdrtest"
)

func (c *cli) server(args []string) int {
	switch {
	case len(args) == 0:
		return c.serve()
	case args[0] == "stop":
		return c.stop()
	}
	return c.usage("herdr server commands: stop")
}

// settings is what of herdr's config.toml a server heeds.
type settings struct {
	UI struct {
		Toast struct {
			Delivery string `toml:"delivery"`
		} `toml:"toast"`
	} `toml:"ui"`
	Session struct {
		Resume *bool `toml:"resume_agents_on_restore"`
	} `toml:"session"`
}

func (c *cli) serve() int {
	var set settings
	path := filepath.Join(filepath.Dir(herdr.SessionSocket("", c.Getenv)), "config.toml")
	if _, err := toml.DecodeFile(path, &set); err != nil && !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(c.Stderr, "config: %v\n", err)
	}
	timings := herdrtest.RealTimings()
	if c.Getenv("FAKEHERDR_TIMINGS") == "short" {
		timings = herdrtest.ShortTimings()
	}
	s, err := herdrtest.New(herdrtest.Config{
		Home: c.Getenv("HOME"), Socket: c.socket, Session: c.session, Env: os.Environ(), Shell: c.Getenv("SHELL"),
		Stdin: c.Stdin, Dialect: c.dialect(), Timings: timings, Toasts: set.UI.Toast.Delivery,
		Lacks:    strings.FieldsFunc(c.Getenv("FAKEHERDR_LACKS"), func(r rune) bool { return r == ',' }),
		NoResume: set.Session.Resume != nil && !*set.Session.Resume,
	})
	if err != nil {
		fmt.Fprintf(c.Stderr, "error: %v\napi socket: %s\n", err, c.socket)
		return 1
	}
	defer s.Close()
	fmt.Fprintf(c.Stderr, "herdr server running; you can use any herdr CLI command in another terminal.\napi socket: %s\n", c.socket)
	ended := make(chan struct{})
	go func() {
		s.Wait()
		close(ended)
	}()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-signals:
	case <-ended:
	}
	return 0
}

const stopTime = 15 * time.Second // that herdr's own command waits

func (c *cli) stop() int {
	if _, err := exchange(c.socket, "cli:server:stop", "server.stop", map[string]any{}); err != nil {
		fmt.Fprintf(c.Stderr, "server is not running or cannot be reached at %s: %s\n", c.socket, reason(err))
		return 1
	}
	for end := time.Now().Add(stopTime); running(c.socket); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			fmt.Fprintln(c.Stderr, "server did not stop in time")
			return 1
		}
	}
	return 0
}

func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "No such file or directory (os error 2)"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "Connection refused (os error 111)"
	}
	return err.Error()
}

func running(socket string) bool {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func (c *cli) status(args []string) int {
	what, asJSON := "", false
	for _, a := range args {
		if a == "--json" {
			asJSON = true
		} else {
			what = a
		}
	}
	client, server := c.clientStatus(), c.serverStatus()
	var v any = map[string]any{"client": client, "server": server, "update": map[string]any{"restart_needed": false}}
	switch what {
	case "client":
		v = client
	case "server":
		v = server
	}
	if asJSON {
		json.NewEncoder(c.Stdout).Encode(v)
		return 0
	}
	c.printStatus(what, client, server)
	return 0
}

func (c *cli) clientStatus() map[string]any {
	bin, _ := os.Executable()
	d := c.dialect()
	return map[string]any{"version": d.Version, "channel": "stable", "protocol": d.Protocol, "binary": bin, "session": orNull(c.session)}
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (c *cli) serverStatus() map[string]any {
	o := map[string]any{
		"status": "not_running", "running": false, "version": nil, "protocol": nil, "capabilities": nil,
		"compatible": nil, "socket": c.socket, "session": orNull(c.session), "restart_needed": false,
	}
	line, err := exchange(c.socket, "cli:status", "ping", map[string]any{})
	var pong struct{ Result map[string]any }
	if err == nil && json.Unmarshal(line, &pong) == nil && pong.Result != nil {
		o["status"], o["running"], o["compatible"] = "running", true, true
		for _, k := range []string{"version", "protocol", "capabilities"} {
			o[k] = pong.Result[k]
		}
	}
	return o
}

func (c *cli) printStatus(what string, client, server map[string]any) {
	indent := ""
	if what == "" {
		indent = "  "
		fmt.Fprintln(c.Stdout, "client:")
	}
	if what != "server" {
		for _, k := range []string{"version", "channel", "protocol"} {
			fmt.Fprintf(c.Stdout, "%s%s: %v\n", indent, k, client[k])
		}
	}
	if what == "client" {
		fmt.Fprintf(c.Stdout, "binary: %v\n", client["binary"])
		return
	}
	if what == "" {
		fmt.Fprint(c.Stdout, "\nserver:\n")
	}
	if server["running"] == true {
		fmt.Fprintf(c.Stdout, "%[1]sstatus: running\n%[1]sversion: %[2]v\n%[1]sprotocol: %[3]v\n%[1]scompatible: yes\n", indent, server["version"], server["protocol"])
	} else {
		fmt.Fprintf(c.Stdout, "%sstatus: not running\n", indent)
	}
	fmt.Fprintf(c.Stdout, "%ssocket: %s\n", indent, c.socket)
	if what == "" {
		fmt.Fprint(c.Stdout, "\nupdate:\n  restart_needed: no\n")
	}
}
