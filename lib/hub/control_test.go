package hub_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sessionhub/lib/config"
	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/hub/store"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
)

// desk is a hub with two machines, a session on each, and their owner.
type desk struct {
	t             *testing.T
	clock         *clock
	hub           *hubtest.Hub
	tower, laptop *hubclient.Client
	owner         *hubclient.Client
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, clock: &clock{now: time.Now()}}
	d.hub = hubtest.StartAt(t, d.clock.Now)
	client := func(machine, token string) *hubclient.Client {
		c, err := hubclient.New(config.Config{ServerURL: d.hub.URL, Machine: machine}, token)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	d.tower = client("tower", d.hub.MachineToken)
	d.laptop = client("laptop", d.hub.AddToken(store.Token{Kind: store.KindMachine, Name: "laptop"}))
	d.owner = client("", d.hub.UserToken)
	d.live(d.tower, "tower", "A", "B")
	d.live(d.laptop, "laptop", "L")
	return d
}

func (d *desk) live(c *hubclient.Client, machine string, sessions ...string) {
	d.t.Helper()
	s := record.Snapshot{V: 1, At: record.At(d.clock.Now()), Machine: machine, HerdrSession: "default"}
	for i, id := range sessions {
		s.Sessions = append(s.Sessions, record.LiveSession{Session: id, Agent: "claude", PaneID: "w1:p" + string(rune('1'+i)), AgentState: record.Idle, Cwd: "/home/dev"})
	}
	if err := c.PutSnapshot(d.t.Context(), "", s); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) ask(session string, p record.ControlPost) record.Request {
	d.t.Helper()
	r, err := d.owner.Control(d.t.Context(), "", session, p)
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

func (d *desk) say(session, text string) record.Request {
	d.t.Helper()
	return d.ask(session, record.ControlPost{Action: record.ActionMessage, Text: text})
}

// claims takes what a machine is offered now, until there is no more.
func (d *desk) claims(c *hubclient.Client) []record.Claim {
	d.t.Helper()
	var list []record.Claim
	for {
		claim, ok, err := c.NextClaim(d.t.Context(), 0)
		if err != nil {
			d.t.Fatal(err)
		}
		if !ok {
			return list
		}
		list = append(list, claim)
	}
}

func texts(list []record.Claim) string {
	var words []string
	for _, c := range list {
		words = append(words, c.Session.Session+":"+c.Text)
	}
	return strings.Join(words, " ")
}

func (d *desk) result(c *hubclient.Client, id string, state record.RequestState, detail string) error {
	return c.PostResult(d.t.Context(), record.Result{V: 1, ID: id, State: state, Detail: detail})
}

func (d *desk) finish(c *hubclient.Client, id string, state record.RequestState, detail string) {
	d.t.Helper()
	if err := d.result(c, id, state, detail); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) stands(id string, state record.RequestState, detail string) {
	d.t.Helper()
	r, err := d.owner.Request(d.t.Context(), id, 0)
	if err != nil || r.State != state || !strings.Contains(r.Detail, detail) {
		d.t.Errorf("request %+v, %v; want %s, %q", r, err, state, detail)
	}
}

func status(err error) int {
	var e *hubclient.Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

func TestAMessageGoesItsWay(t *testing.T) {
	d := newDesk(t)
	r := d.say("A", "hello")
	if r.State != record.RequestQueued || r.Machine != "tower" || r.Session != "A" || r.ExpiresAt.Sub(r.CreatedAt.Time) != 24*time.Hour {
		t.Errorf("request %+v", r)
	}
	if got := d.claims(d.laptop); len(got) != 0 {
		t.Errorf("another machine got %+v", got)
	}
	got := d.claims(d.tower)
	if len(got) != 1 || got[0].Text != "hello" || got[0].Attempt != 1 || got[0].Session.Herdr.PaneID != "w1:p1" || got[0].Session.Cwd != "/home/dev" {
		t.Fatalf("claims %+v", got)
	}
	if err := got[0].Validate(); err != nil {
		t.Error(err)
	}
	d.stands(r.ID, record.RequestOffered, "")
	if err := d.result(d.laptop, r.ID, record.RequestDelivered, ""); status(err) != http.StatusNotFound {
		t.Errorf("another machine's result: %v", err)
	}
	d.finish(d.tower, r.ID, record.RequestDelivered, "in pane w1:p1")
	d.finish(d.tower, r.ID, record.RequestDelivered, "in pane w1:p1") // twice the same
	if err := d.result(d.tower, r.ID, record.RequestFailed, "no"); status(err) != http.StatusConflict {
		t.Errorf("another result of an ended request: %v", err)
	}
	d.stands(r.ID, record.RequestDelivered, "in pane w1:p1")
	if err := d.tower.Renew(t.Context(), r.ID); status(err) != http.StatusConflict {
		t.Errorf("renew of an ended request: %v", err)
	}
}

func TestOneMessageAtATimeInOrder(t *testing.T) {
	d := newDesk(t)
	one, _, other := d.say("A", "one"), d.say("A", "two"), d.say("B", "other")
	got := d.claims(d.tower)
	if texts(got) != "A:one B:other" {
		t.Fatalf("at first: %s", texts(got))
	}
	d.finish(d.tower, one.ID, record.ResultBusy, "working")
	d.stands(one.ID, record.RequestQueued, "working")
	d.finish(d.tower, other.ID, record.RequestDelivered, "")
	if got := d.claims(d.tower); len(got) != 0 {
		t.Errorf("while the first is busy the second is offered: %s", texts(got))
	}
	rc := d.ask("A", record.ControlPost{Action: record.ActionRemoteControl}) // a busy message holds no other deed
	if got := d.claims(d.tower); len(got) != 1 || got[0].ID != rc.ID {
		t.Errorf("remote control: %+v", got)
	}
	d.finish(d.tower, rc.ID, record.RequestDone, "")
	d.clock.turn(15 * time.Second)
	got = d.claims(d.tower)
	if texts(got) != "A:one" || got[0].Attempt != 2 {
		t.Fatalf("after 15 s: %+v", got)
	}
	d.finish(d.tower, one.ID, record.RequestRefused, "no")
	if got := d.claims(d.tower); texts(got) != "A:two" {
		t.Errorf("then: %s", texts(got))
	}
}

// A machine that takes a claim and dies does not take it along.
func TestALapsedLeaseIsOfferedAgain(t *testing.T) {
	d := newDesk(t)
	r := d.say("A", "x")
	d.claims(d.tower)
	d.clock.turn(20 * time.Second)
	if err := d.tower.Renew(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	d.clock.turn(20 * time.Second)
	if got := d.claims(d.tower); len(got) != 0 {
		t.Errorf("a renewed claim was offered again: %+v", got)
	}
	d.clock.turn(11 * time.Second)
	got := d.claims(d.tower)
	if len(got) != 1 || got[0].Attempt != 2 {
		t.Fatalf("claims %+v", got)
	}
	d.finish(d.tower, r.ID, record.RequestFailed, "unknown, typed maybe")
	d.stands(r.ID, record.RequestFailed, "unknown")
}

func TestRequestsExpire(t *testing.T) {
	d := newDesk(t)
	rc, resume := d.ask("A", record.ControlPost{Action: record.ActionRemoteControl}), d.ask("B", record.ControlPost{Action: record.ActionResume})
	wait := d.ask("L", record.ControlPost{Action: record.ActionRemoteControl, Online: record.AskWhenOnline})
	start, err := d.owner.Start(t.Context(), "", "tower", record.StartPost{Start: record.Start{Dir: "~"}})
	if err != nil {
		t.Fatal(err)
	}
	d.clock.turn(2*time.Minute + time.Second)
	d.stands(rc.ID, record.RequestExpired, "did not take it in time")
	if got := d.claims(d.tower); len(got) != 0 {
		t.Errorf("expired ones were offered: %+v", got)
	}
	d.stands(resume.ID, record.RequestExpired, "")
	d.stands(start.ID, record.RequestExpired, "")
	if err := d.result(d.tower, rc.ID, record.RequestDone, ""); status(err) != http.StatusConflict {
		t.Errorf("a result after that: %v", err)
	}
	if got := d.claims(d.laptop); len(got) != 1 || got[0].ID != wait.ID {
		t.Errorf("what waits for its machine: %+v", got)
	}
	m := d.say("A", "late")
	d.claims(d.tower)
	d.finish(d.tower, m.ID, record.ResultBusy, "a draft is in the input line")
	d.clock.turn(24 * time.Hour)
	d.stands(m.ID, record.RequestExpired, "a draft is in the input line")
}

func TestCancel(t *testing.T) {
	d := newDesk(t)
	r := d.say("A", "x")
	if c, err := d.owner.Cancel(t.Context(), r.ID); err != nil || !c.Ended() || c.Detail != "taken back" {
		t.Errorf("%+v, %v", c, err)
	}
	if got := d.claims(d.tower); len(got) != 0 {
		t.Errorf("offered: %+v", got)
	}
	if _, err := d.owner.Cancel(t.Context(), r.ID); status(err) != http.StatusConflict {
		t.Errorf("twice: %v", err)
	}
	if _, err := d.owner.Cancel(t.Context(), "nothing"); status(err) != http.StatusNotFound {
		t.Errorf("unknown: %v", err)
	}
	r = d.say("A", "y")
	d.claims(d.tower)
	if _, err := d.owner.Cancel(t.Context(), r.ID); status(err) != http.StatusConflict || !strings.Contains(err.Error(), "being carried out") {
		t.Errorf("in the machine's hands: %v", err)
	}
	if list, err := d.owner.Inbox(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("what its owner took back is in the inbox: %+v, %v", list, err)
	}
}

func TestOrdersThatMakeNoSense(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct {
		name, session string
		p             record.ControlPost
		status        int
	}{
		{"no text", "A", record.ControlPost{Action: record.ActionMessage}, 400},
		{"a long text", "A", record.ControlPost{Action: record.ActionMessage, Text: strings.Repeat("x", record.MaxMessage+1)}, 400},
		{"text for a resume", "A", record.ControlPost{Action: record.ActionResume, Text: "x"}, 400},
		{"no action", "A", record.ControlPost{}, 400},
		{"an unknown action", "A", record.ControlPost{Action: "dance"}, 400},
		{"an unknown wish", "A", record.ControlPost{Action: record.ActionResume, Online: "never"}, 400},
		{"an unknown session", "Z", record.ControlPost{Action: record.ActionResume}, 404},
	} {
		if _, err := d.owner.Control(t.Context(), "", c.session, c.p); status(err) != c.status {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := d.owner.Start(t.Context(), "", "nowhere", record.StartPost{Start: record.Start{Dir: "~"}}); status(err) != 404 {
		t.Errorf("an unknown machine: %v", err)
	}
	if _, err := d.owner.Start(t.Context(), "", "tower", record.StartPost{}); status(err) != 400 {
		t.Errorf("no directory: %v", err)
	}
	d.live(d.tower, "tower", "B") // A is over
	if _, err := d.owner.Control(t.Context(), "", "A", record.ControlPost{Action: record.ActionMessage, Text: "x"}); status(err) != 409 {
		t.Errorf("a message to a session that has ended: %v", err)
	}
	if _, err := d.owner.Control(t.Context(), "", "A", record.ControlPost{Action: record.ActionResume}); err != nil {
		t.Errorf("resume of a session that has ended: %v", err)
	}
}

// User tokens and machine tokens are kept apart.
func TestWhoMayControl(t *testing.T) {
	d := newDesk(t)
	reader, err := hubclient.New(config.Config{ServerURL: d.hub.URL}, d.hub.AddToken(store.Token{Kind: store.KindUser, Name: "guest", Scopes: []string{"read"}}))
	if err != nil {
		t.Fatal(err)
	}
	r := d.say("A", "x")
	p := record.ControlPost{Action: record.ActionResume}
	for name, err := range map[string]error{
		"a machine asks":                 second(d.tower.Control(t.Context(), "", "A", p)),
		"who may only read asks":         second(reader.Control(t.Context(), "", "A", p)),
		"who may only read starts":       second(reader.Start(t.Context(), "", "tower", record.StartPost{Start: record.Start{Dir: "~"}})),
		"who may only read cancels":      second(reader.Cancel(t.Context(), r.ID)),
		"a user claims":                  third(d.owner.NextClaim(t.Context(), 0)),
		"a user posts a result":          d.result(d.owner, r.ID, record.RequestDone, ""),
		"a user renews":                  d.owner.Renew(t.Context(), r.ID),
		"a machine looks at the request": second(d.tower.Request(t.Context(), r.ID, 0)),
	} {
		if status(err) != http.StatusForbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := reader.Request(t.Context(), r.ID, 0); err != nil {
		t.Errorf("who may read looks: %v", err)
	}
}

func second[T any](_ T, err error) error        { return err }
func third[T any](_ T, _ bool, err error) error { return err }

// The same key again is the same request, whatever happened to the answer.
func TestAnOrderSentTwiceIsOne(t *testing.T) {
	d := newDesk(t)
	p := record.ControlPost{Action: record.ActionMessage, Text: "once"}
	a, err := d.owner.Control(t.Context(), "k1", "A", p)
	if err != nil {
		t.Fatal(err)
	}
	b, err := d.owner.Control(t.Context(), "k1", "A", p)
	if err != nil || b.ID != a.ID {
		t.Errorf("%+v, %v", b, err)
	}
	if got := d.claims(d.tower); len(got) != 1 {
		t.Errorf("claims %+v", got)
	}
}

// A poll that waits hears of a request at once, one that waits for the end of
// a request of its end, and both survive a restart of the hub.
func TestLongPolls(t *testing.T) {
	d := newDesk(t)
	type got struct {
		claim record.Claim
		ok    bool
		err   error
	}
	poll := func() chan got {
		c := make(chan got, 1)
		go func() {
			claim, ok, err := d.tower.NextClaim(context.Background(), 30*time.Second)
			c <- got{claim, ok, err}
		}()
		return c
	}
	waiting := poll()
	r := d.say("A", "x")
	if g := <-waiting; !g.ok || g.claim.ID != r.ID {
		t.Fatalf("%+v", g)
	}
	ended := make(chan record.Request, 1)
	go func() {
		r, err := d.owner.Request(context.Background(), r.ID, 30*time.Second)
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	d.finish(d.tower, r.ID, record.RequestDelivered, "")
	if r := <-ended; r.State != record.RequestDelivered {
		t.Errorf("%+v", r)
	}
	r = d.say("A", "y")
	d.hub.Restart()
	if g := <-poll(); !g.ok || g.claim.ID != r.ID || g.claim.Text != "y" {
		t.Errorf("after a restart: %+v", g)
	}
}

// Of several polls of one machine, one gets a request.
func TestTwoPollsOneRequest(t *testing.T) {
	d := newDesk(t)
	const polls = 6
	var wg sync.WaitGroup
	won := make(chan string, polls)
	for range polls {
		wg.Go(func() {
			if c, ok, err := d.tower.NextClaim(context.Background(), time.Second); err != nil {
				t.Error(err)
			} else if ok {
				won <- c.ID
			}
		})
	}
	d.say("A", "x")
	wg.Wait()
	if len(won) != 1 {
		t.Errorf("%d polls got it", len(won))
	}
}

// What came to nothing is in the inbox, until it is read or done better.
func TestFailuresAreInTheInbox(t *testing.T) {
	d := newDesk(t)
	inbox := func(want string) []record.InboxEntry {
		t.Helper()
		list, err := d.owner.Inbox(t.Context())
		var words []string
		for _, e := range list {
			words = append(words, e.Kind+":"+e.Title+":"+e.Text)
		}
		if got := strings.Join(words, " "); err != nil || got != want {
			t.Errorf("inbox %q, %v; want %q", got, err, want)
		}
		return list
	}
	r := d.ask("A", record.ControlPost{Action: record.ActionRemoteControl})
	d.claims(d.tower)
	d.finish(d.tower, r.ID, record.RequestFailed, "blocked")
	list := inbox("failed:remote_control:blocked")
	if err := d.owner.Read(t.Context(), list[0].ID); err != nil {
		t.Fatal(err)
	}
	inbox("")
	r = d.say("B", "x")
	d.claims(d.tower)
	d.finish(d.tower, r.ID, record.RequestFailed, "not seen to arrive")
	inbox("failed:message:not seen to arrive")
	r = d.say("B", "x")
	d.claims(d.tower)
	d.finish(d.tower, r.ID, record.RequestDelivered, "")
	inbox("")
}

// What its owner wrote is forgotten when the request ends.
func TestATextIsForgotten(t *testing.T) {
	d := newDesk(t)
	r := d.say("A", "a-very-private-text")
	d.claims(d.tower)
	d.finish(d.tower, r.ID, record.RequestDelivered, "")
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := d.hub.Store().Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || bytes.Contains(b, []byte("a-very-private-text")) {
		t.Errorf("the database holds the text (%v)", err)
	}
}

// Field report A26: every enabling makes another link. All are kept, and the
// newest is first.
func TestA26LinksAreKept(t *testing.T) {
	d := newDesk(t)
	for _, url := range []string{"https://claude.ai/code/session_1", "https://claude.ai/code/session_2", "https://claude.ai/code/session_1"} {
		r := d.ask("A", record.ControlPost{Action: record.ActionRemoteControl})
		d.claims(d.tower)
		d.clock.turn(time.Second)
		if err := d.tower.PostResult(t.Context(), record.Result{V: 1, ID: r.ID, State: record.RequestDone, URL: url}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := d.owner.Session(t.Context(), "A")
	if err != nil || len(s.Links) != 2 || s.Links[0].URL != "https://claude.ai/code/session_1" || !s.Links[0].At.After(s.Links[1].At.Time) {
		t.Errorf("%+v, %v", s.Links, err)
	}
}
