package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sessionhub/lib/claude"
	"sessionhub/lib/config"
	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/hub/store"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

const self = "0b5c1f9e-2d2c-4a57-9a3e-1f0c52b8d1aa"

// talk is a model that talks to a server.
type talk struct {
	t       *testing.T
	hub     *hubtest.Hub
	server  *Server
	queue   *queue.Queue
	client  *mcp.ClientSession
	session error // of finding the session
	woken   int
	wake    error
}

func newTalk(t *testing.T) *talk {
	t.Helper()
	k := &talk{t: t, hub: hubtest.Start(t), queue: &queue.Queue{Dir: state.Dir(filepath.Join(t.TempDir(), "state"))}}
	k.server = &Server{
		Queue: k.queue, Version: "test",
		Connect: func() (Hub, error) {
			return hubclient.New(config.Config{ServerURL: k.hub.URL, Machine: "tower"}, k.hub.MachineToken)
		},
		Session: func() (string, error) { return self, k.session },
		Stamp:   func() queue.Stamp { return queue.NewStamp(time.Now()) },
		Wake:    func() error { k.woken++; return k.wake },
	}
	ours, theirs := mcp.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- k.server.Serve(ctx, ours) }()
	var err error
	if k.client, err = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, theirs, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		k.client.Close()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return k
}

// call calls a tool and gives what it answered: its structured answer, or the
// text of its error.
func (k *talk) call(tool string, args map[string]any) (answer string, failed bool) {
	k.t.Helper()
	res, err := k.client.CallTool(k.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	if res.IsError {
		return res.Content[0].(*mcp.TextContent).Text, true
	}
	b, err := json.Marshal(res.StructuredContent)
	if err != nil {
		k.t.Fatal(err)
	}
	return string(b), false
}

func (k *talk) queued() (kinds string) {
	k.t.Helper()
	if err := k.queue.TakeOver(); err != nil {
		k.t.Fatal(err)
	}
	names, err := k.queue.Segments()
	if err != nil {
		k.t.Fatal(err)
	}
	var list []string
	for _, n := range names {
		entries, _, err := k.queue.ReadSegment(n)
		if err != nil {
			k.t.Fatal(err)
		}
		for _, e := range entries {
			if e.Item.Session != self || e.Item.Source != record.SourceMCP {
				k.t.Errorf("item %+v", e.Item)
			}
			list = append(list, string(e.Item.Kind)+string(e.Item.Body))
		}
	}
	return strings.Join(list, " ")
}

func TestASessionSpeaksOfItself(t *testing.T) {
	k := newTalk(t)
	if a, failed := k.call("report", map[string]any{"done": "parser", "waiting_on": "review"}); failed || !strings.Contains(a, `"id":"`) {
		t.Errorf("report: %s", a)
	}
	if a, failed := k.call("set_title", map[string]any{"title": "Fix the parser"}); failed {
		t.Errorf("set_title: %s", a)
	}
	if got, want := k.queued(), `report{"done":"parser","waiting_on":"review"} title{"title":"Fix the parser"}`; got != want || k.woken != 2 {
		t.Errorf("queued %s, woken %d", got, k.woken)
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	k := newTalk(t)
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"report", nil, "are all missing"},
		{"set_title", map[string]any{"title": ""}, `"title" is missing`},
		{"set_title", map[string]any{}, "title"},
		{"report", map[string]any{"done": strings.Repeat("x", record.MaxItem)}, "over the limit"},
	} {
		if a, failed := k.call(c.tool, c.args); !failed || !strings.Contains(a, c.want) {
			t.Errorf("%s: %v, %s", c.tool, failed, a)
		}
	}
	k.session = claude.ErrNoSession
	if a, failed := k.call("report", map[string]any{"done": "x"}); !failed || !strings.Contains(a, "not inside a Claude Code session") {
		t.Errorf("no session: %s", a)
	}
	if got := k.queued(); got != "" {
		t.Errorf("queued %s", got)
	}
}

// A watcher that can't be started loses nothing, and the model is told.
func TestNoWatcher(t *testing.T) {
	k := newTalk(t)
	k.wake = errors.New("no shwatch")
	if a, failed := k.call("report", map[string]any{"done": "x"}); failed {
		t.Errorf("report: %s", a)
	}
	if got := k.queued(); got != `report{"done":"x"}` {
		t.Errorf("queued %s", got)
	}
}

// The tools show this machine's sessions alone, with texts that are clean.
func TestNeighbours(t *testing.T) {
	k := newTalk(t)
	now := record.At(time.Now())
	for _, machine := range []string{"tower", "laptop"} {
		id := self
		if machine == "laptop" {
			id = "other"
		}
		err := k.hub.Store().Write(t.Context(), func(tx *store.Tx) error {
			return store.Heartbeat(tx, machine, &record.Snapshot{V: 1, At: now, Machine: machine, Sessions: []record.LiveSession{
				{Session: id, Agent: "claude", AgentState: record.Blocked, Cwd: "/home/dev/app", TitleHint: "t\x1b[31mitle", Git: &record.Git{Branch: "main"}},
			}}, time.Now())
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	a, failed := k.call("sessions", nil)
	if failed || !strings.Contains(a, `"self":true`) || !strings.Contains(a, `"state":"blocked"`) || !strings.Contains(a, `"title":"title"`) || strings.Contains(a, "other") {
		t.Errorf("sessions: %s", a)
	}
	a, failed = k.call("inbox", nil)
	if failed || !strings.Contains(a, `"kind":"blocked"`) || !strings.Contains(a, self) || strings.Contains(a, "other") {
		t.Errorf("inbox: %s", a)
	}
	k.hub.Down()
	if a, failed := k.call("sessions", nil); !failed || !strings.Contains(a, "out of reach") {
		t.Errorf("without a hub: %s", a)
	}
	if a, failed := k.call("inbox", nil); !failed || !strings.Contains(a, "out of reach") {
		t.Errorf("without a hub: %s", a)
	}
}
