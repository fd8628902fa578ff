//go:build realclaude

package claudetest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/claude"
)

// realLimit bounds one run of the real program; they take some two seconds.
const realLimit = time.Minute

// realPrint runs `claude -p` in a home of its own.
func realPrint(t *testing.T, env []string, prompt string, args ...string) (home string, result map[string]any) {
	t.Helper()
	home = t.TempDir()
	app := filepath.Join(home, "app")
	if err := os.Mkdir(app, 0o755); err != nil {
		t.Fatal(err)
	}
	RealHome(t, home, app)
	ctx, cancel := context.WithTimeout(t.Context(), realLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, RealBin(t), append([]string{"-p", prompt, "--output-format", "json"}, args...)...)
	cmd.Dir = app
	cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "CLAUDE_CODE_MAX_RETRIES=0"}, env...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if jerr := json.Unmarshal(out, &result); jerr != nil {
		t.Fatalf("%v, %v: %s%s", err, jerr, out, errs.Bytes())
	}
	return home, result
}

// The real Claude Code plays a script of tools against the stand-in.
func TestRealClaudeAgainstTheStandIn(t *testing.T) {
	m := StartMessages(t)
	home, res := realPrint(t, RealEnv(m.URL), `go [[tool Write {"file_path":"a.txt","content":"one\n"}]] [[and Bash {"command":"echo two > b.txt","description":"d"}]]
		[[tool Read {"file_path":"a.txt"}]] [[say All there.]]`, "--allowedTools", "Write", "Bash", "Read")
	if res["result"] != "All there." {
		t.Errorf("result %v", res)
	}
	for file, want := range map[string]string{"a.txt": "one\n", "b.txt": "two\n"} {
		if b, err := os.ReadFile(filepath.Join(home, "app", file)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", file, b, err)
		}
	}
	session, _ := res["session_id"].(string)
	path, ok := claude.Home(filepath.Join(home, ".claude")).TranscriptNear(session, filepath.Join(home, "app"))
	if !ok || filepath.Dir(path) != claude.Home(filepath.Join(home, ".claude")).Project(filepath.Join(home, "app")) {
		t.Errorf("the transcript of %s: %s, %v", session, path, ok)
	}
}

// A usage limit, as the real API tells it.
func TestRealClaudeMeetsALimit(t *testing.T) {
	m := StartMessages(t)
	m.Fail(Fault{Status: http.StatusTooManyRequests, Header: http.Header{
		"Anthropic-Ratelimit-Unified-Status":               {"rejected"},
		"Anthropic-Ratelimit-Unified-Representative-Claim": {"five_hour"},
		"Anthropic-Ratelimit-Unified-Reset":                {strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)},
		"X-Should-Retry":                                   {"false"},
	}})
	_, res := realPrint(t, RealSubscriptionEnv(m.URL), "hello")
	if text, _ := res["result"].(string); res["is_error"] != true || !strings.Contains(text, "5-hour limit") {
		t.Errorf("result %v", res)
	}
}

// The stand-in is right in what the real one does as well.
func TestRealClaudeConforms(t *testing.T) {
	bin := t.TempDir()
	if err := os.Symlink(RealBin(t), filepath.Join(bin, "claude")); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, bin, RealEnv(MessagesAPI(t))...)
	RealHome(t, r.home, r.app)
	conform(t, r)
}

// The stand-in's `claude mcp` was made after what the real one says.
func TestRealClaudeMCP(t *testing.T) {
	talkMCP(t, RealBin(t), RealEnv("http://127.0.0.1:9")...)
}
