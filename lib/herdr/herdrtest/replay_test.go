package herdrtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/herdr"
)

// captured is an exchange with a real herdr 0.8.2. Of answers only what does
// not differ from run to run is kept.
type captured struct {
	Section string
	Name    string
	Request json.RawMessage
	Raw     *string // bytes sent, where they are no plain request
	Result  obj
	Error   string
	ID      *string // of an error answer
	Closed  bool    // no answer at all
	Effect  any     // what agent.get said then: an object, or an error code
}

func captures(t *testing.T, section, home string) []captured {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "exchanges.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []captured
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c captured
		if err := json.Unmarshal([]byte(strings.ReplaceAll(lines.Text(), "/home/dev", home)), &c); err != nil {
			t.Fatal(err)
		}
		if c.Section == section {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		t.Fatalf("no captures of %s", section)
	}
	return list
}

// exchangeRaw sends bytes and returns all that comes back.
func exchangeRaw(t *testing.T, socket string, b []byte) []byte {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(15 * time.Second))
	conn.Write(b)
	got, _ := io.ReadAll(conn) // a reset after the answer is as good as an end
	return got
}

func request(t *testing.T, socket string, req json.RawMessage) obj {
	t.Helper()
	var o obj
	if err := json.Unmarshal(exchangeRaw(t, socket, append(req, '\n')), &o); err != nil {
		t.Fatalf("%s: %v", req, err)
	}
	return o
}

// missing says what of want is not in got.
func missing(path string, want, got any) string {
	switch w := want.(type) {
	case obj:
		g, isObj := got.(obj)
		if !isObj {
			return fmt.Sprintf("%s: %v, want an object", path, got)
		}
		if strings.HasSuffix(path, ".tokens") && len(g) != len(w) {
			return fmt.Sprintf("%s: %v, want %v", path, got, want)
		}
		for k, v := range w {
			if diff := missing(path+"."+k, v, g[k]); diff != "" {
				return diff
			}
		}
	case []any:
		g, isList := got.([]any)
		if !isList || len(g) != len(w) {
			return fmt.Sprintf("%s: %v, want %v", path, got, want)
		}
		for i := range w {
			if diff := missing(fmt.Sprintf("%s[%d]", path, i), w[i], g[i]); diff != "" {
				return diff
			}
		}
	default:
		if !reflect.DeepEqual(want, got) {
			return fmt.Sprintf("%s: %v, want %v", path, got, want)
		}
	}
	return ""
}

// differs compares an answer with the captured one.
func (c captured) differs(got obj) string {
	if c.Error == "" {
		return missing(c.Name, c.Result, got["result"])
	}
	e, _ := got["error"].(obj)
	if e["code"] != c.Error {
		return fmt.Sprintf("%s: %v, want error %s", c.Name, got, c.Error)
	}
	if c.ID != nil && got["id"] != *c.ID {
		return fmt.Sprintf("%s: id %v, want %q", c.Name, got["id"], *c.ID)
	}
	return ""
}

// readOnly methods may be asked again until their answer fits: what they tell of
// is made by processes.
func readOnly(req json.RawMessage) bool {
	var r struct{ Method string }
	json.Unmarshal(req, &r)
	for _, end := range []string{".get", ".list", ".snapshot", ".current", ".process_info", ".layout"} {
		if strings.HasSuffix(r.Method, end) {
			return true
		}
	}
	return false
}

func (c captured) replay(t *testing.T, s *Server) {
	t.Helper()
	diff := c.differs(request(t, s.Socket(), c.Request))
	for end := time.Now().Add(2 * time.Second); diff != "" && readOnly(c.Request) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		diff = c.differs(request(t, s.Socket(), c.Request))
	}
	if diff != "" {
		t.Error(diff)
	}
}

func replayServer(t *testing.T) *Server {
	s, _ := start(t, func(c *Config) { c.Dir = c.Home })
	for _, dir := range []string{"src/api", "src/web", "src/empty"} {
		if err := os.MkdirAll(filepath.Join(s.Home(), dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(filepath.Join(s.Home(), ".bashrc"), nil, 0o644)
	return s
}

func makeWorkspaces(t *testing.T, s *Server, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		label := dir
		if dir == "empty" {
			label = "third"
		}
		if _, err := s.Client().CreateWorkspace(context.Background(), herdr.NewWorkspace{Cwd: filepath.Join(s.Home(), "src", dir), Label: label}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplayWorkspaces(t *testing.T) {
	s := replayServer(t)
	ctx, client := context.Background(), s.Client()
	for _, c := range captures(t, "workspaces", s.Home()) {
		// Some steps were left out of the captures.
		switch c.Name {
		case "tab.create":
			for _, id := range []string{"w4", "w6", "w7", "w8", "w9", "wA", "wB", "wC"} {
				must(t, client.CloseWorkspace(ctx, id))
			}
		case "pane.send_text":
			_, err := client.CreateWorkspace(ctx, herdr.NewWorkspace{Cwd: s.Home() + "/src/api", Label: "in", Focus: true})
			must(t, err)
		case "pane.get/running", // of a command whose typing was left out
			"pane.get/old-form", "pane.get/old-form-p": // forms that nobody should use
			continue
		}
		c.replay(t, s)
	}
}

func TestReplayReports(t *testing.T) {
	s := replayServer(t)
	makeWorkspaces(t, s, "api", "web", "empty")
	ctx, client := context.Background(), s.Client()
	for _, c := range captures(t, "reports", s.Home()) {
		switch c.Name { // steps that were left out of the captures
		case "agent.start/busy-pane":
			occupy(t, s, "w3:p1")
		case "pane.get/claude-released":
			must(t, client.ReleaseAgent(ctx, herdr.Release{PaneID: "w2:p1", Source: "example:tool", Agent: "claude"}))
		case "pane.report_metadata/33-sequenced-sources":
			for i := range 32 {
				v := "1"
				must(t, client.ReportPaneMetadata(ctx, herdr.PaneMetadata{PaneID: "w3:p1", Source: fmt.Sprintf("src:%d", i), Tokens: map[string]*string{"a": &v}, Seq: 1}))
			}
			c.ID = nil // the capture's ids differ here
		case "agent.prompt/self-reported-blocked":
			must(t, client.ReportAgent(ctx, herdr.AgentReport{PaneID: "w1:p1", Source: "example:tool", Agent: "mytool", State: "blocked", Seq: 30}))
		case "agent.prompt/self-reported-idle":
			must(t, client.ReportAgent(ctx, herdr.AgentReport{PaneID: "w1:p1", Source: "example:tool", Agent: "mytool", State: "idle", Seq: 31}))
		case "agent.explain": // not played
			continue
		}
		c.replay(t, s)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// occupy runs something in a pane's shell.
func occupy(t *testing.T, s *Server, pane string) {
	t.Helper()
	ctx := context.Background()
	if err := s.Client().SendInput(ctx, pane, "sleep 60", "Enter"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "sleep in front", func() bool {
		info, err := s.Client().ProcessInfo(ctx, pane)
		return err == nil && len(info.ForegroundProcesses) == 1 && info.ForegroundProcesses[0].Name == "sleep"
	})
}

func TestReplayAuthority(t *testing.T) {
	s := replayServer(t)
	makeWorkspaces(t, s, "api", "web", "web", "web", "web", "web")
	for _, c := range captures(t, "authority", s.Home()) {
		if c.Name == "first-report-idle/unfocused" { // a step that was left out of the captures
			must(t, s.Client().ReleaseAgent(context.Background(), herdr.Release{PaneID: "w1:p1", Source: "src:one", Agent: "mytool"}))
		}
		if c.Effect == nil {
			c.replay(t, s)
			continue
		}
		got := request(t, s.Socket(), c.Request)
		if code, isCode := c.Effect.(string); isCode {
			if e, _ := got["error"].(obj); e["code"] != code {
				t.Errorf("%s: %v, want %s", c.Name, got, code)
			}
			continue
		}
		want := c.Effect.(obj)
		delete(want, "terminal_title")
		if diff := missing(c.Name, obj{"agent": want}, got["result"]); diff != "" {
			t.Error(diff)
		}
	}
}

func TestReplayFrames(t *testing.T) {
	s := replayServer(t)
	for _, c := range captures(t, "frames", s.Home()) {
		if c.Name == "frame/nothing-and-wait" || c.Name == "frame/not-utf8" {
			continue // no bytes, and bytes that JSON cannot hold; see TestFrames
		}
		if c.Raw == nil {
			t.Fatalf("%s: no bytes", c.Name)
		}
		got := exchangeRaw(t, s.Socket(), []byte(*c.Raw))
		if c.Closed {
			if len(got) > 0 {
				t.Errorf("%s: %q, want no answer", c.Name, got)
			}
			continue
		}
		var o obj
		if err := json.Unmarshal(got, &o); err != nil {
			t.Errorf("%s: %q: %v", c.Name, got, err)
			continue
		}
		if diff := c.differs(o); diff != "" {
			t.Error(diff)
		}
	}
}
