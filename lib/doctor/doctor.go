// Package doctor tests each link of the chain from a herdr pane to the hub, as
// the daemons see it, and says for each whether it is fine, broken, or not set
// up, and what to do. It repairs nothing and leaves nothing behind.
//
// Each check is a function of its own with a time limit of its own; what one
// finds, or that it hangs, stops no other. One that can't say anything because
// another link is broken says so briefly.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// State is how a link is.
type State string

// The states. Only Broken is a fault.
const (
	Fine     State = "fine"
	Broken   State = "broken"
	NotSetUp State = "not_set_up" // its person may want it, or not
	Untested State = "untested"   // nothing can be said now
)

// Finding is what a check found: a line of `shinstall doctor`.
type Finding struct {
	Check string `json:"check"`
	State State  `json:"state"`
	Why   string `json:"why"`
	Fix   string `json:"fix,omitempty"`   // what to do
	Lines string `json:"lines,omitempty"` // to be put into a file by a person
}

func fine(format string, args ...any) Finding {
	return Finding{State: Fine, Why: fmt.Sprintf(format, args...)}
}

func untested(format string, args ...any) Finding {
	return Finding{State: Untested, Why: fmt.Sprintf(format, args...)}
}

func broken(fix, format string, args ...any) Finding {
	return Finding{State: Broken, Fix: fix, Why: fmt.Sprintf(format, args...)}
}

func notSetUp(fix, format string, args ...any) Finding {
	return Finding{State: NotSetUp, Fix: fix, Why: fmt.Sprintf(format, args...)}
}

// Check is one link's test.
type Check struct {
	Name string
	// Needs are checks that must have been fine, or there is nothing to say.
	Needs []string
	// Limit bounds it; zero is usualLimit.
	Limit time.Duration
	Look  func(ctx context.Context, known Known) Finding
}

// Known is what was found so far, by the names of checks.
type Known map[string]State

// unmet names the first of some checks that was not fine.
func (k Known) unmet(names ...string) (name string, missing bool) {
	for _, n := range names {
		if k[n] != Fine {
			return n, true
		}
	}
	return "", false
}

// words is a check's state for people.
func (k Known) words(name string) string { return k[name].Words() }

// Words is the state for people.
func (s State) Words() string { return strings.ReplaceAll(string(s), "_", " ") }

// The limits of a check.
const (
	usualLimit = 10 * time.Second
	// overtime is what a check gets beyond its limit to end, and to clean up.
	overtime = 5 * time.Second
)

// Run runs checks in their order and reports each finding as it comes. The error
// is that of a context that ended: what is left is not run then, and the check
// under way has cleaned up.
func Run(ctx context.Context, checks []Check, report func(Finding)) (all []Finding, err error) {
	known := Known{}
	for _, c := range checks {
		if ctx.Err() != nil {
			return all, ctx.Err()
		}
		f := c.run(ctx, known)
		if ctx.Err() != nil {
			return all, ctx.Err() // what an interrupted check says is no finding
		}
		known[c.Name] = f.State
		all = append(all, f)
		report(f)
	}
	return all, nil
}

func (c Check) run(ctx context.Context, known Known) Finding {
	if need, missing := known.unmet(c.Needs...); missing {
		f := untested("needs %s, which is %s", need, known.words(need))
		f.Check = c.Name
		return f
	}
	f := c.bounded(ctx, known)
	f.Check = c.Name
	return f
}

// bounded runs a check that may hang, as one does on a network file system, or
// that has a mistake in it.
func (c Check) bounded(ctx context.Context, known Known) Finding {
	limit := c.Limit
	if limit == 0 {
		limit = usualLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan Finding, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- broken("tell sessionhub's makers", "the check itself failed: %v", p)
			}
		}()
		done <- c.Look(ctx, known)
	}()
	select {
	case f := <-done:
		return f
	case <-ctx.Done():
	}
	timer := time.NewTimer(overtime)
	defer timer.Stop()
	select {
	case f := <-done:
		return f
	case <-timer.C:
		return broken("", "no answer within %s", limit+overtime)
	}
}

// Faults counts the broken ones.
func Faults(all []Finding) int {
	n := 0
	for _, f := range all {
		if f.State == Broken {
			n++
		}
	}
	return n
}

// count is "1 tool" or "3 tools".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// some names at most a few of a list.
func some(list []string) string {
	const most = 3
	list = slices.Clone(list)
	if len(list) > most {
		list = append(list[:most], fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(list, ", ")
}
