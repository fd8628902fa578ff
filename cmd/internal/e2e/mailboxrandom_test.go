package e2e

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"sessionhub/cmd/internal/world"
	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/claude/entry"
	"sessionhub/lib/record"
)

// rover is a Claude Code that changes while messages are on their way to it.
type rover struct {
	o       *claudetest.Outside
	session string
}

// settle is how long the last messages of a random run may take: a busy one is
// offered again after 15 s.
const settle = 20 * time.Second

// atRandom sends messages to sessions that work, /clear, exit, are resumed and
// crash meanwhile. Each message is in exactly one transcript, once, or reported
// as not delivered.
func (p *post) atRandom(messages int, work string) {
	t := p.t
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	rovers := make([]*rover, 3)
	for i := range rovers {
		rovers[i] = &rover{}
		rovers[i].o, rovers[i].session = p.outside()
		p.known(rovers[i].session)
	}
	var sent []string
	refused := 0
	for i := range messages {
		v := rovers[r.IntN(len(rovers))]
		out, err := p.w.Tool("shctl", "send", v.session, fmt.Sprintf("random message %d", i), "--json")
		list, derr := world.Decode[record.Request](out)
		switch {
		case err != nil && (strings.Contains(err.Error(), "has ended") || strings.Contains(err.Error(), "no session")):
			refused++
		case err != nil || derr != nil || len(list) != 1:
			t.Fatalf("send: %s, %v, %v", out, err, derr)
		default:
			sent = append(sent, list[0].ID)
		}
		p.stir(v, r.IntN(100), work)
	}
	counts := map[string]int{"refused at once": refused}
	for end := time.Now().Add(settle); ; time.Sleep(100 * time.Millisecond) {
		open := 0
		for _, id := range sent {
			if !p.ask("request", id).Ended() {
				open++
			}
		}
		if open == 0 || time.Now().After(end) {
			break
		}
	}
	for _, id := range sent {
		counts[p.account(id)]++
	}
	t.Logf("%d messages: %v", messages, counts)
	if counts[string(record.RequestDelivered)] == 0 {
		t.Error("none was delivered")
	}
	p.books()
}

// stir changes what a rover does, at most times not at all.
func (p *post) stir(v *rover, dice int, work string) {
	over := func(end func()) {
		end()
		v.o = p.start("--resume", v.session)
		p.until("it is at its prompt, or has nothing to resume", func() bool {
			select {
			case <-v.o.Gone():
				v.o = p.start()
			default:
			}
			e, ok := p.entry(v.o)
			return ok && e.Status == entry.Idle
		})
		v.session = p.armed(v.o)
		p.known(v.session)
	}
	switch {
	case dice < 55:
	case dice < 70:
		v.o.Keys(work)
		v.o.Keys("\r") // taken for a paste with a line in it, it is still a draft
	case dice < 80:
		v.o.Keys("\x15/clear")
		v.o.Keys("\r")
		old, end := v.session, time.Now().Add(time.Second) // it waits for the end of a turn
		for time.Now().Before(end) && v.session == old {
			if e, ok := p.entry(v.o); ok {
				v.session = e.Session
			}
			time.Sleep(10 * time.Millisecond)
		}
	case dice < 90:
		over(func() {
			v.o.Keys("\x15/exit")
			for pressed := 0; ; pressed++ {
				v.o.Keys("\r")
				select {
				case <-v.o.Gone():
					return
				case <-time.After(300 * time.Millisecond):
				}
				if pressed > 20 { // it asks something, or takes the word for a prompt
					v.o.Kill()
				}
			}
		})
	default:
		over(v.o.Kill)
	}
	if e, ok := p.entry(v.o); ok {
		v.session = cmp.Or(e.Session, v.session)
	}
}

// account says how a message ended, and compares that with the transcripts. What
// still waits is taken back; then it must never arrive.
func (p *post) account(id string) string {
	r := p.ask("request", id)
	var err error
	for end := time.Now().Add(settle); !r.Ended() && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if _, err = p.w.Tool("shctl", "cancel", id); err != nil && !strings.Contains(err.Error(), "ended") {
			p.t.Fatal(err)
		}
		r = p.ask("request", id)
	}
	if !r.Ended() {
		p.t.Errorf("it does not end: %+v, %v", r, err)
	}
	n, first := p.arrivals(id)
	want := 0
	if r.State == record.RequestDelivered {
		want = 1
	}
	if r.State != record.RequestDelivered {
		p.t.Logf("%s: %s", r.State, r.Detail)
	}
	if n != want {
		p.t.Errorf("%+v: it stands in transcripts %d times, first at %s", r, n, first)
	}
	return string(r.State)
}

func TestMailboxAtRandom(t *testing.T) {
	f := doubleFlow(t)
	f.post(f.w.Env()).atRandom(30, "work 1s")
}
