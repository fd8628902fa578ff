package store

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"sessionhub/lib/record"
)

// packing is a move of the session a that is packing.
func packing(t *testing.T) (*book, string) {
	t.Helper()
	b := newBook(t)
	for _, machine := range []string{"tower", "laptop"} {
		b.beat(machine, "default")
		b.must(b.write(func(tx *Tx) error { return SetMoveKey(tx, machine, record.MoveKey{Fingerprint: machine}, b.now) }))
	}
	b.beat("tower", "default", "a@p1")
	const id = "01976f3e-7c1a-7c11-9d2e-0d9d0a6a1b11"
	b.must(b.write(func(tx *Tx) error {
		if _, err := AddMove(tx, MoveOrder{ID: id, Session: "a", MovePost: record.MovePost{To: "laptop"}}, b.now); err != nil {
			return err
		}
		c, _, _, err := Claim(tx, "laptop", b.now)
		if err != nil {
			return err
		}
		return FinishClaim(tx, "laptop", record.Result{ID: c.ID, State: record.RequestDone}, b.now)
	}))
	return b, id
}

func (b *book) part(id, content string) *Part {
	b.t.Helper()
	p, err := b.s.NewPart(id)
	b.must(err)
	_, err = p.Write([]byte(content))
	b.must(err)
	return p
}

func (b *book) stands(id string, want record.MoveState, file bool) {
	b.t.Helper()
	m, err := b.s.Move(context.Background(), id)
	_, missing := os.Stat(b.s.bundlePath(id))
	if err != nil || m.State != want || file != (missing == nil) {
		b.t.Errorf("move %+v, %v; file: %v; want %s, %t", m, err, missing, want, file)
	}
}

// A transaction that fails after the file has its name takes the file back.
func TestABundleGoesWithItsTransaction(t *testing.T) {
	b, id := packing(t)
	p := b.part(id, "sealed")
	defer p.Drop()
	b.must(p.file.Sync())
	boom := errors.New("boom")
	err := b.write(func(tx *Tx) error {
		if _, err := takeBundle(tx, "tower", id, p.Bundle(), func() error { return p.place(tx, id) }, b.now); err != nil {
			return err
		}
		if _, err := os.Stat(b.s.bundlePath(id)); err != nil {
			t.Error(err)
		}
		return boom
	})
	if !errors.Is(err, boom) {
		t.Error(err)
	}
	b.stands(id, record.MovePacking, false)

	p = b.part(id, "sealed")
	defer p.Drop()
	err = b.write(func(tx *Tx) error { // and one that can't be committed at all
		if _, err := takeBundle(tx, "tower", id, p.Bundle(), func() error { return p.place(tx, id) }, b.now); err != nil {
			return err
		}
		return tx.exec("ROLLBACK")
	})
	if err == nil {
		t.Error("it was committed")
	}
	b.stands(id, record.MovePacking, false)
}

// The hub is killed at each step of keeping a bundle; it starts anew, and the
// source uploads again.
func TestCrashesWhileABundleIsKept(t *testing.T) {
	for name, crash := range map[string]func(b *book, id string){
		"while it arrives": func(b *book, id string) { b.part(id, "sea") },
		"before its name":  func(b *book, id string) { b.must(b.part(id, "sealed").file.Sync()) },
		"before the commit": func(b *book, id string) {
			p := b.part(id, "sealed")
			b.must(os.Rename(p.file.Name(), b.s.bundlePath(id)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, id := packing(t)
			crash(b, id)
			b.must(b.s.Close())
			s, err := Open(context.Background(), b.path)
			b.must(err)
			b.s = s
			b.must(s.CleanBundles(context.Background(), b.now))
			b.stands(id, record.MovePacking, false)
			if files, err := os.ReadDir(s.bundleDir()); err != nil || len(files) != 0 {
				t.Errorf("left: %v, %v", files, err)
			}
			p := b.part(id, "sealed")
			defer p.Drop()
			_, err = p.Keep(context.Background(), "tower", id, func() time.Time { return b.now })
			b.must(err)
			b.stands(id, record.MoveUploaded, true)
		})
	}
}

// After the end was committed and before its file went.
func TestABundleOfAMoveThatIsOver(t *testing.T) {
	b, id := packing(t)
	p := b.part(id, "sealed")
	defer p.Drop()
	_, err := p.Keep(context.Background(), "tower", id, func() time.Time { return b.now })
	b.must(err)
	b.pass(moveStep)
	b.must(b.write(func(tx *Tx) error { return EndOverdueMoves(tx, b.now) }))
	b.stands(id, record.MoveFailed, false)
	b.must(os.WriteFile(b.s.bundlePath(id), []byte("sealed"), 0o600))
	b.must(b.s.CleanBundles(context.Background(), b.now))
	b.stands(id, record.MoveFailed, false)
}

// What is over is forgotten with the rest, and nothing that is under way.
func TestPruneForgetsMoves(t *testing.T) {
	b, id := packing(t)
	b.must(b.write(func(tx *Tx) error { _, err := CancelMove(tx, id, b.now); return err }))
	b.pass(100 * 24 * time.Hour)
	for _, before := range []time.Time{b.now.Add(-101 * 24 * time.Hour), b.now.Add(-90 * 24 * time.Hour)} {
		if _, err := b.s.Prune(context.Background(), before, b.now); err != nil {
			t.Fatal(err)
		}
		_, err := b.s.Move(context.Background(), id)
		if kept := b.now.Sub(before) > 100*24*time.Hour; kept != (err == nil) || !kept && !errors.Is(err, ErrUnknown) {
			t.Errorf("kept %t: %v", kept, err)
		}
	}
}
