package move

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sessionhub/lib/record"
)

// The clone can't be put back when a move fails: another git is at work in it. The
// journal stays, no other move starts on what is left, and a person takes it back
// later.
func TestTheCloneCantBePutBack(t *testing.T) {
	c := &clock{}
	p, mv, tower, laptop := started(t, c)
	lock := filepath.Join(p.laptop.clone, ".git", "index.lock")
	p.on(point{TargetClaim, false}, func() {
		if err := os.WriteFile(lock, nil, 0o600); err != nil {
			t.Error(err)
		}
		c.pass(11 * 60e9) // the hub gives it up
	})
	for p.tower.work() || p.laptop.work() {
	}
	mv = p.now(mv.ID)
	if mv.State != record.MoveFailed || p.runs(p.id) != "tower" {
		t.Fatalf("%+v, it runs at %q", mv, p.runs(p.id))
	}
	list, err := p.laptop.end.Journals()
	if err != nil || len(list) != 1 || !strings.Contains(list[0].Detail, "; putting the clone back failed: ") ||
		!strings.HasSuffix(list[0].Detail, "; shmove undo --move "+mv.ID+" on laptop tries again") {
		t.Fatalf("%+v %v", list, err)
	}
	if _, err := p.laptop.end.UndoByHand(t.Context(), mv.ID); err == nil || !strings.Contains(err.Error(), "not all is taken back") {
		t.Errorf("undo while it can't be: %v", err)
	}
	if got, err := p.laptop.end.Recover(t.Context(), p.laptop.out()); err != nil || len(got) != 1 || !got[0].Waits {
		t.Errorf("recover: %+v %v", got, err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	p.tower.beat()
	p.laptop.beat()
	again := p.move(p.id, record.MovePost{To: "laptop"})
	if again.State != record.MoveFailed || !strings.Contains(again.Detail, "has changes of a move that could not be taken back: shmove undo --move "+mv.ID) {
		t.Errorf("%+v", again)
	}
	if said, err := p.laptop.end.UndoByHand(t.Context(), mv.ID); err != nil || !strings.HasPrefix(said, "taken back; the clone is back on ") {
		t.Errorf("%q %v", said, err)
	}
	if got := p.laptop.status(); got != laptop || len(p.laptop.leftovers()) > 0 {
		t.Errorf("the laptop's clone:\n%s\nwant\n%s\nand %v stays", got, laptop, p.laptop.leftovers())
	}
	if mv = p.move(p.id, record.MovePost{To: "laptop"}); mv.State != record.MoveDone {
		t.Errorf("%+v", mv)
	}
	p.sound(mv, tower, laptop)
}
