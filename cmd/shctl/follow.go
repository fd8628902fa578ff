package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"sessionhub/lib/hubclient"
)

// pollFor is how long one look at a request or a move waits for a change.
const pollFor = 20 * time.Second

// followed is what goes on at the hub and is waited for.
type followed[T any] struct {
	words func(T) string // how it stands, in a line
	ended func(T) bool
	next  func(ctx context.Context, now T, wait time.Duration) (T, error)
	left  string // what a person is told who stops waiting
}

// follow waits for the end, for at most limit, and tells each change. A hub that
// is out of reach is asked again.
func (f followed[T]) follow(ctx context.Context, tell io.Writer, now T, limit time.Duration) (T, error) {
	end := time.Now().Add(limit)
	shown := ""
	for {
		if words := f.words(now); words != shown && !f.ended(now) {
			fmt.Fprintln(tell, words)
			shown = words
		}
		left := time.Until(end)
		if f.ended(now) || left <= 0 {
			return now, nil
		}
		next, err := f.next(ctx, now, min(left, pollFor))
		if ctx.Err() != nil {
			fmt.Fprintln(tell, f.left)
			return now, ctx.Err()
		}
		var e *hubclient.Error
		switch {
		case err == nil:
			now = next
		case errors.As(err, &e) && e.Retryable():
			pause(ctx, time.Second)
		default:
			return now, err
		}
	}
}
