package hub_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"sessionhub/lib/config"
	"sessionhub/lib/hub/store"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
)

// answerer is a user who may answer.
func (d *desk) answerer(name string) *hubclient.Client {
	d.t.Helper()
	c, err := hubclient.New(config.Config{ServerURL: d.hub.URL}, d.hub.AddToken(store.Token{Kind: store.KindUser, Name: name, Scopes: []string{"read", "ask", "answer"}}))
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

func sum(c string) string { return strings.Repeat(c, 64) }

func bashAsk(id, command string) record.AskBody {
	in, _ := json.Marshal(map[string]string{"command": command}) // a string always can be
	return record.AskBody{Ask: id, Tool: "Bash", Input: in, InputSHA256: sum("a"), Since: record.At(time.Now()), Answerable: true}
}

// tell posts an event of a session.
func (d *desk) tell(c *hubclient.Client, session string, kind record.Kind, body any) {
	d.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		d.t.Fatal(err)
	}
	e := record.EventPost{ID: uuid.NewString(), At: record.At(d.clock.Now()), Source: record.SourceHook, Kind: kind, Body: raw}
	if err := c.PostEvent(d.t.Context(), session, e); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) asks(session string) []record.Ask {
	d.t.Helper()
	s, err := d.owner.Session(d.t.Context(), session)
	if err != nil {
		d.t.Fatal(err)
	}
	return s.Asks
}

var allow = record.AnswerPost{InputSHA256: sum("a"), Behavior: record.Allow}

// An ask is told, answered once, carried out once and over.
func TestAnAskFromItsBeginningToItsEnd(t *testing.T) {
	d := newDesk(t)
	me, other := d.answerer("me"), d.answerer("other")
	d.tell(d.tower, "A", record.KindAsk, bashAsk("k1", "rm -rf build\nls"))
	if a := d.asks("A"); len(a) != 1 || a[0].State != record.AskOpen || a[0].Tool != "Bash" || !a[0].Answerable {
		t.Fatalf("asks %+v", a)
	}
	list, err := d.owner.Inbox(t.Context())
	if err != nil || len(list) != 1 || list[0].Kind != record.InboxBlocked || list[0].Text != "Bash: rm -rf build …" || list[0].Ask != "k1" {
		t.Errorf("inbox %+v, %v", list, err)
	}
	d.say("A", "a message that is being typed")
	if got := d.claims(d.tower); len(got) != 1 || got[0].Action != record.ActionMessage {
		t.Fatalf("claims %+v", got)
	}

	r, err := me.Answer(t.Context(), "key", "A", "k1", allow)
	if err != nil || r.Action != record.ActionAnswer || r.Machine != "tower" {
		t.Fatalf("request %+v, %v", r, err)
	}
	if again, err := me.Answer(t.Context(), "key", "A", "k1", allow); err != nil || again.ID != r.ID {
		t.Errorf("sent again: %+v, %v", again, err)
	}
	if _, err := other.Answer(t.Context(), "", "A", "k1", allow); status(err) != http.StatusConflict || !strings.Contains(err.Error(), "me answered it with allow") {
		t.Errorf("the second answer: %v", err)
	}
	claims := d.claims(d.tower) // while the message is still out
	if len(claims) != 1 || claims[0].Answer == nil || claims[0].Answer.Ask != "k1" || claims[0].Answer.InputSHA256 != sum("a") || claims[0].Session.Session != "A" {
		t.Fatalf("claims %+v", claims)
	}
	d.finish(d.tower, r.ID, record.RequestDone, "answered")
	d.tell(d.tower, "A", record.KindAskEnded, record.AskEnded{Ask: "k1", How: record.HowAnswered})
	a := d.asks("A")
	if len(a) != 1 || a[0].State != record.AskAnswered || a[0].How != record.HowAnswered || a[0].EndedAt == nil ||
		a[0].Answer == nil || a[0].Answer.By != "me" || a[0].Answer.InputSHA256 != sum("a") || a[0].Answer.Request != r.ID {
		t.Errorf("asks %+v", a)
	}
	if _, err := me.Answer(t.Context(), "", "A", "k1", allow); status(err) != http.StatusConflict || !strings.Contains(err.Error(), "answered from afar by me") {
		t.Errorf("an answer to what is over: %v", err)
	}
	sessions, err := d.owner.Sessions(t.Context(), hubclient.SessionFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		if len(s.Asks) > 0 {
			t.Errorf("a list shows what is over: %+v", s)
		}
	}
	d.sound()
}

func (d *desk) sound() {
	d.t.Helper()
	if wrong, err := d.hub.Store().Check(d.t.Context()); err != nil || len(wrong) > 0 {
		d.t.Errorf("check: %v, %v", wrong, err)
	}
}

// Whoever may not answer, and whatever is no answer, is refused.
func TestAnswersThatAreRefused(t *testing.T) {
	d := newDesk(t)
	me := d.answerer("me")
	d.tell(d.tower, "A", record.KindAsk, bashAsk("k1", "ls"))
	barred := bashAsk("k2", "ls")
	barred.Answerable, barred.Why = false, "remote answers are off on that machine"
	d.tell(d.tower, "A", record.KindAsk, barred)
	cut := bashAsk("k3", "ls")
	cut.InputCut = true
	d.tell(d.tower, "A", record.KindAsk, cut)
	q := bashAsk("k4", "ls")
	q.Questions = []record.Question{{Question: "Size?", Options: []record.Option{{Label: "S"}}}}
	d.tell(d.tower, "A", record.KindAsk, q)
	other := allow
	other.InputSHA256 = sum("b")
	for _, c := range []struct {
		name, ask string
		by        *hubclient.Client
		post      record.AnswerPost
		want      int
		why       string
	}{
		{"a machine", "k1", d.tower, allow, http.StatusForbidden, "machine's"},
		{"a token without the scope", "k1", d.owner, allow, http.StatusForbidden, "scope answer"},
		{"another hash", "k1", me, other, http.StatusConflict, "another input"},
		{"an ask that is not there", "k9", me, allow, http.StatusNotFound, "no such ask"},
		{"an ask of another machine's choice", "k2", me, allow, http.StatusConflict, "off on that machine"},
		{"what was cut", "k3", me, allow, http.StatusBadRequest, "denied from afar, not allowed"},
		{"a question without its answer", "k4", me, allow, http.StatusBadRequest, `"Size?" is not answered`},
		{"a behavior that is none", "k1", me, record.AnswerPost{InputSHA256: sum("a"), Behavior: "maybe"}, http.StatusBadRequest, "neither allow nor deny"},
		{"no hash", "k1", me, record.AnswerPost{Behavior: record.Allow}, http.StatusBadRequest, "hexadecimal"},
	} {
		if _, err := c.by.Answer(t.Context(), "", "A", c.ask, c.post); status(err) != c.want || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, want %d, %q", c.name, err, c.want, c.why)
		}
	}
	if _, err := me.Answer(t.Context(), "", "B", "k1", allow); status(err) != http.StatusNotFound {
		t.Errorf("an ask of another session: %v", err)
	}
	if got := d.claims(d.tower); len(got) > 0 {
		t.Errorf("offered %+v", got)
	}
	deny := record.AnswerPost{InputSHA256: sum("a"), Behavior: record.Deny, Message: "no"}
	if _, err := me.Answer(t.Context(), "", "A", "k3", deny); err != nil {
		t.Errorf("what was cut can be denied: %v", err)
	}
	d.sound()
}

// An answer that came to nothing leaves the ask open for another.
func TestAnAnswerThatFailedCanBeGivenAnew(t *testing.T) {
	d := newDesk(t)
	me := d.answerer("me")
	d.tell(d.tower, "A", record.KindAsk, bashAsk("k1", "ls"))
	answer := func() record.Request {
		t.Helper()
		r, err := me.Answer(t.Context(), "", "A", "k1", allow)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	failed := answer()
	d.claims(d.tower)
	d.finish(d.tower, failed.ID, record.RequestFailed, "not proven")
	late := answer()
	d.clock.turn(3 * time.Minute) // nobody takes it
	d.live(d.tower, "tower", "A", "B")
	d.stands(late.ID, record.RequestExpired, "did not take it")
	again := answer()
	if a := d.asks("A"); a[0].Answer == nil || a[0].Answer.Request != again.ID {
		t.Errorf("asks %+v", a)
	}
	d.sound()
}

// The end of a session, or its move, ends what it asked; what comes later is
// over from the start.
func TestAsksEndWithTheirSession(t *testing.T) {
	d := newDesk(t)
	d.tell(d.tower, "A", record.KindAsk, bashAsk("k1", "ls"))
	d.tell(d.tower, "B", record.KindAsk, bashAsk("k2", "ls"))
	d.clock.turn(time.Second)
	d.live(d.tower, "tower", "B")
	if a := d.asks("A"); len(a) != 1 || a[0].State != record.AskOver || a[0].How != record.HowExited || a[0].EndedAt == nil {
		t.Errorf("asks %+v", a)
	}
	d.tell(d.tower, "A", record.KindAsk, bashAsk("k3", "ls"))
	if a := d.asks("A"); len(a) != 2 || a[1].State != record.AskOver {
		t.Errorf("asks %+v", a)
	}
	d.clock.turn(5 * time.Minute) // tower is silent
	d.live(d.laptop, "laptop", "L", "B")
	if b := d.asks("B"); len(b) != 1 || b[0].State != record.AskOver {
		t.Errorf("asks of a session that moved %+v", b)
	}
	d.sound()
}

// The latest ask of a session is its entry, before all others; read, it comes
// back with the next ask.
func TestAsksInTheInbox(t *testing.T) {
	d := newDesk(t)
	d.tell(d.laptop, "L", record.KindState, record.State{AgentState: record.Done})
	d.tell(d.tower, "A", record.KindState, record.State{AgentState: record.Blocked, Note: "plain"})
	d.tell(d.tower, "A", record.KindAsk, bashAsk("k1", "one"))
	d.clock.turn(time.Second)
	q := bashAsk("k2", "two")
	q.Questions = []record.Question{{Question: "Size?"}}
	d.tell(d.tower, "A", record.KindAsk, q)
	words := func() []string {
		t.Helper()
		list, err := d.owner.Inbox(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var w []string
		for _, e := range list {
			w = append(w, e.Kind+" "+e.Text)
		}
		return w
	}
	if got := words(); !slices.Equal(got, []string{"blocked Question: Size? (and 1 more)", "done "}) {
		t.Errorf("inbox %q", got)
	}
	list, err := d.owner.Inbox(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.owner.Read(t.Context(), list[0].ID); err != nil {
		t.Fatal(err)
	}
	if got := words(); !slices.Equal(got, []string{"done "}) {
		t.Errorf("after it was read: %q", got)
	}
	d.clock.turn(time.Second)
	d.tell(d.tower, "A", record.KindAsk, bashAsk("k3", "three"))
	if got := words(); len(got) != 2 || got[0] != "blocked Bash: three (and 2 more)" {
		t.Errorf("a new ask: %q", got)
	}
}

// Of what is over a session shows the last 20.
func TestShowKeepsTheLastAsks(t *testing.T) {
	d := newDesk(t)
	for i := range 25 {
		id := "k" + string(rune('a'+i))
		d.clock.turn(time.Second)
		d.tell(d.tower, "A", record.KindAsk, bashAsk(id, "ls"))
		d.tell(d.tower, "A", record.KindAskEnded, record.AskEnded{Ask: id, How: record.HowOnScreen})
	}
	d.tell(d.tower, "A", record.KindAsk, bashAsk("open", "ls"))
	a := d.asks("A")
	if len(a) != 21 || a[0].Ask != "kf" || a[20].Ask != "open" || a[19].How != record.HowOnScreen {
		t.Errorf("%d asks, from %s", len(a), a[0].Ask)
	}
}

// The hook takes the answer that it gave for the one that counts; that the screen
// was first is known from the transcript, and corrects it. Nothing else does.
func TestTheScreenWasFirst(t *testing.T) {
	d := newDesk(t)
	end := func(how string) string {
		d.tell(d.tower, "A", record.KindAskEnded, record.AskEnded{Ask: "k1", How: how})
		a := d.asks("A")
		if len(a) != 1 {
			t.Fatalf("asks %+v", a)
		}
		return a[0].How
	}
	d.tell(d.tower, "A", record.KindAsk, bashAsk("k1", "ls"))
	for _, c := range []struct{ say, want string }{
		{record.HowAnswered, record.HowAnswered}, {record.HowExited, record.HowAnswered}, {record.HowExpired, record.HowAnswered},
		{record.HowOnScreen, record.HowOnScreen}, {record.HowAnswered, record.HowOnScreen}, {record.HowInterrupted, record.HowOnScreen},
	} {
		if got := end(c.say); got != c.want {
			t.Errorf("after %s it ended as %s, want %s", c.say, got, c.want)
		}
	}
}
