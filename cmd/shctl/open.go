package main

import (
	"context"
	"errors"
	"fmt"

	"sessionhub/cmd/internal/front"
	"sessionhub/lib/herdr"
)

func openVerb() front.Verb {
	return front.Verb{
		Name: "open", Args: "picker|inbox", Short: "open the resume picker, or the inbox, in herdr",
		Long: `Opens a pane of the plugin in the herdr that HERDR_SOCKET_PATH names: the picker
over the focused pane's tab, the inbox beside the pane that it is called in, or
beside the focused one. The plugin's actions sessionhub.resume and
sessionhub.inbox call it, so that keys can be bound to them.`,
		Run: open,
		Examples: []front.Example{
			{Line: "shctl open inbox", For: "what waits for you, beside what you do"},
			{Line: "herdr plugin action invoke sessionhub.resume", For: "what a key does"},
		},
		Exits: []front.Exit{{Code: front.ExitUnavailable, When: "herdr is out of reach, or the plugin is not linked"}},
	}
}

func open(ctx context.Context, c *front.Call) error {
	if len(c.Args) != 1 {
		return front.Usage("which? %s or %s", herdr.PanePicker, herdr.PaneInbox)
	}
	p := herdr.OpenPane{PluginID: herdr.OwnPlugin, Entrypoint: c.Args[0]}
	switch c.Args[0] {
	case herdr.PanePicker:
		p.Placement = "overlay" // takes the focus, and no target
	case herdr.PaneInbox:
		p.Placement, p.Direction, p.Focus = "split", "right", true
		p.TargetPaneID = c.Getenv("HERDR_PANE_ID") // of an action: the focused one; none: herdr takes that
	default:
		return front.Usage("%q is neither %s nor %s", c.Args[0], herdr.PanePicker, herdr.PaneInbox)
	}
	pane, err := (&herdr.Client{Socket: herdr.DefaultSocket(c.Getenv)}).OpenPluginPane(ctx, p)
	switch {
	case herdr.IsCode(err, herdr.CodePluginNotFound), herdr.IsCode(err, codePaneMissing):
		return front.Fail(front.ExitUnavailable, fmt.Errorf("%w: shinstall plugin links the plugin", err))
	case herdr.IsCode(err, herdr.CodePluginDisabled):
		return front.Fail(front.ExitUnavailable, fmt.Errorf("%w: herdr plugin enable %s switches it on", err, herdr.OwnPlugin))
	case errors.Is(err, herdr.ErrUnreachable):
		return front.Fail(front.ExitUnavailable, err)
	case err != nil:
		return err
	}
	return front.PrintJSON(c.Stdout, struct {
		Opened string `json:"opened"`
		PaneID string `json:"pane_id"`
	}{c.Args[0], pane.PaneID})
}

// codePaneMissing is herdr's answer when the linked manifest is an older one
// without that pane.
const codePaneMissing = "plugin_pane_not_found"
