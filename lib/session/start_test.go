package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/herdr"
	"sessionhub/lib/herdr/herdrtest"
	"sessionhub/lib/state"
)

const link01 = "https://claude.ai/code/session_01AbC"

func launch(dir string, args ...string) Launch {
	return Launch{Dir: dir, Label: "sessionhub: test", Name: "sessionhub-test", Args: args}
}

// realDir is a directory with its links resolved.
func realDir(t *testing.T, dir string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

func TestLaunch(t *testing.T) {
	r := newRoom(t, herdrtest.WithEnv("FAKECLAUDE_REMOTE="+link01))
	dir := filepath.Join(realDir(t, r.s.Home()), "a dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	at, err := r.desk.Launch(t.Context(), launch(dir, "--remote-control"), noted)
	if err != nil {
		t.Fatal(err)
	}
	if p := r.desk.AwaitPrompt(t.Context(), at); p != Ready {
		t.Errorf("it came to %d", p)
	}
	if url := r.desk.AwaitLink(t.Context(), at); url != link01 {
		t.Errorf("link %q", url)
	}
	s, ok := r.desk.SessionIn(t.Context(), at)
	if !ok || s.Cwd != dir {
		t.Errorf("session %+v", s)
	}
	p, err := r.s.Client().Pane(t.Context(), at.PaneID)
	if err != nil || p.Focused {
		t.Errorf("it took the focus: %+v, %v", p, err)
	}
}

// Findings 31 to 34: each way in which a start fails is told with its reason.
func TestLaunchesThatFail(t *testing.T) {
	r := newRoom(t)
	r.desk.Timing.Detect = time.Second
	home := realDir(t, r.s.Home())

	_, err := r.desk.Launch(t.Context(), launch(filepath.Join(home, "nowhere")), noted)
	if err == nil || !strings.Contains(err.Error(), "in place of") {
		t.Errorf("31: a missing directory: %v", err)
	}
	list, lerr := r.s.Client().Workspaces(t.Context())
	if lerr != nil || len(list) != 1 {
		t.Errorf("the workspace in the wrong place is still there: %+v, %v", list, lerr)
	}

	at, err := r.desk.Launch(t.Context(), launch(home, "--resume", "01976f3e-7c1a-7c11-9d2e-0d9d0a6a1b11"), noted)
	if err == nil && r.desk.AwaitPrompt(t.Context(), at) == Ended { // herdr saw it for a moment
		err = r.desk.WhyEnded(t.Context(), at)
	}
	if err == nil || !strings.Contains(err.Error(), "in pane") || !strings.Contains(err.Error(), "No conversation found") {
		t.Errorf("32: an unknown id: %v", err)
	}

	full := errors.New("no space left on device")
	if _, err := r.desk.Launch(t.Context(), launch(home), func() error { return full }); !errors.Is(err, full) {
		t.Errorf("what can't be noted: %v", err)
	}
	if _, err := r.desk.Launch(t.Context(), Launch{Dir: home, Name: "x", Socket: "elsewhere"}, noted); err == nil || !strings.Contains(err.Error(), "no herdr server named elsewhere") {
		t.Errorf("a server that is not there: %v", err)
	}
	r.desk.Sockets = func() []string { return []string{filepath.Join(home, "none.sock")} }
	if _, err := r.desk.Launch(t.Context(), launch(home), noted); !errors.Is(err, ErrNoHerdr) {
		t.Errorf("no server: %v", err)
	}
}

// Finding 32 again: no claude on herdr's PATH.
func TestLaunchWithoutClaude(t *testing.T) {
	r := roomAt(t, herdrtest.Start(t, herdrtest.WithEnv("PATH=/usr/bin:/bin")))
	r.desk.Timing.Detect = time.Second
	_, err := r.desk.Launch(t.Context(), launch(realDir(t, r.s.Home())), noted)
	if err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("%v", err)
	}
}

// Finding 33: nothing answers the question whether a folder is trusted.
func TestLaunchInAnUntrustedFolder(t *testing.T) {
	r := newRoom(t)
	if err := os.WriteFile(filepath.Join(r.s.Home(), ".claude.json"), []byte(`{"projects":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := r.desk.Launch(t.Context(), launch(realDir(t, r.s.Home())), noted)
	if err != nil {
		t.Fatal(err)
	}
	if p := r.desk.AwaitPrompt(t.Context(), at); p != Asking {
		t.Errorf("it came to %d", p)
	}
	s, err := r.s.Client().Read(t.Context(), herdr.ReadParams{PaneID: at.PaneID, Source: herdr.ReadVisible})
	if err != nil || !strings.Contains(s.Text, "❯ No, exit") {
		t.Errorf("the question was touched: %v\n%s", err, s.Text)
	}
}

func TestRemoteControl(t *testing.T) {
	r := newRoom(t, herdrtest.WithEnv("FAKECLAUDE_REMOTE="+link01))
	id := r.claude()
	remote := func() Remote {
		t.Helper()
		got, err := r.desk.RemoteControl(t.Context(), id, noted)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := remote(); got.URL != link01 || !got.Typed {
		t.Errorf("%+v", got)
	}
	if got := remote(); got.URL != link01 || got.Typed { // A25
		t.Errorf("once it is on: %+v", got)
	}
	r.enters("ask")
	r.untilGate(id, Busy, Blocked)
	if got := remote(); got.URL != link01 {
		t.Errorf("while it is on, its state does not matter: %+v", got)
	}
}

// Field report A25: /remote-control is a toggle. Where nothing tells that it is
// on a dialog opens: the link is taken from it, and it is closed again.
func TestA25RemoteControlThatWasOn(t *testing.T) {
	wide := func(c *herdrtest.Config) { c.Cols = 140 } // else the rows are cut
	r := newRoom(t, herdrtest.WithEnv("FAKECLAUDE_REMOTE="+link01, "FAKECLAUDE_REMOTE_SHOWS=1"), wide)
	id := r.claude()
	for i := range 3 {
		got, err := r.desk.RemoteControl(t.Context(), id, noted)
		if err != nil || got.URL != link01 || !got.Typed {
			t.Errorf("%d: %+v, %v", i, got, err)
		}
		r.untilGate(id, Open, NoReason)
	}
}

// Field report A26: every enabling makes another link; the newest is given.
func TestA26TheNewestLink(t *testing.T) {
	r := newRoom(t)
	id := r.claude()
	r.say(id, "hello")
	path, _ := r.desk.Home.Transcript(id)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, n := range []string{"1", "2"} {
		if _, err := f.WriteString(`{"type":"system","subtype":"bridge_status","url":"https://claude.ai/code/session_` + n + `"}` + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	w := r.desk.find(t.Context(), id)
	if got := r.desk.link(t.Context(), w.in[0], ""); got != "https://claude.ai/code/session_2" {
		t.Errorf("link %q", got)
	}
	if got := r.desk.link(t.Context(), w.in[0], "https://claude.ai/code/session_2"); got != "" { // A27: the old one proves nothing
		t.Errorf("the link that was there before: %q", got)
	}
}

func TestRemoteControlWithoutAnAccount(t *testing.T) {
	r := newRoom(t)
	r.desk.Timing.Link = 300 * time.Millisecond
	id := r.claude()
	if got, err := r.desk.RemoteControl(t.Context(), id, noted); err != nil || got.URL != "" || !got.Typed {
		t.Errorf("%+v, %v", got, err)
	}
	r.enters("ask")
	r.untilGate(id, Busy, Blocked)
	if got, err := r.desk.RemoteControl(t.Context(), id, noted); err != nil || got.Typed || got.Gate.Reason != Blocked {
		t.Errorf("while a prompt waits: %+v, %v", got, err)
	}
}

// Field reports A12 and A13: a session that runs anywhere is found, with its
// place.
func TestA12WhereASessionRuns(t *testing.T) {
	r := newRoom(t)
	id := r.claude()
	if where, err := r.desk.Running(t.Context(), id); err != nil || !strings.Contains(where, "in pane "+r.pane) {
		t.Errorf("%q, %v", where, err)
	}
	if where, err := r.desk.Running(t.Context(), "01976f3e-7c1a-7c11-9d2e-0d9d0a6a1b11"); err != nil || where != "" {
		t.Errorf("%q, %v", where, err)
	}
	r.desk.Sockets = func() []string { return nil } // it runs in no herdr that is known
	if where, err := r.desk.Running(t.Context(), id); err != nil || !strings.Contains(where, "outside herdr, in process") {
		t.Errorf("%q, %v", where, err)
	}
}

// Finding 34: a shell that runs something at its start is busy for a while; one
// that asks something takes the command line for the answer.
func TestShellsThatAreNotReady(t *testing.T) {
	t.Run("slow", func(t *testing.T) {
		r := newRoom(t)
		if err := os.WriteFile(filepath.Join(r.s.Home(), ".bashrc"), []byte("sleep 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		at, err := r.desk.Launch(t.Context(), launch(realDir(t, r.s.Home())), noted)
		if err != nil || r.desk.AwaitPrompt(t.Context(), at) != Ready {
			t.Errorf("%v", err)
		}
	})
	t.Run("asking", func(t *testing.T) {
		r := newRoom(t)
		r.desk.Timing.Detect = 1500 * time.Millisecond
		if err := os.WriteFile(filepath.Join(r.s.Home(), ".bashrc"), []byte("read -p 'ssh passphrase: ' x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := r.desk.Launch(t.Context(), launch(realDir(t, r.s.Home())), noted)
		if err == nil || !strings.Contains(err.Error(), "claude didn't start in pane") || !strings.Contains(err.Error(), "ssh passphrase") {
			t.Errorf("%v", err)
		}
	})
}

// While a session leaves for another machine, nobody else may act on it, and a
// journal that can't be read is nobody's leave to go on.
func TestLeaseOfASessionThatLeaves(t *testing.T) {
	d := &Desk{Dir: state.Dir(t.TempDir()), Now: time.Now}
	const id = "0b5c0000-0000-4000-8000-000000000000"
	dir, err := d.Dir.Sub(MovesDir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "m1.json")
	for _, c := range []struct {
		name, content string
		moving        bool
	}{
		{"checking still", `{"id":"m1","session":"` + id + `","to":"laptop"}`, false},
		{"leaving", `{"id":"m1","session":"` + id + `","to":"laptop","leaving":true,"phase":"end"}`, true},
		{"another one leaves", `{"id":"m1","session":"x","to":"laptop","leaving":true}`, false},
	} {
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		release, err := d.Lease(id, "me")
		var moving *MovingError
		if errors.As(err, &moving) != c.moving || !c.moving && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil {
			release()
			continue
		}
		if err.Error() != "it is being moved to laptop: shctl move --status m1 tells how that stands" {
			t.Error(err)
		}
		release, err = d.LeaseMoving(id, "the move")
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Lease(id, "me"); err == nil {
		t.Error("a torn journal was passed over")
	}
}
