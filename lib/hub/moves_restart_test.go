package hub_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
)

// The hub is restarted between any two steps, and nothing is lost.
func TestAMoveOutlivesTheHub(t *testing.T) {
	for _, at := range []record.MoveState{record.MoveRequested, record.MoveChecking, record.MovePacking, record.MoveUploaded, record.MoveUnpacking, record.MoveStarting} {
		t.Run(string(at), func(t *testing.T) {
			d := newMovers(t)
			id := d.upTo(at)
			d.hub.Restart()
			d.is(id, at, "")
			d.clock.turn(31 * time.Second) // who worked on it is gone, too
			next := map[record.MoveState]func() record.MoveState{
				record.MoveRequested: func() record.MoveState {
					d.take(d.laptop, record.ActionMoveCheck, record.MoveChecking)
					return record.MoveChecking
				},
				record.MoveChecking: func() record.MoveState {
					d.finish(d.laptop, d.take(d.laptop, record.ActionMoveCheck, record.MoveChecking).ID, record.RequestDone, "")
					return record.MovePacking
				},
				record.MovePacking: func() record.MoveState {
					d.take(d.tower, record.ActionMoveOut, record.MovePacking)
					d.must(d.upload(id, content))
					return record.MoveUploaded
				},
				record.MoveUploaded: func() record.MoveState {
					d.take(d.laptop, record.ActionMoveIn, record.MoveUnpacking)
					return record.MoveUnpacking
				},
				record.MoveUnpacking: func() record.MoveState {
					in := d.take(d.laptop, record.ActionMoveIn, record.MoveUnpacking)
					var got bytes.Buffer
					d.must(d.laptop.DownloadBundle(t.Context(), id, *in.Move.Bundle, &got))
					if !bytes.Equal(got.Bytes(), content) {
						t.Error("another bundle")
					}
					d.must(d.says(d.laptop, id, record.MoveStarting, ""))
					return record.MoveStarting
				},
				record.MoveStarting: func() record.MoveState {
					d.take(d.laptop, record.ActionMoveIn, record.MoveStarting)
					d.must(d.says(d.laptop, id, record.MoveDone, ""))
					return record.MoveDone
				},
			}[at]
			state := next()
			d.hub.Restart()
			d.is(id, state, "")
		})
	}
}

// A backup has no bundles: what waits for one fails when the restored hub
// starts, and what is starting stays its target's.
func TestARestoredBackup(t *testing.T) {
	for at, want := range map[record.MoveState]record.MoveState{
		record.MoveUploaded: record.MoveFailed, record.MoveUnpacking: record.MoveFailed, record.MoveStarting: record.MoveStarting,
	} {
		t.Run(string(at), func(t *testing.T) {
			d := newMovers(t)
			id := d.upTo(at)
			d.hub.Down()
			d.must(os.RemoveAll(d.hub.Path + ".bundles"))
			d.hub.Up()
			m, err := d.owner.GetMove(t.Context(), id, "", 0)
			if err != nil || m.State != want {
				t.Errorf("%+v, %v", m, err)
			}
			if want == record.MoveFailed {
				d.take(d.tower, record.ActionMoveFinish, record.MoveFailed)
			}
		})
	}
}

// Files that no move needs go when the hub starts.
func TestStraysGo(t *testing.T) {
	d := newMovers(t)
	id := d.upTo(record.MoveUploaded)
	dir := filepath.Dir(d.bundleFile(id))
	for _, name := range []string{id + ".12345.part", "01976f3e-7c1a-7c11-9d2e-0d9d0a6a1b11.age"} {
		d.must(os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	d.must(os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("a person's"), 0o600))
	if r, err := d.hub.Store().Bundles(t.Context()); err != nil || r != (store.BundleReport{Waiting: 1, Strays: 2}) {
		t.Errorf("bundles %+v, %v", r, err)
	}
	d.hub.Restart()
	files, err := os.ReadDir(dir)
	d.must(err)
	if len(files) != 2 || files[0].Name() != id+".age" || files[1].Name() != "notes.txt" {
		t.Errorf("left: %v", files)
	}
	if fi, err := os.Stat(d.bundleFile(id)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
}
