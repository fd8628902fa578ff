package install

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"sessionhub/lib/herdr"
	"sessionhub/lib/text"
)

// herdrCLI is herdr's command line: unlike its socket it links without a
// server, too.
type herdrCLI struct{ program, version string }

// cli finds herdr and checks that it is new enough.
func (p *Plugin) cli(ctx context.Context) (herdrCLI, error) {
	named := p.Herdr
	if bin := p.Getenv("HERDR_BIN_PATH"); named == "" && bin != "" && executable(bin) == nil {
		named = bin
	}
	path, err := program(named, "herdr", "--herdr", p.Getenv)
	if err != nil {
		return herdrCLI{}, err
	}
	c := Command{Argv: []string{path, "--version"}}
	out, err := Ask(ctx, c)
	if err != nil {
		return herdrCLI{}, err
	}
	first, _, _ := strings.Cut(string(out.Stdout), "\n")
	if out.Code != 0 {
		return herdrCLI{}, fmt.Errorf("%s: %s", c.Line(), out.Line())
	}
	if err := herdr.CheckVersion(first); err != nil {
		return herdrCLI{}, err
	}
	return herdrCLI{path, strings.TrimSpace(strings.TrimPrefix(first, "herdr"))}, nil
}

// Program finds herdr and asks for its version.
func (p *Plugin) Program(ctx context.Context) (path, version string, err error) {
	c, err := p.cli(ctx)
	return c.program, c.version, err
}

// find is our plugin as herdr lists it, or nil.
func (h herdrCLI) find(ctx context.Context) (*herdr.Plugin, error) {
	c := Command{Argv: []string{h.program, "plugin", "list", "--plugin", herdr.OwnPlugin, "--json"}}
	out, err := Ask(ctx, c)
	if err != nil {
		return nil, err
	}
	if out.Code != 0 {
		return nil, fmt.Errorf("%s: %s", c.Line(), said(out))
	}
	var a struct {
		Result struct {
			Plugins []herdr.Plugin `json:"plugins"`
		} `json:"result"`
	}
	if err := json.Unmarshal(out.Stdout, &a); err != nil {
		return nil, fmt.Errorf("%s: its answer makes no sense: %w", c.Line(), err)
	}
	for i := range a.Result.Plugins {
		if a.Result.Plugins[i].PluginID == herdr.OwnPlugin {
			return &a.Result.Plugins[i], nil
		}
	}
	return nil, nil
}

func (h herdrCLI) link(ctx context.Context, r *Run, dir string, disabled bool) error {
	args := []string{"link", dir}
	if disabled {
		args = append(args, "--disabled")
	}
	return h.run(ctx, r, "link", args...)
}

// run runs `herdr plugin …`.
func (h herdrCLI) run(ctx context.Context, r *Run, step string, args ...string) error {
	c := Command{Argv: append([]string{h.program, "plugin"}, args...)}
	out, ran, err := r.Do(ctx, step, c)
	if err != nil || !ran {
		return err
	}
	if out.Code != 0 {
		return fmt.Errorf("%s: %s", c.Line(), said(out))
	}
	return nil
}

// said is what herdr's command line says of a failure: the message of its
// error answer, or plain text.
func said(out Output) string {
	var a struct {
		Error struct{ Code, Message string } `json:"error"`
	}
	if json.Unmarshal(out.Stderr, &a) == nil && a.Error.Message != "" {
		return text.Line(a.Error.Code + ": " + a.Error.Message)
	}
	return out.Line()
}
