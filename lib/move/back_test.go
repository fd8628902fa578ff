package move

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sessionhub/lib/record"
)

// A session comes back to where it left its changes, and its new machine is
// killed, or can't take it: it is there with all that it brings, or the clone is
// as it had left it.
func TestKilledComingBack(t *testing.T) {
	for _, fails := range []bool{false, true} {
		list := []point{{TargetApply, false}, {TargetApply, true}, {TargetClaim, true}, {TargetDone, true}}
		if fails {
			list = []point{{TargetApply, true}, {TargetUndo, false}, {TargetUndo, true}}
		}
		for _, at := range list {
			t.Run(fmt.Sprintf("fails %t/%s/%t", fails, at.phase, at.done), func(t *testing.T) {
				t.Parallel()
				c := &clock{}
				p, mv, _, _ := started(t, c)
				if mv = p.settles(c, mv); mv.State != record.MoveDone {
					t.Fatalf("%+v", mv)
				}
				left := p.tower.status()
				todo := filepath.Join(p.tower.clone, "notes", "todo.txt")
				was, err := os.ReadFile(todo)
				if err != nil {
					t.Fatal(err)
				}
				p.write(p.laptop.clone, "notes/todo.txt", "gone on with\n")
				p.write(p.laptop.clone, "more.txt", "new\n")
				there := strings.Replace(p.laptop.status(), "? .env\n", "", 1)
				p.laptop.beat()
				p.tower.beat()
				mv = p.ask(p.id, record.MovePost{To: "tower"})
				hit := false
				p.on(at, func() { hit = true; panic(killed{}) })
				if next := p.tower.end.at; fails {
					p.tower.end.at = func(phase Phase, done bool) {
						if phase == TargetClaim && !done {
							c.pass(11 * 60e9) // the hub gives it up
						}
						next(phase, done)
					}
				}
				mv = p.settles(c, mv)
				if !hit || fails && mv.State != record.MoveFailed {
					t.Errorf("that moment never came, or %+v", mv)
				}
				if mv.State == record.MoveDone {
					b, err := os.ReadFile(todo)
					if got := strings.Replace(p.tower.status(), "? .env\n", "", 1); got != there || string(b) != "gone on with\n" || p.runs(p.id) == "laptop" {
						t.Errorf("todo.txt %q %v, it runs at %q, and the status is\n%s\nwant\n%s", b, err, p.runs(p.id), got, there)
					}
					return
				}
				b, err := os.ReadFile(todo)
				if got := p.tower.status(); got != left || string(b) != string(was) || p.runs(p.id) != "laptop" {
					t.Errorf("%s: todo.txt %q %v, it runs at %q, and the status is\n%s\nwant\n%s", mv.Detail, b, err, p.runs(p.id), got, left)
				}
				if keep, _ := filepath.Glob(filepath.Join(p.tower.clone, ".git", "sessionhub*")); len(keep) > 0 {
					t.Errorf("%v stays", keep)
				}
			})
		}
	}
}
