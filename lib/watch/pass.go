package watch

import (
	"context"
	"errors"
	"slices"
	"time"

	"sessionhub/lib/hubclient"
	"sessionhub/lib/queue"
	"sessionhub/lib/record"
)

// Result counts what a pass did.
type Result struct {
	Sent     int `json:"sent"`
	Kept     int `json:"kept"`
	Dropped  int `json:"dropped"` // superseded by a later record
	SetAside int `json:"set_aside"`

	// Err is why the pass stopped before its end, if it did.
	Err error `json:"-"`
}

// outcome is what became of an entry.
type outcome int

const (
	kept outcome = iota
	delivered
	superseded
	setAside
)

// pass is one drain of the queue.
type pass struct {
	w        *Watcher
	entries  []queue.Entry
	outcomes []outcome
	segments []string
	unread   []string        // segments that can't be read
	dirty    map[string]bool // segments that had lines which are no records
	bad      []queue.Bad
	hub      Hub
	states   bool // a state was delivered: herdr may still lag behind it
	rested   []record.LiveSession
	waits    bool // something waits for a pane to be identified
	err      error
}

// Pass takes the queue over and delivers what it can. The caller holds
// watcher.lock.
func (w *Watcher) Pass(ctx context.Context) (Result, error) {
	if err := w.start(); err != nil {
		return Result{}, err
	}
	p := &pass{w: w, dirty: map[string]bool{}}
	if err := w.Queue.TakeOver(); err != nil {
		w.Log.Failure("queue: %v", err) // what was taken before is sent all the same
	}
	if err := p.read(); err != nil {
		return Result{}, err
	}
	if len(p.segments) == 0 {
		return Result{}, nil
	}
	p.coalesce()
	p.look(ctx)
	p.deliver(ctx)
	res, err := p.settle()
	res.Err = p.err
	w.afterPass(p, res)
	return res, err
}

func (p *pass) read() error {
	var err error
	if p.segments, err = p.w.Queue.Segments(); err != nil {
		return err
	}
	for _, name := range p.segments {
		entries, bad, err := p.w.Queue.ReadSegment(name)
		if err != nil {
			p.w.fail("queue: %v", err) // it stays; the others go on
			p.unread = append(p.unread, name)
			continue
		}
		p.entries = append(p.entries, entries...)
		p.bad = append(p.bad, bad...)
		p.dirty[name] = len(bad) > 0
	}
	p.outcomes = make([]outcome, len(p.entries))
	return nil
}

func (p *pass) coalesce() {
	items := make([]record.Item, len(p.entries))
	for i := range p.entries {
		items[i] = p.entries[i].Item
	}
	for i, s := range Superseded(items) {
		if s {
			p.outcomes[i] = superseded
		}
	}
}

// look takes one inventory of each server that a record names a pane of. It
// is later than every record of the pass, whatever the clock says.
func (p *pass) look(ctx context.Context) {
	for _, s := range p.w.servers {
		s.passed = false
	}
	asked := map[string]bool{}
	for i := range p.entries {
		it := &p.entries[i].Item
		if it.Pane == nil || p.outcomes[i] != kept || asked[it.Pane.Herdr] {
			continue
		}
		asked[it.Pane.Herdr] = true
		p.w.learn(it.Pane.Herdr)
		if err := p.w.takeWithin(ctx, p.w.server(it.Pane.Herdr), passLookWait); err != nil && !errors.Is(err, errPaused) {
			p.w.Log.Failure("look: %v", err)
		}
	}
}

func (p *pass) deliver(ctx context.Context) {
	hub, err := p.w.Connect()
	if err != nil {
		p.w.fail("send skipped: %v", err)
		p.err = err
		return
	}
	p.hub = hub
	still := make(map[string]time.Time)
	for i := range p.entries {
		if p.outcomes[i] != kept {
			continue
		}
		it := p.entries[i].Item
		r := p.w.resolve(it, still)
		switch r.action {
		case wait:
			p.waits = p.waits || r.soon
			continue
		case drop:
			p.outcomes[i] = superseded
			continue
		case refuse:
			p.aside(i, r.reason)
			continue
		}
		err := p.w.send(ctx, hub, it, r)
		switch hubclient.Classify(err) {
		case hubclient.Delivered:
			p.outcomes[i] = delivered
			if it.Kind == record.KindState {
				p.states = true
				p.noteRested(r)
			}
		case hubclient.Retry, hubclient.Denied:
			p.w.fail("send: %v", err)
			p.err = err
			p.keepWaiting(still, i)
			p.w.waiting = still
			return
		default:
			p.aside(i, err.Error())
		}
	}
	p.w.waiting = still
}

// noteRested notes a session that came to rest: its turn is over, and what it
// said can be read.
func (p *pass) noteRested(r resolution) {
	switch {
	case !atRest(p.w.sent[r.session].AgentState):
	case r.live != nil:
		p.rested = append(p.rested, *r.live)
	default:
		p.rested = append(p.rested, record.LiveSession{Session: r.session})
	}
}

// keepWaiting carries over since when the entries that this pass did not
// reach wait.
func (p *pass) keepWaiting(still map[string]time.Time, from int) {
	for i := from; i < len(p.entries); i++ {
		id := p.entries[i].Item.ID
		if at, ok := p.w.waiting[id]; ok {
			still[id] = at
		}
	}
}

func (p *pass) aside(i int, reason string) {
	e := p.entries[i]
	p.outcomes[i] = setAside
	p.bad = append(p.bad, queue.Bad{Reason: reason, Line: e.Line, Segment: e.Segment, Offset: -1})
	p.w.Log.Failure("set aside: %s %s: %s", e.Item.Kind, e.Item.ID, reason)
}

// keepBad leaves what could not be set aside where it is.
func (p *pass) keepBad(keep map[string][][]byte) {
	for i, o := range p.outcomes {
		if o == setAside {
			p.outcomes[i] = kept
		}
	}
	for _, b := range p.bad {
		if b.Offset >= 0 { // the others are entries
			keep[b.Segment] = append(keep[b.Segment], b.Line)
		}
	}
}

// settle takes what is settled out of the segments: set aside first, durably,
// so that a crash in between loses nothing.
func (p *pass) settle() (Result, error) {
	q := p.w.Queue
	var res Result
	keep := make(map[string][][]byte)
	if err := q.SetAside(p.bad); err != nil {
		p.w.fail("queue: %v", err)
		p.keepBad(keep)
	} else {
		res.SetAside = len(p.bad)
	}
	settled := make(map[string]bool)
	for i, e := range p.entries {
		switch p.outcomes[i] {
		case kept:
			res.Kept++
			keep[e.Segment] = append(keep[e.Segment], e.Line)
			continue
		case delivered:
			res.Sent++
		case superseded:
			res.Dropped++
		}
		settled[e.Segment] = true
	}
	err := q.Count(queue.Counters{Delivered: int64(res.Sent), Superseded: int64(res.Dropped), SetAside: int64(res.SetAside)})
	if err != nil {
		p.w.Log.Failure("queue: %v", err) // totals are worth less than records
	}
	for _, name := range p.segments {
		if slices.Contains(p.unread, name) {
			continue
		}
		if !settled[name] && !p.dirty[name] && len(keep[name]) > 0 {
			continue
		}
		if err := q.Settle(name, keep[name]); err != nil {
			return res, err
		}
	}
	return res, nil
}
