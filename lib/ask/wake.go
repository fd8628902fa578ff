package ask

import (
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"

	"sessionhub/lib/claude/entry"
)

// wakes tells a waiting hook that something it waits for may have changed.
type wakes struct {
	fs   *fsnotify.Watcher
	wake chan struct{}
}

// c is the channel of wakes; without a watch nothing ever comes.
func (w *wakes) c() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.wake
}

// watch watches the answer, the registry and the transcript. Without a watch for
// each (there are few of them on a system) the hook looks every two seconds.
func (h *Hook) watch() (w *wakes, stop func()) {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, func() {}
	}
	registry := entry.Path(h.Home, h.Claude)
	answer := answerPath(h.Dir, h.file.Ask)
	seen := h.file.Transcript // its folder when it is not there yet, as with the first prompt
	if _, err := os.Stat(seen); err != nil {
		seen = filepath.Dir(seen)
	}
	for _, path := range []string{filepath.Dir(answer), filepath.Dir(registry), seen} {
		if err := fs.Add(path); err != nil {
			fs.Close()
			return nil, func() {}
		}
	}
	w = &wakes{fs: fs, wake: make(chan struct{}, 1)}
	go w.run(answer, registry, filepath.Clean(h.file.Transcript))
	return w, func() { fs.Close() }
}

// run ends with the watcher. Others' asks and sessions wake nobody.
func (w *wakes) run(names ...string) {
	for {
		select {
		case e, ok := <-w.fs.Events:
			if !ok {
				return
			}
			for _, n := range names {
				if e.Name == n {
					w.send()
				}
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
