package claude

import "testing"

func TestParseStat(t *testing.T) {
	const rest = " 4194304 1 0 0 0 0 0 0 0 20 0 1 0 275470 1 2 3"
	for _, c := range []struct {
		name, stat string
		want       OSProcess
		ok         bool
	}{
		{"plain", "7 (claude) S 3 7 7 0 -1" + rest, OSProcess{Parent: 3, Start: "275470"}, true},
		{"a name like the rest of the line", "7 (a) S 1 (b) T 3 7 7 0 -1" + rest, OSProcess{Parent: 3, Start: "275470", Stopped: true}, true},
		{"a zombie", "7 (claude) Z 3 7 7 0 -1" + rest, OSProcess{Parent: 3, Start: "275470", Zombie: true}, true},
		{"cut", "7 (claude) S 3 7 7", OSProcess{}, false},
		{"no name", "7 claude", OSProcess{}, false},
		{"a parent that is none", "7 (claude) S x 7 7 0 -1" + rest, OSProcess{}, false},
		{"empty", "", OSProcess{}, false},
	} {
		if got, ok := parseStat(c.stat); got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %v", c.name, got, ok)
		}
	}
}
