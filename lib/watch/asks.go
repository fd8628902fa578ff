package watch

import (
	"sessionhub/lib/ask"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
)

// endDeadAsks tells the end of asks whose hook is dead: a hook that is killed
// can't tell it. What it left is removed once its end is on the queue.
func (w *Watcher) endDeadAsks() {
	list, err := ask.List(w.Dir)
	if err != nil {
		w.fail("asks: %v", err)
		return
	}
	for _, f := range list {
		if f.Alive() {
			continue
		}
		if err := w.endAsk(f); err != nil {
			w.fail("asks: %v", err)
		}
	}
	if err := ask.Sweep(w.Dir); err != nil {
		w.fail("asks: %v", err)
	}
}

func (w *Watcher) endAsk(f *ask.File) error {
	s := queue.NewStamp(w.Now())
	it, err := record.NewItem(s.ID, s.At, record.SourceWatch, record.KindAskEnded, record.AskEnded{Ask: f.Ask, How: record.HowExited})
	if err != nil {
		return err
	}
	it.Session = f.Session
	if err := it.Validate(); err != nil { // a file that no hook wrote
		return ask.Remove(w.Dir, f.Ask)
	}
	if err := w.Queue.Append(queue.Durable, it); err != nil {
		return err
	}
	return ask.Remove(w.Dir, f.Ask)
}
