package claude

import (
	"slices"
	"testing"
	"time"
)

// What ps prints on macOS.
const psSample = `    1     0 Ss   Mon Nov 30 21:00:01 2026
  431     1 S+   Tue Dec  1 02:05:09 2026
  502   431 T    Tue Dec  1 02:06:00 2026
  503   431 Z    Tue Dec  1 02:06:01 2026
garbage
  x     1 S    Tue Dec  1 02:06:01 2026
`

func TestParsePS(t *testing.T) {
	table := parsePS(psSample)
	if len(table) != 4 {
		t.Errorf("%d processes", len(table))
	}
	p, ok := table.Find(431)
	want := OSProcess{PID: 431, Parent: 1, Start: "Tue Dec 1 02:05:09 2026", Began: time.Date(2026, 12, 1, 2, 5, 9, 0, time.UTC)}
	if !ok || p != want {
		t.Errorf("got %+v, %v", p, ok)
	}
	if p, _ := table.Find(502); !p.Stopped {
		t.Errorf("%+v is suspended", p)
	}
	if p, _ := table.Find(503); !p.Zombie {
		t.Errorf("%+v is a zombie", p)
	}
	if _, ok := table.Find(999); ok {
		t.Error("a process that is not there was found")
	}
	if !Below(table, 502, 431) || !Below(table, 431, 431) || Below(table, 431, 502) {
		t.Error("the tree is wrong")
	}
}

// Claude Code writes the start in UTC; in the local zone, live sessions would
// count as dead.
func TestPSAsksForUTC(t *testing.T) {
	t.Setenv("TZ", "Europe/Stockholm")
	t.Setenv("LC_ALL", "sv_SE.UTF-8")
	env := ps(t.Context()).Environ()
	if !slices.Contains(env, "TZ=UTC") || !slices.Contains(env, "LC_ALL=C") || slices.Contains(env, "TZ=Europe/Stockholm") {
		t.Errorf("ps runs with %q", env)
	}
}

func TestPSStartAndDomain(t *testing.T) {
	table := parsePS(psSample)
	p, _ := table.Find(431)
	for _, c := range []struct {
		start string
		want  bool
	}{
		{"Tue Dec  1 02:05:09 2026", true}, // as ps pads it
		{"Tue Dec  1 03:05:09 2026", false},
		{"", true},
		{"275470", true}, // a form that is not ps's
	} {
		if got := table.SameStart(p, c.start); got != c.want {
			t.Errorf("start %q: %v", c.start, got)
		}
	}
	for d, want := range map[string]bool{"": true, "darwin": true, "linux:0:pid:[1]": false, "win32:tower": false, "new": true} {
		if got := table.SameDomain(d); got != want {
			t.Errorf("domain %q: %v", d, got)
		}
	}
}
