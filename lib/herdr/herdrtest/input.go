package herdrtest

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"sessionhub/lib/herdr/herdrtest/screen"
)

type textParams struct {
	PaneID string `json:"pane_id" need:""`
	Text   string `json:"text" need:""`
}

// typable returns a pane that has a process to type to.
func (s *Server) typable(id string) (*pane, *apiError) {
	p, err := s.findPane(id)
	if err == nil && p.term == nil {
		return nil, fail("pane_not_found", "pane %s not found", id)
	}
	return p, err
}

func (s *Server) send(p *pane, b []byte) (obj, *apiError) {
	if err := p.term.write(b); err != nil {
		return nil, fail("pane_send_failed", "%v", err)
	}
	return ok()
}

func (s *Server) sendText(p textParams) (obj, *apiError) {
	q, err := s.typable(p.PaneID)
	if err != nil {
		return nil, err
	}
	return s.send(q, []byte(p.Text))
}

type keysParams struct {
	PaneID string   `json:"pane_id" need:""`
	Keys   []string `json:"keys" need:""`
}

func (s *Server) sendKeys(p keysParams) (obj, *apiError) {
	q, err := s.typable(p.PaneID)
	if err != nil {
		return nil, err
	}
	b, err := encodeKeys(p.Keys)
	if err != nil {
		return nil, err
	}
	return s.send(q, b)
}

type inputParams struct {
	PaneID string   `json:"pane_id" need:""`
	Text   string   `json:"text"`
	Keys   []string `json:"keys"`
}

func (s *Server) sendInput(p inputParams) (obj, *apiError) {
	q, err := s.typable(p.PaneID)
	if err != nil {
		return nil, err
	}
	keys, err := encodeKeys(p.Keys)
	if err != nil {
		return nil, err
	}
	return s.send(q, append(q.term.paste(p.Text), keys...))
}

// paste wraps text in brackets if the program wants that now; else each newline
// is an Enter.
func (t *terminal) paste(text string) []byte {
	if text == "" {
		return nil
	}
	wants := false
	t.look(func(sc *screen.Screen) { wants = sc.BracketedPaste() })
	if wants {
		return []byte("\x1b[200~" + text + "\x1b[201~")
	}
	return []byte(strings.ReplaceAll(text, "\n", "\r"))
}

func encodeKeys(keys []string) ([]byte, *apiError) {
	var out []byte
	for _, k := range keys {
		b, known := encodeKey(k)
		if !known {
			return nil, fail("invalid_key", "unsupported key %s", k)
		}
		out = append(out, b...)
	}
	return out, nil
}

func namedKey(name string) (string, bool) {
	b, known := map[string]string{
		"enter": "\r", "return": "\r", "esc": "\x1b", "escape": "\x1b", "tab": "\t", "shift+tab": "\x1b[Z",
		"backspace": "\x7f", "bs": "\x7f", "space": " ", "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C",
		"left": "\x1b[D", "f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS", "f5": "\x1b[15~",
		"f6": "\x1b[17~", "f7": "\x1b[18~", "f8": "\x1b[19~", "f9": "\x1b[20~", "f10": "\x1b[21~", "f11": "\x1b[23~",
		"f12": "\x1b[24~", "minus": "-", "comma": ",", "period": ".", "slash": "/", "backslash": "\\", "quote": "'",
		"double_quote": "\"", "semicolon": ";", "colon": ":", "percent": "%", "ampersand": "&", "backtick": "`", "plus": "+",
	}[name]
	return b, known
}

func encodeKey(key string) (string, bool) {
	lower := strings.ToLower(key)
	if b, known := namedKey(lower); known {
		return b, true
	}
	if r, n := utf8.DecodeRuneInString(key); n == len(key) && n > 0 && !unicode.IsControl(r) {
		return key, true
	}
	if rest, found := strings.CutPrefix(lower, "c-"); found {
		lower = "ctrl+" + rest
	}
	if rest, found := strings.CutPrefix(lower, "ctrl+"); found && len(rest) == 1 && rest[0] >= 'a' && rest[0] <= 'z' {
		return string(rest[0] - 'a' + 1), true
	}
	if rest, found := strings.CutPrefix(lower, "alt+"); found {
		b, known := encodeKey(rest)
		return "\x1b" + b, known
	}
	return "", false
}
