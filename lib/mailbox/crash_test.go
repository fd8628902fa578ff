package mailbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sessionhub/lib/claude/entry"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// crashEnv makes the test binary a waiter that kills itself: step, state
// directory, Claude's folder, Claude's process, session.
const crashEnv = "SESSIONHUB_TEST_CRASH"

// The moments at which a waiter can die.
const (
	waiting = "waiting" // it holds the lock
	taken   = "taken"   // it took the message, and printed nothing
	printed = "printed" // it printed, and noted nothing
	noted   = "noted"   // it noted, and did not exit
	never   = "never"
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(crashEnv); spec != "" {
		crashChild(strings.Split(spec, "\n"))
	}
	os.Exit(m.Run())
}

func die() { syscall.Kill(os.Getpid(), syscall.SIGKILL) }

// dying is a standard error at which the process dies.
type dying struct{ step string }

func (d dying) Write(b []byte) (int, error) {
	if d.step == taken {
		die()
	}
	n, err := os.Stderr.Write(b)
	if d.step == printed {
		die()
	}
	return n, err
}

func crashChild(f []string) {
	pid, err := strconv.Atoi(f[3])
	if err != nil {
		panic(err)
	}
	if f[0] == waiting {
		time.AfterFunc(300*time.Millisecond, die)
	}
	w := &Waiter{Dir: state.Dir(f[1]), Home: f[2], Claude: pid, Now: time.Now, Stderr: dying{f[0]}, Log: func(err error) { fmt.Println(err) }, Timing: DefaultTiming()}
	given, err := w.Run(context.Background(), f[4])
	if f[0] == noted {
		die()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if given {
		os.Exit(2)
	}
	os.Exit(0)
}

// child runs a waiter in a process of its own, and returns what Claude Code
// would heed: what it printed, if it exits with status 2.
func (s *scene) child(step, session string) (text string) {
	s.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashEnv+"="+strings.Join([]string{step, string(s.dir), s.home, strconv.Itoa(s.claude.Process.Pid), session}, "\n"))
	var errs strings.Builder
	cmd.Stderr, cmd.Stdout = &errs, s.t.Output()
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code == 2 {
		return errs.String()
	} else if step == never {
		s.t.Fatalf("status %d, %v", code, err)
	}
	return ""
}

// A waiter that is killed at any step leaves a message that the next one gives,
// or one that is known to have been given, maybe; never one that is given twice.
func TestKilledAtEveryStep(t *testing.T) {
	for _, step := range []string{waiting, taken, printed, noted} {
		for _, who := range []string{"the next waiter", "whoever left it"} {
			t.Run(step+"/"+who, func(t *testing.T) {
				t.Parallel()
				s := newScene(t)
				if step == waiting {
					s.is("S", "busy")
				}
				id := s.put("S", "exactly once")
				if text := s.child(step, "S"); text != "" {
					t.Fatalf("it was to be killed, and gave %q", text)
				}
				s.is("S", entry.Idle)
				_, marked, err := s.box("S").Given(id)
				if err != nil || marked != (step == noted) {
					t.Fatalf("marked %v, %v", marked, err)
				}
				if who == "whoever left it" {
					if ok, err := s.box("S").Withdraw(id); ok == marked || err != nil {
						t.Errorf("taken back: %v, %v", ok, err)
					}
					r := s.wait("S")
					r.stays(100 * time.Millisecond)
					return
				}
				if marked {
					r := s.wait("S")
					r.stays(100 * time.Millisecond)
					return
				}
				text := s.child(never, "S")
				if strings.Count(text, Begins(id)) != 1 || strings.Count(text, Ends(id)) != 1 {
					t.Errorf("the next one gave %q", text)
				}
			})
		}
	}
}

// A disk that takes no mark: nothing is given, so that nothing is given twice.
func TestAMarkThatCantBeWritten(t *testing.T) {
	s := newScene(t)
	r := s.begin("S", func(w *Waiter) { w.Stderr = full{s, w.Stderr.(*strings.Builder), ""} })
	s.until("it waits", func() bool {
		select {
		case o := <-r.done:
			t.Fatalf("it ended: %+v", o)
		default:
		}
		held, err := s.box("S").Waits()
		return held && err == nil
	})
	id := s.put("S", "hello")
	if o := r.ends(); o.given || o.err == nil {
		t.Errorf("%+v", o)
	}
	if err := os.RemoveAll(s.box("S").mark(id)); err != nil {
		t.Fatal(err)
	}
	again := s.begin("S", func(*Waiter) {}) // it may be over before it is seen to wait
	s.given(again.ends(), "S", id, "hello")
}

// Of two messages the second can't be marked: then the first was not given, too,
// and does not count as if it had been.
func TestOneOfTwoMarksCantBeWritten(t *testing.T) {
	s := newScene(t)
	first, second := s.put("S", "one"), s.put("S", "two")
	r := s.begin("S", func(w *Waiter) { w.Stderr = full{s, w.Stderr.(*strings.Builder), second} })
	if o := r.ends(); o.given || o.err == nil {
		t.Errorf("%+v", o)
	}
	if m, given, err := s.box("S").Given(first); given || err != nil {
		t.Errorf("the first one counts as given: %+v, %v", m, err)
	}
	if err := os.RemoveAll(s.box("S").mark(second)); err != nil {
		t.Fatal(err)
	}
	o := s.begin("S", func(*Waiter) {}).ends()
	s.given(o, "S", first, "one")
	s.given(o, "S", second, "two")
}

// full puts a folder where the mark is to stand, of one message or of all.
type full struct {
	s    *scene
	to   *strings.Builder
	only string
}

func (f full) Write(b []byte) (int, error) {
	id, _, _ := strings.Cut(strings.SplitN(string(b), "--- message ", 2)[1], " ")
	if f.only != "" && id != f.only {
		return f.to.Write(b)
	}
	if err := os.MkdirAll(f.s.box("S").mark(id)+"/x", 0o700); err != nil {
		return 0, err
	}
	return f.to.Write(b)
}

func TestSweep(t *testing.T) {
	s := newScene(t)
	const keep = 8 * 24 * time.Hour
	stale, young := s.put("S", "x"), s.put("T", "x")
	if err := state.ReplaceJSON(s.box("T").mark("m"), Mark{V: 1, ID: "m", At: record.At(time.Now())}); err != nil {
		t.Fatal(err)
	}
	l := Letter{ID: stale, Text: "x", Until: record.At(time.Now().Add(-time.Second))}
	if err := s.box("S").Put(l); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(string(s.dir)+"/waiters", 0o700); err != nil {
		t.Fatal(err)
	}
	for pid, keeps := range map[int]bool{os.Getpid(): true, 1 << 30: false} {
		if err := os.WriteFile(string(s.dir)+"/waiters/"+strconv.Itoa(pid), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := os.Stat(string(s.dir) + "/waiters/" + strconv.Itoa(pid)); (err == nil) != keeps {
				t.Errorf("the seat of %d: %v", pid, err)
			}
		}()
	}
	if err := Sweep(s.dir, time.Now(), keep); err != nil {
		t.Fatal(err)
	}
	if s.box("S").Lies(stale) || !s.box("T").Lies(young) {
		t.Error("the wrong ones were taken back")
	}
	r := s.wait("S") // somebody waits
	defer r.cancel()
	later := time.Now().Add(2 * keep)
	if err := Sweep(s.dir, later, keep); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.box("S").path()); err != nil {
		t.Errorf("a mailbox in use is gone: %v", err)
	}
	if _, err := os.Stat(s.box("T").path()); !os.IsNotExist(err) {
		t.Errorf("an old one is there: %v", err)
	}
	r.cancel()
	r.ends()
	if err := Sweep(s.dir, later, keep); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.box("S").path()); !os.IsNotExist(err) {
		t.Errorf("an old one is there: %v", err)
	}
}
