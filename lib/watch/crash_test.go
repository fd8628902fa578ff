package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sessionhub/lib/config"
	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/lock"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/runlog"
	"sessionhub/lib/state"
)

// crashEnv makes the test binary the process that is killed:
// "step,dir,url,token".
const crashEnv = "SESSIONHUB_TEST_CRASH"

func TestMain(m *testing.M) {
	if spec := os.Getenv(crashEnv); spec != "" {
		crashChild(spec)
	}
	if spec := os.Getenv(loadEnv); spec != "" {
		loadChild(spec)
	}
	os.Exit(m.Run())
}

// noHerdr is a machine without herdr.
type noHerdr struct{}

func (noHerdr) Look(context.Context, string) (Look, error) {
	return Look{}, fmt.Errorf("there is no herdr")
}
func (noHerdr) Outside(context.Context) ([]record.LiveSession, error) { return nil, nil }

func testWatcher(dir state.Dir, url, token string) *Watcher {
	return &Watcher{
		Queue: &queue.Queue{Dir: dir}, Dir: dir, Looker: noHerdr{}, Log: &runlog.Log{W: os.Stderr},
		Machine: "tower", Version: "test", Timing: DefaultTiming(), Now: time.Now,
		Connect: func() (Hub, error) {
			return hubclient.New(config.Config{ServerURL: url}, token)
		},
	}
}

func reportItem(session, text string) record.Item {
	s := queue.NewStamp(time.Now())
	it, err := record.NewItem(s.ID, s.At, record.SourceCLI, record.KindReport, record.Report{Done: text})
	if err != nil {
		panic(err) // a report always encodes
	}
	it.Session = session
	return it
}

// crashChild appends, spills and drains, and kills itself after the named
// step. It prints the id of each record before it is appended, and "ok ID"
// once the append said so.
func crashChild(spec string) {
	f := strings.SplitN(spec, ",", 4)
	step, dir, url, token := f[0], state.Dir(f[1]), f[2], f[3]
	w := testWatcher(dir, url, token)
	armed := step
	w.Queue.Step = func(name string) {
		if name == armed {
			os.Stdout.Sync()
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	add := func(it record.Item) {
		fmt.Println("add", it.ID)
		if err := w.Queue.Append(queue.Durable, it); err != nil {
			fmt.Println("failed", it.ID, err)
			return
		}
		fmt.Println("ok", it.ID)
	}
	add(reportItem("s1", "one"))
	add(reportItem("s1", "two"))
	spill(w.Queue, func() { add(reportItem("s1", "spilled")) })
	waits := reportItem("", "") // names a pane of a herdr that is not there
	waits.Kind, waits.Pane, waits.Body = record.KindState, &record.Pane{Herdr: string(dir) + "/none.sock", PaneID: "w1:p1"}, json.RawMessage(`{"agent_state":"idle"}`)
	add(waits)
	if _, err := w.Pass(context.Background()); err != nil {
		fmt.Println("pass:", err)
	}
	os.Exit(0)
}

// spill holds the queue's lock while f appends.
func spill(q *queue.Queue, f func()) {
	l, err := lock.Try(q.Dir.QueueLock())
	if err != nil {
		panic(err) // the child is alone
	}
	defer l.Release()
	q.LockWait = time.Millisecond
	f()
	q.LockWait = 0
}

// The process is killed after every single file operation of append,
// take-over, set-aside and the end of a pass. Nothing is lost, and nothing is
// recorded or set aside twice.
func TestCrashAfterEveryStep(t *testing.T) {
	for _, step := range queue.Steps() {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			hub := hubtest.Start(t)
			dir := state.Dir(filepath.Join(t.TempDir(), "state"))
			if err := dir.Ensure(); err != nil {
				t.Fatal(err)
			}
			// A torn line and a foreign one wait already.
			if err := os.WriteFile(dir.Queue(), []byte("foreign\n{\"v\":1,\"to"), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0], "-test.run=^$")
			cmd.Env = append(os.Environ(), crashEnv+"="+strings.Join([]string{step, string(dir), hub.URL, hub.MachineToken}, ","))
			out, err := cmd.Output()
			if err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the child did not come to %s: %v\n%s", step, err, out)
			}
			checkAfterCrash(t, hub, dir, string(out))
		})
	}
}

func checkAfterCrash(t *testing.T, hub *hubtest.Hub, dir state.Dir, out string) {
	t.Helper()
	w := testWatcher(dir, hub.URL, hub.MachineToken)
	var printed strings.Builder
	w.Log.W = &printed
	res, err := w.Pass(context.Background())
	if err != nil || res.Err != nil {
		t.Fatalf("the pass after the crash: %v, %v", err, res.Err)
	}
	recorded := map[string]int{}
	for _, id := range hub.Books().Reports {
		recorded[id]++
	}
	waiting := lines(t, filepath.Join(dir.Sending(), "*"))
	var last string
	for _, l := range strings.Split(strings.TrimSpace(out), "\n") {
		verb, id, _ := strings.Cut(l, " ")
		id, _, _ = strings.Cut(id, " ")
		switch verb {
		case "add":
			last = id
		case "ok":
			last = ""
			if n := recorded[id] + strings.Count(waiting, id); n != 1 {
				t.Errorf("%s was acknowledged and is there %d times", id, n)
			}
		case "failed", "pass:":
			t.Error(l)
		}
	}
	if n := recorded[last] + strings.Count(waiting, last); last != "" && n > 1 {
		t.Errorf("%s, cut short, is there %d times", last, n)
	}
	bad := lines(t, dir.Bad())
	if strings.Count(bad, `"foreign"`) != 1 || strings.Count(bad, `{\"v\":1,\"to`) != 1 {
		t.Errorf("queue.bad.jsonl:\n%s", bad)
	}
}

func lines(t *testing.T, pattern string) string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

// loadEnv makes the test binary a process of the load test:
// "append,dir,count" or "watch,dir,url,token".
const loadEnv = "SESSIONHUB_TEST_LOAD"

func loadChild(spec string) {
	f := strings.SplitN(spec, ",", 4)
	dir := state.Dir(f[1])
	if f[0] == "append" {
		n, err := strconv.Atoi(f[2])
		if err != nil {
			panic(err) // the parent wrote it
		}
		q := &queue.Queue{Dir: dir}
		for i := range n {
			it := reportItem(fmt.Sprintf("s%d", os.Getpid()%7), strconv.Itoa(i))
			if err := q.Append(queue.Fast, it); err != nil {
				fmt.Fprintln(os.Stderr, "append:", err)
				os.Exit(1)
			}
			fmt.Println(it.ID)
		}
		os.Exit(0)
	}
	w := testWatcher(dir, f[2], f[3])
	w.Timing.RetryMin, w.Timing.RetryMax = 5*time.Millisecond, 50*time.Millisecond
	w.Timing.Heartbeat = time.Hour
	if err := w.Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "watch:", err)
	}
	os.Exit(1)
}
