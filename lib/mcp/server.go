// Package mcp lets a Claude Code session speak of itself, and see its
// neighbours, through the Model Context Protocol. The model need not know its
// session's id: the registry of live sessions tells it.
package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sessionhub/lib/queue"
	"sessionhub/lib/record"
)

// Hub is what the tools need of the hub, with this machine's token: it shows
// this machine's sessions alone.
type Hub interface {
	OwnSessions(ctx context.Context) ([]record.Session, error)
	OwnInbox(ctx context.Context) ([]record.InboxEntry, error)
}

// Queue is where what a session says goes.
type Queue interface {
	Append(d queue.Durability, items ...record.Item) error
}

// Server answers the tools of one session.
type Server struct {
	Queue   Queue
	Connect func() (Hub, error)    // asked for each call: the config may change
	Session func() (string, error) // the session that this server belongs to, now
	Stamp   func() queue.Stamp     // identity and time of a record
	Wake    func() error           // sees to it that a watcher runs
	Version string
}

// instructions tell the model when to use the tools.
const instructions = `Tells the owner of this session, who may be away from the screen, how the work stands.
Call report when something is done, when you begin something that takes long, and whenever you wait for the person.
Call set_title once it is clear what the session is about.`

// Serve answers on a transport until it closes or the context ends.
func (s *Server) Serve(ctx context.Context, t mcp.Transport) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "sessionhub", Version: s.Version}, &mcp.ServerOptions{Instructions: instructions})
	mcp.AddTool(server, &mcp.Tool{
		Name: "report", Description: "Tell your person how this session's work stands: what is done, what is in flight, what you wait for. Say at least one of the three, in a sentence each.",
	}, s.report)
	mcp.AddTool(server, &mcp.Tool{
		Name: "set_title", Description: "Name this session in the lists that your person sees: a few words for what it is about.",
	}, s.setTitle)
	mcp.AddTool(server, &mcp.Tool{
		Name: "sessions", Description: "List the Claude Code sessions of this machine: state, title, directory.", Annotations: readOnly(),
	}, s.sessions)
	mcp.AddTool(server, &mcp.Tool{
		Name: "inbox", Description: "List what waits for the person on this machine: sessions that are blocked, done and not looked at, or wait for something.", Annotations: readOnly(),
	}, s.inbox)
	if err := server.Run(ctx, t); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("mcp: %w", err)
	}
	return nil
}

func readOnly() *mcp.ToolAnnotations { return &mcp.ToolAnnotations{ReadOnlyHint: true} }

type none struct{}

type reportInput struct {
	Done      string `json:"done,omitempty" jsonschema:"what is done"`
	InFlight  string `json:"in_flight,omitempty" jsonschema:"what is being done now"`
	WaitingOn string `json:"waiting_on,omitempty" jsonschema:"what the session waits for: a decision, an answer, another system"`
}

type titleInput struct {
	Title string `json:"title" jsonschema:"a few words"`
}

// queued is the answer of a tool that queued a record.
type queued struct {
	ID string `json:"id" jsonschema:"the record's id"`
}

func (s *Server) report(_ context.Context, _ *mcp.CallToolRequest, in reportInput) (*mcp.CallToolResult, queued, error) {
	return s.say(record.KindReport, &record.Report{Done: in.Done, InFlight: in.InFlight, WaitingOn: in.WaitingOn})
}

func (s *Server) setTitle(_ context.Context, _ *mcp.CallToolRequest, in titleInput) (*mcp.CallToolResult, queued, error) {
	return s.say(record.KindTitle, &record.Title{Title: in.Title})
}

func (s *Server) say(kind record.Kind, body any) (*mcp.CallToolResult, queued, error) {
	stamp := s.Stamp()
	session, err := s.Session()
	if err != nil {
		return nil, queued{}, err
	}
	it, err := record.NewItem(stamp.ID, stamp.At, record.SourceMCP, kind, body)
	if err != nil {
		return nil, queued{}, err
	}
	it.Session = session
	if err := it.Validate(); err != nil {
		return nil, queued{}, err
	}
	if err := s.Queue.Append(queue.Durable, it); err != nil {
		return nil, queued{}, err
	}
	if err := s.Wake(); err != nil { // what is queued stays queued
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "queued; no watcher could be started: " + err.Error()}}}, queued{ID: it.ID}, nil
	}
	return nil, queued{ID: it.ID}, nil
}
