package record

import (
	"errors"
	"fmt"
)

// Action is what a request asks a machine to do.
type Action string

// The actions.
const (
	ActionRemoteControl Action = "remote_control"
	ActionMessage       Action = "message"
	ActionAnswer        Action = "answer"
	ActionResume        Action = "resume"
	ActionStart         Action = "start"
)

// RequestState is how a request stands.
type RequestState string

// The states of a request. A machine's busy leaves it queued.
const (
	RequestQueued    RequestState = "queued"
	RequestOffered   RequestState = "offered"
	RequestDone      RequestState = "done"
	RequestFailed    RequestState = "failed"
	RequestDelivered RequestState = "delivered" // a message
	RequestRefused   RequestState = "refused"   // a message
	RequestExpired   RequestState = "expired"
	// ResultBusy is a result only: not now.
	ResultBusy RequestState = "busy"
)

// Request is what a person asked a machine to do, as the hub tells it.
type Request struct {
	ID        string       `json:"id"`
	Action    Action       `json:"action"`
	Session   string       `json:"session,omitempty"`
	Machine   string       `json:"machine"`
	State     RequestState `json:"state"`
	Detail    string       `json:"detail"`
	URL       string       `json:"url,omitempty"`
	Attempt   int          `json:"attempt,omitempty"` // how often it was offered
	CreatedAt Time         `json:"created_at"`
	ExpiresAt Time         `json:"expires_at"`
	EndedAt   *Time        `json:"ended_at,omitempty"`
}

// Ended reports whether nothing will change any more.
func (r Request) Ended() bool { return r.EndedAt != nil }

// Online says what becomes of a request while its machine is silent.
type Online string

// AskSoon requests expire after two minutes; AskWhenOnline ones wait for the
// machine to come back.
const (
	AskSoon       Online = ""
	AskWhenOnline Online = "when_online"
)

// ControlPost is the body of POST /v1/sessions/{id}/control.
type ControlPost struct {
	Action    Action `json:"action"`
	Text      string `json:"text,omitempty"`       // of a message
	AsCommand bool   `json:"as_command,omitempty"` // the message is meant as a slash command
	Online    Online `json:"online,omitempty"`
}

// MaxMessage bounds a message in bytes: what one may sensibly paste.
const MaxMessage = 64 << 10

// Validate checks the request of a person.
func (p *ControlPost) Validate() error {
	switch p.Action {
	case ActionMessage:
		if p.Text == "" {
			return errors.New(`"text" is missing`)
		}
		if len(p.Text) > MaxMessage {
			return fmt.Errorf(`"text" has %d bytes, over the limit of %d`, len(p.Text), MaxMessage)
		}
	case ActionRemoteControl, ActionResume:
		if p.Text != "" || p.AsCommand {
			return fmt.Errorf(`"text" is for messages, not for %s`, p.Action)
		}
	case "":
		return errors.New(`"action" is missing`)
	default:
		return fmt.Errorf(`"action" is %q, none of message, remote_control, resume`, cut(string(p.Action)))
	}
	return p.Online.check()
}

func (o Online) check() error {
	if o != AskSoon && o != AskWhenOnline {
		return fmt.Errorf(`"online" is %q, not when_online`, cut(string(o)))
	}
	return nil
}

// Start is where a new session is to begin.
type Start struct {
	Dir    string `json:"dir"`
	Prompt string `json:"prompt,omitempty"`
	Herdr  string `json:"herdr,omitempty"` // which herdr server; "" is the one used last
}

// StartPost is the body of POST /v1/machines/{name}/start.
type StartPost struct {
	Start
	Online Online `json:"online,omitempty"`
}

// maxDir bounds a directory's path in bytes.
const maxDir = 4096

// Validate checks the request of a person.
func (p *StartPost) Validate() error {
	switch {
	case p.Dir == "":
		return errors.New(`"dir" is missing`)
	case len(p.Dir) > maxDir:
		return fmt.Errorf(`"dir" is longer than %d bytes`, maxDir)
	case len(p.Prompt) > MaxMessage:
		return fmt.Errorf(`"prompt" has %d bytes, over the limit of %d`, len(p.Prompt), MaxMessage)
	}
	return p.Online.check()
}

// Claim is a request as the hub offers it to the machine.
type Claim struct {
	V         int           `json:"v"`
	ID        string        `json:"id"`
	Action    Action        `json:"action"`
	ExpiresAt Time          `json:"expires_at"`
	AskedAt   Time          `json:"asked_at,omitzero"` // when its owner asked
	Attempt   int           `json:"attempt"`
	Session   *ClaimSession `json:"session,omitempty"`
	Text      string        `json:"text,omitempty"`
	AsCommand bool          `json:"as_command,omitempty"`
	Start     *Start        `json:"start,omitempty"`
	Answer    *Answer       `json:"answer,omitempty"`
	Move      *ClaimMove    `json:"move,omitempty"`
}

// ClaimSession is what the hub knows of the session of a claim.
type ClaimSession struct {
	Session    string     `json:"session"`
	Status     string     `json:"status"`
	AgentState AgentState `json:"agent_state"`
	Title      string     `json:"title"`
	Cwd        string     `json:"cwd"`
	Herdr      *Place     `json:"herdr,omitempty"`
}

// Validate checks what a machine is asked to do.
func (c *Claim) Validate() error {
	if c.V != Version {
		return fmt.Errorf(`"v" is %d, not %d`, c.V, Version)
	}
	if err := CheckID("id", c.ID); err != nil {
		return err
	}
	switch c.Action {
	case ActionStart:
		if c.Start == nil || c.Start.Dir == "" {
			return errors.New(`"start" is missing`)
		}
		return nil
	case ActionMessage:
		if c.Text == "" {
			return errors.New(`"text" is missing`)
		}
	case ActionAnswer:
		if c.Answer == nil {
			return errors.New(`"answer" is missing`)
		}
		if err := c.Answer.Validate(); err != nil {
			return err
		}
	case ActionMoveCheck, ActionMoveOut, ActionMoveIn, ActionMoveFinish:
		if c.Move == nil {
			return errors.New(`"move" is missing`)
		}
		if err := c.Move.Validate(); err != nil {
			return err
		}
		if c.Session != nil && c.Session.Session != c.Move.Session {
			return errors.New(`"session" is not the session of the move`)
		}
	case "":
		return errors.New(`"action" is missing`)
	}
	if c.Session == nil {
		return errors.New(`"session" is missing`)
	}
	return CheckID("session.session", c.Session.Session)
}

// Result is what became of a claim.
type Result struct {
	V      int          `json:"v"`
	ID     string       `json:"id"`
	State  RequestState `json:"state"`
	Detail string       `json:"detail,omitempty"`
	URL    string       `json:"url,omitempty"`
	Claude string       `json:"claude,omitempty"` // of a move_check: the version that would go on there
}

// Validate checks what a machine answers.
func (r *Result) Validate() error {
	if r.V != Version {
		return fmt.Errorf(`"v" is %d, not %d`, r.V, Version)
	}
	if err := CheckID("id", r.ID); err != nil {
		return err
	}
	switch r.State {
	case RequestDone, RequestFailed, RequestDelivered, RequestRefused, ResultBusy:
		return nil
	case "":
		return errors.New(`"state" is missing`)
	}
	return fmt.Errorf(`"state" is %q, none of done, failed, delivered, busy, refused`, cut(string(r.State)))
}
