package watch

import (
	"context"

	"sessionhub/lib/claude"
	"sessionhub/lib/herdr"
	"sessionhub/lib/presence"
	"sessionhub/lib/record"
)

// PresenceLooker takes inventories of real herdr servers.
type PresenceLooker struct {
	ClaudeHome string
	Getenv     func(string) string
	Explain    bool // let records say why
}

func (p *PresenceLooker) reasons() presence.Reasons {
	if p.Explain {
		return presence.WithReasons
	}
	return presence.WithoutReasons
}

// Look says what runs on the herdr server at socket.
func (p *PresenceLooker) Look(ctx context.Context, socket string) (Look, error) {
	v, snap, err := presence.Look(ctx, &herdr.Client{Socket: socket}, claude.Home(p.ClaudeHome))
	if err != nil {
		return Look{}, err
	}
	var workspaces []string
	for _, ws := range snap.Workspaces {
		workspaces = append(workspaces, ws.WorkspaceID)
	}
	return Look{
		Workspaces:   workspaces,
		HerdrSession: herdr.SessionName(socket, p.Getenv),
		Version:      snap.Version,
		Live:         v.Live(p.reasons()),
		Unidentified: v.UnidentifiedPanes(p.reasons()),
		Panes:        v.Panes,
	}, nil
}

// Outside lists the people's live sessions by Claude's registry.
func (p *PresenceLooker) Outside(context.Context) ([]record.LiveSession, error) {
	list, err := presence.Outside(claude.Home(p.ClaudeHome))
	if err != nil {
		return nil, err
	}
	return presence.Verdict{Outside: list}.LiveOutside(p.reasons()), nil
}
