package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sessionhub/cmd/internal/world"
	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/claude/entry"
	"sessionhub/lib/herdr"
	"sessionhub/lib/mailbox"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// post is a flow whose sessions have mailboxes, some of them outside herdr.
type post struct {
	*flow
	env  []string
	args []string // with which Claude is started outside
}

func (f *flow) post(env []string, args ...string) *post {
	f.t.Helper()
	if _, err := f.w.Tool("shinstall", "hooks", "--bin-dir", f.w.Bin); err != nil {
		f.t.Fatal(err)
	}
	return &post{f, env, args}
}

// outside starts Claude in a terminal of its own, and waits until it is at its
// prompt and its hook waits.
func (p *post) outside(args ...string) (*claudetest.Outside, string) {
	p.t.Helper()
	o := p.start(args...)
	return o, p.armed(o)
}

func (p *post) start(args ...string) *claudetest.Outside {
	p.t.Helper()
	dir := filepath.Join(p.w.Home, "Code", "app")
	return claudetest.StartOutside(p.t, filepath.Join(p.w.Bin, "claude"), dir, p.env, slices.Concat(p.args, args)...)
}

func (p *post) entry(o *claudetest.Outside) (entry.Entry, bool) {
	return entry.Read(filepath.Join(p.w.Home, ".claude"), o.PID())
}

func (p *post) box(session string) mailbox.Box {
	return mailbox.Box{Dir: state.Dir(p.w.State()), Session: session}
}

// armed waits until a Claude is at its prompt, and a hook waits for its session.
func (p *post) armed(o *claudetest.Outside) (session string) {
	p.t.Helper()
	p.until("its hook waits", func() bool {
		e, ok := p.entry(o)
		if !ok || e.Status != entry.Idle {
			return false
		}
		session = e.Session
		waits, err := p.box(session).Waits()
		return err == nil && waits
	})
	return session
}

// waiter is the process of the hook that waits for messages to a session.
func (p *post) waiter(session string) (pid int) {
	p.t.Helper()
	p.until("the hook tells its process", func() bool {
		b, err := os.ReadFile(filepath.Join(p.w.State(), "messages", session, "waiter.lock"))
		first, _, _ := strings.Cut(string(b), "\n")
		if err == nil {
			pid, err = strconv.Atoi(first)
		}
		return err == nil
	})
	return pid
}

// known waits until the hub knows a session.
func (p *post) known(session string) {
	p.t.Helper()
	p.until("the hub knows "+session, func() bool {
		s, err := p.w.Session(session)
		return err == nil && s.Status == record.StatusLive
	})
}

// enters types a line, and Enter until it shows: pressed at once, the real Claude
// Code takes both for something pasted.
func (p *post) enters(o *claudetest.Outside, line string, shown func(e entry.Entry) bool) {
	p.t.Helper()
	o.Keys(line)
	pressed := time.Now()
	p.until(line+" shows", func() bool {
		if e, ok := p.entry(o); ok && shown(e) {
			return true
		}
		if time.Since(pressed) > 300*time.Millisecond {
			pressed = time.Now()
			o.Keys("\r")
		}
		return false
	})
}

// arrivals counts how often a message stands in all transcripts as a prompt, and
// tells when it was first written down.
func (f *flow) arrivals(id string) (n int, first time.Time) {
	f.t.Helper()
	paths, err := filepath.Glob(filepath.Join(f.w.Home, ".claude", "projects", "*", "*.jsonl"))
	if err != nil {
		f.t.Fatal(err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			f.t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			var l struct {
				Type      string      `json:"type"`
				Timestamp record.Time `json:"timestamp"`
			}
			if !bytes.Contains(line, []byte(mailbox.Begins(id))) || json.Unmarshal(line, &l) != nil || l.Type != "user" {
				continue
			}
			if n++; n == 1 {
				first = l.Timestamp.Time
			}
		}
	}
	return n, first
}

// mailed sends a message that is to arrive by the mailbox, once.
func (p *post) mailed(session, text string) record.Request {
	p.t.Helper()
	began := time.Now()
	r := p.asked(record.RequestDelivered, "through its mailbox", "send", session, text)
	n, first := p.arrivals(r.ID)
	if n != 1 {
		p.t.Errorf("%q arrived %d times", text, n)
	}
	p.t.Logf("%q: its turn began %s after shctl send was run", text, first.Sub(began).Round(time.Millisecond))
	return r
}

// unheard sends a message to a session that is over: the hub refuses it when it
// knows that, else the machine does.
func (p *post) unheard(session, text string) {
	p.t.Helper()
	out, err := p.w.Tool("shctl", "send", session, text, "--json", "--wait=60s")
	if err != nil && strings.Contains(err.Error(), "has ended") {
		return
	}
	list, derr := world.Decode[record.Request](out)
	if derr != nil || len(list) != 1 || list[0].State != record.RequestRefused {
		p.t.Errorf("%s, %v, %v", out, err, derr)
	}
}

// mailWaiters counts the hooks of this world that wait for messages.
func (f *flow) mailWaiters() int {
	out, err := exec.Command("pgrep", "-f", "^"+filepath.Join(f.w.Bin, "shq")+" hook mailbox$").Output()
	if err != nil {
		return 0 // there is none
	}
	return strings.Count(string(out), "\n")
}

func busy(e entry.Entry) bool { return e.Status == "busy" }

// mailboxJob speaks to sessions in every state without touching their panes.
func (p *post) mailboxJob(work string) {
	t := p.t
	o, session := p.outside()
	p.known(session)
	p.mailed(session, "hello from afar, not typed")
	p.armed(o)

	p.enters(o, work, busy)
	p.mailed(session, "after the turn, not typed")
	if e, ok := p.entry(o); !ok || e.Session != session {
		t.Errorf("%+v", e)
	}
	p.armed(o)
	p.takenBack(o, session, work)

	p.enters(o, "/clear", func(e entry.Entry) bool { return e.Session != session })
	cleared := p.armed(o)
	p.known(cleared)
	p.unheard(session, "to the one before")
	p.mailed(cleared, "to the new one, not typed")
	p.armed(o)
	p.until("one hook of one Claude Code waits", func() bool { return p.mailWaiters() == 1 })
	o.Keys("/exit")
	p.until("it has ended", func() bool {
		select {
		case <-o.Gone():
			return true
		case <-time.After(300 * time.Millisecond):
			o.Keys("\r")
			return false
		}
	})
	p.until("no hook waits", func() bool { return p.mailWaiters() == 0 })
	p.unheard(cleared, "to nobody")

	o, session = p.outside()
	p.known(session)
	if err := syscall.Kill(o.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	p.until("no hook waits", func() bool { return p.mailWaiters() == 0 })
	t.Logf("after SIGKILL its hook was gone within %s", time.Since(killed).Round(time.Millisecond))
	p.draft()
	for _, text := range []string{"to the one before", "to nobody", "taken back in time"} {
		if p.heard(text) {
			t.Errorf("%q was given", text)
		}
	}
	log, err := os.ReadFile(filepath.Join(p.w.State(), "watcher.log"))
	if err != nil || strings.Contains(string(log), "not typed") {
		t.Errorf("the log holds a text (%v):\n%s", err, log)
	}
	p.books()
}

// takenBack: what lies in a mailbox can be taken back, and never arrives then.
func (p *post) takenBack(o *claudetest.Outside, session, work string) {
	p.enters(o, strings.Replace(work, "3", "60", 1), busy)
	r := p.ask("send", session, "taken back in time")
	p.until("it lies in the mailbox", func() bool { return p.box(session).Lies(r.ID) })
	began := time.Now()
	if _, err := p.w.Tool("shctl", "cancel", r.ID); err != nil {
		p.t.Error(err)
	}
	p.t.Logf("taken back after %s", time.Since(began).Round(100*time.Millisecond))
	if p.box(session).Lies(r.ID) {
		p.t.Error("it still lies there")
	}
	o.Keys("\x1b")
	p.armed(o)
	o.Keys("\x15") // an interrupted prompt without an answer stands in the line again
}

// draft: what stands in the input line stays there.
func (p *post) draft() {
	pane, session := p.startClaude()
	p.untilState(session, record.Idle)
	p.until("its hook waits", func() bool { waits, err := p.box(session).Waits(); return err == nil && waits })
	if err := p.h.SendText(ctx(p.t), pane, "half a sentence"); err != nil {
		p.t.Fatal(err)
	}
	drafted := func() bool {
		s, err := p.h.Read(ctx(p.t), herdr.ReadParams{PaneID: pane, Source: herdr.ReadVisible})
		last := strings.LastIndex(s.Text, "❯")
		return err == nil && last >= 0 && strings.Contains(s.Text[last:], "half a sentence")
	}
	p.until("the half sentence is drawn", drafted)
	p.mailed(session, "beside a draft, not typed")
	p.untilState(session, record.Idle, record.Done)
	p.until("the half sentence is still there", drafted)
	if p.heard("half a sentence") {
		p.t.Error("the draft was sent")
	}
	p.clearLine(pane)
}

func TestMailboxJob(t *testing.T) {
	f := doubleFlow(t)
	defer f.showFailure()
	f.post(f.w.Env()).mailboxJob("work 3s")
}
