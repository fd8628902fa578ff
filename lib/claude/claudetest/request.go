package claudetest

import (
	"encoding/json"
	"regexp"
	"strings"

	"sessionhub/lib/claude/claudetest/directive"
)

type messagesRequest struct {
	Model        string          `json:"model"`
	Stream       bool            `json:"stream"`
	Messages     []message       `json:"messages"`
	OutputConfig json.RawMessage `json:"output_config"`
	OutputFormat json.RawMessage `json:"output_format"`
}

type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is a list of blocks; a bare string is one text.
type content []block

type block struct {
	Type  string          `json:"type"`
	Text  string          `json:"text,omitempty"`
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

func (c *content) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*c = content{{Type: "text", Text: s}}
		return nil
	}
	var list []block
	err := json.Unmarshal(b, &list)
	*c = list
	return err
}

// added is what the program puts beside a prompt, or a tool's result, by itself.
var added = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>|<local-command-caveat>.*?</local-command-caveat>|` +
	`<command-(?:name|message|args)>.*?</command-(?:name|message|args)>|<local-command-stdout>.*?</local-command-stdout>|\[Request interrupted by user[^\]]*\]`)

func (c content) text() string {
	var parts []string
	for _, b := range c {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.TrimSpace(added.ReplaceAllString(strings.Join(parts, "\n"), ""))
}

func (c content) hasResult() bool {
	for _, b := range c {
		if b.Type == "tool_result" {
			return true
		}
	}
	return false
}

// turn is where a conversation stands: its last prompt, and how many rounds of
// tools were played since.
type turn struct {
	prompt string
	rounds int
}

func (r *messagesRequest) turn() turn {
	var t turn
	for i := len(r.Messages) - 1; i >= 0; i-- {
		m := r.Messages[i]
		switch {
		case m.Role != "user":
		case m.Content.text() != "": // beside a result, too, when the turn was cut off
			t.prompt = m.Content.text()
			return t
		case m.Content.hasResult():
			t.rounds++
		}
	}
	return t
}

// classified is the question after the state of a background session.
var classified = regexp.MustCompile(`(?s)Current state: .*?Assistant message tail[^\n]*\n(.*)$`)

// side answers what the program asks for itself: a session's title, the state
// and the label of a background session.
func (r *messagesRequest) side(t turn) (text string, ok bool) {
	if strings.Contains(string(r.OutputConfig)+string(r.OutputFormat), `"title"`) {
		title := "Stand-in title"
		for _, m := range r.Messages {
			if s := directive.Parse(m.Content.text()); s.Title != "" {
				title = s.Title
			}
		}
		return asJSON(map[string]string{"title": title, "branch": "stand-in/branch"}), true
	}
	if found := classified.FindStringSubmatch(t.prompt); found != nil {
		tail := strings.TrimSpace(found[1])
		if strings.HasSuffix(tail, "?") {
			return asJSON(map[string]any{"state": "blocked", "tempo": "blocked", "needs": cut(tail), "detail": cut(tail)}), true
		}
		return asJSON(map[string]any{"state": "done", "tempo": "idle", "detail": cut(tail), "output": map[string]string{"result": cut(tail)}}), true
	}
	if strings.Contains(t.prompt, "lowercase label for this job") {
		return "stand-in label", true
	}
	return "", false
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain values
	}
	return string(b)
}
