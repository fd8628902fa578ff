// Package script runs testscripts: commands as users type them, each in a home
// of its own, against the real hub.
package script

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sessionhub/lib/herdr/herdrtest"
	"sessionhub/lib/herdr/herdrtest/fakecli"
	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/hub/store"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
)

// Main lets a test binary be the tool when a script runs it, and the stand-in
// for herdr under the name herdr-cli: herdr alone is a command of the scripts.
func Main(m *testing.M, tool string, main func()) { MainWith(m, "herdr-cli", tool, main, nil) }

// MainWith is Main with another name for the stand-in for herdr, and with more
// programs.
func MainWith(m testscript.TestingM, herdr, tool string, main func(), more map[string]func()) {
	all := map[string]func(){tool: main, herdr: func() {
		os.Exit(fakecli.Main(fakecli.Process{
			Args: os.Args[1:], Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		}))
	}}
	maps.Copy(all, more)
	testscript.Main(m, all)
}

// Run runs the scripts in testdata/script.
func Run(t *testing.T) { testscript.Run(t, Params(t)) }

// Params are how the scripts in testdata/script are run. Besides the commands of testscript
// they have:
//
//	hub            start a hub and write config.toml and tokens for it
//	hub down|up    end it, or start it again
//	hub ok|unavailable|unauthorized   let it fail
//	hub session ID TITLE [ended|silent]   let it know a session of the machine, which may be silent since
//	hub ask SESSION BODY              let a session ask what a file holds
//	hub mover MACHINE                 let a machine be there that can take moves; its token is in $HOME/MACHINE-token
//	hub upload MOVE FILE              let the machine tower upload a bundle of the move whose id is in a file
//	hub result MACHINE MOVE STATE [DETAIL]   let a machine tell how its end of that move got on
//	hub answerer                      let the user token answer asks, too
//	herdr          start a double of herdr; HERDR_SOCKET_PATH names its socket
func Params(t *testing.T) testscript.Params {
	return testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			// In a race build every process waits a second at its end otherwise.
			e.Vars = append(e.Vars, "GORACE=atexit_sleep_ms=0", "HOME="+home, "SESSIONHUB_STATE_DIR="+filepath.Join(e.WorkDir, "state"))
			e.Values[hubs] = map[string]*hubtest.Hub{}
			return os.MkdirAll(home, 0o700)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"hub": func(ts *testscript.TestScript, _ bool, args []string) { hub(t, ts, args) },
			"herdr": func(ts *testscript.TestScript, _ bool, _ []string) {
				s := herdrtest.Start(t)
				ts.Setenv("HERDR_SOCKET_PATH", s.Client().Socket)
			},
		},
	}
}

// hubs is the name of a script's value that holds its hub.
const hubs = "hubs"

func hub(t *testing.T, ts *testscript.TestScript, args []string) {
	verb := strings.Join(args, " ")
	if verb == "" {
		h := hubtest.Start(t)
		ts.Defer(h.Down)
		conf := filepath.Join(ts.Getenv("HOME"), ".config", "sessionhub")
		ts.Check(os.MkdirAll(conf, 0o700))
		for name, content := range map[string]string{
			"config.toml": "server_url = \"" + h.URL + "\"\nmachine = \"tower\"\n",
			"token":       h.MachineToken + "\n", "user-token": h.UserToken + "\n",
		} {
			ts.Check(os.WriteFile(filepath.Join(conf, name), []byte(content), 0o600))
		}
		ts.Setenv("HUB_DB", h.Path)
		ts.Setenv("HUB_URL", h.URL)
		ts.Value(hubs).(map[string]*hubtest.Hub)[hubs] = h
		return
	}
	h := ts.Value(hubs).(map[string]*hubtest.Hub)[hubs]
	if h == nil {
		ts.Fatalf("hub: start it first")
	}
	if args[0] == "session" {
		how := ""
		if len(args) > 3 {
			how = args[3]
		}
		ts.Check(knows(h, args[1], args[2], how))
		return
	}
	if f := moving[args[0]]; f != nil {
		ts.Check(f(ts, h, args[1:]))
		return
	}
	if args[0] == "ask" {
		ts.Check(asks(h, args[1], []byte(ts.ReadFile(args[2]))))
		return
	}
	switch verb {
	case "answerer":
		token := h.AddToken(store.Token{Kind: store.KindUser, Name: "owner", Scopes: []string{"read", "ask", "answer"}})
		ts.Check(os.WriteFile(filepath.Join(ts.Getenv("HOME"), ".config", "sessionhub", "user-token"), []byte(token+"\n"), 0o600))
	case "down":
		h.Down()
	case "up":
		h.Up()
	case "ok":
		h.SetFault(hubtest.None)
	case "unavailable":
		h.SetFault(hubtest.Unavailable)
	case "unauthorized":
		h.SetFault(hubtest.Unauthorized)
	default:
		ts.Fatalf("hub %s: unknown", verb)
	}
}

// silence is for how long a silent machine was not heard of.
const silence = 10 * time.Minute

// knows lets a hub know a session: live, over ("ended"), or of a machine that was
// not heard of for a while ("silent").
func knows(h *hubtest.Hub, id, title, how string) error {
	return h.Store().Write(context.Background(), func(tx *store.Tx) error {
		at := time.Now()
		if how == "silent" {
			at = at.Add(-silence)
		}
		snap := record.Snapshot{V: record.Version, At: record.At(at), Machine: "tower", HerdrSession: id, Sessions: []record.LiveSession{
			{Session: id, Agent: "claude", PaneID: "w1:p1", AgentState: record.Idle, Cwd: "/home/dev/app", TitleHint: title},
		}}
		if err := store.Heartbeat(tx, "tower", &snap, at); err != nil || how != "ended" {
			return err
		}
		snap.Sessions, snap.At = nil, record.At(at.Add(time.Millisecond))
		return store.Heartbeat(tx, "tower", &snap, at.Add(time.Millisecond))
	})
}

// asks lets a session ask.
func asks(h *hubtest.Hub, session string, body []byte) error {
	now := time.Now()
	e := record.EventPost{ID: queue.NewStamp(now).ID, At: record.At(now), Source: record.SourceHook, Kind: record.KindAsk, Body: body}
	return h.Store().Write(context.Background(), func(tx *store.Tx) error { return store.Event(tx, "tower", session, &e, now) })
}
