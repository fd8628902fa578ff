package hub

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// Notifier pushes a note to services that are compatible with ntfy when a session
// begins to wait for its person: once for each ask, and once for each wait
// without one.
type Notifier struct {
	URLs   []string // of topics; each gets every note
	Detail bool     // with the first line of what is asked
	Link   string   // of the hub's page, "" for none
	Client *http.Client
	Now    func() time.Time
	Pause  func(ctx context.Context, d time.Duration)
	Failed func(error)

	waits map[string]wait // by session
}

// wait is what was told of a session that waits.
type wait struct {
	ask   string
	since time.Time // of the wait
	told  time.Time
	seen  time.Time // last
	lone  bool      // told without an ask
}

const (
	// settle is how long after a change the inbox is read: an ask and the state
	// that comes with it are two records.
	settle = 700 * time.Millisecond
	// samePause is how long after a note without an ask an ask of the same
	// session is the same wait.
	samePause = 15 * time.Second
	// pushWait bounds one try to push.
	pushWait = 10 * time.Second
	// noteLimit bounds the texts of a note in characters.
	noteLimit = 200
)

// pushAgain are the waits between the tries to push a note.
var pushAgain = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}

// CheckNotify refuses an address that can't be pushed to.
func CheckNotify(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.Trim(u.Path, "/") == "" {
		return errors.New("an address of a topic is wanted, such as https://ntfy.sh/TOPIC") // without the address, which may be a secret
	}
	return nil
}

// Notify begins to push, until the context ends. What waits already was told
// before.
func (h *Hub) Notify(ctx context.Context, n *Notifier) {
	ear := h.changes.join()
	n.look(ctx, h, false)
	go func() {
		defer ear.leave()
		n.listen(ctx, h, ear)
	}()
}

func (n *Notifier) listen(ctx context.Context, h *Hub, ear *ear) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-ear.some:
			if !open {
				return
			}
			n.Pause(ctx, settle)
			ear.take()
			n.look(ctx, h, true)
		}
	}
}

// look reads the inbox and tells what is new in it.
func (n *Notifier) look(ctx context.Context, h *Hub, tell bool) {
	list, err := h.store.Inbox(ctx, h.now())
	if err != nil {
		if ctx.Err() == nil {
			n.Failed(fmt.Errorf("notify: %w", err))
		}
		return
	}
	for _, e := range n.fresh(list) {
		if tell {
			go n.push(ctx, e)
		}
	}
}

// fresh are the entries that were not told yet.
func (n *Notifier) fresh(list []record.InboxEntry) []record.InboxEntry {
	now := n.Now()
	waits := make(map[string]wait, len(list))
	var fresh []record.InboxEntry
	for _, e := range list {
		if e.Kind != record.InboxBlocked || e.Session == "" {
			continue
		}
		old, known := n.waits[e.Session]
		w := wait{ask: e.Ask, since: e.Since.Time, told: now, seen: now, lone: e.Ask == ""}
		switch {
		case !known:
			fresh = append(fresh, e)
		case e.Ask == old.ask && (e.Ask != "" || w.since.Equal(old.since)):
			w = old
			w.seen = now
		case e.Ask == "" && old.ask != "" && !w.since.After(old.seen): // the ask is over, its wait goes on for a moment
			w.told, w.lone = old.told, false
		case e.Ask != "" && old.lone && now.Sub(old.told) < samePause: // the same wait, known better now
			w.told = old.told
		default:
			fresh = append(fresh, e)
		}
		waits[e.Session] = w
	}
	n.waits = waits
	return fresh
}

// push tells every service.
func (n *Notifier) push(ctx context.Context, e record.InboxEntry) {
	for _, u := range n.URLs {
		go func() {
			err := n.post(ctx, u, e)
			for _, d := range pushAgain {
				if err == nil || ctx.Err() != nil {
					return
				}
				n.Pause(ctx, d)
				err = n.post(ctx, u, e)
			}
			if err != nil && ctx.Err() == nil {
				n.Failed(err)
			}
		}()
	}
}

// post pushes one note. Errors do not name the topic, which may be a secret.
func (n *Notifier) post(ctx context.Context, to string, e record.InboxEntry) error {
	ctx, cancel := context.WithTimeout(ctx, pushWait)
	defer cancel()
	u, err := url.Parse(to)
	if err != nil {
		return errors.New("notify: the address can't be read")
	}
	user := u.User
	u.User = nil
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(n.body(e)))
	if err != nil {
		return fmt.Errorf("notify %s: the address can't be read", u.Host)
	}
	if user != nil {
		password, _ := user.Password()
		r.SetBasicAuth(user.Username(), password)
	}
	title := text.Cut(text.Line(e.Title), noteLimit)
	if title == "" {
		title = "A session"
	}
	r.Header.Set("Title", mime.QEncoding.Encode("utf-8", title+" on "+text.Line(e.Machine)))
	r.Header.Set("Tags", "raised_hand")
	r.Header.Set("Priority", "high")
	if n.Link != "" {
		r.Header.Set("Click", n.Link)
	}
	resp, err := n.Client.Do(r)
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // without the address
	}
	if err != nil {
		return fmt.Errorf("notify %s: %w", u.Host, err)
	}
	resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("notify %s: %s", u.Host, resp.Status)
	}
	return nil
}

func (n *Notifier) body(e record.InboxEntry) string {
	switch {
	case n.Detail && e.Text != "":
		return text.Cut(text.Line(e.Text), noteLimit)
	case e.Ask != "":
		return "asks something"
	}
	return "waits for you"
}
