package hub

import (
	"io"
	"sync"
	"sync/atomic"

	"sessionhub/lib/record"
)

// transfers counts the bytes of bundles that are on their way, for who watches.
type transfers struct {
	mu   sync.Mutex
	list map[string]*transfer // by move
}

type transfer struct {
	done atomic.Int64
	size int64
}

// begin counts for a move, in place of an earlier try, until end is called.
func (t *transfers) begin(move string, size int64) (now *transfer, end func()) {
	now = &transfer{size: size}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.list == nil {
		t.list = map[string]*transfer{}
	}
	t.list[move] = now
	return now, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.list[move] == now {
			delete(t.list, move)
		}
	}
}

// of is nil for a move whose bundle is not on its way.
func (t *transfers) of(move string) *record.Transfer {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, ok := t.list[move]
	if !ok {
		return nil
	}
	return &record.Transfer{Done: now.done.Load(), Size: now.size}
}

// sending counts what is read of a bundle, from wherever on that is.
type sending struct {
	io.ReadSeeker
	to *transfer
}

func (s sending) Read(b []byte) (int, error) {
	n, err := s.ReadSeeker.Read(b)
	s.to.done.Add(int64(n))
	return n, err
}

func (s sending) Seek(offset int64, whence int) (int64, error) {
	at, err := s.ReadSeeker.Seek(offset, whence)
	s.to.done.Store(at)
	return at, err
}
