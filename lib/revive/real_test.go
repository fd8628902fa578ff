//go:build realclaude

package revive

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/claude/claudetest"
	"sessionhub/lib/claude/transcript"
	"sessionhub/lib/state"
)

// realLimit bounds what the real program takes to do a thing.
const realLimit = time.Minute

// rig is a home with the real Claude Code in it, signed in as it believes with
// a subscription, and the Messages API that it talks to.
type rig struct {
	t    *testing.T
	api  *claudetest.Messages
	app  string
	home claude.Home
	prog *Program
	now  time.Time // of the reviver; zero is the real time
	told []Decision
}

func newRig(t *testing.T) *rig {
	t.Helper()
	home := t.TempDir()
	r := &rig{t: t, api: claudetest.StartMessages(t), app: filepath.Join(home, "app"), home: claude.Home(filepath.Join(home, ".claude"))}
	if err := os.Mkdir(r.app, 0o755); err != nil {
		t.Fatal(err)
	}
	claudetest.RealHome(t, home, r.app)
	env := append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "TZ=Europe/Stockholm", "CLAUDE_CODE_MAX_RETRIES=0"},
		claudetest.RealSubscriptionEnv(r.api.URL)...)
	r.prog = &Program{Bin: claudetest.RealBin(t), Home: r.home, Environ: env}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), realLimit)
		defer cancel()
		if out, err := r.claude(ctx, "daemon", "stop", "--any"); err != nil {
			t.Logf("stop the service: %v: %s", err, out)
		}
		for end := time.Now().Add(realLimit); os.RemoveAll(home) != nil && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond) // it still writes
		}
	})
	t.Cleanup(func() {
		if b, err := os.ReadFile(filepath.Join(string(r.home), "daemon.log")); t.Failed() {
			t.Logf("the service says: %s %v", b, err)
		}
	})
	return r
}

func (r *rig) claude(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, r.prog.Bin, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = r.app, r.prog.Environ, time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// start starts a background session and waits until it is in a state.
func (r *rig) start(want, prompt string, flags ...string) (short string) {
	r.t.Helper()
	out, err := r.claude(r.t.Context(), append(append([]string{"--bg"}, flags...), prompt)...)
	m := backgrounded.FindStringSubmatch(out)
	if err != nil && m == nil || m == nil {
		r.t.Fatalf("claude --bg: %v: %s", err, out)
	}
	r.await(m[1], want)
	return m[1]
}

func (r *rig) await(short, want string) claude.Job {
	r.t.Helper()
	var j claude.Job
	for end := time.Now().Add(realLimit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var err error
		j, err = r.home.Job(short)
		if err == nil && (j.State == want || want == "waiting" && strings.HasPrefix(j.Needs, "approve ")) {
			return j
		}
	}
	r.t.Fatalf("%s is not %s: %+v", short, want, j)
	return j
}

func (r *rig) reviver() *Reviver {
	return &Reviver{
		Dir: state.Dir(filepath.Join(filepath.Dir(string(r.home)), "state")), Home: r.home, Claude: r.prog, Table: claude.NewTable,
		Now: func() time.Time {
			if r.now.IsZero() {
				return time.Now()
			}
			return r.now
		},
		Pause:  func(_ context.Context, d time.Duration) { time.Sleep(d) },
		Jitter: still, Limits: DefaultLimits(), Prompt: "Go on. [[say Went on.]]",
		Lease: func(string, string) (func(), error) { return func() {}, nil },
		Tell:  func(d Decision, _ time.Time) error { r.told = append(r.told, d); return nil },
	}
}

// pass makes a pass at a moment and returns what it decided of the sessions.
func (r *rig) pass(at time.Time) map[string]Decision {
	r.t.Helper()
	r.now = at
	rep, err := r.reviver().Pass(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	m := map[string]Decision{}
	for _, d := range rep.Decisions {
		m[d.Short] = d
		if d.Error != "" {
			r.t.Errorf("%s: %s", d.Short, d.Error)
		}
	}
	return m
}

// limit lets the API refuse what holds a text, as a usage limit does.
func (r *rig) limit(match, claim string, reset time.Time) {
	r.api.Fail(claudetest.Fault{Match: match, Status: http.StatusTooManyRequests, Header: http.Header{
		"Anthropic-Ratelimit-Unified-Status":               {"rejected"},
		"Anthropic-Ratelimit-Unified-Reset":                {strconv.FormatInt(reset.Unix(), 10)},
		"Anthropic-Ratelimit-Unified-Representative-Claim": {claim},
		"X-Should-Retry":                                   {"false"},
	}})
}

func (r *rig) jobs() int {
	list, err := r.home.Jobs()
	if err != nil {
		r.t.Fatal(err)
	}
	return len(list)
}

// Sessions of every kind, stopped by the real program: those come back that
// should, when they should, under the same id and name, and no other does.
func TestRealClaudeSessionsComeBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	began := time.Now()
	fiveHours, week := began.Add(4*time.Hour), began.Add(3*24*time.Hour)
	r.limit("five-job", "five_hour", fiveHours)
	r.limit("week-job", "seven_day", week)
	r.api.Fail(claudetest.Fault{Match: "busy-job", Status: 529})
	r.api.Fail(claudetest.Fault{Match: "net-job", Drop: true})
	five := r.start("blocked", "five-job please", "--name", "nightly", "--model", "sonnet")
	weekly := r.start("blocked", "week-job please")
	busy := r.start("blocked", "busy-job please")
	net := r.start("blocked", "net-job please", "--name", "netted")
	asks := r.start("waiting", `perm-job [[tool Bash {"command":"touch zzz","description":"touch"}]] [[say ok.]]`, "--permission-mode", "default")
	question := r.start("blocked", "question [[say Which database should I use?]]")
	done := r.start("done", "fine [[say All done.]]")
	r.limit("hand-job", "five_hour", fiveHours)
	byHand := r.start("blocked", "hand-job please")
	if out, err := r.claude(t.Context(), "stop", byHand); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r.await(byHand, claude.JobStopped)
	count := r.jobs()

	// Minutes later: the outage's are tried, the limits' wait, nothing else moves.
	r.api.Heal()
	got := r.pass(began.Add(10 * time.Minute))
	want := map[string]string{five: Wait, weekly: Wait, busy: Resume, net: Resume, asks: Leave, question: Leave, done: Leave, byHand: Leave}
	for short, w := range want {
		if got[short].Decision != w {
			t.Errorf("%s: %s: %s, want %s", short, got[short].Decision, got[short].Why, w)
		}
	}
	for _, short := range []string{busy, net} {
		if j := r.await(short, "done"); j.Detail != "Went on." {
			t.Errorf("%s: %+v", short, j)
		}
	}
	if j := r.await(net, "done"); j.Name != "netted" || j.Session[:8] != net {
		t.Errorf("its name or id changed: %+v", j)
	}
	if d := got[five]; d.ResetAt == nil || d.ResetAt.Unix() != fiveHours.Unix() {
		t.Errorf("the 5-hour limit resets at %v, not %s", d.ResetAt, fiveHours)
	}

	// Within the margin nothing happens, after it the 5-hour session comes back.
	if d := r.pass(fiveHours.Add(50 * time.Second))[five]; d.Decision != Wait {
		t.Errorf("within the margin: %+v", d)
	}
	if d := r.pass(fiveHours.Add(61 * time.Second))[five]; d.Decision != Resume || d.Resumed == nil || !*d.Resumed {
		t.Errorf("after the reset: %+v", d)
	}
	if j := r.await(five, "done"); j.Name != "nightly" || j.Session[:8] != five || j.Detail != "Went on." {
		t.Errorf("its name or id changed: %+v", j)
	}

	// The machine is switched off while the weekly one waits.
	r.kill()
	r.await(weekly, "blocked")
	if d := r.pass(week.Add(2 * time.Minute))[weekly]; d.Resumed == nil || !*d.Resumed {
		t.Errorf("after the reset: %+v", d)
	}
	if j := r.await(weekly, "done"); j.Session[:8] != weekly {
		t.Errorf("its id changed: %+v", j)
	}
	if n := r.jobs(); n != count {
		t.Errorf("%d jobs became %d: a copy was made", count, n)
	}
	if len(r.told) != 4 {
		t.Errorf("the hub was told of %d resumes, not 4", len(r.told))
	}
}

// kill kills all that runs of Claude Code, as switching the machine off does.
func (r *rig) kill() {
	r.t.Helper()
	var roster struct {
		Supervisor int `json:"supervisorPid"`
		Workers    map[string]struct {
			PID int `json:"pid"`
		} `json:"workers"`
	}
	if err := state.ReadJSON(filepath.Join(string(r.home), "daemon", "roster.json"), &roster); err != nil {
		r.t.Fatal(err)
	}
	table, err := claude.NewTable()
	if err != nil {
		r.t.Fatal(err)
	}
	live, err := r.home.Live(table)
	if err != nil {
		r.t.Fatal(err)
	}
	pids := []int{roster.Supervisor}
	for _, w := range roster.Workers {
		pids = append(pids, w.PID)
	}
	for _, p := range live {
		pids = append(pids, p.PID)
	}
	for _, pid := range pids {
		if pid > 0 {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	for end := time.Now().Add(realLimit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		table, err := claude.NewTable()
		if err != nil {
			r.t.Fatal(err)
		}
		// Claude Code takes one that nobody has reaped yet for alive.
		if !slices.ContainsFunc(pids, func(pid int) bool { _, ok := table.Find(pid); return ok }) {
			return
		}
	}
	r.t.Fatal("it does not die")
}

// Field report A05, with the real program: the reset is over, and the service
// refuses again.
func TestRealClaudeIsRefusedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.limit("again-job", "five_hour", time.Now().Add(-2*time.Minute))
	short := r.start("blocked", "again-job please")
	r.api.Heal()
	reset := time.Now().Add(2 * time.Hour)
	r.limit("again-job", "five_hour", reset)
	if d := r.pass(time.Now())[short]; d.Resumed == nil || !*d.Resumed {
		t.Fatalf("after the reset: %+v", d)
	}
	for end := time.Now().Add(realLimit); ; time.Sleep(50 * time.Millisecond) {
		j := r.await(short, "blocked")
		e, ok, err := transcript.LastError(j.Transcript)
		if err == nil && ok && e.ResetsAt.Unix() == reset.Unix() {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it is not refused again: %+v %v", e, err)
		}
	}
	if d := r.pass(time.Now())[short]; d.Decision != Wait || d.ResetAt == nil || d.ResetAt.Unix() != reset.Unix() {
		t.Errorf("after the refusal: %+v", d)
	}
	r.api.Heal()
	if d := r.pass(reset.Add(2 * time.Minute))[short]; d.Resumed == nil || !*d.Resumed {
		t.Errorf("after the second reset: %+v", d)
	}
	r.await(short, "done")
}
