package front

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/lock"
)

func testTool(got *Call, wait *time.Duration, list *bool) Tool {
	return Tool{Name: "shx", Short: "test", Verbs: []Verb{
		{Name: "do", Args: "[flags] A B", Short: "do it", Settings: []string{"server_url", "notify", "herdr_sockets"},
			Flags: func(fs *flag.FlagSet) {
				fs.DurationVar(wait, "wait", time.Second, "wait `long`")
				fs.BoolVar(list, "list", false, "list")
			},
			Run:      func(_ context.Context, c *Call) error { *got = *c; return nil },
			Examples: []Example{{"shx do --list a", "list a"}},
			Files:    []string{"queue.jsonl  the queue"},
			Exits:    []Exit{{ExitBusy, "busy"}, {ExitBusy, "not now"}}},
		{Name: "fail", Flags: func(fs *flag.FlagSet) { fs.Var(new(Wait), "wait", "wait, or for at most `TIME`") },
			Run: func(context.Context, *Call) error { return errors.New("line one") }},
		{Name: "inbox", Run: func(context.Context, *Call) error { return errors.New("inbox: no hub") }},
		{Name: "busy", Run: func(context.Context, *Call) error { return lock.ErrBusy }},
		{Name: "grp", Short: "group", Verbs: []Verb{{Name: "sub", Short: "sub", Run: func(context.Context, *Call) error { return nil }}}},
	}}
}

type result struct {
	code     int
	out, err string
	call     Call
	wait     time.Duration
	list     bool
}

func run(t *testing.T, env map[string]string, args ...string) result {
	t.Helper()
	var r result
	var out, errs bytes.Buffer
	for k, v := range env { // ff reads the process's own environment
		t.Setenv(k, v)
	}
	r.code = testTool(&r.call, &r.wait, &r.list).Run(context.Background(), Env{
		Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Getenv: os.Getenv,
	})
	r.out, r.err = out.String(), errs.String()
	return r
}

// What failed is often called as the verb is.
func TestAWordIsSaidOnce(t *testing.T) {
	if r := run(t, nil, "inbox"); r.err != "shx: inbox: no hub\n" {
		t.Errorf("said %q", r.err)
	}
}

func TestASwitchThatTakesAValueShowsIt(t *testing.T) {
	if r := run(t, nil, "fail", "--help"); !strings.Contains(r.out, "--wait[=TIME] ") {
		t.Errorf("said %s", r.out)
	}
}

func TestFlagsStandAnywhere(t *testing.T) {
	env := map[string]string{"HOME": t.TempDir()}
	for _, args := range [][]string{
		{"do", "--wait", "5s", "--list", "a", "-"},
		{"do", "a", "--list", "-", "--wait=5s"},
		{"do", "a", "--wait", "5s", "-", "--list"},
	} {
		r := run(t, env, args...)
		if r.code != 0 || r.wait != 5*time.Second || !r.list || strings.Join(r.call.Args, " ") != "a -" {
			t.Errorf("%q: code %d, wait %v, list %v, args %q, %s", args, r.code, r.wait, r.list, r.call.Args, r.err)
		}
	}
	r := run(t, env, "do", "a", "--", "--list")
	if r.list || strings.Join(r.call.Args, " ") != "a --list" {
		t.Errorf("after --: list %v, args %q", r.list, r.call.Args)
	}
}

func TestOneSettingOnePrecedence(t *testing.T) {
	home := t.TempDir()
	conf := filepath.Join(home, "c.toml")
	if err := os.WriteFile(conf, []byte("server_url = \"http://file\"\nherdr_sockets = [\"/f\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": home, "SESSIONHUB_CONFIG": conf}
	if r := run(t, env, "do"); r.call.Config.ServerURL != "http://file" || !r.call.Config.Notify {
		t.Errorf("file: %+v", r.call.Config)
	}
	env["SESSIONHUB_SERVER_URL"], env["SESSIONHUB_NOTIFY"], env["SESSIONHUB_HERDR_SOCKETS"] = "http://env/", "off", "/a,/b"
	if r := run(t, env, "do"); r.call.Config.ServerURL != "http://env" || r.call.Config.Notify || len(r.call.Config.HerdrSockets) != 2 {
		t.Errorf("environment over file: %+v", r.call.Config)
	}
	r := run(t, env, "do", "--server-url", "http://flag", "--notify=on", "--herdr-sockets", "/c")
	if r.call.Config.ServerURL != "http://flag" || !r.call.Config.Notify || strings.Join(r.call.Config.HerdrSockets, " ") != "/c" {
		t.Errorf("flags over environment: %+v", r.call.Config)
	}
	env["SESSIONHUB_LIST"] = "true"
	if r := run(t, env, "do"); r.list {
		t.Error("a flag that is no setting took its value from the environment")
	}
}

func TestExitStatus(t *testing.T) {
	home := t.TempDir()
	bad := filepath.Join(home, "bad.toml")
	if err := os.WriteFile(bad, []byte("nonsense = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		conf string
		code int
		err  string
	}{
		{"done", []string{"do"}, "", 0, ""},
		{"no verb", nil, "", ExitUsage, "VERBS"},
		{"unknown verb", []string{"what"}, "", ExitUsage, `shx: "what" is none of`},
		{"unknown flag", []string{"do", "--what"}, "", ExitUsage, "shx: do: there is no flag --what: shx do --help lists them\n"},
		{"flag without its value", []string{"do", "--wait"}, "", ExitUsage, "shx: do: --wait wants a value: see shx do --help\n"},
		{"no time to wait", []string{"fail", "--wait=soon"}, "", ExitUsage, `shx: fail: invalid value "soon" for --wait: a time is wanted, such as 20s or 5m`},
		{"a wrong value", []string{"do", "--wait", "soon"}, "", ExitUsage, `shx: do: invalid value "soon" for --wait: see shx do --help`},
		{"failed", []string{"fail"}, "", ExitFailed, "shx: fail: line one\n"},
		{"busy", []string{"busy"}, "", ExitBusy, "held by another"},
		{"bad configuration", []string{"do"}, bad, ExitConfig, `"nonsense" is not a setting`},
		{"group", []string{"grp"}, "", ExitUsage, "which?"},
		{"group verb", []string{"grp", "sub"}, "", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, map[string]string{"HOME": home, "SESSIONHUB_CONFIG": c.conf}, c.args...)
			if r.code != c.code || !strings.Contains(r.err, c.err) {
				t.Errorf("exit %d and %q, want %d and %q", r.code, r.err, c.code, c.err)
			}
		})
	}
}

func TestHelpTellsEverything(t *testing.T) {
	env := map[string]string{"HOME": t.TempDir()}
	r := run(t, env, "do", "--help")
	for _, want := range []string{"shx do [flags] A B", "--wait LONG", "$SESSIONHUB_SERVER_URL", "EXAMPLES", "FILES", "EXIT STATUS", "75  busy; or not now"} {
		if r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("help lacks %q (exit %d):\n%s", want, r.code, r.out)
		}
	}
	for _, args := range [][]string{{"--man"}, {"--completion", "bash"}, {"--completion", "zsh"}, {"--completion", "fish"}} {
		if r := run(t, env, args...); r.code != 0 || !strings.Contains(r.out, "list") {
			t.Errorf("%q: exit %d, %q", args, r.code, r.out)
		}
	}
	if n := strings.Count(run(t, env, "do", "--help").out, "   75  "); n != 1 {
		t.Errorf("a status is told %d times", n)
	}
	if r := run(t, env, "--version"); !strings.HasPrefix(r.out, "shx devel (") {
		t.Errorf("version %q", r.out)
	}
}
