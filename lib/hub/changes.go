package hub

import "sync"

// changes tells those who watch that something changed. Who is slow hears of
// several changes at once.
type changes struct {
	mu     sync.Mutex
	ears   map[chan struct{}]struct{}
	closed bool
}

func newChanges() *changes { return &changes{ears: make(map[chan struct{}]struct{})} }

// join returns a channel that gets a value after a change and is closed when
// the hub shuts down. leave ends it.
func (c *changes) join() (ear <-chan struct{}, leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan struct{}, 1)
	if c.closed {
		close(ch)
		return ch, func() {}
	}
	c.ears[ch] = struct{}{}
	return ch, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.ears, ch)
	}
}

func (c *changes) notify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ch := range c.ears {
		select {
		case ch <- struct{}{}:
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
	for ch := range c.ears {
		close(ch)
	}
	clear(c.ears)
}
