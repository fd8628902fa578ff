package hub

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sessionhub/lib/hub/store"
)

// crashEnv makes the test binary the hub that is killed: "database,address".
const crashEnv = "SESSIONHUB_TEST_HUB"

const (
	crashKills   = 5
	crashSenders = 16
	crashEvents  = 150 // of each round
	crashLimit   = time.Minute
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(crashEnv); spec != "" {
		crashChild(spec)
	}
	os.Exit(m.Run())
}

// crashChild serves until it is killed, and prints its address.
func crashChild(spec string) {
	path, addr, _ := strings.Cut(spec, ",")
	s, err := store.Open(context.Background(), path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	fmt.Fprintln(os.Stderr, http.Serve(l, New(s, time.Now)))
	os.Exit(1)
}

// crashHub is a hub in a process of its own.
type crashHub struct {
	t     *testing.T
	path  string
	addr  string
	token string
	cmd   *exec.Cmd
}

func (h *crashHub) start() {
	h.t.Helper()
	h.cmd = exec.Command(os.Args[0], "-test.run=^$")
	h.cmd.Env = append(os.Environ(), crashEnv+"="+h.path+","+h.addr)
	h.cmd.Stderr = os.Stderr
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		h.t.Fatalf("the hub did not start: %v", err)
	}
	if addr := strings.TrimSpace(line); h.addr != addr {
		h.addr = addr // once: every later start has the same
	}
}

func (h *crashHub) kill() {
	h.cmd.Process.Kill()
	h.cmd.Wait() // killed is what it was
}

// send posts one record until it is acknowledged, as a queue does.
func (h *crashHub) send(client *http.Client, path, body string) error {
	for end := time.Now().Add(crashLimit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		req, err := http.NewRequest(http.MethodPost, "http://"+h.addr+path, strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+h.token)
		res, err := client.Do(req)
		if err != nil {
			continue // it was killed
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", path, res.Status)
		}
		return nil
	}
	return fmt.Errorf("%s was not acknowledged in %s", body, crashLimit)
}

// The hub is killed in the middle of a load, again and again, and senders
// repeat what was not acknowledged. Everything acknowledged is there, once.
func TestKilledUnderLoad(t *testing.T) {
	h := &crashHub{t: t, addr: "127.0.0.1:0"}
	setup := newTestHub(t)
	setup.want(200, setup.tower, "PUT /v1/machines/self/herdr-sessions", beat(sessionA))
	h.path, h.token = setup.path, setup.tower
	if err := setup.store.Close(); err != nil {
		t.Fatal(err)
	}
	h.start()
	var acked atomic.Int64
	var mu sync.Mutex
	var ids []string
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: crashSenders}, Timeout: 10 * time.Second}
	next := make(chan int)
	var senders sync.WaitGroup
	for range crashSenders {
		senders.Go(func() {
			for i := range next {
				id := fmt.Sprintf("e%d", i)
				path, body := "/v1/sessions/aaaa-1/events", `{"id":"`+id+`",`+at+`,"kind":"state","body":{"agent_state":"working"}}`
				if i%2 == 1 {
					path, body = "/v1/sessions/aaaa-1/reports", `{"id":"`+id+`","done":"it"}`
				}
				if err := h.send(client, path, body); err != nil {
					t.Error(err)
					continue
				}
				acked.Add(1)
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
			}
		})
	}
	made := 0
	for range crashKills {
		for range crashEvents {
			next <- made
			made++
		}
		h.kill() // while the senders wait for answers
		mu.Lock()
		known := append([]string(nil), ids...)
		mu.Unlock()
		wantOnce(t, h.path, known)
		h.start()
	}
	close(next)
	senders.Wait()
	h.kill()
	if int(acked.Load()) != made {
		t.Errorf("%d of %d were acknowledged", acked.Load(), made)
	}
	wantOnce(t, h.path, ids)
}

// wantOnce looks into the file that a killed hub left.
func wantOnce(t *testing.T, path string, ids []string) {
	t.Helper()
	s, err := store.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if wrong, err := s.Check(context.Background()); err != nil || len(wrong) > 0 {
		t.Errorf("check: %q, %v", wrong, err)
	}
	b, err := s.Books(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, id := range append(b.Events, b.Reports...) {
		counts[id]++
	}
	for _, id := range ids {
		if counts[id] != 1 {
			t.Errorf("%s was acknowledged and is there %d times", id, counts[id])
		}
	}
	machines, err := s.Machines(context.Background(), time.Now())
	if err != nil || len(machines) != 1 || int(machines[0].Recorded) != len(counts) {
		t.Errorf("%d records, the machine's count says %+v, %v", len(counts), machines, err)
	}
}
