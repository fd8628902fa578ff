package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/herdr"
	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/runlog"
	"sessionhub/lib/state"
)

// scripted is a Looker whose answers a test writes: looks by socket.
type scripted struct {
	looks   map[string]Look
	errs    map[string]error
	outside []record.LiveSession
	asked   int
}

func (s *scripted) Look(_ context.Context, socket string) (Look, error) {
	s.asked++
	if err := s.errs[socket]; err != nil {
		return Look{}, err
	}
	look, ok := s.looks[socket]
	if !ok {
		return Look{}, &herdr.UnreachableError{Socket: socket, Method: "session.snapshot", Cause: herdr.NoSocket, Err: os.ErrNotExist}
	}
	return look, nil
}

func (s *scripted) Outside(context.Context) ([]record.LiveSession, error) { return s.outside, nil }

// stage is a watcher whose clock and inventories a test owns, and a real hub.
type stage struct {
	t    *testing.T
	hub  *hubtest.Hub
	w    *Watcher
	look *scripted
	now  time.Time
	log  strings.Builder
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, now: time.Now(), look: &scripted{looks: map[string]Look{}, errs: map[string]error{}}}
	s.hub = hubtest.StartAt(t, func() time.Time { return s.now })
	dir := state.Dir(filepath.Join(t.TempDir(), "state"))
	clock := func() time.Time { return s.now }
	s.w = testWatcher(dir, s.hub.URL, s.hub.MachineToken)
	s.w.Now, s.w.Looker, s.w.Queue.Now = clock, s.look, clock
	s.w.Log = &runlog.Log{W: &s.log, Now: clock}
	s.w.Timing.Confirm = 0
	return s
}

// sees lets herdr at a socket show "session@pane:state#pid" and "?pane".
func (s *stage) sees(socket string, specs ...string) {
	look := Look{HerdrSession: filepath.Base(socket), Version: "0.8.2", Panes: map[string]bool{}}
	for _, spec := range specs {
		if id, ok := strings.CutPrefix(spec, "?"); ok {
			look.Unidentified = append(look.Unidentified, record.UnidentifiedPane{PaneID: id, AgentState: record.Unknown})
			look.Panes[id] = true
			continue
		}
		id, rest, _ := strings.Cut(spec, "@")
		pane, st, _ := strings.Cut(rest, ":")
		look.Panes[pane] = true
		if id != "" {
			st, pid, _ := strings.Cut(st, "#")
			n, _ := strconv.Atoi(pid) // 0 without one
			look.Live = append(look.Live, record.LiveSession{Session: id, Agent: "claude", PaneID: pane, AgentState: record.AgentState(st), PID: n})
		}
	}
	s.look.looks[socket] = look
}

func (s *stage) add(kind record.Kind, pane *record.Pane, session string, body any) record.Item {
	s.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	s.now = s.now.Add(time.Millisecond)
	st := queue.NewStamp(s.now)
	it := record.Item{V: 1, ID: st.ID, At: st.At, Source: record.SourcePlugin, Kind: kind, Pane: pane, Session: session, Body: raw}
	if err := s.w.Queue.Append(queue.Fast, it); err != nil {
		s.t.Fatal(err)
	}
	return it
}

func (s *stage) pass(want string) {
	s.t.Helper()
	res, err := s.w.Pass(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	if got := fmt.Sprintf("sent %d kept %d dropped %d aside %d", res.Sent, res.Kept, res.Dropped, res.SetAside); got != want {
		s.t.Errorf("pass: %s, want %s\n%s", got, want, s.log.String())
	}
}

func (s *stage) session(id string) record.Session {
	s.t.Helper()
	r, err := s.hub.Store().Session(s.t.Context(), id, s.now)
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", id, err, s.log.String())
	}
	return r
}

func on(socket, pane string) *record.Pane { return &record.Pane{Herdr: socket, PaneID: pane} }

func TestPaneRecordsFindTheirSession(t *testing.T) {
	s := newStage(t)
	s.sees("/a", "A@p1:working")
	s.sees("/b", "B@p1:idle") // pane ids repeat across servers
	s.add(record.KindUpsert, on("/a", "p1"), "", record.Upsert{Agent: "claude"})
	s.add(record.KindState, on("/a", "p1"), "", record.State{AgentState: record.Idle}) // herdr lags: presence decides
	s.add(record.KindState, on("/b", "p1"), "", record.State{AgentState: record.Idle})
	s.pass("sent 3 kept 0 dropped 0 aside 0")
	if a, b := s.session("A"), s.session("B"); a.AgentState != record.Working || b.AgentState != record.Idle || b.Herdr.HerdrSession != "b" {
		t.Errorf("A %+v\nB %+v", a, b)
	}
	if s.look.asked != 2 {
		t.Errorf("%d inventories in one pass, want one a server", s.look.asked)
	}
	var known servers
	if err := state.ReadJSON(s.w.Dir.Herdr(), &known); err != nil || len(known.Sockets) != 2 {
		t.Errorf("herdr.json: %+v, %v", known, err)
	}
}

func TestClearIsNoticed(t *testing.T) {
	s := newStage(t)
	s.sees("/a", "OLD@p1:idle")
	s.add(record.KindUpsert, on("/a", "p1"), "", record.Upsert{})
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	s.sees("/a", "NEW@p1:working")
	s.add(record.KindState, on("/a", "p1"), "", record.State{AgentState: record.Working})
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	s.pass("sent 1 kept 0 dropped 0 aside 0") // ended, replaced
	if old := s.session("OLD"); old.Status != record.StatusEnded || old.EndedReason != "replaced" {
		t.Errorf("old %+v", old)
	}
	if now := s.session("NEW"); now.AgentState != record.Working {
		t.Errorf("new %+v", now)
	}
}

func TestClosedPaneEndsItsSessionOnce(t *testing.T) {
	s := newStage(t)
	s.sees("/a", "A@p1:idle", "M@p2:idle")
	s.add(record.KindUpsert, on("/a", "p1"), "", record.Upsert{})
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	s.sees("/a", "M@p3:idle") // p1 closed; M was moved to p3
	s.add(record.KindClosed, on("/a", "p1"), "", record.Closed{Cause: record.CausePaneClosed})
	s.add(record.KindClosed, on("/a", "p1"), "", record.Closed{Cause: record.CausePaneExited})
	s.add(record.KindClosed, on("/a", "p2"), "", record.Closed{Cause: record.CausePaneClosed})
	s.add(record.KindClosed, on("/a", "p9"), "", record.Closed{Cause: record.CausePaneClosed}) // never ran one
	s.pass("sent 1 kept 0 dropped 3 aside 0")
	if a := s.session("A"); a.Status != record.StatusEnded || a.EndedReason != record.CausePaneExited {
		t.Errorf("A %+v", a)
	}
}

func TestClosedPanesAreRememberedTenMinutes(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{9 * time.Minute, "sent 1 kept 0 dropped 0 aside 0"}, {11 * time.Minute, "sent 0 kept 0 dropped 1 aside 0"}} {
		s := newStage(t)
		s.sees("/a", "A@p1:idle")
		s.add(record.KindUpsert, on("/a", "p1"), "", record.Upsert{})
		s.pass("sent 1 kept 0 dropped 0 aside 0")
		s.sees("/a")
		s.w.Compare(t.Context()) // the pane is gone
		s.now = s.now.Add(c.after)
		s.w.Compare(t.Context())
		s.w.servers, s.w.memory = nil, nil // a new watcher reads panes.json
		s.add(record.KindClosed, on("/a", "p1"), "", record.Closed{Cause: record.CausePaneClosed})
		s.pass(c.want)
	}
}

func TestUnresolvedIsSetAsideAfterTenMinutes(t *testing.T) {
	s := newStage(t)
	s.look.errs["/a"] = errors.New("busy")
	s.add(record.KindState, on("/a", "p1"), "", record.State{AgentState: record.Blocked})
	s.pass("sent 0 kept 1 dropped 0 aside 0")
	s.now = s.now.Add(time.Hour) // no good inventory yet: nothing is proven
	s.pass("sent 0 kept 1 dropped 0 aside 0")
	delete(s.look.errs, "/a")
	s.sees("/a", "?p1")
	s.pass("sent 0 kept 1 dropped 0 aside 0")
	s.now = s.now.Add(9 * time.Minute)
	s.pass("sent 0 kept 1 dropped 0 aside 0")
	s.now = s.now.Add(2 * time.Minute)
	s.pass("sent 0 kept 0 dropped 0 aside 1")
	bad, err := os.ReadFile(s.w.Dir.Bad())
	if err != nil || !strings.Contains(string(bad), "no Claude session was found") {
		t.Errorf("queue.bad.jsonl: %s, %v", bad, err)
	}
	if !strings.Contains(s.log.String(), "set aside: state") {
		t.Errorf("log: %s", s.log.String())
	}
}

func TestDeliveryClasses(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault hubtest.Fault
		want  string
	}{
		{"unavailable keeps everything", hubtest.Unavailable, "sent 0 kept 2 dropped 0 aside 0"},
		{"a wrong token keeps everything", hubtest.Unauthorized, "sent 0 kept 2 dropped 0 aside 0"},
		{"a lost answer keeps what it was for", hubtest.DropAnswer, "sent 0 kept 2 dropped 0 aside 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			a := s.add(record.KindReport, nil, "A", record.Report{Done: "one"})
			s.add(record.KindReport, nil, "A", record.Report{Done: "two"})
			s.hub.SetFault(c.fault)
			s.pass(c.want)
			s.hub.SetFault(hubtest.None)
			s.pass("sent 2 kept 0 dropped 0 aside 0") // an unknown session is told first
			if got := s.session("A").Reports; len(got) != 2 || got[0].ID != a.ID {
				t.Errorf("reports %+v", got)
			}
		})
	}
}

func TestRefusedIsSetAsideAndTheRestGoesOn(t *testing.T) {
	s := newStage(t)
	s.add(record.KindAsk, nil, "A", record.AskBody{Ask: "x", Tool: "Bash"}) // no such route yet
	s.add(record.KindReport, nil, "A", record.Report{Done: "two"})
	s.pass("sent 1 kept 0 dropped 0 aside 1")
}

// Field report A28: SessionStart runs twice within a second. Both records are
// delivered, and there is one session.
func TestA28AStartThatIsReportedTwiceIsOneSession(t *testing.T) {
	s := newStage(t)
	s.add(record.KindUpsert, nil, "A", record.Upsert{FirstPrompt: "hello", StartSource: "startup"})
	s.add(record.KindUpsert, nil, "A", record.Upsert{FirstPrompt: "hello again", StartSource: "startup"})
	s.pass("sent 2 kept 0 dropped 0 aside 0")
	list, err := s.hub.Store().Machines(t.Context(), s.now)
	if err != nil || len(list) != 1 || list[0].Live != 1 {
		t.Errorf("machines %+v, %v", list, err)
	}
	if got := s.session("A").FirstPrompt; got != "hello" {
		t.Errorf("first prompt %q", got)
	}
}

// A done that is shorter than half a second is none (finding 18).
func TestAShortDoneIsNone(t *testing.T) {
	s := newStage(t)
	s.sees("/a", "A@p1:working")
	s.add(record.KindState, on("/a", "p1"), "", record.State{AgentState: record.Working})
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	s.sees("/a", "A@p1:done")
	s.add(record.KindState, on("/a", "p1"), "", record.State{AgentState: record.Done})
	s.pass("sent 0 kept 1 dropped 0 aside 0")
	s.sees("/a", "A@p1:working")
	s.add(record.KindState, on("/a", "p1"), "", record.State{AgentState: record.Working})
	s.pass("sent 1 kept 0 dropped 1 aside 0")
	s.sees("/a", "A@p1:done")
	s.add(record.KindState, on("/a", "p1"), "", record.State{AgentState: record.Done})
	s.pass("sent 0 kept 1 dropped 0 aside 0")
	s.now = s.now.Add(600 * time.Millisecond)
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	if got := s.session("A").AgentState; got != record.Done {
		t.Errorf("state %s", got)
	}
}

// What herdr's start queued before this machine was joined under another name
// than its host's arrives as this machine's.
func TestASnapshotFromBeforeTheJoin(t *testing.T) {
	s := newStage(t)
	before := s.w.snapshot("default", "0.8.2", []record.LiveSession{{Session: "early", Agent: "claude", PaneID: "w1:p1", AgentState: record.Idle}}, nil)
	before.Machine = "host-of-" + s.w.Machine
	s.add(record.KindSnapshot, nil, "", before)
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	if got := s.session("early").Machine; got != s.w.Machine {
		t.Errorf("it is of %q, want %q", got, s.w.Machine)
	}
}
