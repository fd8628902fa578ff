package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/cmd/internal/world"
	"sessionhub/lib/herdr"
	"sessionhub/lib/record"
)

// ask runs a command of shctl that asks for something, with a limit on its wait,
// and gives the request as it stood at the end.
func (f *flow) ask(args ...string) record.Request {
	f.t.Helper()
	out, err := f.w.Tool("shctl", append(args, "--json")...)
	list, derr := world.Decode[record.Request](out)
	if derr != nil || len(list) != 1 {
		f.t.Fatalf("shctl %v: %s, %v, %v", args, out, err, derr)
	}
	return list[0]
}

func (f *flow) asked(want record.RequestState, detail string, args ...string) record.Request {
	f.t.Helper()
	began := time.Now()
	r := f.ask(append(args, "--wait=60s")...)
	f.t.Logf("shctl %s: %s %s after %s", args[0], r.State, r.Detail, time.Since(began).Round(10*time.Millisecond))
	if r.State != want || !strings.Contains(r.Detail, detail) {
		f.t.Errorf("shctl %v: %+v; want %s, %q", args, r, want, detail)
	}
	return r
}

// busy sends a message that is to find its session busy, and takes it back.
func (f *flow) busy(session, why string) {
	f.t.Helper()
	r := f.ask("send", session, "not now")
	f.until("it is busy: "+why, func() bool {
		now := f.ask("request", r.ID)
		if now.Ended() {
			f.t.Fatalf("%+v", now)
		}
		return now.State == record.RequestQueued && strings.Contains(now.Detail, why)
	})
	if _, err := f.w.Tool("shctl", "cancel", r.ID); err != nil {
		f.t.Error(err)
	}
}

// interrupt presses Esc, and empties the input line: an interrupted prompt that
// had no answer yet stands in it again. Esc twice on an empty line would open a
// menu.
func (f *flow) interrupt(pane, session string) {
	f.t.Helper()
	if err := f.h.SendKeys(ctx(f.t), pane, "escape"); err != nil {
		f.t.Fatal(err)
	}
	f.untilState(session, record.Idle, record.Done)
	f.clearLine(pane)
}

// clearLine empties the input line.
func (f *flow) clearLine(pane string) {
	f.t.Helper()
	f.until("the input line is empty", func() bool {
		s, err := f.h.Read(ctx(f.t), herdr.ReadParams{PaneID: pane, Source: herdr.ReadVisible})
		if err != nil {
			return false
		}
		last := strings.LastIndex(s.Text, "❯")
		if rest, _, _ := strings.Cut(s.Text[max(last, 0):], "\n"); last >= 0 && strings.Trim(rest, "❯ \u00a0\r") == "" {
			return true
		}
		return f.h.SendKeys(ctx(f.t), pane, "ctrl+u") != nil
	})
}

// heard reports whether a transcript of this home holds a text.
func (f *flow) heard(text string) bool {
	paths, err := filepath.Glob(filepath.Join(f.w.Home, ".claude", "projects", "*", "*.jsonl"))
	if err != nil {
		f.t.Fatal(err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			f.t.Fatal(err)
		}
		if strings.Contains(string(b), text) {
			return true
		}
	}
	return false
}

// controlJob is what a person away from the desk does: messages to sessions in
// every state, a resume, a start.
func (f *flow) controlJob(work, ask string) {
	t := f.t
	pane, session := f.startClaude()
	f.untilState(session, record.Idle)
	f.asked(record.RequestDelivered, "in pane "+pane, "send", session, "hello from afar")
	f.untilState(session, record.Idle, record.Done)
	f.asked(record.RequestRefused, "begins with /", "send", session, "/nonsense")

	f.typeLine(pane, work)
	f.untilState(session, record.Working)
	f.busy(session, "it is at work")
	f.interrupt(pane, session)

	f.typeLine(pane, ask)
	f.untilState(session, record.Blocked)
	f.busy(session, "waits on a prompt")
	f.interrupt(pane, session)

	if err := f.h.SendText(ctx(t), pane, "half a sentence"); err != nil {
		t.Fatal(err)
	}
	// What is not drawn yet nobody can see: that race is measured elsewhere.
	f.until("the half sentence is drawn", func() bool {
		s, err := f.h.Read(ctx(t), herdr.ReadParams{PaneID: pane, Source: herdr.ReadVisible})
		return err == nil && strings.Contains(s.Text, "half a sentence")
	})
	f.busy(session, "text stands in its input line")
	f.interrupt(pane, session)
	f.asked(record.RequestDelivered, "", "send", session, "several\nlines\nafter that")

	f.untilState(session, record.Idle, record.Done)
	f.typeLine(pane, "/clear")
	f.asked(record.RequestRefused, "", "send", session, "to the old one") // or it was busy, and is gone then
	f.until("/clear gave another session", func() bool {
		for _, s := range f.sessions() {
			if s.Herdr != nil && s.Herdr.PaneID == pane && s.Session != session {
				return true
			}
		}
		return false
	})

	f.asked(record.RequestDone, "", "resume", session)
	f.asked(record.RequestFailed, "", "resume", session) // it runs, or was just resumed
	f.untilState(session, record.Idle, record.Done)
	f.asked(record.RequestDone, "", "start", "--machine", "tower", "~/Code/app", "--prompt", "begin from afar")
	if !f.heard("begin from afar") {
		t.Error("the first prompt did not arrive")
	}
	f.asked(record.RequestFailed, "no such directory", "start", "--machine", "tower", "~/Code/nowhere")
	for _, text := range []string{"not now", "to the old one", "half a sentence"} {
		if f.heard(text) {
			t.Errorf("%q was typed", text)
		}
	}
	log, err := os.ReadFile(filepath.Join(f.w.State(), "watcher.log"))
	if err != nil || strings.Contains(string(log), "from afar") {
		t.Errorf("the log holds a text (%v):\n%s", err, log)
	}
	f.books()
}

func TestControlJob(t *testing.T) {
	w := newWorld(t)
	f := flowIn(t, w, w.Env("FAKECLAUDE_REMOTE=https://claude.ai/code/session_01"))
	f.controlJob("work 10m", "ask")
}
