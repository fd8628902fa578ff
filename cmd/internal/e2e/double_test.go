package e2e

import (
	"context"
	"strings"
	"testing"

	"sessionhub/cmd/internal/world"
	"sessionhub/lib/herdr"
	"sessionhub/lib/herdr/herdrtest"
)

type double struct{ s *herdrtest.Server }

func (d double) Restart(t *testing.T) {
	t.Helper()
	if err := d.s.Restart(herdrtest.Stopped); err != nil {
		t.Fatal(err)
	}
}

func TestMainJob(t *testing.T) {
	f := doubleFlow(t)
	f.mainJob(f.server)
}

// doubleFlow is a flow against the double, with the stand-in for Claude.
func doubleFlow(t *testing.T) *flow {
	t.Helper()
	w := newWorld(t)
	return flowIn(t, w, w.Env())
}

// flowIn is a flow in a world, against the double with such an environment.
func flowIn(t *testing.T, w *world.World, env []string) *flow {
	t.Helper()
	s, err := herdrtest.New(herdrtest.Config{Home: w.Home, Socket: w.Socket, Env: env, Dir: w.Home})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	dir, err := w.Plugin()
	if err != nil {
		t.Fatal(err)
	}
	f := &flow{t: t, w: w, h: w.Herdr(), server: double{s}}
	if _, err := f.h.LinkPlugin(context.Background(), herdr.Link{Path: dir, Enabled: true}); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(herdrtest.Stopped); err != nil { // runs the startup hook
		t.Fatal(err)
	}
	return f
}

func (f *flow) showFailure() {
	if f.t.Failed() {
		f.screens()
	}
}

// screens logs what the panes show.
func (f *flow) screens() {
	panes, err := f.h.Panes(context.Background(), "")
	if err != nil {
		f.t.Log(err)
	}
	for _, p := range panes {
		s, err := f.h.Read(context.Background(), herdr.ReadParams{PaneID: p.PaneID, Source: "visible"})
		f.t.Logf("%s: %v\n%s", p.PaneID, err, strings.TrimSpace(s.Text))
	}
}
