package watch

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sessionhub/lib/ask"
	"sessionhub/lib/record"
)

// anAsk is an ask of session A, as its hook writes it down and tells of it.
func (s *stage) anAsk(id string, pid int) {
	s.t.Helper()
	dir, err := s.w.Dir.Sub("asks")
	if err != nil {
		s.t.Fatal(err)
	}
	f := ask.File{V: 1, Ask: id, Session: "A", Tool: "Bash", Input: json.RawMessage(`{"command":"rm x"}`), InputSHA256: strings.Repeat("a", 64), PID: pid}
	b, err := json.Marshal(f)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, id+".json"), b, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.add(record.KindAsk, nil, "A", record.AskBody{Ask: id, Tool: "Bash", Input: f.Input, InputSHA256: f.InputSHA256, Since: record.At(s.now), Answerable: true})
}

// A hook that was killed tells nothing: the watcher does.
func TestAsksOfDeadHooksAreEnded(t *testing.T) {
	s := newStage(t)
	s.w.Sockets = []string{"/a"}
	s.sees("/a", "A@p1:blocked")
	s.beat()
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	s.anAsk("lives", os.Getpid())
	s.anAsk("dead", dead.Process.Pid)
	orphan := filepath.Join(string(s.w.Dir), "asks", "gone.answer.json")
	if err := os.WriteFile(orphan, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.pass("sent 2 kept 0 dropped 0 aside 0")
	if asks := s.session("A").Asks; len(asks) != 2 || asks[0].State != record.AskOpen {
		t.Fatalf("asks %+v", asks)
	}
	s.beat()
	s.pass("sent 1 kept 0 dropped 0 aside 0")
	for _, a := range s.session("A").Asks {
		want := map[string]string{"lives": record.AskOpen, "dead": record.AskOver}[a.Ask]
		if a.State != want || want == record.AskOver && a.How != record.HowExited {
			t.Errorf("%s: %s %s", a.Ask, a.State, a.How)
		}
	}
	left, err := os.ReadDir(filepath.Dir(orphan))
	if err != nil || len(left) != 1 || left[0].Name() != "lives.json" {
		t.Errorf("left: %v, %v", left, err)
	}
	if s.log.Len() > 0 {
		t.Errorf("log %s", s.log.String())
	}
}
