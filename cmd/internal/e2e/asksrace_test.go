package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sessionhub/lib/record"
)

// atOnce lets a person at the screen and an answer from afar decide at the same
// moment, again and again: the tool runs at most once, never after a denial that
// counted, and the ask ends as whoever was first decided.
func (f *flow) atOnce(tries int) {
	t := f.t
	f.mayAnswer()
	pane, session := f.startClaude()
	f.untilState(session, record.Idle)
	ends := map[string]int{}
	for i := range tries {
		name := fmt.Sprintf("ran-%d", i)
		f.wants(pane, "echo x >> "+name)
		a := f.open(session)
		behaviour := []string{"allow", "deny"}[i%2]
		how := f.both(pane, session, a, behaviour)
		f.untilState(session, record.Idle, record.Done)
		ran := 0
		for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			b, _ := os.ReadFile(filepath.Join(f.w.Home, "Code", "app", name)) // none is none
			ran = strings.Count(string(b), "x")
			want := 1
			if how == record.HowAnswered && behaviour == "deny" || how == record.HowInterrupted {
				want = 0
			}
			if ran == want {
				break
			}
			// That the screen was first is known once the transcript was read.
			if how = f.how(session, a); ran > 1 || time.Now().After(end) {
				t.Fatalf("try %d: %s from afar beside yes at the screen: the ask ended as %s, and it ran %d times", i, behaviour, how, ran)
			}
		}
		ends[how]++
	}
	t.Logf("%d tries ended as %v", tries, ends)
	f.nobodyWaits()
	f.books()
}

// both answers from afar and presses yes at the screen, within some milliseconds,
// and tells how the ask ended.
func (f *flow) both(pane, session string, a record.Ask, behaviour string) (how string) {
	f.t.Helper()
	var wg sync.WaitGroup
	wg.Go(func() {
		// Who was later is refused, and that is right.
		_, _ = f.w.Tool("shctl", "answer", session, behaviour, "--ask", a.Ask)
	})
	wg.Go(func() {
		// The answer takes some 20 to 60 ms to the hook and to Claude Code.
		time.Sleep(time.Duration(rand.IntN(90)) * time.Millisecond)
		_ = f.h.SendKeys(ctx(f.t), pane, "1") // a pane that is gone fails the test later
	})
	wg.Wait()
	f.until("the ask is over", func() bool { how = f.how(session, a); return how != "" })
	return how
}

// how is how an ask ended, "" while it is open.
func (f *flow) how(session string, a record.Ask) string {
	s, err := f.w.Session(session)
	if err != nil {
		return ""
	}
	for _, b := range s.Asks {
		if b.Ask == a.Ask && b.State != record.AskOpen {
			return b.How
		}
	}
	return ""
}

func TestPersonAndAnswerAtOnce(t *testing.T) {
	f := doubleFlow(t)
	f.atOnce(20)
}
