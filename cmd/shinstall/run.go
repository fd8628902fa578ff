package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/install"
)

func hookUpVerb(h hookUp) front.Verb {
	var o options
	return front.Verb{
		Name: h.name, Args: strings.Join(strings.Fields("[flags] "+h.args+" [MORE...]"), " "), Short: h.short, Long: h.long,
		Flags: o.flags, Settings: []string{"claude_home", "machine", "allow_http"},
		Run:   func(ctx context.Context, c *front.Call) error { return carryOut(ctx, c, h, o) },
		Files: h.files, Examples: h.examples,
		Exits: append([]front.Exit{{Code: front.ExitConfig, When: "the tools are not where they would be named"}}, h.exits...),
	}
}

// carryOut hooks up, or takes away, what the verb and the words after it name.
func carryOut(ctx context.Context, c *front.Call, first hookUp, o options) error {
	all := hookUps()
	named, err := parse(all, append([]string{first.name}, c.Args...), o.remove)
	if err != nil {
		return err
	}
	tools, err := findTools(c, o)
	if err != nil {
		return front.Fail(front.ExitConfig, err)
	}
	i := &install.Installer{DryRun: o.dryRun, Report: reporter(c, o)}
	if s := tools.Doubt(c.Getenv); s != "" && !o.remove {
		i.Report(install.Step{Target: "tools", Step: "path", OK: true, Outcome: install.Noted, Detail: s})
	}
	for _, h := range all {
		args, ok := named[h.name]
		if !ok {
			continue
		}
		t, err := h.target(c, o, tools, args)
		if err != nil {
			return err
		}
		i.Targets = append(i.Targets, t)
	}
	if o.remove {
		err = i.Remove(ctx)
	} else {
		err = i.Install(ctx)
	}
	return unfinished(c, len(i.Targets), o, err)
}

// parse reads "plugin hooks join URL": what is named, each with its arguments.
// To take something away its arguments are not needed.
func parse(all []hookUp, words []string, remove bool) (map[string][]string, error) {
	named := map[string][]string{}
	find := func(word string) int { return slices.IndexFunc(all, func(h hookUp) bool { return h.name == word }) }
	for len(words) > 0 {
		i := find(words[0])
		if i < 0 {
			return nil, front.Usage("%q is nothing to hook up", words[0])
		}
		n := len(strings.Fields(all[i].args))
		words = words[1:]
		if remove && (len(words) == 0 || find(words[0]) >= 0) {
			n = 0
		}
		if len(words) < n {
			return nil, front.Usage("%s: %s is wanted", all[i].name, all[i].args)
		}
		named[all[i].name], words = words[:n], words[n:]
	}
	return named, nil
}

func findTools(c *front.Call, o options) (install.Tools, error) {
	if o.binDir != "" {
		return install.NamedTools(o.binDir)
	}
	return install.FindTools(os.Args[0], c.Getenv)
}

// unfinished turns a failure into an exit status: that of the cause when one
// thing was asked for, else 1, with what is left to do.
func unfinished(c *front.Call, asked int, o options, err error) error {
	var left *install.Unfinished
	if !errors.As(err, &left) {
		return err
	}
	if cause := left.Failed[0].Err; asked == 1 || errors.Is(cause, context.Canceled) {
		switch {
		case errors.Is(cause, install.ErrTools):
			return front.Fail(front.ExitConfig, cause)
		case errors.Is(cause, install.ErrListen), errors.Is(cause, install.ErrURL):
			return front.Fail(front.ExitUsage, cause)
		case errors.Is(cause, install.ErrProgram), errors.Is(cause, install.ErrNoServer):
			return front.Fail(front.ExitUnavailable, cause)
		}
		return cause
	}
	for _, f := range left.Failed {
		fmt.Fprintf(c.Stderr, "%s: %s: %v\n", c.Tool, f.Target, f.Err)
	}
	again := c.Tool + " " + strings.Join(left.Targets(), " ")
	if o.remove {
		again += " --remove"
	}
	fmt.Fprintf(c.Stderr, "%s: left to do, when that is put right: %s\n", c.Tool, again)
	return front.Fail(front.ExitFailed, nil)
}
