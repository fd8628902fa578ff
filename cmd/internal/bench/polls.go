package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"sessionhub/lib/config"
	"sessionhub/lib/hub"
	"sessionhub/lib/hub/store"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
)

const (
	pollers  = 10_000
	wakes    = 1000
	pollWait = 50 // seconds of each long poll
	// serverEnv makes the bench a server of its own, so that its memory is its own:
	// "hub FILE" or "bare".
	serverEnv = "SESSIONHUB_BENCH_SERVER"
)

// polls holds long polls open at the hub, and at a bare handler that only
// waits, each server a process of its own.
func (b *bench) polls() error {
	db := b.dir + "/polls.db"
	tokens, owner, err := machines(db, pollers)
	if err != nil {
		return err
	}
	bare, err := b.held("bare", func(int) string { return "" }, nil)
	if err != nil {
		return err
	}
	say("bare handler: %d polls, %.1f KiB each", pollers, bare/1024)
	var woken times
	each, err := b.held("hub "+db, func(i int) string { return tokens[i] }, func(s *pollServer) error {
		woken, err = s.wake(owner)
		return err
	})
	if err != nil {
		return err
	}
	say("hub:          %d polls, %.1f KiB each: %.2f ×", pollers, each/1024, each/bare)
	say("a request wakes its poll after p50 %s, p99 %s", woken.at(0.5).Round(10*time.Microsecond), woken.at(0.99).Round(10*time.Microsecond))
	return nil
}

func machineName(i int) string { return fmt.Sprintf("machine-%05d", i) }

// machines makes a database with so many machines, each with a token.
func machines(db string, n int) (tokens []string, owner string, err error) {
	ctx := context.Background()
	s, err := store.Open(ctx, db)
	if err != nil {
		return nil, "", err
	}
	defer s.Close()
	now := time.Now()
	err = s.Write(ctx, func(tx *store.Tx) error {
		for i := range n {
			snap := record.Snapshot{V: record.Version, At: record.At(now), Machine: machineName(i)}
			if err := store.Heartbeat(tx, machineName(i), &snap, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	tokens = make([]string, n)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 64)
	var first error
	var mu sync.Mutex
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			secret, err := s.AddToken(ctx, store.Token{Kind: store.KindMachine, Name: machineName(i)}, now)
			mu.Lock()
			defer mu.Unlock()
			tokens[i], first = secret, errors.Join(first, err)
		})
	}
	wg.Wait()
	if first != nil {
		return nil, "", first
	}
	owner, err = s.AddToken(ctx, store.Token{Kind: store.KindUser, Name: "me", Scopes: []string{"read", "ask"}}, now)
	return tokens, owner, err
}

// pollServer is a server with polls held open.
type pollServer struct {
	addr  string
	pid   int
	conns []net.Conn
}

// held starts a server, opens the polls, and gives the bytes of resident memory
// that each costs. then runs while they are open.
func (b *bench) held(spec string, token func(i int) string, then func(s *pollServer) error) (each float64, err error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), serverEnv+"="+spec), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return 0, err
	}
	s := &pollServer{addr: strings.TrimSpace(addr), pid: cmd.Process.Pid}
	before, err := s.resident()
	if err != nil {
		return 0, err
	}
	defer func() {
		for _, c := range s.conns {
			c.Close()
		}
	}()
	for i := range pollers {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			return 0, err
		}
		s.conns = append(s.conns, c)
		if _, err := fmt.Fprintf(c, "GET /v1/machines/self/control?wait=%d HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", pollWait, token(i)); err != nil {
			return 0, err
		}
	}
	if err := s.untilWaiting(); err != nil {
		return 0, err
	}
	after, err := s.resident()
	if err == nil && then != nil {
		err = then(s)
	}
	return float64(after-before) / pollers, err
}

// untilWaiting waits until the server has all polls.
func (s *pollServer) untilWaiting() error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		n, err := s.ask("/waiting")
		if err != nil {
			return err
		}
		if n >= pollers {
			return nil
		}
	}
	return errors.New("the server did not take all polls")
}

// resident is the server's memory after a collection, in bytes.
func (s *pollServer) resident() (int, error) { return s.ask("/resident") }

func (s *pollServer) ask(path string) (int, error) {
	res, err := http.Get("http://" + s.addr + path)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(b))
}

// wake asks machines for something, one after the other, and measures until
// their polls hear of it.
func (s *pollServer) wake(owner string) (times, error) {
	c, err := hubclient.New(config.Config{ServerURL: "http://" + s.addr}, owner)
	if err != nil {
		return nil, err
	}
	var t times
	for _, i := range rand.Perm(pollers)[:wakes] {
		began := time.Now()
		if _, err := c.Start(context.Background(), "", machineName(i), record.StartPost{Start: record.Start{Dir: "~"}}); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(s.conns[i], make([]byte, 12)); err != nil { // "HTTP/1.1 200"
			return nil, err
		}
		t = append(t, time.Since(began))
	}
	return t, nil
}

// servePolls is the server's process.
func servePolls(spec string) error {
	var waiting gauge
	var handler http.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(pollWait * time.Second):
		}
	})
	if db, ok := strings.CutPrefix(spec, "hub "); ok {
		s, err := store.Open(context.Background(), db)
		if err != nil {
			return err
		}
		handler = hub.New(s, time.Now)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/waiting":
			fmt.Fprint(w, waiting.value())
		case "/resident":
			fmt.Fprint(w, resident())
		case "/v1/machines/self/control":
			waiting.add(1)
			defer waiting.add(-1)
			handler.ServeHTTP(w, r)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
}
