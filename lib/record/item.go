package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Source says what made an item.
type Source string

// The sources of items.
const (
	SourcePlugin Source = "plugin"
	SourceHook   Source = "hook"
	SourceMCP    Source = "mcp"
	SourceCLI    Source = "cli"
	SourceWatch  Source = "watch"
)

// Kind says what an item tells and so what its body holds.
type Kind string

// The kinds of items.
const (
	KindUpsert   Kind = "upsert"
	KindState    Kind = "state"
	KindClosed   Kind = "closed"
	KindEnded    Kind = "ended"
	KindReport   Kind = "report"
	KindTitle    Kind = "title"
	KindSnapshot Kind = "snapshot"
	KindAsk      Kind = "ask"
	KindAskEnded Kind = "ask_ended"
	// KindProbe tells nothing: it proves that records reach the hub.
	KindProbe Kind = "probe"
)

// MaxItem is the longest line of the queue in bytes, newline not counted. A
// longer record is refused at the door (contract §7), so that one program
// that pipes a file into the queue cannot stop everybody's delivery.
const MaxItem = 256 << 10

// Pane names a pane of one herdr server. Pane ids repeat across servers, so
// the socket's path belongs to the name.
type Pane struct {
	Herdr       string `json:"herdr"`
	PaneID      string `json:"pane_id"`
	WorkspaceID string `json:"workspace_id,omitempty"`
}

// Item is one line of the queue. Its ID, a UUIDv7, is the idempotency key
// under which the hub records it once.
type Item struct {
	V       int             `json:"v"`
	ID      string          `json:"id"`
	At      Time            `json:"at"`
	Source  Source          `json:"source"`
	Kind    Kind            `json:"kind"`
	Pane    *Pane           `json:"pane,omitempty"`
	Session string          `json:"session,omitempty"`
	Body    json.RawMessage `json:"body"`
}

// ParseItem reads one line of the queue and validates it. The error names the
// field that is wrong.
func ParseItem(line []byte) (Item, error) {
	var it Item
	if err := decode(line, &it); err != nil {
		return Item{}, err
	}
	if err := it.Validate(); err != nil {
		return Item{}, err
	}
	return it, nil
}

// NewItem builds an item of the present version around a body.
func NewItem(id string, at Time, src Source, kind Kind, body any) (Item, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return Item{}, fmt.Errorf("encode the body of %s: %w", kind, err)
	}
	return Item{V: Version, ID: id, At: at, Source: src, Kind: kind, Body: b}, nil
}

// Line is the item as a line of the queue, without its newline.
func (it Item) Line() ([]byte, error) {
	b, err := json.Marshal(it)
	if err != nil {
		return nil, fmt.Errorf("encode item %s: %w", it.ID, err)
	}
	if len(b) > MaxItem {
		return nil, fmt.Errorf("item %s has %d bytes, over the limit of %d", it.ID, len(b), MaxItem)
	}
	return b, nil
}

// Validate checks the envelope and the body.
func (it *Item) Validate() error {
	if err := it.ValidateEnvelope(); err != nil {
		return err
	}
	return it.checkBody()
}

// ValidateEnvelope checks everything but the body, which the door checked and
// the hub will check again.
func (it *Item) ValidateEnvelope() error {
	if it.V != Version {
		return fmt.Errorf(`"v" is %d, not %d`, it.V, Version)
	}
	if err := CheckID("id", it.ID); err != nil {
		return err
	}
	if it.At.IsZero() {
		return errors.New(`"at" is missing`)
	}
	switch it.Source {
	case SourcePlugin, SourceHook, SourceMCP, SourceCLI, SourceWatch:
	case "":
		return errors.New(`"source" is missing`)
	default:
		return fmt.Errorf(`"source" is %q, which is none of plugin, hook, mcp, cli, watch`, cut(string(it.Source)))
	}
	return it.checkSubject()
}

func (it *Item) checkSubject() error {
	if it.Pane != nil && it.Session != "" {
		return errors.New(`"pane" and "session" are both set`)
	}
	switch {
	case it.Pane != nil:
		if it.Pane.Herdr == "" {
			return errors.New(`"pane.herdr" is missing`)
		}
		return CheckName("pane.pane_id", it.Pane.PaneID)
	case it.Session != "":
		return CheckID("session", it.Session)
	case it.Kind == KindSnapshot, it.Kind == KindProbe:
		return nil
	}
	return errors.New(`"pane" and "session" are both missing`)
}

func (it *Item) checkBody() error {
	if len(it.Body) == 0 || bytes.Equal(it.Body, []byte("null")) {
		return errors.New(`"body" is missing`)
	}
	if it.Body[0] != '{' {
		return errors.New(`"body" must be an object`)
	}
	switch it.Kind {
	case KindUpsert:
		return checkAs[Upsert](it.Body)
	case KindState:
		return checkAs[State](it.Body)
	case KindClosed:
		if it.Pane == nil {
			return errors.New(`"pane" is missing`)
		}
		return checkAs[Closed](it.Body)
	case KindEnded:
		if it.Session == "" {
			return errors.New(`"session" is missing`)
		}
		return checkAs[Ended](it.Body)
	case KindReport:
		return checkAs[Report](it.Body)
	case KindTitle:
		return checkAs[Title](it.Body)
	case KindSnapshot:
		return checkAs[Snapshot](it.Body)
	case KindAsk:
		return checkAs[AskBody](it.Body)
	case KindAskEnded:
		return checkAs[AskEnded](it.Body)
	case KindProbe:
		return nil
	case "":
		return errors.New(`"kind" is missing`)
	}
	return fmt.Errorf(`"kind" is %q, which is not known`, cut(string(it.Kind)))
}

// checker is a body that can tell what is wrong with it.
type checker interface{ Validate() error }

func checkAs[T any, P interface {
	*T
	checker
}](raw json.RawMessage) error {
	var body T
	if err := decode(raw, &body); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	if err := P(&body).Validate(); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	return nil
}

// BodyAs decodes an item's body. The kind is the caller's affair.
func BodyAs[T any](it Item) (T, error) {
	var body T
	err := decode(it.Body, &body)
	return body, err
}
