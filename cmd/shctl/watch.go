package main

import (
	"context"
	"fmt"
	"time"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/hubclient"
)

const (
	// tickEvery is how often a watched table is shown anew, so that its ages
	// and its width stay true. It asks nobody.
	tickEvery = time.Second
	// askAtLeast is how often the hub is asked although it told of no change.
	askAtLeast = 15 * time.Second
	// joinAgain is how long after its end the stream of changes is joined
	// again.
	joinAgain = 2 * time.Second
)

// live is something that is shown anew when it changes.
type live struct {
	c     *front.Call
	hub   *hubclient.Client
	fetch func() (show func() error, err error)
	// keys are pressed keys, nil where there are none; press takes one, and says
	// whether that ends the show.
	keys  <-chan string
	press func(key string) (end bool)
}

// redraw shows what fetch gives, at once, after every change, after a key, and
// on a terminal every second, until the context ends. While the hub is out of
// reach the last that was known stays, with a line that says so.
func (l *live) redraw(ctx context.Context) error {
	changed := l.changes(ctx)
	show, err := l.fetch()
	if err != nil {
		return err
	}
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for asked := time.Now(); ; {
		if err := frame(l.c, show, err); err != nil {
			return err
		}
		ask, end, werr := l.wait(ctx, changed, tick.C, asked)
		if end || werr != nil {
			return werr
		}
		if !ask && time.Since(asked) < askAtLeast {
			continue
		}
		asked = time.Now()
		var fresh func() error
		if fresh, err = l.fetch(); err == nil {
			show = fresh
		} else if !l.c.Terminal() {
			return err
		}
	}
}

// changes is a channel that tells of changes at the hub, until the context
// ends.
func (l *live) changes(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	wake := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	go func() {
		for ctx.Err() == nil {
			_ = l.hub.Changes(ctx, wake) // why it ended shows when the hub is asked
			wake()
			pause(ctx, joinAgain)
		}
	}()
	return changed
}

// wait waits for something to show: ask says that the hub is to be asked, end
// that a key ended the show.
func (l *live) wait(ctx context.Context, changed <-chan struct{}, tick <-chan time.Time, asked time.Time) (ask, end bool, err error) {
	for {
		select {
		case <-ctx.Done():
			return false, false, ctx.Err()
		case <-changed:
			return true, false, nil
		case k, open := <-l.keys:
			if !open {
				l.keys = nil
				continue
			}
			return true, l.press(k), nil
		case <-tick:
			if l.c.Terminal() || time.Since(asked) >= askAtLeast {
				return false, false, nil
			}
		}
	}
}

// frame draws one picture.
func frame(c *front.Call, show func() error, trouble error) error {
	if !c.Terminal() {
		return show()
	}
	fmt.Fprint(c.Stdout, "\x1b[H\x1b[2J")
	if trouble != nil {
		fmt.Fprintf(c.Stdout, "not up to date: %v\n\n", trouble)
	}
	return show()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
