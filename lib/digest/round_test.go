package digest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sessionhub/lib/claude"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

func TestRound(t *testing.T) {
	home := claude.Home(t.TempDir())
	dir := state.Dir(t.TempDir())
	folder := filepath.Join(string(home), "projects", "-app")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	var live []record.LiveSession
	for i := range PerRound + 2 {
		id := fmt.Sprintf("01976f3e-7c1a-7c11-9d2e-0d9d0a6a%04d", i)
		line := `{"type":"user","promptSource":"typed","origin":{"kind":"human"},"message":{"role":"user","content":"hello ` + id[32:] + `"}}` + "\n"
		if err := os.WriteFile(filepath.Join(folder, id+".jsonl"), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		live = append(live, record.LiveSession{Session: id, Cwd: "/app"})
	}
	live = append(live, record.LiveSession{Session: "01976f3e-7c1a-7c11-9d2e-0d9d0a6a9999"}) // without a prompt yet
	d := &Digester{Dir: dir, Home: home}
	told := map[string]int{}
	refused := live[0].Session
	round := func() (errs []error) {
		return d.Round(t.Context(), live, func(_ context.Context, g record.Digest) error {
			if g.Session == refused {
				return errors.New("the hub is down")
			}
			told[g.Session]++
			return nil
		})
	}
	first := round()
	if len(told) != PerRound-1 || len(first) != 1 {
		t.Fatalf("the first round told %d, failed %v", len(told), first)
	}
	refused = ""
	if errs := round(); len(errs) != 0 || len(told) != len(live)-1 {
		t.Errorf("after the second: %d told, %v", len(told), errs)
	}
	if errs := round(); len(errs) != 0 {
		t.Error(errs)
	}
	for id, n := range told {
		if n != 1 {
			t.Errorf("%s was told %d times", id, n)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if errs := (&Digester{Dir: state.Dir(t.TempDir()), Home: home}).Round(ctx, live, func(context.Context, record.Digest) error { return nil }); len(errs) != 0 {
		t.Errorf("after the end: %v", errs)
	}
}
