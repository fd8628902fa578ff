package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/herdr"
)

func home() claude.Home {
	h, _ := claude.DefaultHome(os.Getenv) // a relative one is as good
	return h
}

// entry is sessions/<pid>.json, with the fields that the real one writes.
type entry struct {
	Session    string
	Entrypoint string
	Status     string
	WaitingFor string
	Name       string
	Bridge     string // the Remote Control session

	written bool
	last    string
}

func (e *entry) path() string {
	return filepath.Join(home().Sessions(), strconv.Itoa(os.Getpid())+".json")
}

// write replaces the entry by a rename, when something in it changed.
func (e *entry) write() error {
	state := e.Session + e.Status + e.WaitingFor + e.Name + e.Bridge
	if e.written && state == e.last {
		return nil
	}
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	table, err := claude.NewTable()
	if err != nil {
		return err
	}
	self, _ := table.Find(os.Getpid())
	now := time.Now().UnixMilli()
	v := map[string]any{
		"pid": os.Getpid(), "sessionId": e.Session, "cwd": cwd, "startedAt": self.Began.UnixMilli(), "procStart": self.Start,
		"version": version, "peerProtocol": 1, "kind": claude.KindInteractive, "entrypoint": e.Entrypoint, "pidDomain": claude.PIDDomain(),
		"status": e.Status, "updatedAt": now, "statusUpdatedAt": now, "name": filepath.Base(cwd), "nameSource": "derived",
	}
	for field, value := range map[string]string{"waitingFor": e.WaitingFor, "bridgeSessionId": e.Bridge} {
		if value != "" {
			v[field] = value
		}
	}
	if e.Name != "" {
		v["name"], v["nameSource"] = e.Name, "user"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(home().Sessions(), 0o700); err != nil {
		return err
	}
	tmp := e.path() + ".tmp"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	e.written, e.last = true, state
	return os.Rename(tmp, e.path())
}

func (e *entry) remove() { os.Remove(e.path()) }

// reportWait is how long herdr's own hook script waits for the socket.
const reportWait = 500 * time.Millisecond

// report tells herdr the session, as its hook for Claude does at each
// SessionStart. Without herdr, or when it does not answer, nothing happens.
func report(id, source string) {
	socket, pane := os.Getenv("HERDR_SOCKET_PATH"), os.Getenv("HERDR_PANE_ID")
	if socket == "" || pane == "" || os.Getenv("FAKECLAUDE_SILENT") != "" {
		return
	}
	c := &herdr.Client{Socket: socket, Timeout: reportWait}
	seq := uint64(time.Now().UnixNano()) // without one herdr drops what comes after one
	_ = c.ReportAgentSession(context.Background(), herdr.SessionReport{
		PaneID: pane, Source: "herdr:claude", Agent: "claude", Seq: seq, SessionID: id, StartSource: source,
	})
}
