package herdr

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

func TestParseEvent(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want Event
		gone bool
	}{
		"detected": {`{"event":"pane_agent_detected","data":{"type":"pane_agent_detected","pane_id":"w1:p1","workspace_id":"w1","agent":"claude"}}`,
			Event{Name: EventAgentDetected, PaneID: "w1:p1", WorkspaceID: "w1", Agent: "claude"}, false},
		"released, though it names an agent": {`{"event":"pane_agent_detected","data":{"type":"pane_agent_detected","pane_id":"w1:p1","workspace_id":"w1","agent":"claude","released":true,"final_status":"idle"}}`,
			Event{Name: EventAgentDetected, PaneID: "w1:p1", WorkspaceID: "w1", Agent: "claude", Released: true, FinalStatus: StatusIdle}, true},
		"a failed restore": {`{"event":"pane_agent_detected","data":{"type":"pane_agent_detected","pane_id":"w1:p1","workspace_id":"w1"}}`,
			Event{Name: EventAgentDetected, PaneID: "w1:p1", WorkspaceID: "w1"}, true},
		"status without an agent": {`{"event":"pane_agent_status_changed","data":{"pane_id":"w1:p1","workspace_id":"w1","agent_status":"unknown"}}`,
			Event{Name: EventAgentStatus, PaneID: "w1:p1", WorkspaceID: "w1", Status: StatusUnknown}, false},
		"dot name of a subscription": {`{"data":{"agent":"claude","agent_status":"blocked","pane_id":"w1:p1","title":"T","workspace_id":"w1"},"event":"pane.agent_status_changed"}`,
			Event{Name: EventAgentStatus, PaneID: "w1:p1", WorkspaceID: "w1", Agent: "claude", Status: StatusBlocked, Title: "T"}, false},
		"nulls, unknown fields and statuses": {`{"x":1,"event":"pane_agent_status_changed","data":{"pane_id":"w1:p1","workspace_id":"w1","agent":null,"released":null,"agent_status":"daydreaming","pane":null,"y":{}}}`,
			Event{Name: EventAgentStatus, PaneID: "w1:p1", WorkspaceID: "w1", Status: "daydreaming"}, false},
		"unknown name": {`{"event":"pane_levitated","data":{}}`, Event{Name: "pane_levitated"}, false},
		"ids of objects": {`{"event":"tab_created","data":{"tab":{"tab_id":"w1:t2","workspace_id":"w1"}}}`,
			Event{Name: "tab_created", TabID: "w1:t2", WorkspaceID: "w1"}, false},
		"workspace": {`{"event":"workspace_created","data":{"workspace":{"workspace_id":"w1"}}}`,
			Event{Name: EventWorkspaceCreated, WorkspaceID: "w1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseEvent([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want || got.AgentGone() != c.gone {
				t.Errorf("%+v, gone %v; want %+v, %v", got, got.AgentGone(), c.want, c.gone)
			}
		})
	}
}

func TestParseEventMoved(t *testing.T) {
	e, err := ParseEvent([]byte(`{"event":"pane_moved","data":{"type":"pane_moved","previous_pane_id":"w1:p2","previous_workspace_id":"w1","previous_tab_id":"w1:t1","pane":{"pane_id":"w2:p3","terminal_id":"term_1","workspace_id":"w2","tab_id":"w2:t1","focused":false,"agent_status":"idle","agent":"codex","revision":0}}}`))
	if err != nil || e.PaneID != "w2:p3" || e.PreviousPaneID != "w1:p2" || e.WorkspaceID != "w2" || e.TabID != "w2:t1" || e.Pane.Agent != "codex" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestParseEventRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"nothing": "", "no JSON": "hello", "a list": "[]", "no name": `{"data":{}}`, "empty name": `{"event":"","data":{}}`,
		"hostile name": `{"event":"\u001b[31m","data":{}}`, "no data": `{"event":"pane_closed"}`, "null data": `{"event":"pane_closed","data":null}`,
		"wrong type": `{"event":"pane_closed","data":{"pane_id":7}}`,
	} {
		if e, err := ParseEvent([]byte(in)); err == nil {
			t.Errorf("%s: %+v, want an error", name, e)
		}
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add([]byte(`{"event":"pane_agent_detected","data":{"type":"pane_agent_detected","pane_id":"w1:p1","workspace_id":"w1","agent":"claude","released":true}}`))
	f.Add([]byte(`{"event":"pane.agent_status_changed","data":{"agent_status":"idle","pane":{"pane_id":"w1:p1"}}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		e, err := ParseEvent(in)
		if err == nil && !validName(e.Name) {
			t.Errorf("name %q", e.Name)
		}
		if err != nil && e != (Event{}) {
			t.Errorf("an error and %+v", e)
		}
	})
}

func TestStream(t *testing.T) {
	more := make(chan string)
	c := answering(t, func(conn net.Conn, _ string) {
		io.WriteString(conn, `{"id":"sub","result":{"type":"subscription_started"}}`+"\n")
		for text := range more {
			io.WriteString(conn, text)
		}
	})
	ctx := context.Background()
	s, err := c.Subscribe(ctx, []Subscription{{Type: "pane.closed"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	more <- `{"event":"pane_closed","data":{"pane_id":"w1:p1"}}` + "\n" + `{"event":"pane_clo`
	if e, err := s.Next(ctx); err != nil || e.PaneID != "w1:p1" || !e.PaneGone() {
		t.Errorf("%+v, %v", e, err)
	}
	short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	if _, err := s.Next(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want a deadline", err)
	}
	more <- `sed","data":{"pane_id":"w1:p2"}}` + "\n"
	if e, err := s.Next(ctx); err != nil || e.PaneID != "w1:p2" {
		t.Errorf("after a deadline in the middle of a line: %+v, %v", e, err)
	}
	gone, stop := context.WithCancel(ctx)
	time.AfterFunc(20*time.Millisecond, stop)
	if _, err := s.Next(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
	more <- `{"id":"sub","error":{"code":"events_lost","message":"slow"}}` + "\n"
	if _, err := s.Next(ctx); !IsCode(err, CodeEventsLost) {
		t.Errorf("error %v, want events_lost", err)
	}
	close(more)
	if _, err := s.Next(ctx); !errors.Is(err, ErrUnreachable) {
		t.Errorf("error %v, want unreachable", err)
	}
}
