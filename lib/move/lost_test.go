package move

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"sessionhub/lib/hubclient"
	"sessionhub/lib/record"
)

// The keys become unusable on either machine at any moment: what has begun is
// brought to its end without them.
func TestTheKeysAreLostMeanwhile(t *testing.T) {
	for _, at := range points() {
		if at.done || at.phase == SourceCheck {
			continue // the next moment comes to the same, and the first finds it
		}
		t.Run(string(at.phase), func(t *testing.T) {
			t.Parallel()
			c := &clock{}
			p, mv, tower, laptop := started(t, c)
			p.on(at, func() { p.tower.end.Keys, p.laptop.end.Keys = nil, nil })
			mv = p.settles(c, mv)
			p.sound(mv, tower, laptop)
		})
	}
}

// The hub's database is another one, from any moment on: neither end waits for
// ever, and the session is in one place, where it runs or can be resumed.
func TestTheHubHasLostTheMove(t *testing.T) {
	for _, at := range points() {
		if at.done {
			continue // the next moment comes to the same
		}
		t.Run(string(at.phase), func(t *testing.T) {
			t.Parallel()
			c := &clock{}
			p, mv, tower, _ := started(t, c)
			p.on(at, func() {
				p.tower.end.Hub, p.laptop.end.Hub = lostMove{p.tower.end.Hub}, lostMove{p.laptop.end.Hub}
				panic(killed{})
			})
			for range 3 {
				for p.tower.worked(c) || p.laptop.worked(c) {
				}
				for _, m := range []*machine{p.tower, p.laptop} {
					if _, err := m.end.Recover(t.Context(), m.out()); err != nil {
						t.Errorf("recover at %s: %v", m.name, err)
					}
				}
				p.single()
			}
			left := append(p.tower.leftovers(), p.laptop.leftovers()...)
			if at := p.transcripts(p.id); len(left) > 0 || at == "" || p.tower.status() != tower {
				t.Errorf("transcripts at %q, it runs at %q, %v stays\ntower %+v\nlaptop %+v", at, p.runs(p.id), left, p.tower.steps, p.laptop.steps)
			}
			if release, err := p.tower.desk().Lease(p.id, "a person"); err != nil {
				t.Errorf("it can't be resumed at the tower: %v", err)
			} else {
				release()
			}
			t.Logf("%v runs at %q, transcripts at %q", mv.ID, p.runs(p.id), p.transcripts(p.id))
		})
	}
}

// lostMove is a hub that knows of no move.
type lostMove struct{ Hub }

func (lostMove) err() error {
	return &hubclient.Error{Status: http.StatusNotFound}
}

func (l lostMove) GetMove(context.Context, string, record.MoveState, time.Duration) (record.Move, error) {
	return record.Move{}, l.err()
}

func (l lostMove) PostMoveResult(context.Context, record.MoveResult) (record.Move, error) {
	return record.Move{}, l.err()
}

func (l lostMove) UploadBundle(context.Context, string, record.Bundle, io.Reader) (record.Move, error) {
	return record.Move{}, l.err()
}

func (l lostMove) DownloadBundle(context.Context, string, record.Bundle, io.Writer) error {
	return l.err()
}
