package hub_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
)

// browserLimit bounds what a test does in the browser; its start takes seconds on
// a busy machine.
const browserLimit = 90 * time.Second

// phone is Chromium with the screen of a phone, at the hub's page.
func phone(t *testing.T, url string) context.Context {
	t.Helper()
	var bin string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			bin = path
			break
		}
	}
	if bin == "" {
		t.Fatal("no Chromium: the hub's page is tested in it (Debian: apt-get install chromium)")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(bin), chromedp.WindowSize(390, 844), chromedp.Flag("disable-dev-shm-usage", true))
	if os.Getuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, browserLimit)
	t.Cleanup(cancel)
	run(t, ctx, chromedp.Navigate(url), chromedp.WaitVisible("#token", chromedp.ByQuery))
	return ctx
}

func run(t *testing.T, ctx context.Context, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(ctx, actions...); err != nil {
		var page string
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = chromedp.Run(short, chromedp.Text("body", &page, chromedp.ByQuery))
		t.Fatalf("%v; the page shows:\n%s", err, page)
	}
}

func (d *desk) logIn(ctx context.Context, token string) {
	d.t.Helper()
	run(d.t, ctx, chromedp.SetValue("#token", token, chromedp.ByQuery), chromedp.Click("#login button", chromedp.ByQuery), chromedp.WaitVisible("#leave", chromedp.ByQuery))
}

// shows waits until the page shows a text.
func shows(text string) chromedp.Action {
	quoted, _ := json.Marshal(text) // a string always can be
	return holds("document.body.innerText.includes(" + string(quoted) + ")")
}

// holds waits until an expression is true.
func holds(expression string) chromedp.Action {
	return chromedp.Poll(expression, nil, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(30*time.Second))
}

// carry takes the next claim of a machine and settles it.
func (d *desk) carry(detail string) record.Claim {
	d.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		if list := d.claims(d.tower); len(list) > 0 {
			state := record.RequestDone
			if list[0].Action == record.ActionMessage {
				state = record.RequestDelivered
			}
			d.finish(d.tower, list[0].ID, state, detail)
			return list[0]
		}
		time.Sleep(20 * time.Millisecond)
	}
	d.t.Fatal("the page asked for nothing")
	return record.Claim{}
}

func (d *desk) answerToken() string {
	return d.hub.AddToken(store.Token{Kind: store.KindUser, Name: "me", Scopes: []string{"read", "ask", "answer"}})
}

// On a phone: log in, an ask comes up by itself and whole, allow it, deny one
// with a reason, answer a question, send a message, log out.
func TestThePageOnAPhone(t *testing.T) {
	d := newDesk(t)
	ctx := phone(t, d.hub.URL)
	run(t, ctx, chromedp.SetValue("#token", "shu_wrong", chromedp.ByQuery), chromedp.Click("#login button", chromedp.ByQuery), shows("the token is not valid"))
	d.logIn(ctx, d.answerToken())
	run(t, ctx, shows("Nothing waits for you."), shows("live"))

	// An ask is shown within moments, with what a screen would hide spelled out,
	// and as text, whatever it looks like.
	d.tell(d.tower, "A", record.KindAsk, bashAsk("k1", "ls <b>x</b>\u202e; echo \x1b[31m<script>document.title='owned'</script>"))
	run(t, ctx, shows("ls <b>x</b><U+202E>; echo <U+001B>[31m<script>document.title='owned'</script>"))
	run(t, ctx, holds("document.title.startsWith('(1) ')"))
	var title string
	run(t, ctx, chromedp.Title(&title))
	if strings.Contains(title, "owned") {
		t.Errorf("the title is %q", title)
	}
	run(t, ctx, chromedp.Click("#ask-k1 button.yes", chromedp.ByQuery))
	c := d.carry("answered")
	if c.Answer == nil || c.Answer.Behavior != record.Allow || c.Answer.Ask != "k1" || c.Answer.InputSHA256 != sum("a") {
		t.Errorf("claim %+v", c.Answer)
	}
	d.tell(d.tower, "A", record.KindAskEnded, record.AskEnded{Ask: "k1", How: record.HowAnswered})
	run(t, ctx, shows("done: answered"), shows("Nothing waits for you."))

	d.tell(d.tower, "A", record.KindAsk, bashAsk("k2", "git push --force"))
	run(t, ctx, shows("git push --force"), chromedp.SendKeys("#ask-k2 input[type=text]", "not on main", chromedp.ByQuery))
	// What a person is typing stays while other things change.
	d.tell(d.tower, "B", record.KindState, record.State{AgentState: record.Working})
	run(t, ctx, chromedp.Click("#ask-k2 button.no", chromedp.ByQuery))
	if c = d.carry("denied"); c.Answer == nil || c.Answer.Behavior != record.Deny || c.Answer.Message != "not on main" {
		t.Errorf("claim %+v", c.Answer)
	}
	d.tell(d.tower, "A", record.KindAskEnded, record.AskEnded{Ask: "k2", How: record.HowAnswered})

	q := bashAsk("k3", "")
	q.Tool, q.Input = "AskUserQuestion", json.RawMessage(`{}`)
	q.Questions = []record.Question{
		{Question: "Which colour?", Options: []record.Option{{Label: "Red"}, {Label: "Blue", Description: "as the sky"}}},
		{Question: "Which sizes?", Multi: true, Options: []record.Option{{Label: "S"}, {Label: "M"}, {Label: "L"}}},
		{Question: "Which name?", Options: []record.Option{{Label: "None"}}},
	}
	d.tell(d.tower, "A", record.KindAsk, q)
	run(t, ctx, shows("Which colour?"), shows("as the sky"),
		chromedp.Click(`#ask-k3 input[value="Blue"]`, chromedp.ByQuery),
		chromedp.Click(`#ask-k3 input[value="S"]`, chromedp.ByQuery), chromedp.Click(`#ask-k3 input[value="L"]`, chromedp.ByQuery),
		chromedp.SendKeys(`#ask-k3 fieldset:nth-of-type(3) input[type=text]`, "Otto", chromedp.ByQuery),
		chromedp.Click("#ask-k3 button.yes", chromedp.ByQuery))
	c = d.carry("answered")
	if got, _ := json.Marshal(c.Answer.Answers); string(got) != `{"Which colour?":"Blue","Which name?":"Otto","Which sizes?":["S","L"]}` {
		t.Errorf("answers %s", got)
	}
	d.tell(d.tower, "A", record.KindAskEnded, record.AskEnded{Ask: "k3", How: record.HowAnswered})

	run(t, ctx, shows("Nothing waits for you."), chromedp.SendKeys("main article textarea", "go on", chromedp.ByQuery), chromedp.Click("main article form button", chromedp.ByQuery))
	if c = d.carry("in pane w1:p1"); c.Action != record.ActionMessage || c.Text != "go on" {
		t.Errorf("claim %+v", c)
	}
	run(t, ctx, shows("delivered: in pane w1:p1"), chromedp.Click("#leave", chromedp.ByQuery), chromedp.WaitVisible("#token", chromedp.ByQuery))
	run(t, ctx, chromedp.Reload(), chromedp.WaitVisible("#token", chromedp.ByQuery))
}

// A token that may only read is shown all and offered nothing; what is cut can't
// be allowed; two who answer learn who was first.
func TestThePageOffersWhatIsAllowed(t *testing.T) {
	d := newDesk(t)
	cut := bashAsk("k1", "a long command")
	cut.InputCut = true
	d.tell(d.tower, "A", record.KindAsk, cut)
	screen := bashAsk("k2", "only at the screen")
	screen.Answerable = false
	d.tell(d.tower, "B", record.KindAsk, screen)
	ctx := phone(t, d.hub.URL)
	d.logIn(ctx, d.hub.AddToken(store.Token{Kind: store.KindUser, Name: "reader", Scopes: []string{"read"}}))
	run(t, ctx, shows("a long command"), shows("Your token lacks the scope answer"), shows("only at the screen"), shows("This one is answered at the screen."))
	var buttons int
	run(t, ctx, chromedp.Evaluate("main.querySelectorAll('button').length", &buttons))
	if buttons != 0 {
		t.Errorf("a reader is offered %d buttons", buttons)
	}
	run(t, ctx, chromedp.Click("#leave", chromedp.ByQuery), chromedp.WaitVisible("#token", chromedp.ByQuery))
	d.logIn(ctx, d.answerToken())
	run(t, ctx, shows("It can be denied from afar"))
	run(t, ctx, chromedp.Evaluate("document.querySelectorAll('#ask-k1 button.yes').length", &buttons))
	if buttons != 0 {
		t.Error("what is cut can be allowed")
	}
	if _, err := d.answerer("other").Answer(t.Context(), "", "A", "k1", record.AnswerPost{InputSHA256: sum("a"), Behavior: record.Deny}); err != nil {
		t.Fatal(err)
	}
	run(t, ctx, chromedp.Click("#ask-k1 button.no", chromedp.ByQuery), shows("other answered it with deny"))
}
