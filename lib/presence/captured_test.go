package presence

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"sessionhub/lib/claude"
	"sessionhub/lib/herdr"
)

// row is what herdr and the registry said at one moment of a captured run.
type row struct {
	Case    string `json:"case"`
	Agent   string `json:"herdr_agent"`
	Status  string `json:"herdr_status"`
	Session string `json:"herdr_session"`
	Title   string `json:"title"`
	Front   []string
	PIDFile *claude.Process `json:"pid_file"`
}

func (r row) witnesses(left string) Witnesses {
	const shell, front = 100, 101
	p := herdr.Pane{PaneID: "p1", WorkspaceID: "w1", Agent: r.Agent, AgentStatus: herdr.Status(r.Status), TerminalTitleStripped: r.Title}
	if r.Session != "" {
		p.AgentSession = &herdr.AgentSession{Agent: "claude", Kind: "id", Value: r.Session}
	}
	t := table{}
	t.add(shell, 1)
	t.add(front, shell)
	info := herdr.ProcessInfo{PaneID: "p1", ShellPID: shell, ForegroundProcesses: []herdr.Process{{PID: shell, Name: "bash"}}}
	w := Witnesses{Panes: []herdr.Pane{p}, HasRegistry: true, Table: t}
	if r.PIDFile != nil {
		proc := *r.PIDFile
		proc.PID = front
		w.Registry = []claude.Process{proc}
		if left != "" { // the captured entries lack the field
			w.Registry[0].ParkedJobID = parkedJob
			w.Registry = append(w.Registry, claude.Process{PID: 9, SessionID: left, Kind: claude.KindBackground, JobID: parkedJob, Status: claude.StatusIdle})
		}
		info.ForegroundProcesses = []herdr.Process{{PID: front, Name: "claude"}}
	}
	w.Processes = map[string]herdr.ProcessInfo{"p1": info}
	return w
}

// One run of the real programs through everything in which herdr's session id
// was wrong (finding 2), with what the registry said beside it (finding 3).
func TestCapturedCrossCheck(t *testing.T) {
	const (
		first, cleared, branch = "435fe922-a5a7-4d3e-9b64-6c9b2ed0ee54", "cea4530e-40ef-4c16-a489-217b66da0296", "2088be0b-5bd3-42c6-b9cd-136a25723e64"
		second, left           = "b84a4857-d607-4ff5-ada0-a1c382679098", "the-background-session"
		asks                   = "8c2f2039-3d6f-49de-9697-617780ee173a"
	)
	want := map[string]string{
		"claude, 1.2 s old":                       first + "@p1:idle",
		"idle before the first prompt":            first + "@p1:idle",
		"after the first prompt":                  first + "@p1:done",
		"after /clear":                            cleared + "@p1:done",
		"after /branch":                           branch + "@p1:done",
		"after /resume":                           first + "@p1:done",
		"working":                                 first + "@p1:working",
		"after a nested claude -p --resume OTHER": first + "@p1:done",
		"/status dialog open":                     first + "@p1:done",
		"after a second /branch":                  second + "@p1:done",
		"agents view (Left)":                      left + "@p1:done+attached",
		"back from the agents view (attached background session)": left + "@p1:done+attached",
		"after a prompt there":       left + "@p1:done+attached",
		"after /exit there":          left + "@p1:done+attached",
		"after Ctrl-C twice":         "",
		"headless claude -p at work": "",
		"after it":                   "",
		"permission prompt":          asks + "@p1:blocked",
		"after /exit":                "",
	}
	b, err := os.ReadFile("testdata/cross-check.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	inView, seen := "", 0
	for line := range bytes.Lines(b) {
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		switch { // the view is open, or shows the session, until Claude ends (finding 4)
		case strings.HasPrefix(r.Case, "agents view"):
			inView = left
		case r.Case == "after Ctrl-C twice":
			inView = ""
		}
		said, known := want[r.Case]
		if got := say(Decide(r.witnesses(inView))); !known || got != said {
			t.Errorf("%s:\ngot  %s\nwant %s", r.Case, got, said)
		}
		seen++
	}
	if seen != len(want) {
		t.Errorf("%d moments, want %d", seen, len(want))
	}
}
