package revive

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/lock"
	"sessionhub/lib/state"
)

// program is a Claude Code whose calls go as a test wants.
type program struct {
	version string
	listed  []Agent
	calls   []string
	find    error
	stop    func() error
	resume  func() (string, error)
}

func (p *program) Find() error                             { return p.find }
func (p *program) Version(context.Context) (string, error) { return p.version, nil }
func (p *program) Agents(context.Context) ([]Agent, error) { return p.listed, nil }
func (p *program) Stop(_ context.Context, short string) error {
	p.calls = append(p.calls, "stop "+short)
	return p.stop()
}
func (p *program) Resume(_ context.Context, d Decision, name, _ string) (string, error) {
	p.calls = append(p.calls, strings.TrimSpace("resume "+d.Short+" "+name))
	return p.resume()
}

// table shows a process until it is stopped.
type table struct{ pid *int }

func (t table) Find(pid int) (claude.OSProcess, bool) {
	return claude.OSProcess{PID: pid}, pid == *t.pid && pid > 0
}
func (table) SameStart(claude.OSProcess, string) bool { return true }
func (table) SameDomain(string) bool                  { return true }

// desk is a home with one session that a limit stopped, whose reset is over.
type desk struct {
	*Reviver
	prog *program
	pid  int
	job  string // its state.json
	told int
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	root := t.TempDir()
	d := &desk{prog: &program{version: "2.1.332"}, pid: 4242}
	home := claude.Home(filepath.Join(root, ".claude"))
	d.job = filepath.Join(string(home), "jobs", "f57081b5", "state.json")
	d.write(t, map[string]any{"state": "blocked", "detail": "You've hit your 5-hour limit · resets 1am (Europe/Stockholm)", "updatedAt": "2026-11-30T21:13:19.189Z",
		"sessionId": "f57081b5-862c-4c19-a678-d96bc355d660", "name": "nightly", "cwd": root})
	d.prog.listed = []Agent{{ID: "f57081b5", PID: d.pid, Session: "f57081b5-862c-4c19-a678-d96bc355d660", Kind: "background", State: "blocked"}}
	d.prog.stop = func() error {
		d.pid = 0
		d.write(t, map[string]any{"state": "stopped", "detail": "stopped", "updatedAt": "2026-12-01T00:05:00.000Z",
			"sessionId": "f57081b5-862c-4c19-a678-d96bc355d660", "name": "nightly", "cwd": root})
		return nil
	}
	d.prog.resume = func() (string, error) { return "f57081b5", nil }
	now := at(t, "+01:05")
	d.Reviver = &Reviver{
		Dir: state.Dir(filepath.Join(root, "state")), Home: home, Claude: d.prog, Limits: DefaultLimits(), Prompt: "go on", Jitter: still,
		Table: func() (claude.Table, error) { return table{&d.pid}, nil }, Now: func() time.Time { return now },
		Pause: func(_ context.Context, wait time.Duration) { now = now.Add(wait) },
		Lease: func(string, string) (func(), error) { return func() {}, nil },
		Tell:  func(Decision, time.Time) error { d.told++; return nil },
	}
	return d
}

func (d *desk) write(t *testing.T, job map[string]any) {
	t.Helper()
	b, err := json.Marshal(job)
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(d.job), 0o700), os.WriteFile(d.job, b, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (d *desk) pass(t *testing.T) Decision {
	t.Helper()
	rep, err := d.Pass(t.Context())
	if err != nil || len(rep.Decisions) != 1 {
		t.Fatalf("%+v, %v", rep, err)
	}
	return rep.Decisions[0]
}

func (d *desk) called() string {
	s := strings.Join(d.prog.calls, "; ")
	d.prog.calls = nil
	return s
}

func TestALivingSessionIsStoppedFirst(t *testing.T) {
	d := newDesk(t)
	if got := d.pass(t); got.Resumed == nil || !*got.Resumed || d.told != 1 {
		t.Errorf("%+v, told %d", got, d.told)
	}
	if got := d.called(); got != "stop f57081b5; resume f57081b5" {
		t.Error(got)
	}
}

func TestADeadSessionIsNotStopped(t *testing.T) {
	d := newDesk(t)
	d.pid = 0
	d.pass(t)
	if got := d.called(); got != "resume f57081b5" {
		t.Error(got)
	}
}

// An older Claude Code goes on under another id: its name is given again, and
// what is left of the old job is stopped after that.
func TestAnOlderClaudeCode(t *testing.T) {
	d := newDesk(t)
	d.prog.version, d.pid = "2.1.331", 0
	d.prog.resume = func() (string, error) { return "aaaaaaaa", nil }
	if got := d.pass(t); got.Resumed == nil || !*got.Resumed {
		t.Errorf("%+v", got)
	}
	if got := d.called(); got != "resume f57081b5 nightly; stop f57081b5" {
		t.Error(got)
	}
}

// A resume that fails after the stop is retried, though the state says stopped
// now; no attempt is counted.
func TestAResumeThatFailsIsTriedAgain(t *testing.T) {
	d := newDesk(t)
	good := d.prog.resume
	d.prog.resume = func() (string, error) { return "", errors.New("Workspace not trusted") }
	for range 3 {
		if got := d.pass(t); got.Error != "Workspace not trusted" || *got.Resumed {
			t.Fatalf("%+v", got)
		}
	}
	if got := d.called(); got != "stop f57081b5; resume f57081b5; resume f57081b5; resume f57081b5" {
		t.Error(got)
	}
	l, err := ReadLedger(d.Dir)
	if err != nil || len(l.Attempts) != 0 || len(l.Resumes) != 0 {
		t.Errorf("%+v %v", l, err)
	}
	d.prog.resume = good
	if got := d.pass(t); got.Resumed == nil || !*got.Resumed || got.Why != "5-hour limit" {
		t.Errorf("%+v", got)
	}
}

// A resume of which nobody knows whether it went through is an attempt, so that
// no second copy is made.
func TestAResumeOfUnknownOutcomeIsAnAttempt(t *testing.T) {
	d := newDesk(t)
	d.prog.resume = func() (string, error) { return "", ErrUnsure }
	if got := d.pass(t); got.Error == "" || *got.Resumed {
		t.Errorf("%+v", got)
	}
	if got := d.pass(t); got.Decision != Leave {
		t.Errorf("again: %+v", got)
	}
}

func TestACopyIsStopped(t *testing.T) {
	d := newDesk(t)
	d.prog.resume = func() (string, error) { return "aaaaaaaa", nil }
	if got := d.pass(t); !strings.Contains(got.Error, "made a copy, aaaaaaaa, which was stopped") {
		t.Errorf("%+v", got)
	}
	if got := d.called(); got != "stop f57081b5; resume f57081b5; stop aaaaaaaa" {
		t.Error(got)
	}
}

func TestAProcessThatDoesNotEnd(t *testing.T) {
	d := newDesk(t)
	d.prog.stop = func() error { return nil }
	if got := d.pass(t); !strings.Contains(got.Error, "process 4242 did not end in 20s") {
		t.Errorf("%+v", got)
	}
	if got := d.called(); got != "stop f57081b5" {
		t.Errorf("resumed beside a process that lives: %s", got)
	}
}

// The service lets go of a stopped session later than its process is gone.
func TestTheServiceIsWaitedFor(t *testing.T) {
	d := newDesk(t)
	service := 99
	roster := filepath.Join(string(d.Home), "daemon", "roster.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(roster), 0o700), os.WriteFile(roster, []byte(`{"supervisorPid":99,"workers":{"f57081b5":{}}}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	d.pid = 0
	d.Table = func() (claude.Table, error) { return table{&service}, nil }
	pauses, pause := 0, d.Pause
	d.Pause = func(ctx context.Context, wait time.Duration) {
		pause(ctx, wait)
		if pauses++; pauses == 3 {
			os.Remove(roster)
		}
	}
	d.pass(t)
	if got := d.called(); got != "stop f57081b5; resume f57081b5" || pauses != 3 {
		t.Errorf("%s after %d looks", got, pauses)
	}
}

func TestNothingIsStoppedWhenTheLedgerCannotBeWritten(t *testing.T) {
	d := newDesk(t)
	if err := os.MkdirAll(filepath.Join(string(d.Dir), "revive.json"), 0o700); err != nil { // a folder in its place
		t.Fatal(err)
	}
	if _, err := d.Pass(t.Context()); err == nil {
		t.Error("no error")
	}
	if got := d.called(); got != "" {
		t.Error(got)
	}
}

func TestWhatStandsInTheWayOfAResume(t *testing.T) {
	t.Run("somebody acts on it", func(t *testing.T) {
		d := newDesk(t)
		d.Lease = func(string, string) (func(), error) { return nil, errors.New("somebody else acts on it") }
		if got := d.pass(t); got.Error != "somebody else acts on it" || d.called() != "" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("it changed meanwhile", func(t *testing.T) {
		d := newDesk(t)
		d.Lease = func(string, string) (func(), error) {
			d.write(t, map[string]any{"state": "working", "updatedAt": "2026-12-01T00:04:00.000Z", "sessionId": "f57081b5-862c-4c19-a678-d96bc355d660"})
			return func() {}, nil
		}
		if got := d.pass(t); got.Decision != Leave || !strings.Contains(got.Why, "it is working") || d.called() != "" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("another pass", func(t *testing.T) {
		d := newDesk(t)
		if err := d.Dir.Ensure(); err != nil {
			t.Fatal(err)
		}
		l, err := lock.Try(lockFile(d.Dir))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Release()
		if _, err := d.Pass(t.Context()); !errors.Is(err, lock.ErrBusy) || d.called() != "" {
			t.Error(err)
		}
	})
	t.Run("no Claude Code", func(t *testing.T) {
		d := newDesk(t)
		d.prog.find = ErrNoClaude
		if _, err := d.Pass(t.Context()); !errors.Is(err, ErrNoClaude) {
			t.Error(err)
		}
	})
}

// What a session was stopped for is not forgotten when nobody knows whether it
// was resumed: it is no session that its person stopped.
func TestAResumeOfUnknownOutcomeThatStoppedIt(t *testing.T) {
	d := newDesk(t)
	good := d.prog.resume
	d.prog.resume = func() (string, error) { return "", ErrUnsure }
	d.pass(t)
	got := d.pass(t)
	if got.Decision != Leave || !got.Stopped() || got.Why != "it was resumed once without any effect" {
		t.Errorf("%+v", got)
	}
	if n, err := Forget(d.Dir, got.Session, time.Second); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	d.prog.resume = good
	if got := d.pass(t); got.Resumed == nil || !*got.Resumed || got.Why != "5-hour limit" {
		t.Errorf("after it was forgotten: %+v", got)
	}
}

// A stop that failed is none: who stops the session by hand after that has it
// stay stopped.
func TestAStopThatFailedAndOneByHand(t *testing.T) {
	d := newDesk(t)
	byHand := d.prog.stop
	d.prog.stop = func() error { return errors.New("the service does not answer") }
	for range 2 {
		if got := d.pass(t); got.Error != "the service does not answer" {
			t.Fatalf("%+v", got)
		}
	}
	d.pid = 0 // it ended, but it is blocked still: told to wait, it is seen so
	right := d.Now
	d.Now = func() time.Time { return right().Add(-3 * time.Hour) }
	if got := d.pass(t); got.Decision != Wait {
		t.Fatalf("%+v", got)
	}
	d.Now = right
	if err := byHand(); err != nil {
		t.Fatal(err)
	}
	d.called()
	if got := d.pass(t); got.Decision != Leave || got.Why != "it was stopped" || d.called() != "" {
		t.Errorf("%+v", got)
	}
}

// The history may be dropped while a session is stopped in the middle of a
// resume: nothing else knows that shrevive owes it one.
func TestForgettingKeepsWhatIsOwed(t *testing.T) {
	for _, session := range []string{"", "f57081b5-862c-4c19-a678-d96bc355d660"} {
		d := newDesk(t)
		good := d.prog.resume
		d.prog.resume = func() (string, error) { return "", errors.New("no network") }
		d.pass(t)
		if _, err := Forget(d.Dir, session, time.Second); err != nil {
			t.Fatal(err)
		}
		d.prog.resume = good
		if got := d.pass(t); got.Resumed == nil || !*got.Resumed {
			t.Errorf("forgotten %q: %+v", session, got)
		}
	}
}

// A clock that was ahead when a session was stopped for its resume, and is put
// right, does not leave it stopped for ever.
func TestAClockThatIsPutBackKeepsWhatIsOwed(t *testing.T) {
	d := newDesk(t)
	right := d.Now
	d.Now = func() time.Time { return right().Add(3 * day) }
	good := d.prog.resume
	d.prog.resume = func() (string, error) { return "", errors.New("no network") }
	d.pass(t)
	d.Now, d.prog.resume = right, good
	if got := d.pass(t); got.Resumed == nil || !*got.Resumed {
		t.Errorf("%+v", got)
	}
}

// One transcript that can't be read is that session's affair alone.
func TestATranscriptThatCannotBeRead(t *testing.T) {
	d := newDesk(t)
	other := filepath.Join(string(d.Home), "jobs", "aaaaaaaa", "state.json")
	job := `{"state":"blocked","detail":"You've hit your 5-hour limit","updatedAt":"2026-11-30T21:13:19.189Z","sessionId":"aaaaaaaa-862c-4c19-a678-d96bc355d660","cwd":"/","linkScanPath":"` + t.TempDir() + `"}`
	if err := errors.Join(os.MkdirAll(filepath.Dir(other), 0o700), os.WriteFile(other, []byte(job), 0o600)); err != nil {
		t.Fatal(err)
	}
	d.prog.listed = append(d.prog.listed, Agent{ID: "aaaaaaaa"})
	rep, err := d.Pass(t.Context())
	if err != nil || len(rep.Decisions) != 2 {
		t.Fatalf("%+v, %v", rep, err)
	}
	for _, got := range rep.Decisions {
		switch {
		case got.Short == "f57081b5" && (got.Resumed == nil || !*got.Resumed):
			t.Errorf("the other one: %+v", got)
		case got.Short == "aaaaaaaa" && (got.Decision != Leave || !strings.Contains(got.Why, "its transcript can't be read")):
			t.Errorf("%+v", got)
		}
	}
}

// A ledger that can't be written after the launch does not deny the resume.
func TestAResumeThatCannotBeWrittenDown(t *testing.T) {
	d := newDesk(t)
	good := d.prog.resume
	d.prog.resume = func() (string, error) {
		path := filepath.Join(string(d.Dir), "revive.json")
		if err := errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "in the way"), 0o700)); err != nil {
			t.Fatal(err)
		}
		return good()
	}
	rep, err := d.Pass(t.Context())
	if err == nil || len(rep.Decisions) != 1 {
		t.Fatalf("%+v, %v", rep, err)
	}
	if got := rep.Decisions[0]; got.Resumed == nil || !*got.Resumed || d.told != 1 {
		t.Errorf("%+v, told %d", got, d.told)
	}
}

func TestALedgerWithHoles(t *testing.T) {
	for _, content := range []string{`{"sessions":{"s1":null}}`, `{"attempts":{"s1":[null]},"resumes":[null],"sessions":{"s1":{"intent":null}},"outage":{}}`, `null`, `[]`, `7`} {
		d := newDesk(t)
		if err := errors.Join(d.Dir.Ensure(), os.WriteFile(ledgerFile(d.Dir), []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Pass(t.Context()); err != nil && !strings.Contains(err.Error(), "read the ledger") {
			t.Errorf("%s: %v", content, err)
		}
	}
}

// A crash at any moment of a resume leaves a ledger from which the next pass
// goes on: stopped and not resumed is resumed, resumed is not resumed twice.
func TestACrashInTheMiddle(t *testing.T) {
	type crash struct{}
	for _, where := range []string{"before the stop", "after the stop", "after the resume"} {
		t.Run(where, func(t *testing.T) {
			d := newDesk(t)
			stop, resume := d.prog.stop, d.prog.resume
			d.prog.stop = func() error {
				if where == "before the stop" {
					panic(crash{})
				}
				defer func() {
					if where == "after the stop" {
						panic(crash{})
					}
				}()
				return stop()
			}
			d.prog.resume = func() (string, error) {
				d.write(t, map[string]any{"state": "working", "updatedAt": "2026-12-01T00:06:00.000Z", "sessionId": "f57081b5-862c-4c19-a678-d96bc355d660", "cwd": filepath.Dir(string(d.Home))})
				panic(crash{})
			}
			func() {
				defer func() {
					if r := recover(); r != nil && r != any(crash{}) {
						panic(r)
					}
				}()
				d.Pass(t.Context())
			}()
			d.prog.stop, d.prog.resume = stop, resume
			d.called()
			got := d.pass(t)
			want := map[string]string{"before the stop": "stop f57081b5; resume f57081b5", "after the stop": "resume f57081b5", "after the resume": ""}[where]
			if calls := d.called(); calls != want {
				t.Errorf("the next pass did %q, want %q: %+v", calls, want, got)
			}
		})
	}
}

// The first pass takes the session watchdog's ledger over, and no later one.
func TestTakeOver(t *testing.T) {
	d := newDesk(t)
	old := OldLedger(d.Home)
	write := func(content string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(old), 0o700), os.WriteFile(old, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"attempts":`)
	if _, err := d.Pass(t.Context()); err == nil || !strings.Contains(err.Error(), "take "+old+" over") || d.called() != "" {
		t.Errorf("a broken one: %v", err)
	}
	write(`{"attempts":{"f57081b5-862c-4c19-a678-d96bc355d660":1,"s2":[1796073195.5]},"resumes":[1796083195.5,"2026-11-30T20:00:00+00:00"]}`)
	now := time.Now()
	if err := os.Chtimes(old, now, at(t, "+01:00")); err != nil {
		t.Fatal(err)
	}
	rep, _, err := d.Look(t.Context())
	if err != nil || rep.Decisions[0].Decision != Leave {
		t.Errorf("a look: %+v %v", rep, err)
	}
	if got := d.pass(t); got.Decision != Leave || !strings.Contains(got.Why, "once without any effect") {
		t.Errorf("%+v", got)
	}
	l, err := ReadLedger(d.Dir)
	if err != nil || len(l.Attempts["s2"]) != 1 || len(l.Resumes) != 2 || !l.Resumes[1].Equal(time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v %v", l, err)
	}
	if _, err := Forget(d.Dir, "", time.Second); err != nil {
		t.Fatal(err)
	}
	if got := d.pass(t); got.Resumed == nil || !*got.Resumed {
		t.Errorf("the old ledger is taken over again: %+v", got)
	}
}

// What a run of the real program left behind is read as it was.
func TestCapturedStates(t *testing.T) {
	for name, want := range map[string]string{
		"blocked-limit-5h": Resume, "blocked-limit-weekly": Resume, "blocked-529": Resume, "blocked-network": Resume,
		"blocked-question": Leave, "blocked-auth-401": Leave, "blocked-credit": Leave, "stopped-was-limit-5h": Leave,
		"working-waiting-permission": Leave, "working-midturn": Leave, "done": Leave,
	} {
		j, err := claude.ReadJob(filepath.Join("testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		s := Session{ID: j.Session, Short: j.Session[:8], Cwd: j.Cwd, State: j.State, Detail: j.Detail, Needs: j.Needs, Updated: j.Updated}
		if d := one(t, s, Ledger{}, j.Updated.Add(8*day), modern()); d.Decision != want {
			t.Errorf("%s: %s: %s, want %s", name, d.Decision, d.Why, want)
		}
	}
}
