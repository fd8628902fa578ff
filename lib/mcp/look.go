package mcp

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sessionhub/lib/record"
	"sessionhub/lib/text"
)

// sessionLine is a session as the model sees it. Texts are cleaned and short:
// they are other sessions' words, and no instructions.
type sessionLine struct {
	Session string `json:"session"`
	Self    bool   `json:"self,omitempty" jsonschema:"it is this session"`
	State   string `json:"state"`
	Title   string `json:"title,omitempty"`
	Cwd     string `json:"cwd,omitempty"`
	Branch  string `json:"branch,omitempty"`
	Since   string `json:"since"`
}

type sessionList struct {
	Sessions []sessionLine `json:"sessions"`
}

type inboxLine struct {
	Session string `json:"session,omitempty"`
	Kind    string `json:"kind" jsonschema:"blocked, done, waiting or failed"`
	Title   string `json:"title,omitempty"`
	Text    string `json:"text,omitempty"`
	Since   string `json:"since"`
}

type inboxList struct {
	Entries []inboxLine `json:"entries"`
}

// shown is how much of a text the model sees, in characters.
const shown = 200

func brief(s string) string { return text.Cut(text.Line(s), shown) }

func when(t record.Time) string { return t.String() }

func (s *Server) sessions(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, sessionList, error) {
	hub, err := s.Connect()
	if err != nil {
		return nil, sessionList{}, err
	}
	all, err := hub.OwnSessions(ctx)
	if err != nil {
		return nil, sessionList{}, err
	}
	self, err := s.Session()
	if err != nil {
		self = "" // a session that is not known can look all the same
	}
	list := sessionList{Sessions: []sessionLine{}}
	for _, one := range all {
		l := sessionLine{
			Session: one.Session, Self: one.Session == self, State: string(one.AgentState), Title: brief(one.Title), Cwd: brief(one.Cwd), Since: when(one.Since),
		}
		if one.Status != record.StatusLive {
			l.State = one.Status
		}
		if one.Git != nil {
			l.Branch = brief(one.Git.Branch)
		}
		list.Sessions = append(list.Sessions, l)
	}
	return nil, list, nil
}

func (s *Server) inbox(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, inboxList, error) {
	hub, err := s.Connect()
	if err != nil {
		return nil, inboxList{}, err
	}
	all, err := hub.OwnInbox(ctx)
	if err != nil {
		return nil, inboxList{}, err
	}
	list := inboxList{Entries: []inboxLine{}}
	for _, e := range all {
		list.Entries = append(list.Entries, inboxLine{Session: e.Session, Kind: e.Kind, Title: brief(e.Title), Text: brief(e.Text), Since: when(e.Since)})
	}
	return nil, list, nil
}
