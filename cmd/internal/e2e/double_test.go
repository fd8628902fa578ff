package e2e

import (
	"context"
	"testing"

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
	w := newWorld(t)
	s, err := herdrtest.New(herdrtest.Config{Home: w.Home, Socket: w.Socket, Env: w.Env(), Dir: w.Home})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	dir, err := w.Plugin()
	if err != nil {
		t.Fatal(err)
	}
	f := &flow{t: t, w: w, h: w.Herdr()}
	if _, err := f.h.LinkPlugin(context.Background(), herdr.Link{Path: dir, Enabled: true}); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(herdrtest.Stopped); err != nil { // runs the startup hook
		t.Fatal(err)
	}
	f.mainJob(double{s})
}
