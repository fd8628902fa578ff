package mailbox

import (
	"path/filepath"

	"github.com/fsnotify/fsnotify"

	"sessionhub/lib/claude/entry"
)

// wakes tells a waiter that something it waits for may have changed.
type wakes struct {
	fs    *fsnotify.Watcher
	wake  chan struct{}
	entry bool // the registry is watched, too
}

// c is the channel of wakes; without a watch nothing ever comes.
func (w *wakes) c() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.wake
}

// watch watches the mailbox and the seat. Without a watch for each (there are few
// of them on a system) the waiter looks every two seconds.
func (w *Waiter) watch(s *seat) (wake *wakes, stop func()) {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, func() {}
	}
	for _, path := range []string{w.box.path(), s.path} {
		if err := fs.Add(path); err != nil {
			fs.Close()
			return nil, func() {}
		}
	}
	wake = &wakes{fs: fs, wake: make(chan struct{}, 1)}
	go wake.run(filepath.Dir(entry.Path(w.Home, w.Claude)), entry.Path(w.Home, w.Claude))
	return wake, func() { fs.Close() }
}

// registry watches Claude's entry, from the first message on: until then no other
// session's change of state wakes anybody. It reports whether that works.
func (w *wakes) registry(of *Waiter) bool {
	if w == nil {
		return false
	}
	if !w.entry {
		w.entry = w.fs.Add(filepath.Dir(entry.Path(of.Home, of.Claude))) == nil
	}
	return w.entry
}

// run ends with the watcher. Other sessions' entries wake nobody.
func (w *wakes) run(registry, own string) {
	for {
		select {
		case e, ok := <-w.fs.Events:
			if !ok {
				return
			}
			if filepath.Dir(e.Name) != registry || e.Name == own {
				w.send()
			}
		case _, ok := <-w.fs.Errors:
			if !ok {
				return
			}
			w.send() // events were lost
		}
	}
}

func (w *wakes) send() {
	select {
	case w.wake <- struct{}{}:
	default: // one waits already
	}
}
