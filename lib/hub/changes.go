package hub

import (
	"slices"
	"sync"
)

// changes tells those who watch which sessions changed. Who is slow hears of a
// session once, however often it changed meanwhile.
type changes struct {
	mu     sync.Mutex
	ears   map[*ear]struct{}
	closed bool
}

// ear is one who watches.
type ear struct {
	all  *changes
	some chan struct{} // has a value when there is something to take; closed at the end
	ids  map[string]struct{}
}

func newChanges() *changes { return &changes{ears: make(map[*ear]struct{})} }

// join adds an ear. Its channel is closed when the hub shuts down.
func (c *changes) join() *ear {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := &ear{all: c, some: make(chan struct{}, 1), ids: make(map[string]struct{})}
	if c.closed {
		close(e.some)
		return e
	}
	c.ears[e] = struct{}{}
	return e
}

// leave ends the ear.
func (e *ear) leave() {
	e.all.mu.Lock()
	defer e.all.mu.Unlock()
	delete(e.all.ears, e)
}

// take returns the sessions that changed since the last take, sorted.
func (e *ear) take() []string {
	e.all.mu.Lock()
	defer e.all.mu.Unlock()
	ids := make([]string, 0, len(e.ids))
	for id := range e.ids {
		ids = append(ids, id)
	}
	clear(e.ids)
	slices.Sort(ids)
	return ids
}

// tell never waits: it is called by the one who writes.
func (c *changes) tell(sessions []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := range c.ears {
		for _, id := range sessions {
			e.ids[id] = struct{}{}
		}
		select {
		case e.some <- struct{}{}:
		default:
		}
	}
}

func (c *changes) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	for e := range c.ears {
		close(e.some)
	}
	clear(c.ears)
}
