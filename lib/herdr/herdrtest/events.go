package herdrtest

import (
	"encoding/json"
	"strings"
	"time"
)

// event is something that happened. Plugin hooks hear of it first.
type event struct {
	kind   string // dot name
	pane   string // of per-pane events
	data   obj
	ctx    hookContext
	noHook bool
}

func (e event) snake() string { return strings.ReplaceAll(e.kind, ".", "_") }

// global is the event as hooks and global subscriptions get it.
func (e event) global() obj {
	data := obj{"type": e.snake()}
	for k, v := range e.data {
		data[k] = v
	}
	return obj{"event": e.snake(), "data": data}
}

const statusEvent = "pane.agent_status_changed"

// emit tells hooks and subscriptions of an event. The lock is held.
func (s *Server) emit(e event) {
	if !e.noHook {
		s.plugins.fire(e)
	}
	line := e.global()
	if e.kind == statusEvent {
		line = obj{"event": e.kind, "data": e.data}
	}
	s.ring.add(ringEvent{kind: e.kind, pane: e.pane, raw: jsonLine(line)})
}

func (s *Server) emitWorkspace(kind string, w *workspace) {
	s.emit(event{kind: kind, ctx: s.contextOf(w, w.active, w.active.focused), data: obj{"workspace": s.workspaceInfo(w)}})
}

// emitWorkspaceClosed says what the workspace was like just before.
func (s *Server) emitWorkspaceClosed(w *workspace, info obj) {
	active, _ := info["active_tab_id"].(string)
	s.emit(event{kind: "workspace.closed", ctx: hookContext{workspace: w.id, workspaceLabel: w.label, tab: active},
		data: obj{"workspace_id": w.id, "workspace": info}})
}

func (s *Server) emitTab(kind string, t *tab) {
	s.emit(event{kind: kind, ctx: s.contextOf(t.ws, t, t.focused), data: obj{"tab": s.tabInfo(t)}})
}

func (s *Server) emitPane(kind string, p *pane, data obj) {
	s.emit(event{kind: kind, ctx: s.contextOf(p.tab.ws, p.tab, p), data: data})
}

func (s *Server) emitLayout(t *tab) {
	if len(t.panes) > 0 {
		s.emit(event{kind: "layout.updated", noHook: true, data: obj{"layout": s.state.layoutOf(t)}})
	}
}

const ringSize = 512

type ringEvent struct {
	seq  uint64
	kind string // "" goes to every subscription
	pane string
	raw  []byte
}

// ring is the retained history of events.
type ring struct {
	events []ringEvent
	last   uint64
	lost   int // rises to make subscriptions end as if events were lost
}

// reset forgets the events; numbers go on, so that no subscription of an
// earlier run sees old ones.
func (r *ring) reset() { r.events = nil }

func (r *ring) add(e ringEvent) {
	r.last++
	e.seq = r.last
	r.events = append(r.events, e)
	if len(r.events) > ringSize {
		r.events = r.events[len(r.events)-ringSize:]
	}
}

// LoseEvents makes every open subscription lose events: since 0.9.2 it ends with
// an events_lost line, before nothing is said of it.
func (s *Server) LoseEvents() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ring.events = nil
	s.ring.lost++
}

// subscription is one entry of a subscription list.
type subscription struct {
	kind   string
	pane   string
	status string
	cursor uint64 // last event seen
	first  []byte // line to send before all others
}

type subscribeParams struct {
	Subscriptions []json.RawMessage `json:"subscriptions" need:""`
}

type subscriptionParams struct {
	Type        string  `json:"type" need:""`
	PaneID      *string `json:"pane_id"`
	AgentStatus *string `json:"agent_status" enum:"idle,working,blocked,done,unknown"`
}

func globalKind(kind string) bool {
	switch kind {
	case "workspace.created", "workspace.updated", "workspace.metadata_updated", "workspace.renamed", "workspace.moved",
		"workspace.reordered", "workspace.closed", "workspace.focused", "worktree.created", "worktree.opened",
		"worktree.removed", "tab.created", "tab.closed", "tab.focused", "tab.renamed", "tab.moved", "pane.created",
		"pane.closed", "pane.updated", "pane.focused", "pane.moved", "pane.exited", "pane.agent_detected", "layout.updated":
		return true
	}
	return false
}

func (c *exchange) subscribe() {
	var p subscribeParams
	if err := decode(c.req.params, &p); err != nil {
		c.answer(nil, err, nil)
		return
	}
	s := c.server
	s.mu.Lock()
	subs, err := s.openSubscriptions(c, p)
	lost := s.ring.lost
	s.mu.Unlock()
	if err != nil {
		c.answer(nil, err, nil)
		return
	}
	c.answer(obj{"type": "subscription_started"}, nil, nil)
	c.stream(subs, lost)
}

func (s *Server) openSubscriptions(c *exchange, p subscribeParams) ([]*subscription, *apiError) {
	if s.stopping {
		return nil, fail("server_unavailable", "server is shutting down")
	}
	var subs []*subscription
	for i, raw := range p.Subscriptions {
		sub, err := s.openSubscription(raw)
		if err != nil {
			if err.code == "pane_not_found" && !s.cfg.Dialect.KeepsErrorIDs {
				c.req.id += ":sub:" + idIndex(i) + ":probe"
			}
			return nil, err
		}
		subs = append(subs, sub)
	}
	return subs, nil
}

func idIndex(i int) string { return string(jsonLine(i)[:len(jsonLine(i))-1]) }

func (s *Server) openSubscription(raw json.RawMessage) (*subscription, *apiError) {
	var p subscriptionParams
	if err := decode(raw, &p); err != nil {
		return nil, err
	}
	sub := &subscription{kind: p.Type, pane: deref(p.PaneID), status: deref(p.AgentStatus), cursor: s.ring.last}
	switch {
	case p.Type == statusEvent:
		if p.PaneID == nil {
			return nil, malformed("missing field `pane_id`")
		}
		q, err := s.findPane(sub.pane)
		if err != nil {
			return nil, err
		}
		if sub.status != "" && sub.status == q.agent.shown {
			data := obj{"pane_id": q.id, "workspace_id": q.tab.ws.id, "agent_status": q.agent.shown}
			put(data, "agent", q.agent.label())
			sub.first = jsonLine(obj{"event": statusEvent, "data": data})
		}
	case globalKind(p.Type):
		sub.pane = ""
		if !s.cfg.Dialect.LiveEvents {
			sub.cursor = 0
		}
	default:
		return nil, malformed("unknown variant `%s`, expected one of `workspace.created`, `workspace.updated`, …", p.Type)
	}
	return sub, nil
}

// stream writes what happens until one side ends it.
func (c *exchange) stream(subs []*subscription, lost int) {
	s := c.server
	hungUp := c.hungUp()
	for {
		s.mu.Lock()
		lines := s.pending(subs)
		events := s.ring.lost != lost
		s.mu.Unlock()
		if events && s.cfg.Dialect.KeepsErrorIDs {
			c.write(answerLine(c.req.id, nil, fail("events_lost", "subscription lost events")))
			return
		}
		for _, line := range lines {
			if f := s.cfg.OnAnswer; f != nil {
				f("event", line[:len(line)-1])
			}
			if c.write(line) != nil {
				return
			}
		}
		select {
		case <-hungUp:
			return
		case <-c.run.Done():
			return
		case <-time.After(s.cfg.Timings.EventStep):
		}
	}
}

// pending collects the lines of one step: in the order of the subscription
// list, one each, or since 0.9 all of them.
func (s *Server) pending(subs []*subscription) [][]byte {
	var lines [][]byte
	for _, sub := range subs {
		if sub.first != nil {
			lines = append(lines, sub.first)
			sub.first = nil
			continue
		}
		for _, e := range s.ring.events {
			if e.seq <= sub.cursor {
				continue
			}
			sub.cursor = e.seq
			if !sub.wants(e) {
				continue
			}
			lines = append(lines, e.raw)
			if !s.cfg.Dialect.LiveEvents {
				break
			}
		}
	}
	return lines
}

func (sub *subscription) wants(e ringEvent) bool {
	if e.kind == "" {
		return true
	}
	if e.kind != sub.kind || sub.pane != "" && e.pane != sub.pane {
		return false
	}
	return sub.status == "" || strings.Contains(string(e.raw), `"agent_status":"`+sub.status+`"`)
}
