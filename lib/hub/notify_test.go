package hub_test

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"sessionhub/lib/hub"
	"sessionhub/lib/record"
)

// ntfy is a service that is compatible with ntfy. The first of its answers to a
// topic are failures, as many as wanted.
type ntfy struct {
	mu    sync.Mutex
	fails int
	got   []string
}

func (n *ntfy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fails > 0 {
		n.fails--
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	body, _ := io.ReadAll(r.Body)
	title, _ := new(mime.WordDecoder).DecodeHeader(r.Header.Get("Title"))
	user, password, _ := r.BasicAuth()
	n.got = append(n.got, strings.TrimSpace(fmt.Sprint(r.URL.Path, " ", title, ": ", string(body), " ", r.Header.Get("Click"), " ", user, password)))
}

func (n *ntfy) notes() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.got...)
}

// notifying starts a hub that pushes to a service, without waiting between tries.
func notifying(t *testing.T, d *desk, service *ntfy, change func(n *hub.Notifier)) (failed func() []string) {
	t.Helper()
	srv := httptest.NewServer(service)
	t.Cleanup(srv.Close)
	var mu sync.Mutex
	var errs []string
	n := &hub.Notifier{
		URLs: []string{srv.URL + "/topic"}, Client: srv.Client(), Now: d.clock.Now, Pause: func(context.Context, time.Duration) { time.Sleep(time.Millisecond) },
		Failed: func(err error) { mu.Lock(); defer mu.Unlock(); errs = append(errs, err.Error()) },
	}
	if change != nil {
		change(n)
	}
	d.hub.Hub().Notify(t.Context(), n)
	return func() []string { mu.Lock(); defer mu.Unlock(); return append([]string(nil), errs...) }
}

// told waits until the service has that many notes, and that no more come with
// the next change.
func (n *ntfy) told(t *testing.T, want ...string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		got := n.notes()
		if strings.Join(got, "\n") == strings.Join(want, "\n") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("notes:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestNotesArePushedOnce(t *testing.T) {
	d := newDesk(t)
	d.tell(d.tower, "B", record.KindState, record.State{AgentState: record.Blocked}) // before the hub began to push
	service := &ntfy{fails: 2}
	failed := notifying(t, d, service, nil)
	if err := d.tower.PutTitle(t.Context(), "title", "A", record.Title{Title: "Fix the parser ä\x1b[31m"}); err != nil {
		t.Fatal(err)
	}
	d.tell(d.tower, "A", record.KindAsk, bashAsk("k1", "rm -rf build"))
	service.told(t, "/topic Fix the parser ä on tower: asks something")
	// The state that comes with it, and other changes, tell nothing new.
	d.clock.turn(time.Second)
	d.tell(d.tower, "A", record.KindState, record.State{AgentState: record.Blocked, Note: "needs permission"})
	d.tell(d.laptop, "L", record.KindState, record.State{AgentState: record.Working})
	// Another session that begins to wait does.
	d.tell(d.laptop, "L", record.KindState, record.State{AgentState: record.Blocked})
	service.told(t, "/topic Fix the parser ä on tower: asks something", "/topic A session on laptop: waits for you")
	// The next ask is another one.
	d.clock.turn(time.Minute)
	d.tell(d.tower, "A", record.KindAskEnded, record.AskEnded{Ask: "k1", How: record.HowOnScreen})
	d.tell(d.tower, "A", record.KindAsk, bashAsk("k2", "ls"))
	service.told(t, "/topic Fix the parser ä on tower: asks something", "/topic A session on laptop: waits for you", "/topic Fix the parser ä on tower: asks something")
	if errs := failed(); len(errs) > 0 {
		t.Errorf("failed: %v", errs)
	}
}

func TestNotesTellWhatTheyAreAllowedTo(t *testing.T) {
	d := newDesk(t)
	service := &ntfy{}
	failed := notifying(t, d, service, func(n *hub.Notifier) {
		n.Detail, n.Link = true, "https://hub.example"
		n.URLs[0] = strings.Replace(n.URLs[0], "://", "://ann:secret@", 1)
		n.URLs = append(n.URLs, "http://127.0.0.1:9/hidden-topic")
	})
	d.tell(d.tower, "A", record.KindAsk, bashAsk("k1", "rm -rf build\nls"))
	service.told(t, "/topic A session on tower: Bash: rm -rf build … https://hub.example annsecret")
	for end := time.Now().Add(10 * time.Second); len(failed()) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is told of the service that is out of reach")
		}
	}
	for _, e := range failed() {
		if strings.Contains(e, "hidden-topic") || strings.Contains(e, "secret") || !strings.Contains(e, "notify 127.0.0.1:9: ") {
			t.Errorf("the failure is told as %q", e)
		}
	}
}

func TestCheckNotify(t *testing.T) {
	for u, ok := range map[string]bool{"https://ntfy.sh/x": true, "http://u:p@127.0.0.1:80/a/b": true, "https://ntfy.sh": false, "https://ntfy.sh/": false, "ntfy.sh/x": false, "ftp://x/y": false, "::": false} {
		if err := hub.CheckNotify(u); (err == nil) != ok {
			t.Errorf("%s: %v", u, err)
		}
	}
}
