package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/herdr"
)

func home() claude.Home {
	if d := os.Getenv("CLAUDE_CONFIG_DIR"); d != "" {
		return claude.Home(d)
	}
	return claude.Home(filepath.Join(os.Getenv("HOME"), ".claude"))
}

// entry is sessions/<pid>.json, with the fields that the real one writes.
type entry struct {
	SessionID  string
	Entrypoint string
	Status     string
	WaitingFor string
}

func (e *entry) path() string { return filepath.Join(home().Sessions(), itoa(os.Getpid())+".json") }

// write replaces the entry, as the real one does, by a rename.
func (e *entry) write() error {
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
		"pid": os.Getpid(), "sessionId": e.SessionID, "cwd": cwd, "startedAt": self.Began.UnixMilli(), "procStart": self.Start,
		"version": strings.Fields(version)[0], "kind": claude.KindInteractive, "entrypoint": e.Entrypoint, "pidDomain": claude.PIDDomain(),
		"status": e.Status, "updatedAt": now, "statusUpdatedAt": now, "name": filepath.Base(cwd), "nameSource": "derived",
	}
	if e.WaitingFor != "" {
		v["waitingFor"] = e.WaitingFor
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
	return os.Rename(tmp, e.path())
}

func (e *entry) remove() { os.Remove(e.path()) }

func itoa(n int) string {
	b, _ := json.Marshal(n)
	return string(b)
}

// folder is where the transcripts of the working directory lie.
func folder() string {
	cwd, _ := os.Getwd() // "" has a folder, too
	return home().Project(cwd)
}

func (s *session) transcript() string {
	return filepath.Join(folder(), s.entry.SessionID+".jsonl")
}

func (s *session) hasTranscript() bool {
	_, ok := home().Transcript(s.entry.SessionID)
	return ok
}

// record appends a prompt to the transcript, which is there from the first one
// on.
func (s *session) record(prompt string) error {
	if err := os.MkdirAll(folder(), 0o700); err != nil {
		return err
	}
	path := s.transcript()
	if old, ok := home().Transcript(s.entry.SessionID); ok {
		path = old
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.NewEncoder(f).Encode(map[string]any{
		"type": "user", "uuid": newID(), "sessionId": s.entry.SessionID, "timestamp": time.Now().UTC().Format(time.RFC3339Nano),
		"message": map[string]string{"role": "user", "content": prompt},
	})
}

// reportWait is how long herdr's own hook script waits for the socket.
const reportWait = 500 * time.Millisecond

// report tells herdr the session, as its hook for Claude does. Without herdr,
// or when it does not answer, nothing happens.
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
