// Package install hooks sessionhub up and takes it away again: herdr's plugin,
// Claude Code's hooks, its MCP server. What is hooked up is a Target; adding one
// is a type with its four methods and a row in cmd/shinstall.
//
// A target decides what to change and says so to a Run, which alone changes
// anything: it writes files atomically, runs commands, tells each step, and in a
// dry run only tells. What is as it should be is left alone, to the byte and
// the modification time, so that everything can be run again.
package install

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Target is something that can be hooked up, looked at and taken away.
type Target interface {
	// Name is what the command line calls it.
	Name() string
	// Install hooks it up, or mends what is there.
	Install(ctx context.Context, r *Run) error
	// Remove takes away what Install made, and nothing else.
	Remove(ctx context.Context, r *Run) error
	// Look tells how it is. It changes nothing.
	Look(ctx context.Context) Part
}

// Installer runs targets in a fixed order.
type Installer struct {
	Targets []Target // in the order of hooking up; removing goes backwards
	DryRun  bool
	Report  func(Step)
}

// Install hooks the targets up. One that fails undoes nothing of those before
// it and does not keep those after it from being tried. The error is an
// *Unfinished.
func (i *Installer) Install(ctx context.Context) error {
	return i.each(ctx, i.Targets, func(t Target, r *Run) error { return t.Install(ctx, r) })
}

// Remove takes the targets away, the last one first.
func (i *Installer) Remove(ctx context.Context) error {
	list := slices.Clone(i.Targets)
	slices.Reverse(list)
	return i.each(ctx, list, func(t Target, r *Run) error { return t.Remove(ctx, r) })
}

func (i *Installer) each(ctx context.Context, list []Target, do func(Target, *Run) error) error {
	var left Unfinished
	for _, t := range list {
		r := &Run{Target: t.Name(), DryRun: i.DryRun, Report: i.Report}
		err := ctx.Err() // who pressed Ctrl-C wants no more of it
		if err == nil {
			err = do(t, r)
		}
		if err != nil {
			r.failed(err)
			left.Failed = append(left.Failed, Failure{t.Name(), err})
		}
	}
	if len(left.Failed) == 0 {
		return nil
	}
	return &left
}

// Failure is a target that could not be carried out, and why.
type Failure struct {
	Target string
	Err    error
}

// Unfinished names the targets that are left to do.
type Unfinished struct{ Failed []Failure }

// Targets are the names of the targets left to do.
func (u *Unfinished) Targets() []string {
	var names []string
	for _, f := range u.Failed {
		names = append(names, f.Target)
	}
	return names
}

func (u *Unfinished) Error() string {
	var parts []string
	for _, f := range u.Failed {
		parts = append(parts, fmt.Sprintf("%s: %v", f.Target, f.Err))
	}
	return strings.Join(parts, "; ")
}

// Unwrap gives the causes.
func (u *Unfinished) Unwrap() []error {
	var errs []error
	for _, f := range u.Failed {
		errs = append(errs, f.Err)
	}
	return errs
}
