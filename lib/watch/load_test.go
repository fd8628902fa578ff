package watch

import (
	"bufio"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/queue"
	"sessionhub/lib/state"
)

// load is how much a load test does.
type load struct {
	records int
	kills   int
	rounds  int           // of a hub that fails in every way
	limit   time.Duration // until all is delivered
}

const loadWriters = 8

// Eight processes append 20,000 records while the drain runs, the watcher is
// killed 20 times, and the hub answers with errors, hangs, loses answers and
// dies in turns. The hub has each record once.
func TestLoad(t *testing.T) {
	runLoad(t, load{records: 20_000, kills: 20, rounds: 3, limit: 4 * time.Minute})
}

func runLoad(t *testing.T, l load) {
	hub := hubtest.Start(t)
	dir := state.Dir(filepath.Join(t.TempDir(), "state"))
	if err := dir.Ensure(); err != nil {
		t.Fatal(err)
	}
	appended := startWriters(t, dir, l.records)
	stop := make(chan struct{})
	var trouble sync.WaitGroup
	trouble.Go(func() { killWatchers(t, dir, hub, l.kills, stop) })
	makeTrouble(t, hub, l.rounds)
	ids := <-appended
	if len(ids) != l.records {
		t.Errorf("%d records were appended, want %d", len(ids), l.records)
	}
	q := &queue.Queue{Dir: dir}
	waitFor(t, l.limit, "the queue is empty", func() bool {
		s, err := q.Stat()
		return err == nil && s.Queued+s.Sending+s.Spilled == 0
	})
	close(stop)
	trouble.Wait()
	counts := map[string]int{}
	for _, id := range hub.Books().Reports {
		counts[id]++
	}
	for _, id := range ids {
		if counts[id] != 1 {
			t.Fatalf("%s is recorded %d times", id, counts[id])
		}
	}
	if len(counts) != len(ids) {
		t.Errorf("the hub has %d records, %d were appended", len(counts), len(ids))
	}
	if bad, err := os.ReadFile(dir.Bad()); err == nil {
		t.Errorf("set aside: %.500s", bad)
	}
}

// startWriters starts the appending processes and hands over all ids at the
// end.
func startWriters(t *testing.T, dir state.Dir, records int) <-chan []string {
	t.Helper()
	var mu sync.Mutex
	var ids []string
	var wg sync.WaitGroup
	for range loadWriters {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), loadEnv+"=append,"+string(dir)+","+strconv.Itoa(records/loadWriters))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for in := bufio.NewScanner(out); in.Scan(); {
				mu.Lock()
				ids = append(ids, in.Text())
				mu.Unlock()
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	done := make(chan []string, 1)
	go func() { wg.Wait(); done <- ids }()
	return done
}

// killWatchers runs watchers one after the other and kills the first of them in
// the middle of their work.
func killWatchers(t *testing.T, dir state.Dir, hub *hubtest.Hub, kills int, stop <-chan struct{}) {
	for i := 0; ; i++ {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), loadEnv+"="+strings.Join([]string{"watch", string(dir), hub.URL, hub.MachineToken}, ","))
		if err := cmd.Start(); err != nil {
			t.Error(err)
			return
		}
		var after <-chan time.Time
		if i < kills {
			after = time.After(50*time.Millisecond + rand.N(150*time.Millisecond))
		}
		select {
		case <-after:
		case <-stop:
		}
		cmd.Process.Kill()
		cmd.Wait() // killed is what it was
		select {
		case <-stop:
			return
		default:
		}
	}
}

// makeTrouble lets the hub fail in every way, in turns.
func makeTrouble(t *testing.T, hub *hubtest.Hub, rounds int) {
	for range rounds {
		for _, fault := range []hubtest.Fault{hubtest.Unavailable, hubtest.DropAnswer, hubtest.Hang, hubtest.Unauthorized} {
			hub.SetFault(fault)
			time.Sleep(100 * time.Millisecond) // the trouble's own length, waited for by nobody
			hub.SetFault(hubtest.None)
			time.Sleep(50 * time.Millisecond)
		}
		hub.Down()
		time.Sleep(100 * time.Millisecond)
		hub.Up()
	}
}

func waitFor(t *testing.T, limit time.Duration, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %s until %s", limit, what)
		}
	}
}
