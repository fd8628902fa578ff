package watch

import (
	"context"
	"fmt"
	"strconv"

	"sessionhub/lib/herdr"
	"sessionhub/lib/record"
)

// The workspace token that the sidebar of herdr shows, where its user put
// $inbox, and who reports it.
const (
	inboxToken  = "inbox"
	tokenSource = "sessionhub"
)

// Sidebar is what the watcher needs of a herdr client to show the inbox.
type Sidebar interface {
	ReportWorkspaceMetadata(ctx context.Context, m herdr.WorkspaceMetadata) error
}

// sidebar shows the inbox count in herdr's sidebar, on every workspace. herdr
// forgets it when its server ends.
type sidebar struct {
	connect func(socket string) Sidebar
	shown   map[string]shown // by socket
}

// shown is what a herdr server was told.
type shown struct {
	identity herdr.Identity
	text     map[string]string // by workspace
}

// inboxText is the count as the sidebar shows it; "" clears it.
func inboxText(n record.InboxCounts) string {
	switch {
	case n.Total == 0:
		return ""
	case n.Blocked == 0:
		return strconv.Itoa(n.Total)
	}
	return fmt.Sprintf("%d · %d blocked", n.Total, n.Blocked)
}

// show reports the text to the workspaces of a server that don't show it. What
// herdr refuses is tried again with the next heartbeat.
func (s *sidebar) show(ctx context.Context, of seen, text string) error {
	if s.shown == nil {
		s.shown = make(map[string]shown)
	}
	was := s.shown[of.socket]
	if was.identity != of.identity {
		was = shown{}
	}
	now := shown{identity: of.identity, text: make(map[string]string, len(of.workspaces))}
	var failed error
	client := s.connect(of.socket)
	for _, id := range of.workspaces {
		if was.text[id] != text {
			if err := s.report(ctx, client, id, text); err != nil {
				failed = fmt.Errorf("sidebar: %w", err)
				now.text[id] = was.text[id]
				continue
			}
		}
		now.text[id] = text
	}
	s.shown[of.socket] = now
	return failed
}

func (s *sidebar) report(ctx context.Context, client Sidebar, workspace, text string) error {
	value := &text
	if text == "" {
		value = nil
	}
	return client.ReportWorkspaceMetadata(ctx, herdr.WorkspaceMetadata{
		WorkspaceID: workspace, Source: tokenSource, Tokens: map[string]*string{inboxToken: value},
	})
}
