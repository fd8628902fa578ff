package watch

import (
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// wakeKind is what a change of a file asks for.
type wakeKind int

const (
	wakeQueue wakeKind = iota // a record was appended
	wakeLook                  // something to look at
)

// wakes tells of changed files, each kind by a channel of its own, so that
// many of one kind never hide one of the other. err is set when there is no
// file watch.
type wakes struct {
	c      [2]chan struct{} // by wakeKind
	err    error
	fs     *fsnotify.Watcher
	claude string // Claude's folder of live sessions
	seen   bool   // it is watched
}

// watchFiles watches the state directory for appends and Claude's folder of
// live sessions for changes. Its goroutine ends with close.
func (w *Watcher) watchFiles() *wakes {
	k := &wakes{claude: w.Claude}
	for i := range k.c {
		k.c[i] = make(chan struct{}, 1)
	}
	if k.err = w.Dir.Ensure(); k.err != nil {
		return k
	}
	spill, err := w.Dir.Sub("queue.spill")
	if err != nil {
		k.err = err
		return k
	}
	if k.fs, k.err = fsnotify.NewWatcher(); k.err != nil {
		return k
	}
	for _, dir := range []string{string(w.Dir), spill} {
		if k.err = k.fs.Add(dir); k.err != nil {
			k.close()
			return k
		}
	}
	k.watchClaude()
	go k.run(w.Dir.Queue(), w.Dir.Look(), spill, w.Claude)
	return k
}

// watchClaude adds Claude's folder, which is there from the first Claude on.
// Without it states come with herdr's events alone.
func (k *wakes) watchClaude() {
	if k.fs == nil || k.seen || k.claude == "" {
		return
	}
	k.seen = k.fs.Add(k.claude) == nil
}

// run turns file events into wakes. A wake that is already waiting stands for
// those that follow.
func (k *wakes) run(queue, look, spill, claude string) {
	for {
		select {
		case e, ok := <-k.fs.Events:
			if !ok {
				return
			}
			switch dir := filepath.Dir(e.Name); {
			case e.Name == queue && e.Has(fsnotify.Write|fsnotify.Create), dir == spill && e.Has(fsnotify.Create|fsnotify.Rename):
				k.send(wakeQueue)
			case e.Name == look && e.Has(fsnotify.Write|fsnotify.Create), claude != "" && dir == claude:
				k.send(wakeLook)
			}
		case _, ok := <-k.fs.Errors:
			if !ok {
				return
			}
			k.send(wakeQueue) // events were lost: look at everything
			k.send(wakeLook)
		}
	}
}

func (k *wakes) send(kind wakeKind) {
	select {
	case k.c[kind] <- struct{}{}:
	default: // one waits already
	}
}

func (k *wakes) close() {
	if k.fs != nil {
		k.fs.Close()
	}
}
