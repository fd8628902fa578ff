package record

import (
	"encoding/json"
	"errors"
	"fmt"
)

// AskBody is a permission prompt, a question or a plan that waits for its
// person. Input is cleaned and cut; InputSHA256 is of all of it, as Claude Code
// gave it, for plans followed by the plan's text.
type AskBody struct {
	Ask         string            `json:"ask"`
	Tool        string            `json:"tool"`
	Input       json.RawMessage   `json:"input"`
	InputSHA256 string            `json:"input_sha256"`
	InputCut    bool              `json:"input_cut,omitempty"`
	Plan        string            `json:"plan,omitempty"`
	Questions   []Question        `json:"questions,omitempty"`
	Suggestions []json.RawMessage `json:"suggestions,omitempty"` // Claude's own, for "always"
	Since       Time              `json:"since"`
	Answerable  bool              `json:"answerable"`
	Why         string            `json:"why,omitempty"` // it is not, or not in full
}

// Question is one question of an ask.
type Question struct {
	Question string   `json:"question"`
	Header   string   `json:"header"`
	Multi    bool     `json:"multi"`
	Options  []Option `json:"options"`
}

// Option is one choice of a question.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

// Validate checks that the ask can be told from others.
func (a *AskBody) Validate() error {
	if err := CheckID("ask", a.Ask); err != nil {
		return err
	}
	if a.Tool == "" {
		return errors.New(`"tool" is missing`)
	}
	return checkSum("input_sha256", a.InputSHA256)
}

func checkSum(field, s string) error {
	const hexDigits = 64
	ok := len(s) == hexDigits
	for i := 0; i < len(s); i++ {
		ok = ok && (s[i] >= '0' && s[i] <= '9' || s[i] >= 'a' && s[i] <= 'f')
	}
	if !ok {
		return fmt.Errorf("%q is not %d hexadecimal digits", field, hexDigits)
	}
	return nil
}

// The states of an ask at the hub.
const (
	AskOpen     = "open"
	AskAnswered = "answered" // from afar
	AskOver     = "ended"    // in another way
	AskExpired  = "expired"
)

// How an ask ended.
const (
	HowAnswered    = "answered"    // from afar
	HowOnScreen    = "on_screen"   // by a person at the screen
	HowInterrupted = "interrupted" // refused or interrupted at the screen
	HowExited      = "exited"      // Claude, or who waited for the answer, is gone
	HowExpired     = "expired"
)

// AskEnded says how an ask ended.
type AskEnded struct {
	Ask string `json:"ask"`
	How string `json:"how"`
}

// Validate checks the way it ended.
func (a *AskEnded) Validate() error {
	if err := CheckID("ask", a.Ask); err != nil {
		return err
	}
	switch a.How {
	case HowAnswered, HowOnScreen, HowInterrupted, HowExited, HowExpired:
		return nil
	}
	return fmt.Errorf(`"how" is %q, which is not known`, cut(a.How))
}

// Behavior is an answer's decision.
type Behavior string

// The decisions.
const (
	Allow Behavior = "allow"
	Deny  Behavior = "deny"
)

// AnswerPost is the body of POST /v1/sessions/{id}/asks/{ask}/answer: what a
// person decided, and of what they saw it.
type AnswerPost struct {
	InputSHA256 string           `json:"input_sha256"`
	Behavior    Behavior         `json:"behavior"`
	Message     string           `json:"message,omitempty"` // with deny: why
	Always      *int             `json:"always,omitempty"`  // with allow: one of the ask's suggestions, from 0
	Answers     map[string]Texts `json:"answers,omitempty"` // by question: labels, or a text
}

// MaxAnswer bounds an answer's message and each of its texts in bytes.
const MaxAnswer = 16 << 10

// Validate checks the answer by itself; what it answers is another's affair.
func (p *AnswerPost) Validate() error {
	if err := checkSum("input_sha256", p.InputSHA256); err != nil {
		return err
	}
	switch p.Behavior {
	case Allow:
		if p.Message != "" {
			return errors.New(`"message" is for deny`)
		}
	case Deny:
		if p.Always != nil || len(p.Answers) > 0 {
			return errors.New(`"always" and "answers" are for allow`)
		}
	case "":
		return errors.New(`"behavior" is missing`)
	default:
		return fmt.Errorf(`"behavior" is %q, neither allow nor deny`, cut(string(p.Behavior)))
	}
	if p.Always != nil && *p.Always < 0 {
		return errors.New(`"always" is below 0`)
	}
	size := len(p.Message)
	for q, texts := range p.Answers {
		if len(texts) == 0 {
			return fmt.Errorf(`"answers" has none for %q`, cut(q))
		}
		for _, t := range texts {
			if t == "" {
				return fmt.Errorf(`"answers" has an empty one for %q`, cut(q))
			}
			size += len(t)
		}
	}
	if size > MaxAnswer {
		return fmt.Errorf("the answer has %d bytes, over the limit of %d", size, MaxAnswer)
	}
	return nil
}

// Fits checks that an answer is one to this ask: of what its person saw, and
// complete.
func (p *AnswerPost) Fits(a *AskBody) error {
	switch {
	case p.InputSHA256 != a.InputSHA256:
		return ErrOtherInput
	case p.Behavior == Deny:
		return nil
	case a.InputCut:
		return errors.New("only a part of it was shown: it can be denied from afar, not allowed")
	case p.Always != nil && *p.Always >= len(a.Suggestions):
		return fmt.Errorf(`"always" is %d, and there are %d suggestions`, *p.Always, len(a.Suggestions))
	case len(a.Questions) == 0 && len(p.Answers) > 0:
		return errors.New("it is no question: answers are not wanted")
	}
	known := make(map[string]bool, len(a.Questions))
	for _, q := range a.Questions {
		known[q.Question] = true
		got := p.Answers[q.Question]
		if len(got) == 0 {
			return fmt.Errorf("the question %q is not answered", cut(q.Question))
		}
		if len(got) > 1 && !q.Multi {
			return fmt.Errorf("the question %q takes one answer", cut(q.Question))
		}
	}
	for q := range p.Answers {
		if !known[q] {
			return fmt.Errorf("there is no question %q", cut(q))
		}
	}
	return nil
}

// ErrOtherInput says that an answer is about something else than what is asked.
var ErrOtherInput = errors.New("the answer is to another input: look at it again")

// Answer is an answer on its way to the ask.
type Answer struct {
	Ask string `json:"ask"`
	AnswerPost
}

// Validate checks the answer by itself.
func (a *Answer) Validate() error {
	if err := CheckID("answer.ask", a.Ask); err != nil {
		return err
	}
	return a.AnswerPost.Validate()
}

// Texts are one text or several. One is a plain string in JSON.
type Texts []string

// MarshalJSON writes a string when there is one text.
func (t Texts) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// UnmarshalJSON reads a string or a list of them.
func (t *Texts) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = Texts{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}
