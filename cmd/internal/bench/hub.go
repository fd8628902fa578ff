package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"sessionhub/lib/config"
	"sessionhub/lib/hub"
	"sessionhub/lib/hub/store"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/lock"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// served is a hub in the process that notes when reports arrive.
type served struct {
	url   string
	token string
	store *store.Store
	stop  func()

	mu      sync.Mutex
	arrived map[string]time.Time
	hang    chan struct{} // closed to let go
}

func (b *bench) serve(ctx context.Context) (*served, error) {
	s, err := store.Open(ctx, filepath.Join(b.dir, "hub.db"))
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	v := &served{url: "http://" + l.Addr().String(), store: s, arrived: map[string]time.Time{}}
	if v.token, err = s.AddToken(ctx, store.Token{Kind: store.KindMachine, Name: "tower"}, time.Now()); err != nil {
		return nil, err
	}
	h := hub.New(s, time.Now)
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.mu.Lock()
		hang := v.hang
		v.mu.Unlock()
		if hang != nil {
			<-hang
		}
		h.ServeHTTP(w, r)
		v.mu.Lock()
		defer v.mu.Unlock()
		if key := r.Header.Get("Idempotency-Key"); key != "" {
			v.arrived[key] = time.Now()
		}
	})}
	go srv.Serve(l)
	v.stop = func() {
		srv.Close()
		s.Close()
	}
	return v, nil
}

// watcher starts a real watcher for the hub, and returns when it watches.
func (b *bench) watcher(v *served, home string) (*exec.Cmd, error) {
	conf := filepath.Join(home, ".config", "sessionhub")
	if err := os.MkdirAll(conf, 0o700); err != nil {
		return nil, err
	}
	for name, content := range map[string]string{"config.toml": "server_url = \"" + v.url + "\"\nmachine = \"tower\"\n", "token": v.token} {
		if err := os.WriteFile(filepath.Join(conf, name), []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(b.tool("shwatch"), "run")
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	if !b.quiet {
		cmd.Stderr = os.Stderr
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := waitHeld(stateOf(home)); err != nil {
		return nil, errors.Join(err, stop(cmd))
	}
	return cmd, nil
}

func stop(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return cmd.Wait()
}

func stateOf(home string) state.Dir {
	return state.Dir(filepath.Join(home, ".local", "state", "sessionhub"))
}

func report(n int) record.Item {
	s := queue.NewStamp(time.Now())
	it, err := record.NewItem(s.ID, s.At, record.SourceCLI, record.KindReport, record.Report{Done: fmt.Sprint("step ", n)})
	if err != nil {
		panic(err) // a report always encodes
	}
	it.Session = fmt.Sprintf("session-%d", n%10)
	return it
}

const appends = 2000

// appendBesideHungHub appends from this process while a watcher drains: first
// with nothing to do, then with a hub that hangs.
func (b *bench) appendBesideHungHub() error {
	v, err := b.serve(context.Background())
	if err != nil {
		return err
	}
	defer v.stop()
	cmd, err := b.watcher(v, b.dir)
	if err != nil {
		return err
	}
	q := &queue.Queue{Dir: stateOf(b.dir)}
	measure := func() (times, error) {
		var t times
		for i := range appends {
			began := time.Now()
			if err := q.Append(queue.Fast, report(i)); err != nil {
				return nil, err
			}
			t = append(t, time.Since(began))
			time.Sleep(200 * time.Microsecond)
		}
		return t, nil
	}
	idle, err := measure()
	if err != nil {
		return err
	}
	v.mu.Lock()
	v.hang = make(chan struct{})
	v.mu.Unlock()
	hung, err := measure()
	if err != nil {
		return err
	}
	close(v.hang)
	say("healthy hub            p50 %s, p99 %s", ms(idle.at(0.5)), ms(idle.at(0.99)))
	say("hanging hub            p50 %s, p99 %s, p99 %.2f × healthy", ms(hung.at(0.5)), ms(hung.at(0.99)), float64(hung.at(0.99))/float64(idle.at(0.99)))
	return stop(cmd)
}

// waitHeld waits until a watcher holds its lock. The label in the file proves
// nothing: it outlives the watcher that wrote it.
func waitHeld(dir state.Dir) error {
	for range 1000 {
		if held, err := lock.Held(dir.WatcherLock()); err != nil || held {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("the watcher does not start")
}

// appendToHub is the time from before an append until the hub has stored it,
// one at a time, as a person's events come.
func (b *bench) appendToHub() error {
	v, err := b.serve(context.Background())
	if err != nil {
		return err
	}
	defer v.stop()
	cmd, err := b.watcher(v, b.dir)
	if err != nil {
		return err
	}
	q := &queue.Queue{Dir: stateOf(b.dir)}
	var t times
	for i := range 300 {
		it := report(i)
		began := time.Now()
		if err := q.Append(queue.Fast, it); err != nil {
			return err
		}
		for end := began.Add(5 * time.Second); ; time.Sleep(100 * time.Microsecond) {
			v.mu.Lock()
			at, ok := v.arrived[it.ID]
			v.mu.Unlock()
			if ok {
				t = append(t, at.Sub(began))
				break
			}
			if time.Now().After(end) {
				return fmt.Errorf("%s did not arrive", it.ID)
			}
		}
		time.Sleep(time.Duration(i%7) * 5 * time.Millisecond)
	}
	say("file watch             p50 %s, p99 %s", ms(t.at(0.5)), ms(t.at(0.99)))
	say("a 2 s tick             p50 1000 ms, p99 1980 ms (by its definition)")
	return stop(cmd)
}

const beats = 1500

// heartbeats stores heartbeats of 20 machines at once, and beside it inserts
// rows one transaction each with the same durability.
func (b *bench) heartbeats() error {
	ctx := context.Background()
	bare, err := b.bareInserts(ctx)
	if err != nil {
		return err
	}
	v, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer v.stop()
	const machines = 20
	var wg sync.WaitGroup
	failed := make(chan error, machines)
	var clients []*hubclient.Client
	for m := range machines {
		token, err := v.store.AddToken(ctx, store.Token{Kind: store.KindMachine, Name: fmt.Sprint("m", m)}, time.Now())
		if err != nil {
			return err
		}
		c, err := hubclient.New(config.Config{ServerURL: v.url}, token)
		if err != nil {
			return err
		}
		clients = append(clients, c)
	}
	began := time.Now()
	for m, c := range clients {
		wg.Go(func() {
			for range beats / machines {
				if err := c.PutSnapshot(ctx, "", snapshot(m)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	rate := beats / time.Since(began).Seconds()
	select {
	case err := <-failed:
		return err
	default:
	}
	say("bare SQLite inserts    %.0f/s", bare)
	say("heartbeats (5 sessions) %.0f/s over HTTP, %.2f × bare", rate, rate/bare)
	return nil
}

func snapshot(m int) record.Snapshot {
	s := record.Snapshot{V: 1, At: record.At(time.Now()), HerdrSession: "default", UnidentifiedPanes: []record.UnidentifiedPane{}}
	for i := range 5 {
		s.Sessions = append(s.Sessions, record.LiveSession{Session: fmt.Sprintf("session-%d-%d", m, i), Agent: "claude",
			PaneID: fmt.Sprintf("w%d:p1", i), AgentState: record.Working, Cwd: "/home/dev/Code/app", TitleHint: "Fix the parser"})
	}
	return s
}

func (b *bench) bareInserts(ctx context.Context) (float64, error) {
	db, err := sql.Open("sqlite", filepath.Join(b.dir, "bare.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return 0, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)"); err != nil {
		return 0, err
	}
	st, err := db.PrepareContext(ctx, "INSERT INTO t (body) VALUES (?)")
	if err != nil {
		return 0, err
	}
	defer st.Close()
	raw, err := json.Marshal(snapshot(0))
	if err != nil {
		return 0, err
	}
	body := string(bytes.TrimSpace(raw))
	began := time.Now()
	for range beats {
		if _, err := st.ExecContext(ctx, body); err != nil {
			return 0, err
		}
	}
	return beats / time.Since(began).Seconds(), nil
}

// procUsage is the processor time of a process, summed over its threads as the
// scheduler counted it in nanoseconds, and its memory in KiB.
func procUsage(pid int) (cpu time.Duration, rss int, err error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, 0, err
	}
	for _, path := range tasks {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // a thread that has just ended
		}
		var ns int64
		if _, err := fmt.Sscan(string(b), &ns); err != nil {
			return 0, 0, err
		}
		cpu += time.Duration(ns)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	_, err = fmt.Sscan(after, &rss)
	return cpu, rss, err
}
