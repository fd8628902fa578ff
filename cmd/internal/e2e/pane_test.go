package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"sessionhub/lib/herdr"
	"sessionhub/lib/record"
)

// screen is a tool in a terminal of 80×24, as in a pane.
type screen struct {
	tty *os.File
	cmd *exec.Cmd
	mu  sync.Mutex
	out bytes.Buffer
}

func (f *flow) screen(tool string, args ...string) *screen {
	f.t.Helper()
	s := &screen{cmd: exec.Command(filepath.Join(f.w.Bin, tool), args...)}
	s.cmd.Env = f.w.Env("NO_COLOR=1")
	var err error
	if s.tty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Cols: 80, Rows: 24}); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { s.tty.Close() })
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := s.tty.Read(buf)
			s.mu.Lock()
			s.out.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// shows is what was drawn since the screen was last emptied.
func (s *screen) shows() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.out.String()
	return all[strings.LastIndex(all, "\x1b[2J")+1:]
}

func (f *flow) press(s *screen, keys string) {
	f.t.Helper()
	if _, err := s.tty.WriteString(keys); err != nil {
		f.t.Fatal(err)
	}
}

// The inbox as a pane: who waits is there at once, Enter goes to its pane.
func TestInboxPane(t *testing.T) {
	f := doubleFlow(t)
	pane, session := f.startClaude()
	f.untilState(session, record.Idle)
	inbox := f.screen("shctl", "inbox", "--watch")
	f.until("the inbox is empty", func() bool { return strings.Contains(inbox.shows(), "Nothing waits for you") })
	f.typeLine(pane, "ask")
	f.untilState(session, record.Blocked)
	f.until("it shows who waits", func() bool { return strings.Contains(inbox.shows(), "❯  blocked") })
	f.until("it tells its keys", func() bool { return strings.Contains(inbox.shows(), "Enter goes there · r marks as read · q ends") })
	other := f.openPane()
	if _, err := f.h.FocusPane(ctx(t), other); err != nil {
		t.Fatal(err)
	}
	f.press(inbox, "\r")
	f.until("its pane has the focus", func() bool {
		snap, err := f.h.Snapshot(ctx(t))
		return err == nil && snap.FocusedPaneID == pane
	})
	f.until("it says so", func() bool { return strings.Contains(inbox.shows(), "gone there") })
	f.press(inbox, "r")
	f.until("it is read", func() bool { return strings.Contains(inbox.shows(), "Nothing waits for you") })
	f.press(inbox, "q")
	if err := inbox.cmd.Wait(); err != nil {
		t.Errorf("q: %v", err)
	}
}

// The picker, in the size of a small pane: narrow the list, choose, and the
// session is resumed.
func TestResumePicker(t *testing.T) {
	f := doubleFlow(t)
	pane, session := f.startClaude()
	f.untilState(session, record.Idle)
	f.typeLine(pane, "/rename Fix the parser")
	f.typeLine(pane, "hello")
	f.until("it has said something", func() bool { return f.heard("Echo: hello") })
	f.until("the hub knows its title", func() bool {
		s, err := f.w.Session(session)
		return err == nil && s.Title == "Fix the parser"
	})
	f.typeLine(pane, "/exit")
	f.untilEnded(session)
	pick := f.screen("shctl", "resume", "--pick")
	f.until("it lists the session", func() bool { return strings.Contains(pick.shows(), "Fix the parser") })
	f.press(pick, "nothing like it")
	f.until("nothing fits", func() bool { return strings.Contains(pick.shows(), "0 of 1") })
	f.press(pick, "\x15pars")
	f.until("it fits again", func() bool { return strings.Contains(pick.shows(), "❯ Fix the parser") })
	f.press(pick, "\r")
	f.until("it runs in another pane", func() bool {
		s, err := f.w.Session(session)
		return err == nil && s.Status == record.StatusLive && s.Herdr != nil && s.Herdr.PaneID != pane
	})
	if _, err := f.h.Read(ctx(t), herdr.ReadParams{PaneID: pane, Source: herdr.ReadVisible}); err != nil {
		t.Errorf("the old pane: %v", err)
	}
}
