package record

import (
	"encoding/json"
	"errors"
	"fmt"
)

// AskBody is a permission prompt or a question that waits for its person.
type AskBody struct {
	Ask         string          `json:"ask"`
	Tool        string          `json:"tool"`
	Input       json.RawMessage `json:"input"`
	InputSHA256 string          `json:"input_sha256"`
	InputCut    bool            `json:"input_cut,omitempty"`
	Questions   []Question      `json:"questions,omitempty"`
	Since       Time            `json:"since"`
	Answerable  bool            `json:"answerable"`
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
	if err := CheckName("ask", a.Ask); err != nil {
		return err
	}
	if a.Tool == "" {
		return errors.New(`"tool" is missing`)
	}
	if len(a.InputSHA256) != 64 {
		return errors.New(`"input_sha256" is not 64 hexadecimal digits`)
	}
	return nil
}

// AskEnded says how an ask ended.
type AskEnded struct {
	Ask string `json:"ask"`
	How string `json:"how"`
}

// Validate checks the way it ended.
func (a *AskEnded) Validate() error {
	if err := CheckName("ask", a.Ask); err != nil {
		return err
	}
	switch a.How {
	case "answered", "on_screen", "interrupted", "exited", "expired":
		return nil
	}
	return fmt.Errorf(`"how" is %q, which is not known`, cut(a.How))
}
