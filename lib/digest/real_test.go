//go:build realclaude

package digest

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/claude/claudetest"
)

// realLimit bounds one run of the real program; they take some two seconds.
const realLimit = time.Minute

// The digest agrees with what the real Claude Code says of its own runs, and a
// resumed session costs its new lines only.
func TestRealClaudeIsDigested(t *testing.T) {
	m := claudetest.StartMessages(t)
	home := t.TempDir()
	app := filepath.Join(home, "app")
	if err := os.Mkdir(app, 0o755); err != nil {
		t.Fatal(err)
	}
	claudetest.RealHome(t, home, app)
	type result struct {
		Result    string `json:"result"`
		SessionID string `json:"session_id"`
		Usage     struct {
			In  int64 `json:"input_tokens"`
			Out int64 `json:"output_tokens"`
		} `json:"usage"`
	}
	run := func(prompt string, args ...string) result {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), realLimit)
		defer cancel()
		cmd := exec.CommandContext(ctx, claudetest.RealBin(t), append([]string{"-p", prompt, "--output-format", "json", "--allowedTools", "Bash"}, args...)...)
		cmd.Dir, cmd.Env = app, append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color"}, claudetest.RealEnv(m.URL)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var r result
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return r
	}
	p := &place{T: t, home: claude.Home(filepath.Join(home, ".claude")), dir: newPlace(t).dir}
	d := p.digester()

	first := run(`list [[tool Bash {"command":"seq 1 2000","description":"d"}]] [[say Listed.]]`, "--name", "lister")
	ref := Ref{Session: first.SessionID, Cwd: app}
	got, err := d.Digest(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	if got.Turns != 1 || got.LastReply != first.Result || got.Tokens.In != first.Usage.In || got.Tokens.Out != first.Usage.Out || got.Title != "lister" || got.Model == "" {
		t.Errorf("%+v, want what it said: %+v", got, first)
	}
	p.good(d, ref)

	second := run("and now [[say Done.]]", "--resume", first.SessionID)
	p.changed(d, ref.Session, ref)
	size := got.Size
	if got, err = d.Digest(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	if got.Turns != 2 || got.LastPrompt != "and now [[say Done.]]" || got.LastReply != second.Result || got.Tokens.In != first.Usage.In+second.Usage.In {
		t.Errorf("%+v, want what it said: %+v", got, second)
	}
	path, _ := p.home.TranscriptNear(ref.Session, app)
	if n := d.ahead[path].read; n > got.Size-size+2*markLen {
		t.Errorf("read %d bytes of %d new ones", n, got.Size-size)
	}
	whole, err := File(t.Context(), path, "")
	if err != nil || whole != got {
		t.Errorf("%+v, read at once %+v, %v", got, whole, err)
	}
}
