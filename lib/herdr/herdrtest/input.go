package herdrtest

import (
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
	b, err := q.term.encodeKeys(p.Keys)
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
	keys, err := q.term.encodeKeys(p.Keys)
	if err != nil {
		return nil, err
	}
	return s.send(q, append(q.term.paste(p.Text), keys...))
}

// paste wraps text in brackets if the program wants that now. The text itself
// goes as it is, escapes and an end of the brackets included.
func (t *terminal) paste(text string) []byte {
	if text == "" {
		return nil
	}
	wants := false
	t.look(func(sc *screen.Screen) { wants = sc.BracketedPaste() })
	if wants {
		return []byte("\x1b[200~" + text + "\x1b[201~")
	}
	return []byte(text)
}
