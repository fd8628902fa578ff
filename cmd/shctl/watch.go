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

// redraw shows what fetch gives, at once, after every change, and on a terminal
// every second, until the context ends. While the hub is out of reach the last
// that was known stays, with a line that says so.
func redraw(ctx context.Context, c *front.Call, hub *hubclient.Client, fetch func() (show func() error, err error)) error {
	changed := make(chan struct{}, 1)
	wake := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	go func() { // ends with the context
		for ctx.Err() == nil {
			_ = hub.Changes(ctx, wake) // why it ended shows when the hub is asked
			wake()
			pause(ctx, joinAgain)
		}
	}()
	show, err := fetch()
	if err != nil {
		return err
	}
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for asked := time.Now(); ; {
		if err := frame(c, show, err); err != nil {
			return err
		}
		ask := false
		for again := true; again; {
			again = false
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-changed:
				ask = true
			case <-tick.C:
				again = !c.Terminal() && time.Since(asked) < askAtLeast
			}
		}
		if !ask && time.Since(asked) < askAtLeast {
			continue
		}
		asked = time.Now()
		var fresh func() error
		if fresh, err = fetch(); err == nil {
			show = fresh
		} else if !c.Terminal() {
			return err
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
