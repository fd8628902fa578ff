package hub_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"sessionhub/lib/config"
	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/hub/store"
	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
)

// clock is a hub's clock that a test turns.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }
func (c *clock) turn(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func pairCode(t *testing.T, h *hubtest.Hub, p store.Pairing, now time.Time) string {
	t.Helper()
	code, expires, err := h.Store().AddPairing(t.Context(), p, now)
	if err != nil || expires.Sub(now) != store.PairingTime {
		t.Fatal(code, expires, err)
	}
	return code
}

func stranger(t *testing.T, h *hubtest.Hub) *hubclient.Client {
	t.Helper()
	c, err := hubclient.New(config.Config{ServerURL: h.URL}, "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPairing(t *testing.T) {
	c := &clock{now: time.Now()}
	h := hubtest.StartAt(t, c.Now)
	pair := func(code, machine string) (record.Paired, error) {
		return stranger(t, h).Pair(t.Context(), code, machine)
	}
	fails := func(code, machine, want string) {
		t.Helper()
		if p, err := pair(code, machine); err == nil || !strings.Contains(err.Error(), want) || p.Token != "" {
			t.Errorf("%s as %s: %+v, %v", code, machine, p, err)
		}
	}

	code := pairCode(t, h, store.Pairing{User: "me", Scopes: []string{"read"}}, c.Now())
	fails("00000-00000", "laptop", "not good")
	fails(code, "tower", "a machine named tower is known")
	p, err := pair(" "+strings.ToLower(strings.ReplaceAll(code, "-", " ")), "laptop")
	if err != nil || p.Machine != "laptop" || !strings.HasPrefix(p.Token, "shm_") || !strings.HasPrefix(p.UserToken, "shu_") {
		t.Fatalf("%+v, %v", p, err)
	}
	fails(code, "laptop2", "not good") // it is good once

	machine, _ := hubclient.New(config.Config{ServerURL: h.URL, Machine: "laptop"}, p.Token)
	if err := machine.Probe(t.Context(), "k1"); err != nil {
		t.Errorf("its token: %v", err)
	}
	user, _ := hubclient.New(config.Config{ServerURL: h.URL}, p.UserToken)
	if _, err := user.Machines(t.Context()); err != nil {
		t.Errorf("its owner's token: %v", err)
	}
	if _, err := user.SetInstructions(t.Context(), "x"); err == nil {
		t.Error("the owner's token has a scope that was not given")
	}

	code = pairCode(t, h, store.Pairing{Machine: "tower"}, c.Now())
	if p, err := pair(code, "whatever"); err != nil || p.Machine != "tower" || p.UserToken != "" {
		t.Errorf("a fixed name: %+v, %v", p, err)
	}
	code = pairCode(t, h, store.Pairing{}, c.Now())
	c.turn(store.PairingTime + time.Second)
	fails(code, "late", "not good")
	fails("", "x", `"code" is missing`)
	fails("a", "", `"machine" is missing`)
	fails("a", "a b", "character")
}

// Of two machines that redeem one code at once, one gets it.
func TestPairingRace(t *testing.T) {
	h := hubtest.Start(t)
	code := pairCode(t, h, store.Pairing{}, time.Now())
	const n = 8
	var won sync.Map
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if p, err := stranger(t, h).Pair(context.Background(), code, "m"+string(rune('a'+i))); err == nil {
				won.Store(p.Machine, p.Token)
			}
		})
	}
	wg.Wait()
	count := 0
	won.Range(func(any, any) bool { count++; return true })
	if count != 1 {
		t.Errorf("%d machines were paired by one code", count)
	}
}

// A probe is counted as a record, once, and leaves nothing else.
func TestProbe(t *testing.T) {
	h := hubtest.Start(t)
	c, err := hubclient.New(config.Config{ServerURL: h.URL, Machine: "tower"}, h.MachineToken)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Probe(t.Context(), "01976f3e-7c1a-7c11-9d2e-0d9d0a6a1b11"); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := h.Store().Sessions(t.Context(), store.Filter{All: true}, time.Now()); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	u, err := hubclient.New(config.Config{ServerURL: h.URL}, h.UserToken)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Probe(t.Context(), "k"); err == nil {
		t.Error("a user's token probed")
	}
}

// A machine lists of the inbox what is about itself.
func TestOwnInbox(t *testing.T) {
	h := hubtest.Start(t)
	for i, m := range []string{"tower", "laptop"} {
		err := h.Store().Write(t.Context(), func(tx *store.Tx) error {
			return store.Heartbeat(tx, m, &record.Snapshot{V: 1, At: record.At(time.Now()), Machine: m, Sessions: []record.LiveSession{
				{Session: "s" + string(rune('0'+i)), Agent: "claude", AgentState: record.Blocked}}}, time.Now())
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := hubclient.New(config.Config{ServerURL: h.URL, Machine: "tower"}, h.MachineToken)
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.OwnInbox(t.Context())
	if err != nil || len(list) != 1 || list[0].Machine != "tower" {
		t.Errorf("%+v, %v", list, err)
	}
	if n, err := c.InboxCounts(t.Context()); err != nil || n.Total != 2 {
		t.Errorf("%+v, %v", n, err)
	}
}
