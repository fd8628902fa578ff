package hub

import "sync"

// bell wakes those who wait for a name: a machine's long poll, or who waits for
// a request to end. Waiting costs a channel and an entry in a map.
type bell struct {
	mu     sync.Mutex
	ears   map[string]map[chan struct{}]struct{}
	closed chan struct{}
	once   sync.Once
}

func newBell() *bell {
	return &bell{ears: make(map[string]map[chan struct{}]struct{}), closed: make(chan struct{})}
}

// join listens for a name. The channel has a value once it was rung, however
// often.
func (b *bell) join(name string) chan struct{} {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ears[name] == nil {
		b.ears[name] = make(map[chan struct{}]struct{}, 1)
	}
	b.ears[name][c] = struct{}{}
	return c
}

// leave ends join.
func (b *bell) leave(name string, c chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.ears[name], c)
	if len(b.ears[name]) == 0 {
		delete(b.ears, name)
	}
}

// ring never waits.
func (b *bell) ring(names ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range names {
		for c := range b.ears[name] {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
}

// close lets everybody go.
func (b *bell) close() { b.once.Do(func() { close(b.closed) }) }
